import keras
import numpy as np
import pytest

from keras_canon.layers import gelu_tanh, scaled_tanh


def test_scaled_tanh_is_equation_6():
    a = np.linspace(-6, 6, 101).astype("float32")
    np.testing.assert_allclose(scaled_tanh(a), 1.7159 * np.tanh(2 * a / 3), atol=1e-6)
    assert float(scaled_tanh(1.0)) == pytest.approx(1.0, abs=1e-4)


def test_gelu_tanh_is_the_equation_and_not_the_exact_form():
    x = np.linspace(-4, 4, 81).astype("float64")
    expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(gelu_tanh(x.astype("float32")), expected, atol=1e-6)
    assert np.max(np.abs(np.asarray(keras.activations.gelu(x)) - expected)) > 1e-4


@pytest.mark.parametrize("function", [scaled_tanh, gelu_tanh])
def test_activations_serialise_by_name(function):
    assert keras.saving.get_registered_name(function) == f"keras_canon>{function.__name__}"
    assert keras.activations.get(keras.activations.serialize(function)) is function
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, activation=function)])
    assert keras.models.model_from_json(model.to_json()).layers[0].activation is function


@pytest.mark.parametrize("function", [scaled_tanh, gelu_tanh])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_activations_keep_the_dtype(function, dtype):
    outputs = function(keras.ops.ones((2,), dtype=dtype))
    assert keras.backend.standardize_dtype(outputs.dtype) == dtype
