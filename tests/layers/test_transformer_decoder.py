import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from golden.rule import state

from keras_canon.layers import LearnedPositionEmbedding, TransformerDecoderBlock, TransformerEncoderBlock

GOLDEN = Path(__file__).parents[1] / "golden" / "sequence" / "transformer_post_norm.json"
RANDOM = np.random.RandomState(11)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


def attention_weights(arrays, name):
    """The weights of a torch.nn.MultiheadAttention in the order of ours."""
    kernels, biases = np.split(arrays[f"{name}.in_proj_weight"], 3), np.split(arrays[f"{name}.in_proj_bias"], 3)
    pairs = [(kernel.T, bias) for kernel, bias in zip(kernels, biases, strict=True)]
    return [item for pair in [*pairs, (arrays[f"{name}.out_proj.weight"].T, arrays[f"{name}.out_proj.bias"])] for item in pair]


def assign_block(block, arrays, prefix):
    """Give a block the weights of a layer of torch.nn.Transformer."""
    norms = [block.attention_norm, block.feedforward_norm]
    block.attention.set_weights(attention_weights(arrays, f"{prefix}.self_attn"))
    if isinstance(block, TransformerDecoderBlock):
        block.memory_attention.set_weights(attention_weights(arrays, f"{prefix}.multihead_attn"))
        norms.insert(1, block.memory_norm)
    for number, norm in enumerate(norms, 1):
        norm.set_weights([arrays[f"{prefix}.norm{number}.{part}"] for part in ("weight", "bias")])
    dense = [(arrays[f"{prefix}.linear{number}.weight"].T, arrays[f"{prefix}.linear{number}.bias"]) for number in (1, 2)]
    block.feedforward.set_weights([item for pair in dense for item in pair])


def test_golden_transformer_of_two_and_two_blocks():
    golden = json.loads(GOLDEN.read_text())
    arguments, arrays = golden["arguments"], state(golden)
    sizes = (arguments["nhead"], arguments["d_model"], arguments["dim_feedforward"])
    source, target = keras.Input((None, 16)), keras.Input((None, 16))
    padding = keras.Input((None,), dtype="bool")
    hidden, blocks = source, {}
    for number in range(arguments["num_encoder_layers"]):
        blocks[f"encoder.layers.{number}"] = block = TransformerEncoderBlock(*sizes, epsilon=1e-5)
        hidden = block(hidden, mask=padding)
    norms = {name: keras.layers.LayerNormalization(epsilon=1e-5) for name in ("encoder.norm", "decoder.norm")}
    memory, hidden = norms["encoder.norm"](hidden), target
    for number in range(arguments["num_decoder_layers"]):
        blocks[f"decoder.layers.{number}"] = block = TransformerDecoderBlock(*sizes, epsilon=1e-5)
        hidden = block(hidden, memory, memory_mask=padding)
    model = keras.Model([source, target, padding], norms["decoder.norm"](hidden))
    for name, block in blocks.items():
        assign_block(block, arrays, name)
    for name, norm in norms.items():
        norm.set_weights([arrays[f"{name}.weight"], arrays[f"{name}.bias"]])
    assert model.count_params() == golden["trainable_parameters"]
    inputs = [np.asarray(golden["inputs"][name], "float32") for name in ("source", "target")]
    expected = np.asarray(golden["outputs"]["output"]["values"])
    found = model([*inputs, ~np.asarray(golden["inputs"]["source_is_padding"])])
    assert np.max(np.abs(found - expected)) <= 1e-4 * np.max(np.abs(expected))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm_first": True, "cross_attention": False, "rotary_base": 10000.0},
        {"num_key_value_heads": 1, "gated": True, "activation": "silu", "rotary_base": 100.0},
    ],
)
def test_cached_decoding_equals_the_full_pass_at_every_step(options):
    """Rows with prompts of 2, 5, 1 and 4 steps, decoded together to 8, 9, 6 and 9 steps."""
    blocks = [TransformerDecoderBlock(2, 8, 16, **options) for _ in range(2)]
    positions = LearnedPositionEmbedding(9)
    cross = options.get("cross_attention", True)
    inputs, lengths, ends = normal(4, 9, 8), np.asarray([2, 5, 1, 4]), np.asarray([8, 9, 6, 9])
    memory = [normal(4, 3, 8)] if cross else []
    masks = {"memory_mask": tf.constant([[True] * 3, [True, True, False], [True, False, False], [True] * 3])} if cross else {}

    def stack(steps, mask, caches=None):
        hidden = positions(steps, offset=0 if caches is None else caches[0]["position"])
        written = []
        for index, block in enumerate(blocks):
            hidden = block(hidden, *memory, inputs_mask=mask, cache=None if caches is None else caches[index], **masks)
            if caches is not None:
                written.append(hidden[1])
                hidden = hidden[0]
        return hidden, written

    full = stack(inputs, None)[0].numpy()
    step = tf.function(stack)
    mask = np.arange(5) < lengths[:, None]
    prompt = np.where(mask[..., None], inputs[:, :5], np.float32(77.0))
    output, caches = step(tf.constant(prompt), tf.constant(mask), [block.initial_cache(4, 9) for block in blocks])
    for row, length in enumerate(lengths):
        np.testing.assert_allclose(output[row, :length], full[row, :length], atol=1e-5)
    now = lengths.copy()
    while np.any(now < ends):
        active = now < ends
        steps = inputs[np.arange(4), np.minimum(now, 8)][:, None]
        output, caches = step(tf.constant(steps), tf.constant(active[:, None]), caches)
        for row in np.flatnonzero(active):
            np.testing.assert_allclose(output[row, 0], full[row, now[row]], atol=1e-5)
        now += active
        np.testing.assert_array_equal(caches[1]["position"], now)
    assert step.experimental_get_tracing_count() == 2


