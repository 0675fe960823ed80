"""Step-by-step running of the recurrent models that write text, in the form that `zoo.Generator` runs."""

from typing import Any

import keras

from ...layers import MultiplicativeAttention
from ..errors import CanonError
from ..model import Model
from ..stepping import encoder_model, step_model
from ..token_input import filled

LOWEST = -1e30  # a logit that is never chosen, and finite, so that probabilities stay numbers


class RecurrentDecoder:
    """Runs a recurrent language model or translator over new steps only, by its step model.

    It has no weights of its own, so a model that is trained on decodes with what it has now.

    Args:
        model: a `zoo.Model` with a step model.

    Attributes:
        vocabulary_size: number of tokens that it writes.
        source_vocabulary_size: number of tokens that an encoder reads; 0 without one.
        max_length: None, as a recurrence has no end.
        source_max_length: the longest source that the attention has places for, or None.
        has_encoder: whether `start` needs source ids.

    Raises:
        CanonError: for a model that cannot be run step by step.
    """

    def __init__(self, model: Model):
        self.model = model
        self._step = step_model(model)
        self.has_encoder = "source_ids" in {tensor.name for tensor in model.inputs}
        self._encoder = encoder_model(model) if self.has_encoder else None
        self.vocabulary_size: int = self._step.output["logits"].shape[-1]
        self.source_vocabulary_size: int = model.get_layer("source_embedding").vocabulary_size if self.has_encoder else 0
        self.max_length = None
        self._source_steps = model.input["source_ids"].shape[1] if self.has_encoder else None
        limits = [layer.max_length for layer in model.layers if isinstance(layer, MultiplicativeAttention)]
        self.source_max_length: int | None = min((limit for limit in (*limits, self._source_steps) if limit is not None), default=None)

    def start(self, batch_size, max_length: int, source_ids=None) -> dict[str, Any]:
        """Return the states before the first step.

        Args:
            batch_size: number of rows, an integer or a scalar tensor.
            max_length: steps of a row; a recurrence needs no room for them.
            source_ids: (B, S), what the encoder reads, with an encoder.
        """
        if self._encoder is not None:
            if source_ids is None:
                raise CanonError(f"{self.model.name!r} translates: give source_ids, what it is to read.")
            return dict(self._encoder(filled(source_ids, self._source_steps), training=False))
        widths = {tensor.name: tensor.shape[-1] for tensor in self._step.inputs if tensor.name != "token_ids"}
        return {name: keras.ops.zeros((batch_size, width)) for name, width in widths.items()}

    def run(self, token_ids, state: dict[str, Any], mask=None):
        """Read new steps.

        Args:
            token_ids: (B, T), after those of earlier calls.
            state: what `start` or an earlier call returned.
            mask: booleans (B, T), False at ids that do not count; None where every id but 0 counts.

        Returns:
            the logits (B, T, vocabulary_size), as `logits` takes them, and the new state.
        """
        if mask is not None:
            token_ids = keras.ops.where(mask, token_ids, keras.ops.zeros_like(token_ids))
        outputs = self._step({"token_ids": token_ids, **state}, training=False)
        return outputs["logits"], {name: outputs.get(name, value) for name, value in state.items()}

    def logits(self, hidden):
        """Return the logits (..., vocabulary_size) of the next token, which is never padding."""
        is_padding = keras.ops.equal(keras.ops.arange(self.vocabulary_size), 0)
        return keras.ops.where(is_padding, keras.ops.cast(LOWEST, hidden.dtype), hidden)
