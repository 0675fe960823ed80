"""Gradient checkpointing: what is inside a Transformer block is not kept for its gradient, but computed again."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from ..layers import TransformerDecoderBlock, TransformerEncoderBlock
from ..layers.attention_masks import attached_mask
from ..zoo.errors import CanonError


def rematerialise(model: keras.Model) -> int:
    """Let the Transformer blocks of a model keep only their inputs in training, and compute the rest again for the gradient.

    Memory then grows with the inputs of the blocks instead of with all that is inside of them, for one more forward pass of each.
    Loss and gradients are the same, with dropout too, whose masks are drawn again as they were. Call it before the model is
    trained; inference, saving and decoding are as they were, and a model that is loaded keeps everything again.

    Args:
        model: functional, with Transformer blocks.

    Returns:
        the number of blocks.

    Raises:
        CanonError: for a model without Transformer blocks.

    Reference:
        Chen, Xu, Zhang, Guestrin, 2016, "Training deep nets with sublinear memory cost", section 3, arXiv:1604.06174.

    Example:
        >>> from keras_canon import training, zoo
        >>> training.rematerialise(zoo.create("gpt2_tiny"))
        4
    """
    blocks = [layer for layer in model._flatten_layers() if isinstance(layer, TransformerDecoderBlock | TransformerEncoderBlock)]
    if not blocks:
        raise CanonError(f"Model {model.name!r} has no Transformer blocks to compute again: leave rematerialise out.")
    for block in blocks:
        block.call = _computed_again(block)
    return len(blocks)


def _computed_again(block: keras.layers.Layer) -> Callable[..., Any]:
    """Return the call of a block that forgets what is inside of it."""
    plain = type(block).call.__get__(block)
    generators = [layer.seed_generator for layer in block._flatten_layers() if getattr(layer, "seed_generator", None) is not None]
    encoder = isinstance(block, TransformerEncoderBlock)

    def call(
        inputs,
        memory=None,
        mask=None,
        inputs_mask=None,
        memory_mask=None,
        attention_mask=None,
        bias=None,
        cache=None,
        training=None,
    ):
        # what gradients go to
        tensors = [tensor for tensor in (inputs, memory, bias) if tensor is not None]
        options = {"attention_mask": attention_mask}
        # Keras hangs masks on tensors, and those that are computed again are other ones
        if encoder:
            options["mask"] = attached_mask(inputs, mask)
        else:
            options |= {"inputs_mask": attached_mask(inputs, inputs_mask), "memory_mask": attached_mask(memory, memory_mask)}
        if cache is not None:
            options["cache"] = cache

        def run(*tensors):
            given = tensors if bias is None else tensors[:-1]
            return plain(*given, bias=None if bias is None else tensors[-1], training=training, **options)

        if not training or cache is not None or isinstance(inputs, keras.KerasTensor):
            return run(*tensors)

        @tf.custom_gradient
        def forward(*tensors):
            seeds = _states(generators)
            outputs = run(*tensors)

            def backward(upstream, variables: Sequence[Any] = ()):
                after = _states(generators)
                with tf.control_dependencies([upstream]):  # not earlier, or nothing would be saved
                    again = [tf.identity(tensor) for tensor in tensors]
                    _set(generators, seeds)
                with tf.GradientTape() as tape:
                    tape.watch(again)
                    found = run(*again)
                gradients = tape.gradient(found, [*again, *variables], upstream)
                _set(generators, after)
                own, of_variables = gradients[: len(again)], gradients[len(again) :]
                return (own, of_variables) if variables else own

            return outputs, backward

        return forward(*tensors)

    return call


def _states(generators: Sequence[keras.random.SeedGenerator]) -> list[Any]:
    return [tf.identity(generator.state.value) for generator in generators]


def _set(generators: Sequence[keras.random.SeedGenerator], states: Sequence[Any]) -> None:
    for generator, state in zip(generators, states, strict=True):
        generator.state.assign(state)
