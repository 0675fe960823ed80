"""Beam search for any model that is run step by step."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import tensorflow as tf

from .errors import CanonError

LENGTH_PENALTIES = ("none", "length", "gnmt")


class Beams(NamedTuple):
    """What a beam search found, best first.

    Attributes:
        ids: int32 (B, width, max_length), without the start, with the end; 0 behind it.
        scores: float32 (B, width); -inf where there were fewer hypotheses than `width`.
    """

    ids: tf.Tensor
    scores: tf.Tensor


class _Search(NamedTuple):
    """The loop's variables: W hypotheses that go on and the W best that have ended."""

    position: tf.Tensor
    ids: tf.Tensor  # (B, W, T)
    log_probabilities: tf.Tensor  # (B, W)
    ended_ids: tf.Tensor  # (B, W, T)
    ended_scores: tf.Tensor  # (B, W)
    covered: tf.Tensor  # (B, W, S), the attention that each source step got so far; S is 0 without coverage
    state: Any


def beam_search(
    step: Callable,
    state: Any,
    start_ids,
    *,
    width: int,
    max_length: int,
    end_id: int,
    length_penalty: Literal["none", "length", "gnmt"] = "none",
    alpha: float = 0.6,
    coverage: float = 0.0,
) -> Beams:
    """Search the sequences of the highest score, step by step, keeping `width` of them.

    s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y)                                  (14)
    lp(Y) = 1 ("none"), |Y| ("length") or ((5 + |Y|) / 6)^alpha ("gnmt")
    cp(X; Y) = coverage * sum over i of log(min(sum over j of p_ij, 1))

    |Y| counts the end. Hypotheses that have ended leave the beam and keep their score, so they are neither lost to longer ones nor go
    on; those that reach `max_length` without the end compete as they are. The search stops as soon as no row can get a better one.
    With a width at least the number of prefixes of each length it is exact. It is made of TensorFlow ops with fixed shapes, so it runs
    eagerly, in a `tf.function` and inside an exported signature.

    Args:
        step: (ids (B * width,), position, state) -> (logits (B * width, V), state); `position` is 0 for the start. With coverage it
            returns the attention over the source (B * width, S) besides; a source step that never got any counts as padding.
        state: any nest of tensors with B * width, or B, on the first axis; the rows follow their hypotheses.
        start_ids: integers (B,) that the first step reads.
        width: hypotheses kept, and returned.
        max_length: number of steps at most.
        end_id: id that ends a sequence; a negative one that nothing ends before `max_length`.
        length_penalty: lp, as above.
        alpha: exponent of "gnmt".
        coverage: factor of cp; 0 leaves it out.

    Returns:
        `Beams`: ids, scores. Under "none" and without coverage the scores are log-probabilities.

    Raises:
        CanonError: a width or length below 1, an unknown penalty, a negative alpha or coverage, an end that is no class, or start ids that
            are not (B,).

    Reference:
        Wu et al., 2016, "Google's neural machine translation system", section 7, equation 14, arXiv:1609.08144.
    """
    start_ids = tf.cast(tf.convert_to_tensor(start_ids), tf.int32)
    _check(start_ids, width, max_length, length_penalty, alpha, coverage)

    def penalty(length):
        length = tf.cast(length, tf.float32)
        return {"none": tf.ones_like(length), "length": length, "gnmt": ((5.0 + length) / 6.0) ** alpha}[length_penalty]

    def goes_on(search: _Search):
        # a log-probability only falls, and the longest sequence divides it by most
        best = tf.reduce_max(search.log_probabilities, axis=1) / penalty(max_length)
        return (search.position < max_length) & tf.reduce_any(best > tf.reduce_min(search.ended_scores, axis=1))

    def advance(search: _Search):
        return (_advance(search, step, penalty, start_ids, end_id, coverage),)

    search = _start(step, state, start_ids, width, max_length, coverage)
    (search,) = tf.while_loop(goes_on, advance, (search,), maximum_iterations=max_length)
    scores = search.log_probabilities / penalty(max_length) + _coverage(search.covered, coverage)
    scores = tf.where(search.position == max_length, scores, float("-inf"))
    return Beams(*_best_of(search, search.ids, scores))


