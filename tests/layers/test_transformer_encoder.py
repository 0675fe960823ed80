import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import (
    FeedForward,
    LearnedPositionEmbedding,
    MultiHeadAttention,
    RotaryEmbedding,
    SinusoidalPositionEncoding,
    TokenEmbedding,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)

RANDOM = np.random.RandomState(10)
INPUTS = RANDOM.standard_normal((2, 5, 8)).astype("float32")


def normalised(x, gamma, beta, epsilon):
    x = np.asarray(x, "float64")
    return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) + beta


@pytest.mark.parametrize("norm_first", [False, True])
def test_values_are_the_formulas_around_attention_and_feedforward(norm_first):
    block = TransformerEncoderBlock(2, 8, 16, norm_first=norm_first, epsilon=1e-3, activation="gelu")
    block(INPUTS)
    block.set_weights([w + 0.3 * RANDOM.standard_normal(w.shape) for w in block.get_weights()])
    norms = [[w.numpy() for w in norm.weights] for norm in (block.attention_norm, block.feedforward_norm)]
    expected = INPUTS
    for norm, part in zip(norms, (lambda x: block.attention(x, x), block.feedforward), strict=True):
        if norm_first:
            expected = expected + part(normalised(expected, *norm, 1e-3).astype("float32")).numpy()
        else:
            expected = normalised(expected + part(np.asarray(expected, "float32")).numpy(), *norm, 1e-3)
    np.testing.assert_allclose(block(INPUTS), expected, atol=2e-5)


def test_weights_have_readable_paths():
    block = TransformerEncoderBlock(2, 8, 16, name="block1")
    block(INPUTS)
    paths = {w.path for w in block.weights}
    assert {"block1/self_attention/query/kernel", "block1/self_attention_norm/gamma", "block1/feedforward/output/bias"} <= paths


def test_attention_mask_and_padding_are_both_obeyed():
    """Keras fills `mask` only for one tensor: with an attention mask next to the input it must be found all the same."""
    block = TransformerEncoderBlock(2, 8, 16)
    mask = np.arange(5) < np.asarray([[5], [3]])
    inputs = tf.constant(INPUTS)
    inputs._keras_mask = tf.constant(mask)
    triangle = np.tril(np.ones((5, 5), bool))
    found = block(inputs, attention_mask=triangle)
    expected = block(INPUTS, attention_mask=triangle & mask[:, None, :])
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(found[1, :3], expected[1, :3], atol=1e-6)
    np.testing.assert_array_equal(found._keras_mask, mask)


def test_dropout_rates_reach_their_places():
    block = TransformerEncoderBlock(2, 8, 16, dropout=0.1, attention_dropout=0.2, feedforward_dropout=0.3)
    assert (block.dropout_layer.rate, block.attention.dropout, block.feedforward.dropout_layer.rate) == (0.1, 0.2, 0.3)
    assert np.any(block(INPUTS, training=True) != block(INPUTS, training=True))
    np.testing.assert_array_equal(block(INPUTS), block(INPUTS))


SEQUENCE_LAYERS = {
    "sinusoidal": lambda: SinusoidalPositionEncoding(),
    "learned": lambda: LearnedPositionEmbedding(10),
    "rotary": lambda: RotaryEmbedding(),
    "feedforward": lambda: FeedForward(16, 8),
    "encoder": lambda: TransformerEncoderBlock(2, 8, 16),
    "encoder_pre_norm": lambda: TransformerEncoderBlock(2, 8, 16, norm_first=True, rotary_base=100.0),
    "decoder": lambda: TransformerDecoderBlock(2, 8, 16, cross_attention=False),
    "attention": lambda: SelfAttention(),
    "cross_attention": lambda: CrossAttention(),
}


class SelfAttention(keras.layers.Layer):
    """One input, for the table above."""

    def __init__(self):
        super().__init__()
        self.attention = MultiHeadAttention(2, 8)
        self.supports_masking = True

    def build(self, shape):
        self.attention.build(shape, shape)

    def call(self, inputs, mask=None):
        return self.attention(inputs, inputs, query_mask=mask, value_mask=mask)


