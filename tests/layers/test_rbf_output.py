import keras
import numpy as np
import pytest

from keras_canon.layers import RBFOutput

CODES = [[1.0, -1.0, 1.0], [-1.0, -1.0, 0.5]]


@pytest.mark.parametrize("shape", [(4, 3), (2, 5, 3), (0, 3)])
def test_values_are_equation_7(shape):
    x = np.random.RandomState(0).standard_normal(shape).astype("float32")
    expected = np.stack([((x - np.asarray(code)) ** 2).sum(axis=-1) for code in CODES], axis=-1)
    np.testing.assert_allclose(RBFOutput(2, CODES)(x), expected, atol=1e-5)
    np.testing.assert_allclose(RBFOutput(2, CODES, as_logits=True)(x), -expected, atol=1e-5)


def test_the_nearest_code_wins_exactly():
    assert np.asarray(RBFOutput(2, CODES)(np.asarray(CODES, "float32"))).tolist() == [[0.0, 4.25], [4.25, 0.0]]


def test_small_penalty_next_to_a_large_code_keeps_its_digits():
    penalty = RBFOutput(1, [[1000.0]])(np.asarray([[1000.25]], "float32"))
    assert float(penalty[0, 0]) == 0.0625


def test_codes_are_fixed_unless_asked_for():
    for trainable in (False, True):
        layer = RBFOutput(2, CODES, trainable_codes=trainable)
        layer.build((None, 3))
        assert (len(layer.trainable_weights), len(layer.non_trainable_weights)) == ((1, 0) if trainable else (0, 1))
        np.testing.assert_array_equal(layer.get_weights()[0], CODES)


def test_codes_drawn_at_random_are_signs():
    layer = RBFOutput(10)
    layer.build((None, 84))
    assert set(np.unique(layer.get_weights()[0])) == {-1.0, 1.0}


def test_gradient_passes_through_fixed_codes_in_a_model():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), RBFOutput(2, CODES, as_logits=True)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = model.get_weights()
    model.fit(np.random.RandomState(0).standard_normal((8, 4)), np.arange(8) % 2, verbose=0)
    after = model.get_weights()
    assert not np.array_equal(before[0], after[0])
    np.testing.assert_array_equal(after[2], CODES)


def test_float16_neither_overflows_nor_loses_the_order():
    layer = RBFOutput(2, [[0.0], [300.0]], dtype="mixed_float16")
    # (300 - 0)^2 = 90000 is above the largest float16.
    assert np.asarray(layer(np.asarray([[300.0]], "float32"))).tolist() == [[65504.0, 0.0]]
    logits = RBFOutput(2, [[0.0], [300.0]], as_logits=True, dtype="mixed_float16")(np.asarray([[300.0]], "float32"))
    assert np.asarray(logits).tolist() == [[-65504.0, 0.0]]
    wide = RBFOutput(1, [[0.0] * 5000], dtype="mixed_float16")(np.full((1, 5000), 2.0, "float32"))
    assert float(wide[0, 0]) == 20000.0


@pytest.mark.parametrize(
    ("arguments", "shape", "message"),
    [
        ({"units": 0}, (None, 3), "units must be an integer of at least 1, got 0"),
        (
            {"units": 3, "codes": CODES},
            (None, 3),
            r"codes must hold one row of finite numbers for each of the 3 units, got an array of shape \(2, 3\)",
        ),
        ({"units": 1, "codes": [[float("nan")]]}, (None, 1), "codes must hold one row of finite numbers"),
        ({"units": 2, "codes": [1.0, 2.0]}, (None, 1), r"got an array of shape \(2,\)"),
        ({"units": 2, "codes": CODES}, (None, 4), "codes must have as many columns as the input has features, 4, got 3"),
        ({"units": 2}, (None, None), r"RBFOutput expects input of shape \(batch, ..., features\)"),
        ({"units": 2}, (None,), r"RBFOutput expects input of shape \(batch, ..., features\)"),
    ],
)
def test_bad_arguments(arguments, shape, message):
    with pytest.raises(ValueError, match=message):
        RBFOutput(**arguments).build(shape)
