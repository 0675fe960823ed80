import itertools
import math

import keras
import numpy as np
import pytest

from keras_canon.layers import FeedForward

RANDOM = np.random.RandomState(0)
INPUTS = RANDOM.standard_normal((2, 3, 4)).astype("float32")
FUNCTIONS = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1.0 + math.erf(x / math.sqrt(2.0))),
    "gelu_tanh": lambda x: 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1.0 + math.exp(-x)),
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
}


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_values_are_the_equations(activation, gated):
    layer = FeedForward(6, 5, activation=activation, gated=gated)
    layer(INPUTS)
    layer.set_weights([RANDOM.standard_normal(w.shape) for w in layer.get_weights()])
    named = {w.path.split("/", 1)[1]: w.numpy() for w in layer.weights}
    function = np.vectorize(FUNCTIONS[activation], otypes=[float])
    hidden = INPUTS @ named["hidden/kernel"] + named["hidden/bias"]
    hidden = function(INPUTS @ named["gate/kernel"] + named["gate/bias"]) * hidden if gated else function(hidden)
    np.testing.assert_allclose(layer(INPUTS), hidden @ named["output/kernel"] + named["output/bias"], atol=2e-5)


def test_dropout_is_between_the_layers_and_in_training_only():
    layer = FeedForward(200, 1, dropout=0.5, use_bias=False, kernel_initializer="ones")
    inputs = np.ones((1, 1, 1), "float32")
    assert float(layer(inputs)[0, 0, 0]) == 200.0
    assert 100.0 < float(layer(inputs, training=True)[0, 0, 0]) < 300.0
    assert float(layer(inputs, training=True)[0, 0, 0]) % 2.0 == 0.0


def test_b11_one_initializer_gives_different_kernels():
    layer = FeedForward(4, 4, gated=True, kernel_initializer=keras.initializers.GlorotUniform())
    layer(INPUTS)
    kernels = [w for w in layer.get_weights() if w.ndim == 2]
    assert len(kernels) == 3
    assert all(not np.array_equal(one, other) for one, other in itertools.combinations(kernels, 2))


def test_bad_arguments():
    with pytest.raises(ValueError, match="feedforward_dim must be an integer of at least 1, got 0"):
        FeedForward(0, 4)
    with pytest.raises(ValueError, match=r"model_dim must be an integer of at least 1, got 2.5"):
        FeedForward(4, 2.5)
    with pytest.raises(ValueError, match=r"dropout must be at least 0 and below 1, got 1.0"):
        FeedForward(4, 4, dropout=1)
    with pytest.raises(ValueError, match="softplop"):
        FeedForward(4, 4, activation="softplop")
    with pytest.raises(ValueError, match=r"a known width, got \(4,\)"):
        FeedForward(4, 4)(np.zeros(4))