class CrossAttention(SelfAttention):
    """A decoder block with the input as its memory."""

    def __init__(self):
        super().__init__()
        self.attention = TransformerDecoderBlock(2, 8, 16)

    def call(self, inputs, mask=None):
        return self.attention(inputs, inputs, inputs_mask=mask, memory_mask=mask)


class First(keras.layers.Layer):
    """The second of two inputs with the mask of the first; remembers the masks it was given."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True
        self.masks = []

    def call(self, inputs, mask=None):
        self.masks.append(mask)
        return inputs[1]

    def compute_mask(self, inputs, mask=None):
        return mask[0]

    def compute_output_shape(self, input_shape):
        return input_shape[1]


@pytest.mark.parametrize("name", SEQUENCE_LAYERS)
def test_b05_mask_survives_and_padding_does_not_count_in_the_loss(name):
    inputs = keras.Input((3, 8))
    masked = keras.layers.Masking(0.0)(inputs)
    first = First()
    model = keras.Model(inputs, first([SEQUENCE_LAYERS[name]()(masked), masked]))
    model.compile(loss="mae", weighted_metrics=["mae"])
    steps, target = (np.repeat(np.asarray(row, "float32")[None, :, None], 8, -1) for row in ([1, 0, 1], [0, 1, 1]))
    loss, metric = model.evaluate(steps, target, verbose=0)
    assert loss == pytest.approx(0.5)
    assert metric == pytest.approx(0.5)
    assert all(isinstance(masks, list) and len(masks) == 2 and None not in masks for masks in first.masks)


@pytest.mark.parametrize("name", [name for name in SEQUENCE_LAYERS if name != "rotary"])
def test_b05_padded_run_equals_the_unpadded_one(name):
    embedding, layer, recurrent = TokenEmbedding(9, 8, mask_zero=True), SEQUENCE_LAYERS[name](), keras.layers.LSTM(4)
    tokens = np.asarray([[3, 1, 4]])
    expected = recurrent(layer(embedding(tokens)))
    found = recurrent(layer(embedding(np.asarray([[3, 1, 4, 0, 0]]))))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_b11_one_initializer_gives_different_kernels():
    builds = []
    for _ in range(2):
        keras.utils.set_random_seed(3)
        block = TransformerEncoderBlock(2, 8, 8, gated=True, kernel_initializer=keras.initializers.HeNormal())
        block(INPUTS)
        builds.append([w for w in block.get_weights() if w.ndim == 2])
    assert len(builds[0]) == 7
    assert all(not np.array_equal(one, other) for one, other in itertools.combinations(builds[0], 2))
    for one, other in zip(*builds, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("block", [TransformerEncoderBlock, TransformerDecoderBlock])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 0}, "num_heads must be an integer of at least 1, got 0"),
        ({"num_heads": 3}, "model_dim must be a multiple of num_heads, got model_dim=8 and num_heads=3"),
        ({"feedforward_dim": -2}, "feedforward_dim must be an integer of at least 1, got -2"),
        ({"epsilon": -1.0}, r"epsilon must be at least 0.0, got -1.0"),
        ({"dropout": 1.0}, r"dropout must be at least 0 and below 1, got 1.0"),
        ({"attention_dropout": 2}, "attention_dropout must be between 0.0 and 1.0, got 2"),
        ({"feedforward_dropout": -0.1}, r"feedforward_dropout must be between 0.0 and 1.0, got -0.1"),
        ({"num_key_value_heads": 4}, "num_heads must be a multiple of num_key_value_heads, got num_heads=2 and num_key_value_heads=4"),
        ({"num_heads": 8, "rotary_base": 100.0}, "key_dim must be even with rotary positions, got 1"),
    ],
)
def test_bad_arguments(block, options, message):
    with pytest.raises(ValueError, match=message):
        block(**{"num_heads": 2, "model_dim": 8, "feedforward_dim": 16, **options})


def test_bad_inputs():
    with pytest.raises(ValueError, match="TransformerEncoderBlock expects input of width model_dim=6, got 8"):
        TransformerEncoderBlock(2, 6, 16)(INPUTS)
    with pytest.raises(ValueError, match=r"\(batch, steps, model_dim\) \(3 axes\), got \(2, 8\)"):
        TransformerEncoderBlock(2, 8, 16)(INPUTS[:, 0])
