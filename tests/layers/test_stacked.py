"""`StackedRNN`: against the layers run one by one, masks, states, dropout, bad arguments."""

import keras
import numpy as np
import pytest
from checks.recurrent import MASK, sequence

from keras_canon.layers import GRU, LSTM, Bidirectional, StackedRNN


def test_equals_its_layers_one_by_one():
    stack = StackedRNN([Bidirectional(LSTM(5, return_sequences=True)), GRU(3, return_sequences=True), LSTM(2)])
    outputs = sequence()
    found = stack(sequence(), mask=MASK)
    for layer in stack.layers:
        outputs = layer(outputs, mask=MASK)
    np.testing.assert_allclose(found, outputs, atol=1e-6)


def test_states_of_all_layers_come_out_and_go_in():
    stack = StackedRNN([LSTM(5, return_sequences=True, return_state=True), GRU(3, return_sequences=True, return_state=True)])
    whole, *final = stack(sequence())
    first, *states = stack(sequence()[:, :6])
    second, *ended = stack(sequence()[:, 6:], initial_state=states)
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), whole, atol=1e-6)
    assert [tuple(item.shape) for item in final] == [(6, 5), (6, 5), (6, 3)]
    for one, other in zip(ended, final, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    with pytest.raises(ValueError, match=r"initial_state must hold 3 states .*got 2"):
        stack(sequence(), initial_state=states[:2])


def test_dropout_lies_between_the_layers_only():
    stack = StackedRNN([LSTM(5, return_sequences=True)] * 3, dropout=0.5, seed=1)
    assert len(stack.dropouts) == 2
    assert not np.allclose(stack(sequence(), training=True), stack(sequence()))
    np.testing.assert_array_equal(stack(sequence()), stack(sequence()))
    assert StackedRNN([LSTM(5)], dropout=0.5).dropouts == []


def test_mask_goes_on_and_layers_are_copies():
    inner = LSTM(5, return_sequences=True)
    stack = StackedRNN([inner, inner])
    outputs = stack(keras.layers.Masking()(np.array([[[1.0], [2.0], [0.0]]])))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(outputs._keras_mask), [[True, True, False]])
    assert not inner.built
    assert not np.array_equal(stack.layers[0].cell.recurrent_kernel, stack.layers[1].cell.recurrent_kernel)


def test_stateful_layers_are_reset_together():
    stack = StackedRNN([LSTM(5, return_sequences=True, stateful=True), GRU(3, stateful=True)])
    first = stack(sequence()).numpy()
    assert not np.allclose(stack(sequence()), first)
    stack.reset_state()
    np.testing.assert_array_equal(stack(sequence()), first)


def test_the_mask_turns_with_a_layer_that_goes_backwards():
    lower, upper = GRU(5, return_sequences=True, go_backwards=True), GRU(3, return_sequences=True)
    layer = StackedRNN([lower, upper])
    padded = sequence(2, 6).copy()
    wanted = layer(padded[:, :4]).numpy()
    padded[:, 4:] = 9.0
    mask = np.repeat([[True] * 4 + [False] * 2], 2, axis=0)
    turned = layer.compute_mask(padded, mask)
    np.testing.assert_array_equal(turned, mask[:, ::-1])
    np.testing.assert_allclose(layer(padded, mask=mask).numpy()[:, 2:], wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"layers": []}, "layers must hold at least one recurrent layer"),
        ({"layers": [LSTM(3), 7]}, "layers must hold Keras layers, got 7"),
        ({"layers": [LSTM(3)], "dropout": 1.5}, "dropout must be between 0.0 and 1.0, got 1.5"),
        (
            {"layers": [LSTM(3, return_sequences=True, return_state=True), LSTM(3)]},
            r"layers must all return their states or none of them, got return_state=\[True, False\]",
        ),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        StackedRNN(**init)


def test_lower_layer_that_gives_no_sequences():
    with pytest.raises(ValueError, match=r"layers must give sequences .* below the top: set return_sequences=True, got \(6, 3\)"):
        StackedRNN([LSTM(3), LSTM(3)])(sequence())
