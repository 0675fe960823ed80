"""`PyramidalRNN`: pairs of steps written out in numpy, odd lengths, masks, bad arguments."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.recurrent import sequence

from keras_canon.layers import GRU, LSTM, Bidirectional, PyramidalRNN


def pairs(inputs):
    """Equation (5)'s bracket, loop by loop."""
    batch, steps, features = inputs.shape
    result = np.zeros((batch, (steps + 1) // 2, 2 * features), "float32")
    for time in range(steps):
        result[:, time // 2, features * (time % 2) : features * (time % 2 + 1)] = inputs[:, time]
    return result


@pytest.mark.parametrize("steps", [10, 9, 7, 1])
def test_equals_the_equation(steps):
    layer = PyramidalRNN([Bidirectional(LSTM(5, return_sequences=True)), GRU(3, return_sequences=True)])
    inputs = sequence(6, steps)
    below = layer.layers[0](pairs(inputs)).numpy() if layer(inputs) is not None else None
    wanted = layer.layers[1](pairs(below))
    np.testing.assert_allclose(layer(inputs), wanted, atol=1e-6)
    assert wanted.shape[1] == -(-steps // 4)


def test_three_layers_leave_an_eighth_of_the_steps():
    layer = PyramidalRNN([GRU(3, return_sequences=True)] * 3)
    assert layer(sequence(2, 64)).shape == (2, 8, 3)
    assert layer.compute_output_shape((2, 64, 4)) == (2, 8, 3)
    assert layer.compute_output_shape((None, None, 4)) == (None, None, 3)


@pytest.mark.parametrize("real", [1, 3, 6, 10])
def test_b05_the_mask_is_halved_and_padding_is_not_read(real):
    layer = PyramidalRNN([Bidirectional(LSTM(5, return_sequences=True)), GRU(3, return_sequences=True)])
    padded = sequence(2, 10).copy()
    wanted = layer(padded[:, :real]).numpy()
    padded[:, real:] = 9.0
    mask = np.repeat(np.arange(10)[None] < real, 2, axis=0)
    outputs = layer(padded, mask=mask).numpy()
    np.testing.assert_allclose(outputs[:, : wanted.shape[1]], wanted, atol=1e-6)
    np.testing.assert_array_equal(layer.compute_mask(padded, mask), np.repeat(np.arange(3)[None] < -(-real // 4), 2, axis=0))


def test_the_mask_reaches_what_follows():
    inputs = np.array([[[1.0], [2.0], [3.0], [0.0], [0.0]]])
    outputs = PyramidalRNN([GRU(3, return_sequences=True)])(keras.layers.Masking()(inputs))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(outputs._keras_mask), [[True, True, False]])
    assert PyramidalRNN([GRU(3)]).compute_mask(inputs, np.ones((1, 5), bool)) is None


def test_unknown_time():
    layer = PyramidalRNN([GRU(3, return_sequences=True)], factor=3)
    layer.build((None, None, 4))
    run = tf.function(lambda inputs: layer(inputs), autograph=False, input_signature=[tf.TensorSpec((None, None, 4))])
    for steps in (1, 3, 7):
        assert run(sequence(2, steps)).shape == (2, -(-steps // 3), 3)


def test_the_mask_turns_with_a_layer_that_goes_backwards():
    lower, upper = GRU(5, return_sequences=True, go_backwards=True), GRU(3, return_sequences=True)
    layer = PyramidalRNN([lower, upper], factor=1)
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
        ({"layers": ["lstm"]}, "layers must hold Keras layers|'lstm'"),
        ({"layers": [LSTM(3)], "factor": 0}, "factor must be an integer of at least 1, got 0"),
        ({"layers": [LSTM(3, return_state=True)]}, "layers must not return states, got a layer with return_state=True"),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        PyramidalRNN(**init)


def test_lower_layer_that_gives_no_sequences():
    with pytest.raises(ValueError, match="below the top: set return_sequences=True"):
        PyramidalRNN([LSTM(3), LSTM(3)])(sequence())
