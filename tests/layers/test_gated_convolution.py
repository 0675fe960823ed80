"""Gated linear units against the golden file and NumPy; causality and masks."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
from checks.convolution import convolve

from keras_canon.layers import GatedConv1D, GatedConv2D, gated_linear_unit

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "sequence" / "functions.json").read_text())
SEQUENCE = np.random.RandomState(0).standard_normal((2, 9, 4)).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gate(x):
    return x[..., : x.shape[-1] // 2] * sigmoid(x[..., x.shape[-1] // 2 :])


def test_golden_gated_linear_unit():
    expected = GOLDEN["outputs"]["glu_last_axis"]
    found = gated_linear_unit(np.array(GOLDEN["inputs"]["map_nhwc"], "float32"))
    np.testing.assert_allclose(found, np.reshape(expected["values"], expected["shape"]), atol=1e-6)


def test_gated_linear_unit_along_another_axis():
    x = np.random.RandomState(1).standard_normal((3, 4, 5)).astype("float32")
    np.testing.assert_allclose(gated_linear_unit(x, axis=1), x[:, :2] * sigmoid(x[:, 2:]), atol=1e-6)
    with pytest.raises(ValueError, match=r"even width along axis -1, got 5 in shape \(3, 4, 5\)"):
        gated_linear_unit(x)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("padding", ["causal", "same", "valid"])
def test_equation_1(padding, dilation):
    layer = GatedConv1D(3, 3, padding=padding, dilation_rate=dilation, bias_initializer="random_normal")
    found = layer(SEQUENCE)
    kernel, bias = layer.get_weights()
    before = {"causal": 2 * dilation, "same": dilation, "valid": 0}[padding]
    after = dilation if padding == "same" else 0
    padded = np.pad(SEQUENCE, [(0, 0), (before, after), (0, 0)])
    steps = padded.shape[1] - 2 * dilation
    product = sum(padded[:, tap * dilation : tap * dilation + steps] @ kernel[tap] for tap in range(3)) + bias
    np.testing.assert_allclose(found, gate(product), atol=1e-5)
    assert layer.compute_output_shape(SEQUENCE.shape) == found.shape
    assert layer.compute_output_shape((None, None, 4)) == (None, None, 3)


def test_causal_output_does_not_see_later_steps():
    layer = GatedConv1D(3, 4)
    changed = SEQUENCE.copy()
    changed[:, 5:] += 3.0
    difference = np.abs(np.asarray(layer(SEQUENCE)) - np.asarray(layer(changed))).max((0, 2))
    assert np.all(difference[:5] == 0)
    assert np.all(difference[5:] > 0)


@pytest.mark.parametrize("padding", ["causal", "same"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_never_leaks_into_real_steps(padding, side):
    layer = GatedConv1D(3, 3, padding=padding)
    expected = layer(SEQUENCE)
    garbage = np.full((2, 4, 4), np.nan, "float32")
    parts, real = ([garbage, SEQUENCE], slice(4, None)) if side == "left" else ([SEQUENCE, garbage], slice(None, 9))
    mask = np.zeros((2, 13), bool)
    mask[:, real] = True
    found = np.asarray(layer(np.concatenate(parts, axis=1), mask=mask))
    np.testing.assert_allclose(found[:, real], expected, atol=1e-6)
    np.testing.assert_array_equal(layer.compute_mask(None, mask), mask)


def test_valid_keeps_a_step_where_its_whole_window_is_real():
    layer = GatedConv1D(3, 3, padding="valid")
    mask = np.arange(9)[None] < np.array([[9], [4]])
    np.testing.assert_array_equal(layer.compute_mask(None, mask), np.arange(7)[None] < np.array([[7], [2]]))
    assert layer.compute_mask(None, None) is None


def test_b05_mask_of_an_embedding_reaches_the_next_layer():
    tokens = np.array([[3, 1, 2, 0, 0]])
    embedding, layer, last = keras.layers.Embedding(5, 4, mask_zero=True), GatedConv1D(3, 2), keras.layers.LSTM(2)
    np.testing.assert_allclose(last(layer(embedding(tokens))), last(layer(embedding(tokens[:, :3]))), atol=1e-6)


@pytest.mark.parametrize("padding", ["same", "symmetric", "valid"])
def test_two_dimensions(padding):
    images = np.random.RandomState(2).standard_normal((2, 8, 7, 4)).astype("float32")
    layer = GatedConv2D(3, (3, 2), strides=2, padding=padding)
    found = layer(images)
    kernel, _ = layer.get_weights()
    np.testing.assert_allclose(found, gate(convolve(images, kernel, (2, 2), padding)), atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GatedConv1D(0, 3), "filters must be an integer of at least 1, got 0"),
        (lambda: GatedConv1D(3, (3,)), r"kernel_size must be an integer of at least 1, got \(3,\)"),
        (lambda: GatedConv1D(3, 3, padding="symmetric"), "padding must be one of 'causal', 'same', 'valid', got 'symmetric'"),
        (lambda: GatedConv1D(3, 3, dilation_rate=0), "dilation_rate must be an integer of at least 1, got 0"),
        (lambda: GatedConv1D(3, 3).build((2, 4)), r"GatedConv1D expects input of shape \(batch, time, channels\)"),
        (lambda: GatedConv1D(3, 5, padding="valid").build((2, 4, 3)), "needs at least 5 steps, got 4"),
        (lambda: GatedConv2D(0, 3), "filters must be an integer of at least 1, got 0"),
        (lambda: GatedConv2D(3, 3, padding="causal"), "padding must be one of 'same', 'valid', 'symmetric', got 'causal'"),
        (lambda: GatedConv2D(3, 3).build((2, 8, 4)), "GatedConv2D expects input of shape"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
