"""Batch norm folded into what comes before it, for every kind of linear op; what must not be folded is left alone."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo
from keras_canon.serving.freezing import can_freeze, freeze
from keras_canon.serving.signatures import plan_signatures, trace_core

CONVOLUTION = {"data_format": "channels_last"}
LINEAR = {
    "dense": lambda: keras.layers.Dense(6),
    "convolution": lambda: keras.layers.Conv2D(6, 3, padding="same", strides=2, **CONVOLUTION),
    "no bias": lambda: keras.layers.Conv2D(6, 3, use_bias=False, **CONVOLUTION),
    "dilated": lambda: keras.layers.Conv2D(6, 3, dilation_rate=2, **CONVOLUTION),
    "groups": lambda: keras.layers.Conv2D(6, 3, groups=2, **CONVOLUTION),
    "depthwise": lambda: keras.layers.DepthwiseConv2D(3, depth_multiplier=2, **CONVOLUTION),
    "separable": lambda: keras.layers.SeparableConv2D(6, 3, **CONVOLUTION),
    "transposed": lambda: keras.layers.Conv2DTranspose(6, 3, strides=2, **CONVOLUTION),
}


def randomise(model: keras.Model, spread: float = 1.0) -> None:
    """Give every batch norm statistics and weights that change something; the less, the less a deep network magnifies rounding."""
    rng = np.random.default_rng(0)
    for variable in model.variables:
        if variable.path.endswith(("moving_mean", "beta", "bias")):
            variable.assign(rng.normal(scale=spread, size=variable.shape))
        if variable.path.endswith(("moving_variance", "gamma")):
            variable.assign(rng.uniform(1.0 - 0.5 * spread, 1.0 + spread, variable.shape))


def frozen_ops(model: keras.Model, inputs: np.ndarray) -> list[str]:
    """Freeze a model, compare its answers, and return its ops."""
    randomise(model)
    core = freeze(trace_core(plan_signatures(model, None)))
    (got,), expected = core.to_function()(tf.constant(inputs)), model(inputs, training=False)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    return [node.op for node in core.graph.node]


@pytest.mark.parametrize("kind", LINEAR)
def test_batch_norm_after_it_is_gone(kind):
    keras.utils.set_random_seed(1)
    shape = (4,) if kind == "dense" else (9, 9, 4)
    image = keras.Input(shape)
    normal = keras.layers.BatchNormalization()(LINEAR[kind]()(image))
    ops = frozen_ops(keras.Model(image, keras.layers.ReLU()(normal)), np.random.default_rng(2).normal(size=(3, *shape)).astype("float32"))
    bias = "AddV2" if kind == "groups" else "BiasAdd"
    assert ops.count(bias) == 1
    assert not {"Mul", "Sub", "AddV2", "BiasAdd", "Rsqrt"} & set(ops) - {bias}
    assert ops.count("Identity") == 1  # the output


def test_batch_norm_before_a_convolution_stays():
    image = keras.Input((6, 6, 3))
    convolution = keras.layers.Conv2D(2, 3, padding="same", **CONVOLUTION)
    model = keras.Model(image, convolution(keras.layers.BatchNormalization()(image)))
    ops = frozen_ops(model, np.random.default_rng(3).normal(size=(2, 6, 6, 3)).astype("float32"))
    assert ops.count("Mul") == ops.count("AddV2") == 1


def test_what_is_read_twice_is_not_changed():
    image = keras.Input((6, 6, 3))
    convolved = keras.layers.Conv2D(2, 3, **CONVOLUTION)(image)
    model = keras.Model(image, keras.layers.Add()([convolved, keras.layers.BatchNormalization()(convolved)]))
    assert "Mul" in frozen_ops(model, np.random.default_rng(4).normal(size=(2, 6, 6, 3)).astype("float32"))


def test_one_convolution_used_twice_with_two_batch_norms():
    image, other = keras.Input((6, 6, 3)), keras.layers.Conv2D(3, 1, **CONVOLUTION)
    shared = keras.layers.Conv2D(2, 3, **CONVOLUTION)
    both = [keras.layers.BatchNormalization()(shared(tensor)) for tensor in (image, other(image))]
    ops = frozen_ops(
        keras.Model(image, keras.layers.Subtract()(both)), np.random.default_rng(5).normal(size=(2, 6, 6, 3)).astype("float32")
    )
    assert "Mul" not in ops


def test_custom_gradients_and_dropout_leave_nothing():
    point = keras.Input((4,))
    x = keras.layers.Dropout(0.5)(keras.layers.Activation("silu")(keras.layers.Dense(4)(point)))
    ops = frozen_ops(keras.Model(point, keras.layers.GaussianNoise(1.0)(x)), np.ones((2, 4), "float32"))
    assert set(ops) == {"Placeholder", "Const", "MatMul", "BiasAdd", "Sigmoid", "Mul", "Identity"}


def test_loops_are_frozen():
    steps = keras.Input((None, 3))
    ops = frozen_ops(keras.Model(steps, keras.layers.GRU(4)(steps)), np.random.default_rng(6).normal(size=(2, 5, 3)).astype("float32"))
    assert not {"ReadVariableOp", "VarHandleOp"} & set(ops)


def test_tables_and_written_state_stay_variables():
    text = keras.Input((), dtype="string")
    words = keras.layers.TextVectorization(output_sequence_length=3, vocabulary=["a", "b"])
    assert not can_freeze(trace_core(plan_signatures(keras.Model(text, words(text)), None)))


@pytest.mark.parametrize(
    "name",
    [
        "resnet20",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "inception_v3", "xception")
        ),
    ],
)
def test_no_batch_norm_is_left_in_a_family(name):
    model = zoo.create(name)
    norms = sum(isinstance(layer, keras.layers.BatchNormalization) for layer in model._flatten_layers())
    assert norms > 0
    shape = (2, *(size or 64 for size in model.input_shape[1:]))
    randomise(model, spread=0.2)
    core = freeze(trace_core(plan_signatures(keras.Model(model.input, model.output), None)))
    x = np.random.default_rng(7).normal(size=shape).astype("float32")
    (got,), expected = core.to_function()(tf.constant(x)), model(x, training=False)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    scaled = [node.name for node in core.graph.node if node.op == "Mul" and "batchnorm" in node.name]
    if name != "densenet121":  # batch norm comes first there
        assert scaled == []