def _check(start_ids, width: int, max_length: int, length_penalty: str, alpha: float, coverage: float) -> None:
    for name, value in (("width", width), ("max_length", max_length)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise CanonError(f"{name} must be an integer of at least 1, got {value!r}.")
    if length_penalty not in LENGTH_PENALTIES:
        raise CanonError(f"length_penalty must be one of {', '.join(map(repr, LENGTH_PENALTIES))}, got {length_penalty!r}.")
    if alpha < 0.0 or coverage < 0.0:
        raise CanonError(f"alpha and coverage must be at least 0, got {alpha!r} and {coverage!r}.")
    if len(start_ids.shape) != 1:
        raise CanonError(f"start_ids must have shape (batch,), got {tuple(start_ids.shape)}.")


def _start(step, state, start_ids, width: int, max_length: int, coverage: float) -> _Search:
    batch = tf.shape(start_ids)[0]
    rows = start_ids.shape[0]
    state = tf.nest.map_structure(lambda item: _widened(tf.convert_to_tensor(item), start_ids, width), state)
    ids = tf.zeros((batch, width, max_length), tf.int32)
    ids.set_shape((rows, width, max_length))
    # all hypotheses begin alike, so only the first one counts
    first = tf.repeat(tf.constant([[0.0] + [float("-inf")] * (width - 1)]), batch, axis=0)
    none = tf.fill((batch, width), float("-inf"))
    for item in (first, none):
        item.set_shape((rows, width))
    covered = tf.zeros((batch, width, 0))
    if coverage:
        attention = step(tf.repeat(start_ids, width), tf.constant(0), state)[2]
        covered = tf.zeros((batch, width, tf.shape(attention)[-1]))
        covered.set_shape((rows, width, attention.shape[-1]))
    return _Search(tf.constant(0), ids, first, ids, none, covered, state)


def _widened(item: tf.Tensor, start_ids: tf.Tensor, width: int) -> tf.Tensor:
    """Return a part of the state with B * width rows, of one that has as many, or B."""
    rows = tf.shape(start_ids)[0] * width
    wide = tf.repeat(item, rows // tf.maximum(tf.shape(item)[0], 1), axis=0)
    batch = start_ids.shape[0]
    wide.set_shape((None if batch is None else batch * width, *item.shape[1:]))
    return wide


def _advance(search: _Search, step, penalty, start_ids, end_id: int, coverage: float) -> _Search:
    """Read one step and return the search after it."""
    width = search.ids.shape[1]
    batch, position = tf.shape(start_ids)[0], search.position
    last = tf.where(position > 0, search.ids[:, :, tf.maximum(position - 1, 0)], start_ids[:, None])
    outputs = step(tf.reshape(last, [-1]), position, search.state)
    logits, state = outputs[:2]
    following = tf.nn.log_softmax(tf.cast(logits, tf.float32))
    classes = following.shape[-1]
    if end_id >= classes:
        raise CanonError(f"end_id must be below the {classes} classes that step returns logits of, got {end_id}: take -1 for no end.")
    totals = search.log_probabilities[:, :, None] + tf.reshape(following, (batch, width, classes))
    covered = search.covered
    if coverage:
        covered = covered + tf.reshape(tf.cast(outputs[2], tf.float32), tf.shape(covered))

    here = tf.one_hot(position, search.ids.shape[2], on_value=True, off_value=False)
    ends = totals[:, :, end_id] if end_id >= 0 else tf.fill(tf.shape(totals)[:2], float("-inf"))
    scores = ends / penalty(position + 1) + _coverage(covered, coverage)
    ended_ids, ended_scores = _best_of(search, tf.where(here, end_id, search.ids), scores)

    goes_on = tf.where(tf.range(classes) == end_id, float("-inf"), totals)
    log_probabilities, places = tf.math.top_k(tf.reshape(goes_on, (batch, width * classes)), width)
    parents, symbols = places // classes, places % classes
    rows = tf.reshape(parents + tf.range(batch)[:, None] * width, [-1])

    def followed(new, old):
        gathered = tf.gather(new, rows)
        gathered.set_shape(old.shape)
        return gathered

    ids = tf.where(here, symbols[:, :, None], tf.gather(search.ids, parents, batch_dims=1))
    covered = tf.gather(covered, parents, batch_dims=1)
    state = tf.nest.map_structure(followed, state, search.state)
    following_search = _Search(position + 1, ids, log_probabilities, ended_ids, ended_scores, covered, state)
    for new, old in zip(following_search[1:6], search[1:6], strict=True):
        new.set_shape(old.shape)
    return following_search


def _best_of(search: _Search, ids, scores):
    """Return the ids and scores of the W best of those that have ended and W others, best first."""
    scores = tf.concat([search.ended_scores, scores], axis=1)
    best, places = tf.math.top_k(scores, search.ids.shape[1])
    return tf.gather(tf.concat([search.ended_ids, ids], axis=1), places, batch_dims=1), best


def _coverage(covered, factor: float):
    """Return cp (B, W), or 0 without coverage."""
    if not factor:
        return 0.0
    shares = tf.where(covered > 0.0, tf.minimum(covered, 1.0), 1.0)
    return factor * tf.reduce_sum(tf.math.log(shares), axis=-1)