@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"num_key_value_heads": 1}])
def test_b03_no_step_sees_the_future(options):
    block, memory, inputs = TransformerDecoderBlock(2, 8, 16, **options), normal(1, 3, 8), normal(1, 4, 8)
    changed = inputs.copy()
    changed[:, 3] += 5.0
    for call in (block, tf.function(block)):
        assert np.all(call(inputs, memory)[:, :3] == call(changed, memory)[:, :3])


def test_b05_masks_of_both_inputs():
    """Padding of the input and of the memory, found by Keras, equals the trimmed run; the input's mask goes on."""
    block, inputs, memory = TransformerDecoderBlock(2, 8, 16), normal(1, 5, 8), normal(1, 6, 8)
    expected = block(inputs[:, :3], memory[:, :4])
    padded, padded_memory = tf.constant(inputs), tf.constant(memory)
    padded._keras_mask = tf.constant([[True] * 3 + [False] * 2])
    padded_memory._keras_mask = tf.constant([[True] * 4 + [False] * 2])
    found = block(padded, padded_memory)
    np.testing.assert_allclose(found[:, :3], expected, atol=1e-6)
    np.testing.assert_array_equal(found._keras_mask, padded._keras_mask)


def test_memory_of_another_width_and_unknown_lengths():
    inputs, memory = keras.Input((None, 8)), keras.Input((None, 12))
    block = TransformerDecoderBlock(2, 8, 16)
    model = keras.Model([inputs, memory], block(inputs, memory))
    assert model.output_shape == (None, None, 8)
    assert model([normal(0, 4, 8), normal(0, 3, 12)]).shape == (0, 4, 8)
    one, other = normal(2, 4, 8), normal(2, 3, 12)
    np.testing.assert_allclose(model([one, other]), block(one, other), atol=1e-6)


def test_bad_inputs():
    with pytest.raises(ValueError, match="cross_attention=True was called without a memory"):
        TransformerDecoderBlock(2, 8, 16)(normal(1, 2, 8))
    with pytest.raises(ValueError, match="cross_attention=False was called with a memory"):
        TransformerDecoderBlock(2, 8, 16, cross_attention=False)(normal(1, 2, 8), normal(1, 3, 8))
    with pytest.raises(ValueError, match="TransformerDecoderBlock expects input of width model_dim=8, got 6"):
        TransformerDecoderBlock(2, 8, 16)(normal(1, 2, 6), normal(1, 3, 8))


def test_kernels_that_end_in_the_residual_sum_have_an_initializer_of_their_own():
    """GPT-2, section 2.3: they start smaller by the square root of their number."""
    block = TransformerDecoderBlock(
        2,
        64,
        256,
        cross_attention=False,
        kernel_initializer=keras.initializers.RandomNormal(stddev=1.0),
        residual_initializer=keras.initializers.RandomNormal(stddev=0.1),
    )
    block.build((None, 3, 64))
    for layer, deviation in (
        (block.attention.query_projection, 1.0),
        (block.attention.output_projection, 0.1),
        (block.feedforward.hidden_projection, 1.0),
        (block.feedforward.output_projection, 0.1),
    ):
        assert np.asarray(layer.kernel).std() == pytest.approx(deviation, rel=0.05)
