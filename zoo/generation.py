"""Text out of the Transformers that write it: greedy, sampled or by beam search, with a key/value cache.

A prompt is read in one pass, which gives its first new id; the loop then reads one id for each row and writes the next. Shapes are
static: the cache has room for prompt and new ids, and prompts are filled up to one of few widths, so that few shapes are ever compiled.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from .beams import LENGTH_PENALTIES, beam_search
from .errors import CanonError
from .memory import free_graphs, use_huge_pages
from .model import Model, check_ours
from .prompts import Prompts, read_prompts
from .recurrent.decoder import RecurrentDecoder
from .registry import info
from .sampling import repetition_penalty, sample, temperature, top_k, top_p
from .transformers.decoder import Decoder

_NO_END = -1  # an id that no token has


@dataclass(frozen=True)
class Generation:
    """How to choose the next id.

    Args:
        max_new_tokens: ids to write for each prompt at most.
        temperature: divides the logits; 0 is greedy, which takes the likeliest id each time.
        top_k: draw among the k likeliest ids only; None among all.
        top_p: draw among the fewest ids that hold this share of the probability; None among all.
        repetition_penalty: above 1 makes ids less likely that the row already has; 1 changes nothing.
        stop_ids: ids that end a row; the one that did is part of it.
        beam_width: above 1 searches with that many hypotheses instead of drawing, and needs one stop id.
        length_penalty: of the beam search.
    """

    max_new_tokens: int = 64
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float = 1.0
    stop_ids: tuple[int, ...] = ()
    beam_width: int = 1
    length_penalty: Literal["none", "length", "gnmt"] = "none"

    def __post_init__(self):
        for name in ("max_new_tokens", "beam_width"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise CanonError(f"{name} must be an integer of at least 1, got {value!r}.")
        for name in ("temperature", "top_p", "repetition_penalty"):
            value = getattr(self, name)
            optional = value is None and name == "top_p"
            if not optional and (isinstance(value, bool) or not isinstance(value, Real)):
                raise CanonError(f"{name} must be a number, got {value!r}.")
        if not 0.0 <= self.temperature < float("inf"):
            raise CanonError(f"temperature must be at least 0, where 0 is greedy, got {self.temperature!r}.")
        if not isinstance(self.stop_ids, tuple | list) or not all(_is_id(stop) for stop in self.stop_ids):
            raise CanonError(f"stop_ids must be a tuple of ids, integers of at least 0, got {self.stop_ids!r}.")
        if not self.temperature and (self.top_k is not None or self.top_p is not None):
            raise CanonError("top_k and top_p narrow a draw, and temperature=0 takes the likeliest id: give a temperature above 0.")
        if self.length_penalty not in LENGTH_PENALTIES:
            raise CanonError(f"length_penalty must be one of {', '.join(map(repr, LENGTH_PENALTIES))}, got {self.length_penalty!r}.")
        if self.beam_width > 1 and (self.temperature or self.repetition_penalty != 1.0 or len(self.stop_ids) > 1):
            raise CanonError("A beam search takes no temperature, no repetition_penalty and at most one stop id.")


class Generator:
    """Writes text with one model; the loop is compiled once for each shape and kept.

    Args:
        model: a `zoo.Model` of a family that writes text (`gpt1`, `gpt2`, `transformer`, `char_rnn`, `seq2seq` and its sisters).
        settings: how to choose; `Generation()` is greedy.
        jit_compile: True to compile with XLA, which pays off from some hundred ids on: the whole loop where the likeliest id is taken, so
            that caches are written in place, else the step.

    Raises:
        CanonError: for a model that writes no text or is none of the zoo, or a stop id that is none of its tokens.
    """

    def __init__(self, model: Model, settings: Generation | None = None, *, jit_compile: bool = False):
        check_ours(model)
        self.settings = settings or Generation()
        recurrent = info(model.record.variant).builder.startswith("recurrent.")
        self.decoder: Any = RecurrentDecoder(model) if recurrent else Decoder(model)
        for stop in self.settings.stop_ids:
            if stop >= self.decoder.vocabulary_size:
                raise CanonError(
                    f"The stop id {stop} is no token of {model.name!r}, which has {self.decoder.vocabulary_size}: take ids of the "
                    "tokenizer that it was trained with."
                )
        use_huge_pages(variable for weight in model.weights if isinstance(variable := weight.value, tf.Variable))
        self._run = tf.function(self._last_logits, jit_compile=jit_compile or None, autograph=False)
        self._go_on: Any = self._steps
        if jit_compile and not self.settings.temperature:  # XLA draws other numbers than TensorFlow from the same seed
            self._go_on = tf.function(self._steps, jit_compile=True, autograph=False)
        self._loop = tf.function(self.write, autograph=False)
        self._next = tf.function(self.step, autograph=False)
        self._first = tf.function(self.begin, autograph=False)

    def __call__(self, prompts, *, seed: int | Sequence[int] = 0) -> list[list[int]]:
        """Write on after each prompt.

        Args:
            prompts: lists of ids, of any lengths; for a model with an encoder a dict of `source_ids`, what it reads, and
                `target_ids`, what the text begins with (a start token).
            seed: an integer of 32 bits, or two; the same seed draws the same text.

        Returns:
            the new ids of each row, without the prompt, with the stop id that ended it.

        Raises:
            CanonError: for an empty prompt, an id that is none of the vocabulary, more ids than the context has, or a larger seed.
        """
        read = self._read(prompts)
        known = self._loop.experimental_get_tracing_count()
        ids = np.asarray(self._loop(read.token_ids, read.lengths, _seed(seed), read.source_ids))
        if self._loop.experimental_get_tracing_count() > known:
            free_graphs()  # tracing and compiling leave a good deal
        return [self._cut(row) for row in ids]

    def stream(self, prompts, *, seed: int | Sequence[int] = 0) -> Iterator[list[int | None]]:
        """Write on after each prompt, and give the ids of all rows after each step; None for a row that has ended.

        The ids are those of a call with the same seed.

        Args:
            prompts, seed: as for a call.

        Raises:
            CanonError: as for a call, and for a beam search, which knows no id before the end.
        """
        if self.settings.beam_width > 1:
            raise CanonError("A beam search cannot stream, because its first ids may change until its end: set beam_width=1.")
        return self._stream(self._read(prompts), _seed(seed))

    def _stream(self, read: Prompts, seed) -> Iterator[list[int | None]]:
        loop = self._first(read.token_ids, read.lengths, read.source_ids)
        for _ in range(self.settings.max_new_tokens):
            over = np.asarray(loop["ended"])
            if over.all():
                return
            loop = self._next(loop, seed)
            yield [None if ended else int(token) for token, ended in zip(np.asarray(loop["current"]), over, strict=True)]

    def write(self, token_ids, lengths, seed, source_ids=None):
        """Write on, in a graph: made of TensorFlow ops, so that a signature can export it.

        Args:
            token_ids: int32 (B, T), prompts filled up at the right with any ids; at least two columns where T is open.
            lengths: int32 (B,), ids of each prompt, at least 1.
            seed: int32 (2,), or (2, B), so that each row draws what it would alone.
            source_ids: int32 (B, S), for a model with an encoder.

        Returns:
            int32 (B, max_new_tokens), 0 behind the end of a row.
        """
        if self.settings.beam_width > 1:
            return self._search(token_ids, lengths, source_ids)
        loop, read = self._blank(token_ids, lengths, source_ids)
        hidden, state = self.decoder.run(token_ids, loop["state"], read)
        last = tf.gather(hidden, lengths - 1, batch_dims=1)
        loop = self._with_next({**loop, "state": state}, self._scores(last), seed)
        return loop["written"] if self.settings.max_new_tokens == 1 else self._go_on(loop, seed)

    def _steps(self, loop: dict[str, Any], seed):
        """Return what is written (B, max_new_tokens) when the loop has ended."""

        def goes_on(loop):
            return (loop["step"] < self.settings.max_new_tokens) & ~tf.reduce_all(loop["ended"])

        (loop,) = tf.while_loop(goes_on, lambda loop: (self.step(loop, seed),), (loop,))
        return loop["written"]

    def _read(self, prompts) -> Prompts:
        return read_prompts(prompts, self.decoder, self.settings.max_new_tokens)

    def begin(self, token_ids, lengths, source_ids=None) -> dict[str, Any]:
        """Return the loop's variables after all of each prompt but its last id was read, as `step` and a beam search go on."""
        loop, read = self._blank(token_ids, lengths, source_ids)
        if token_ids.shape[1] == 1:
            return loop
        # the first column of True is gone, so that each row has one less
        _, state = self.decoder.run(token_ids[:, :-1], loop["state"], read[:, 1:])
        return {**loop, "state": state}

    def _blank(self, token_ids, lengths, source_ids) -> tuple[dict[str, Any], tf.Tensor]:
        """Return the loop's variables before anything was read, and booleans (B, T), True at the ids of the prompts."""
        rows, width = (tf.shape(token_ids)[axis] if size is None else size for axis, size in enumerate(token_ids.shape))
        read = tf.range(width) < lengths[:, None]
        loop = {
            "step": tf.constant(0),
            "current": tf.gather(token_ids, lengths - 1, batch_dims=1),
            "ended": tf.zeros((rows,), tf.bool),
            "prompt": tf.where(read, token_ids, _NO_END),
            "written": tf.zeros((rows, self.settings.max_new_tokens), tf.int32),
            "state": self.decoder.start(rows, width + self.settings.max_new_tokens, source_ids),
        }
        return loop, read

    def step(self, loop: dict[str, Any], seed) -> dict[str, Any]:
        """Read the current ids and write the next."""
        logits, state = self._run(loop["current"], loop["state"])
        return self._with_next({**loop, "state": state}, logits, seed)

    def _with_next(self, loop: dict[str, Any], logits, seed) -> dict[str, Any]:
        """Return the loop's variables with one more id written, chosen by logits (B, V)."""
        settings, step, ended = self.settings, loop["step"], loop["ended"]
        if settings.repetition_penalty != 1.0:
            columns = tf.range(settings.max_new_tokens) < step
            ids = tf.concat([loop["prompt"], tf.where(columns, loop["written"], _NO_END)], axis=1)
            logits = repetition_penalty(logits, ids, settings.repetition_penalty)
        chosen = self._choose(logits, seed, step)
        chosen = tf.where(ended, 0, chosen)
        written = tf.where(tf.range(settings.max_new_tokens) == step, chosen[:, None], loop["written"])
        for stop in settings.stop_ids:
            ended = ended | ((chosen == stop) & ~loop["ended"])
        return {**loop, "step": step + 1, "current": chosen, "ended": ended, "written": written}

    def _choose(self, logits, seed, step):
        settings = self.settings
        if not settings.temperature:
            return tf.argmax(logits, axis=-1, output_type=tf.int32)
        logits = temperature(logits, settings.temperature)
        if settings.top_k is not None:
            logits = top_k(logits, settings.top_k)
        if settings.top_p is not None:
            logits = top_p(logits, settings.top_p)
        return sample(logits, tf.stack([seed[0], seed[1] + step]))

    def _last_logits(self, ids, state):
        """Return float32 logits (B, V) after one more id for each row (B,), and the new state."""
        hidden, state = self.decoder.run(ids[:, None], state)
        return self._scores(hidden[:, 0]), state

    def _scores(self, hidden):
        """Return float32 logits (B, V) of what the decoder gave for the last id of each row."""
        logits = tf.cast(self.decoder.logits(hidden), tf.float32)
        if self.decoder.has_encoder:  # its id 0 is padding, which is never written
            logits = tf.where(tf.range(self.decoder.vocabulary_size) == 0, tf.float32.min, logits)
        return logits

    def _search(self, token_ids, lengths, source_ids):
        settings = self.settings
        loop = self.begin(token_ids, lengths, source_ids)
        found = beam_search(
            lambda ids, _, state: self._last_logits(ids, state),
            loop["state"],
            loop["current"],
            width=settings.beam_width,
            max_length=settings.max_new_tokens,
            end_id=settings.stop_ids[0] if settings.stop_ids else _NO_END,
            length_penalty=settings.length_penalty,
        )
        return found.ids[:, 0]

    def _cut(self, row: np.ndarray) -> list[int]:
        """Return a row up to its first stop id."""
        ends = np.flatnonzero(np.isin(row, self.settings.stop_ids))
        return row[: ends[0] + 1].tolist() if len(ends) else row.tolist()


def generate(model: Model, prompts, settings: Generation | None = None, *, seed: int | Sequence[int] = 0) -> list[list[int]]:
    """Write on after each prompt, once; for many calls keep a `Generator`, which compiles once.

    Args:
        model, settings: as for `Generator`.
        prompts, seed: as for a call of it.

    Returns:
        the new ids of each row.
    """
    return Generator(model, settings)(prompts, seed=seed)


def _is_id(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def _seed(seed: int | Sequence[int]) -> tf.Tensor:
    pair = (seed, 0) if isinstance(seed, Integral) else tuple(seed) if isinstance(seed, Iterable) else ()
    if len(pair) != 2 or not all(isinstance(part, Integral) for part in pair):
        raise CanonError(f"seed must be an integer or two integers, got {seed!r}.")
    if not all(tf.int32.min <= int(part) <= tf.int32.max for part in pair):
        raise CanonError(f"seed must fit in 32 bits, from {tf.int32.min} to {tf.int32.max}, got {seed!r}.")
    return tf.constant(pair, tf.int32)
