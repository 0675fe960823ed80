"""Prompts as rectangular arrays, checked before anything is computed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from .errors import CanonError
from .recurrent.decoder import RecurrentDecoder
from .transformers.decoder import Decoder

_BUCKET = 16  # prompts are filled up to a multiple of this many ids


class Prompts(NamedTuple):
    """Prompts as tensors.

    Attributes:
        token_ids: int32 (B, T), filled up at the right with 0.
        lengths: int32 (B,), ids of each prompt.
        source_ids: int32 (B, S) for a model with an encoder, filled up with 0; None else.
    """

    token_ids: tf.Tensor
    lengths: tf.Tensor
    source_ids: tf.Tensor | None


def read_prompts(prompts: Any, decoder: Decoder | RecurrentDecoder, new_tokens: int) -> Prompts:
    """Check prompts and bring them into one array.

    Args:
        prompts: lists of ids; for a model with an encoder a mapping with `source_ids` and `target_ids`.
        decoder: what reads them.
        new_tokens: ids that are to be written after each.

    Raises:
        CanonError: for prompts of another form, none at all, an empty one, an id that is none of the vocabulary or padding, or more
            ids than the context, or the encoder, has room for.
    """
    sources = None
    if decoder.has_encoder:
        if not isinstance(prompts, Mapping) or set(prompts) != {"source_ids", "target_ids"}:
            raise CanonError(f"Prompts of {decoder.model.name!r} must be a dict of source_ids and target_ids.")
        read = decoder.source_vocabulary_size if isinstance(decoder, RecurrentDecoder) else decoder.vocabulary_size
        sources, prompts = _rows("source_ids", prompts["source_ids"], decoder, read), prompts["target_ids"]
    rows = _rows("prompt", prompts, decoder, decoder.vocabulary_size)
    if sources is not None and len(sources) != len(rows):
        raise CanonError(f"source_ids and target_ids must have as many rows, got {len(sources)} and {len(rows)}.")
    if (sources is not None or isinstance(decoder, RecurrentDecoder)) and any((row == 0).any() for row in rows):
        what = "The prompt holds" if sources is None else "target_ids hold"
        raise CanonError(f"{what} the id 0, which is padding to {decoder.model.name!r}: leave it out.")
    longest = max(map(len, rows))
    limit = decoder.max_length
    if limit is not None and longest + new_tokens > limit:
        raise CanonError(
            f"A prompt of {longest} ids and {new_tokens} new ones are more than the context of {decoder.model.name!r}, {limit}: "
            "shorten the prompt or ask for fewer."
        )
    if sources is not None and not all(row.any() for row in sources):
        raise CanonError(f"A source holds the id 0 alone, which is padding to {decoder.model.name!r}: give at least one other id.")
    width = -(-longest // _BUCKET) * _BUCKET
    if limit is not None:  # the filling is not read, but its slots of the cache must have positions
        width = min(width, limit - new_tokens)
    return Prompts(_filled(rows, width), tf.constant([len(row) for row in rows], tf.int32), _sources(sources, decoder))


def _sources(rows: list[np.ndarray] | None, decoder: Decoder | RecurrentDecoder) -> tf.Tensor | None:
    if rows is None:
        return None
    longest = max(map(len, rows))
    width, limit = -(-longest // _BUCKET) * _BUCKET, decoder.source_max_length
    if limit is not None:
        if longest > limit:
            raise CanonError(f"A source of {longest} ids is more than {decoder.model.name!r} can read, {limit}: shorten it.")
        width = min(width, limit)
    return _filled(rows, width)


def _filled(rows: list[np.ndarray], width: int) -> tf.Tensor:
    return tf.constant(np.stack([np.pad(row, (0, width - len(row))) for row in rows]), tf.int32)


def _rows(name: str, prompts: Any, decoder: Decoder | RecurrentDecoder, tokens: int) -> list[np.ndarray]:
    if isinstance(prompts, str | bytes | Mapping) or not hasattr(prompts, "__len__") or not len(prompts):
        raise CanonError(f"{name} must be a list of lists of ids with at least one row, got {prompts!r}.")
    rows = []
    for number, prompt in enumerate(prompts):
        try:
            row = np.asarray(prompt)
        except ValueError as error:  # lists of unequal lengths
            raise CanonError(f"{name} {number} must be one list of ids, got {prompt!r}: give each text a row of its own.") from error
        if row.ndim != 1 or not row.size:
            raise CanonError(f"{name} {number} has no ids: give at least one, such as the token that begins a text.")
        if row.dtype.kind not in "iu":
            raise CanonError(f"{name} {number} must hold integer ids, got {row.dtype}: tokenize text first.")
        if row.min() < 0 or row.max() >= tokens:
            wrong = int(row[(row < 0) | (row >= tokens)][0])
            raise CanonError(f"{name} {number} has the id {wrong}, and {decoder.model.name!r} has {tokens} tokens.")
        rows.append(row)
    return rows
