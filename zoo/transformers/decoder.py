"""Step-by-step running of the Transformers that write text: the layers of the model itself, with a key/value cache."""

from typing import Any, NamedTuple

import keras

from ...layers import LearnedPositionEmbedding
from ..errors import CanonError
from ..model import Model
from ..token_input import filled


class DecoderState(NamedTuple):
    """What a decoder knows between two calls; every tensor has the rows of the batch on its first axis.

    Attributes:
        caches: a cache of `MultiHeadAttention` for each block.
        memory: the encoder's output (B, S, width), and booleans (B, S), False at padding; empty without an encoder.
    """

    caches: list[dict[str, Any]]
    memory: tuple[Any, ...] = ()


class Decoder:
    """Runs the decoder of a model of `gpt1`, `gpt2` or `transformer` over new steps only.

    It has no weights of its own: the layers are the model's, found by name, so a model that is trained on, or was loaded from a file,
    decodes with what it has now. A prompt is read in one call (prefill), then a call reads one step for each row. Outputs equal those
    of the whole model on the whole sequence.

    Args:
        model: a `zoo.Model` with a token table and decoder blocks.

    Attributes:
        vocabulary_size: number of tokens.
        max_length: the context, or None where positions have no end.
        source_max_length: the longest source, or None.
        has_encoder: whether `start` needs source ids.

    Raises:
        CanonError: for a model that writes no text.
    """

    def __init__(self, model: Model):
        layers = {layer.name: layer for layer in model.layers}
        blocks = sum(name.startswith("decoder_block") for name in layers)
        if "tokens" not in layers or not blocks:
            raise CanonError(f"Model {model.name!r} writes no text: give one of the families gpt1, gpt2 and transformer.")
        self.model = model
        self.has_encoder = "encoder_block1" in layers
        self._tokens = layers["tokens"]
        self._positions = layers.get("target_positions" if self.has_encoder else "positions")
        self._blocks = [layers[f"decoder_block{number}"] for number in range(1, blocks + 1)]
        self._norm = layers.get("decoder_norm")
        self._encoder: keras.Model | None = None
        if self.has_encoder:
            last = [name for name in layers if name.startswith("encoder_block") or name == "encoder_norm"][-1]
            self._encoder = keras.Model(model.input["source_ids"], layers[last].output)
        self.vocabulary_size: int = self._tokens.vocabulary_size
        self.max_length = _table_length(self._positions)
        self._source_steps = model.input["source_ids"].shape[1] if self.has_encoder else None
        limits = [limit for limit in (_table_length(layers.get("source_positions")), self._source_steps) if limit is not None]
        self.source_max_length: int | None = min(limits, default=None)

    def start(self, batch_size, max_length: int, source_ids=None) -> DecoderState:
        """Return the state before the first step, with room for `max_length` steps of each row.

        Args:
            batch_size: number of rows, an integer or a scalar tensor.
            max_length: steps of a row, the prompt's included.
            source_ids: (B, S), what the encoder reads, with an encoder.
        """
        caches = [block.initial_cache(batch_size, max_length) for block in self._blocks]
        if self._encoder is None:
            return DecoderState(caches)
        source_ids = filled(source_ids, self._source_steps)
        return DecoderState(caches, (self._encoder(source_ids, training=False), keras.ops.not_equal(source_ids, 0)))

    def run(self, token_ids, state: DecoderState, mask=None):
        """Read new steps.

        Args:
            token_ids: (B, T), after those of earlier calls.
            state: what `start` or an earlier call returned.
            mask: booleans (B, T), True first, then False for rows with fewer new steps; None where every id counts (with an
                encoder every id but 0).

        Returns:
            the last block's output (B, T, width), as `logits` takes it, and the new state.
        """
        hidden = self._tokens(token_ids)
        if mask is None and self.has_encoder:
            mask = keras.ops.not_equal(token_ids, 0)
        if self._positions is not None:
            hidden = self._positions(hidden, offset=state.caches[0]["position"])
        memory, memory_mask = state.memory or (None, None)
        options = {"inputs_mask": mask, "memory_mask": memory_mask, "training": False}
        caches = []
        for block, cache in zip(self._blocks, state.caches, strict=True):
            hidden, cache = block(hidden, memory, cache=cache, **options)
            caches.append(cache)
        if self._norm is not None:
            hidden = self._norm(hidden)
        return hidden, state._replace(caches=caches)

    def logits(self, hidden):
        """Return the logits (..., vocabulary_size) of outputs (..., width)."""
        return self._tokens(hidden, reverse=True)


def _table_length(layer: keras.layers.Layer | None) -> int | None:
    """Return how many positions a layer has a table for; None where they have no end."""
    return layer.max_length if isinstance(layer, LearnedPositionEmbedding) else None
