"""Choosing the next token from logits (B, V): filters that can be put one behind the other, and a draw."""

from numbers import Real

import tensorflow as tf

from .errors import CanonError


def temperature(logits, value):
    """Divide logits by a temperature: below 1 makes the likely likelier, above 1 makes all more alike.

    Args:
        logits: (B, V).
        value: above 0; a number, or a scalar tensor, which is not checked. What is below 1e-6 (in float16, 1e-3) counts as that, where
            the likeliest is all but certain: the quotient would leave the range of the type.

    Raises:
        CanonError: for a number that is not above 0.
    """
    _number("temperature", value, 0.0, float("inf"))
    least = 1e-3 if logits.dtype == tf.float16 else 1e-6
    return logits / tf.maximum(tf.cast(value, logits.dtype), tf.cast(least, logits.dtype))


def top_k(logits, count: int):
    """Forbid (-inf) all but the `count` largest logits; those equal to the smallest of them stay too.

    Args:
        logits: (B, V).
        count: at least 1; V or more forbids nothing.

    Raises:
        CanonError: for a count below 1.

    Reference:
        Fan, Lewis, Dauphin, 2018, "Hierarchical neural story generation", section 5.4, arXiv:1805.04833.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise CanonError(f"top_k must be an integer of at least 1, got {count!r}.")
    largest = tf.math.top_k(logits, min(count, logits.shape[-1])).values
    return _forbid_below(logits, largest[:, -1:])


def top_p(logits, share):
    """Forbid (-inf) all but the fewest tokens whose probabilities sum to at least `share`; the likeliest one always stays.

    Args:
        logits: (B, V).
        share: above 0 and at most 1; a number, or a scalar tensor, which is not checked.

    Raises:
        CanonError: for a number out of range.

    Reference:
        Holtzman, Buys, Du, Forbes, Choi, 2019, "The curious case of neural text degeneration", section 3.1, arXiv:1904.09751.
    """
    _number("top_p", share, 0.0, 1.0)
    ordered = tf.sort(logits, direction="DESCENDING")
    # computed in single precision whatever the model: the sum runs over the whole vocabulary
    before = tf.cumsum(tf.nn.softmax(tf.cast(ordered, tf.float32)), axis=-1, exclusive=True)
    kept = tf.concat([tf.ones_like(before[:, :1], tf.bool), before[:, 1:] < tf.cast(share, tf.float32)], axis=-1)
    smallest = tf.reduce_min(tf.where(kept, ordered, logits.dtype.max), axis=-1, keepdims=True)
    return _forbid_below(logits, smallest)


def repetition_penalty(logits, ids, factor, mask=None):
    """Make tokens that were already used less likely: their logits are divided by `factor`, negative ones multiplied.

    Args:
        logits: (B, V).
        ids: integers (B, T), the tokens so far.
        factor: above 0; 1 changes nothing.
        mask: booleans (B, T), False at ids that do not count, such as padding; None counts all.

    Raises:
        CanonError: for a number that is not above 0.

    Reference:
        Keskar et al., 2019, "CTRL: a conditional transformer language model", section 4.1, arXiv:1909.05858.
    """
    _number("repetition_penalty", factor, 0.0, float("inf"))
    ids = tf.cast(ids, tf.int32)
    vocabulary = logits.shape[-1]
    counts = (ids >= 0) & (ids < vocabulary)
    if mask is not None:
        counts &= tf.cast(mask, tf.bool)
    # (B, V + 1) rather than a row of V booleans for each id: those that do not count go to the last column, which is cut off
    columns = tf.where(counts, ids, vocabulary)
    rows = tf.broadcast_to(tf.range(tf.shape(ids)[0])[:, None], tf.shape(ids))
    used = tf.scatter_nd(tf.stack([rows, columns], axis=-1), tf.ones_like(ids, tf.float32), tf.stack([tf.shape(ids)[0], vocabulary + 1]))
    used = used[:, :vocabulary] > 0.0
    factor = tf.cast(factor, logits.dtype)
    lowered = tf.where(logits > 0, logits / factor, logits * factor)
    return tf.where(used, lowered, logits)


def sample(logits, seed):
    """Draw a token for each row from the softmax of its logits; the same seed draws the same tokens.

    Args:
        logits: (B, V); -inf is never drawn.
        seed: two integers, or a tensor (2,); or (2, B), two for each row, which then draws what it would alone.

    Returns:
        int32 (B,).
    """
    seed = tf.convert_to_tensor(seed)
    if seed.shape.rank == 2:
        rows = (tf.expand_dims(logits, 1), tf.transpose(seed))  # (B, 1, V) and (B, 2)
        return tf.map_fn(lambda row: sample(*row)[0], rows, fn_output_signature=tf.int32)
    drawn = tf.random.stateless_categorical(tf.cast(logits, tf.float32), 1, seed, dtype=tf.int32)
    return drawn[:, 0]


def _forbid_below(logits, smallest):
    return tf.where(logits < smallest, tf.constant(float("-inf"), logits.dtype), logits)


def _number(name: str, value, above: float, most: float) -> None:
    if isinstance(value, Real) and (isinstance(value, bool) or not above < float(value) <= most or float(value) == float("inf")):
        limit = "" if most == float("inf") else f" and at most {most:g}"
        raise CanonError(f"{name} must be above {above:g}{limit}, got {value!r}.")
