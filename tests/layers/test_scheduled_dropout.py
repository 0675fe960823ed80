import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import ScheduledDropout

X = np.ones((100, 100), "float32")


def test_rate_follows_equation_3():
    layer = ScheduledDropout(0.5, steps=20, seed=1)
    for step in range(21):
        assert layer.built is (step > 0) or int(layer.step) == step
        found = np.asarray(layer(X, training=True))
        kept = 0.5 * math.exp(-10 / 20 * step) + 0.5
        assert abs((found > 0).mean() - kept) <= 4 * math.sqrt(kept * (1 - kept) / X.size) + 1e-9
        np.testing.assert_allclose(found[found > 0], 1 / kept, rtol=1e-5)
    assert abs(float(layer.current_rate()) - 0.5) <= 0.5 * 5e-5
    layer = ScheduledDropout(0.4, steps=20, gamma=0.1)
    layer.build(X.shape)
    layer.step.assign(7)
    assert abs(float(layer.current_rate()) - 0.4 * (1 - math.exp(-0.7))) <= 1e-6


def test_inference_is_the_identity_and_does_not_count():
    layer = ScheduledDropout(0.5, steps=5)
    layer(X, training=True)
    layer.step.assign(5)
    np.testing.assert_array_equal(layer(X), X)
    assert int(layer.step) == 5


# Keras calls np.array on a TensorFlow variable at save, whose __array__ has no `copy` argument.
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning")
def test_step_counts_in_fit_and_is_saved(tmp_path):
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(1)(ScheduledDropout(0.5, steps=10, name="drop")(inputs)))
    model.compile("sgd", "mse")
    model.fit(np.ones((12, 4)), np.ones((12, 1)), batch_size=4, epochs=2, verbose=0)
    assert int(model.get_layer("drop").step) == 6
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert int(again.get_layer("drop").step) == 6


def test_step_counts_inside_tf_function():
    layer = ScheduledDropout(0.5, steps=10)
    layer.build((None, 4))
    run = tf.function(lambda: layer(tf.ones((2, 4)), training=True), jit_compile=True)
    for _ in range(3):
        run()
    assert int(layer.step) == 3


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"rate must be at least 0 and below 1, got 1.0"):
        ScheduledDropout(1.0, steps=10)
    with pytest.raises(ValueError, match="steps must be an integer of at least 1, got 0"):
        ScheduledDropout(0.5, steps=0)
    with pytest.raises(ValueError, match="gamma must be above 0, got 0"):
        ScheduledDropout(0.5, steps=10, gamma=0)
