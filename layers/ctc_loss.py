"""Connectionist temporal classification: the loss of unsegmented sequence labelling."""

import keras
import numpy as np

from .arguments import one_of
from .ctc_arguments import checked_blank, checked_lengths, checked_logits, known

# The logarithm of probability 0: finite, so that no gradient is NaN, and far below any sum of log-probabilities.
LOG_ZERO = -1e30


def ctc_feasible(labels, label_lengths, logit_lengths, num_classes, blank=0):
    """Tell which rows have an alignment at all, so that their label has a probability above 0.

    A label of n symbols needs n frames, and one more for each pair of equal neighbours, between which a blank must stand.
    A length below 0 or above what there is, or a symbol that is the blank or no class, makes a row infeasible too.

    Args:
        labels: integers of shape (batch, symbols); what lies behind a row's length is ignored.
        label_lengths: integers of shape (batch,).
        logit_lengths: integers of shape (batch,), the frames of each row.
        num_classes: number of classes, the blank included.
        blank: index of the blank.

    Returns:
        booleans of shape (batch,).

    Reference:
        Graves, Fernandez, Gomez, Schmidhuber, 2006, "Connectionist Temporal Classification", section 3, ICML 2006.

    Example:
        >>> from keras_canon.layers import ctc_feasible
        >>> print(ctc_feasible([[1, 1], [1, 2]], [2, 2], [2, 2], num_classes=3).numpy().tolist())
        [False, True]
    """
    labels, label_lengths, logit_lengths = (
        keras.ops.cast(keras.ops.convert_to_tensor(item), "int32") for item in (labels, label_lengths, logit_lengths)
    )
    width = keras.ops.shape(labels)[1]
    inside = keras.ops.expand_dims(keras.ops.arange(width, dtype="int32"), 0) < keras.ops.expand_dims(label_lengths, 1)
    repeats = keras.ops.sum(keras.ops.cast((labels[:, 1:] == labels[:, :-1]) & inside[:, 1:], "int32"), axis=1)
    legal = (labels >= 0) & (labels < num_classes) & (labels != blank)
    lengths_legal = (label_lengths >= 0) & (label_lengths <= width) & (logit_lengths >= 0)
    return keras.ops.all(legal | ~inside, axis=1) & lengths_legal & (label_lengths + repeats <= logit_lengths)


def ctc_loss(labels, logits, label_lengths=None, logit_lengths=None, blank=0, infeasible="zero"):
    """Return the negative log-probability of each label, summed over all its alignments with the frames.

    With l' the label with blanks at both ends and between all symbols, and y_t the softmax of the logits at frame t:

    alpha_t(s) = (a_t(s) + alpha_{t-1}(s-2)) y_t(l'_s), without the second term where l'_s is the blank or l'_{s-2}   (6)
    a_t(s) = alpha_{t-1}(s) + alpha_{t-1}(s-1)                                                                        (7)
    p(l | x) = alpha_T(|l'|) + alpha_T(|l'| - 1),   loss = -ln p(l | x)                                               (8)

    The sums run in float32 on logarithms, rescaled at each frame, so that neither long nor confidently wrong rows lose
    their gradient; the gradient comes from the backward variables (section 4.1), not from differentiating the loop.

    An empty label is a label like others: its loss is the negative log-probability of blanks in every frame, and 0 for a row
    without frames.
    A row without any alignment (too few frames, see `ctc_feasible`) has probability 0. With `infeasible="zero"` its loss is
    0 and it sends no gradient, so it drops out of training; with "error" it raises. A symbol or length out of range raises
    where the values are known; in a compiled function it counts as infeasible.

    Args:
        labels: integers l of shape (batch, symbols), without blanks; what lies behind a row's length is ignored.
        logits: unnormalised log-probabilities of shape (batch, frames, classes); log-probabilities serve as well.
        label_lengths: integers of shape (batch,); None takes all symbols.
        logit_lengths: integers of shape (batch,), the frames of each row (T); None takes all frames.
        blank: index of the blank, from 0 to classes - 1.
        infeasible: "zero" or "error". "error" needs known labels and lengths, so it is refused in a compiled function.

    Returns:
        losses of shape (batch,), float32, not reduced and not divided by lengths.

    Raises:
        ValueError: logits or labels of another rank; a blank that is no class; lengths that are negative, not integers, or
            longer than what there is; a symbol that is the blank or no class; an infeasible row under "error".

    Reference:
        Graves, Fernandez, Gomez, Schmidhuber, 2006, "Connectionist Temporal Classification", ICML, sections 3 and 4,
        doi:10.1145/1143844.1143891.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ctc_loss
        >>> loss = ctc_loss([[1]], keras.ops.log([[[0.6, 0.4], [0.6, 0.4]]]))  # -ln(0.4 * 0.4 + 2 * 0.4 * 0.6)
        >>> print(round(float(loss[0]), 4))
        0.4463
    """
    one_of("infeasible", infeasible, ("zero", "error"))
    logits = keras.ops.cast(keras.ops.convert_to_tensor(logits), "float32")
    batch, frames, classes = checked_logits("ctc_loss", logits)
    blank = checked_blank(blank, classes)
    if logit_lengths is None:
        logit_lengths = keras.ops.sum(keras.ops.ones_like(logits[..., 0], dtype="int32"), axis=1)
    logit_lengths = checked_lengths("logit_lengths", logit_lengths, batch, frames)
    values = known(labels)
    labels = labels if values is None else values
    if len(labels.shape) != 2 or (batch is not None and labels.shape[0] not in (None, batch)):
        raise ValueError(f"labels must have shape (batch, symbols) with batch {batch}, got {tuple(labels.shape)}.")
    if label_lengths is None:
        label_lengths = keras.ops.sum(keras.ops.ones_like(labels, dtype="int32"), axis=1)
    label_lengths = checked_lengths("label_lengths", label_lengths, batch, labels.shape[1])
    _check_values(values, label_lengths, logit_lengths, classes, blank, infeasible)

    labels = keras.ops.cast(keras.ops.convert_to_tensor(labels), "int32")
    feasible = ctc_feasible(labels, label_lengths, logit_lengths, classes, blank) & (logit_lengths <= keras.ops.shape(logits)[1])
    # Indices out of range in rows that do not count must not reach the gather below.
    labels = keras.ops.where((labels >= 0) & (labels < classes), labels, blank)
    # what lies behind a row's length may be anything, and the softmax of NaN has a gradient of NaN wherever it goes
    real = keras.ops.expand_dims(keras.ops.arange(keras.ops.shape(logits)[1], dtype="int32"), 0) < keras.ops.expand_dims(logit_lengths, 1)
    logits = keras.ops.where(keras.ops.expand_dims(real, -1), logits, keras.ops.zeros_like(logits))
    losses = _negative_log_likelihood(labels, keras.ops.log_softmax(logits, axis=-1), label_lengths, logit_lengths, blank)
    return keras.ops.where(feasible, losses, keras.ops.zeros_like(losses))


def _check_values(labels, label_lengths, logit_lengths, classes, blank, infeasible) -> None:
    """Raise for rows that cannot be right, where their values are known."""
    label_lengths, logit_lengths = known(label_lengths), known(logit_lengths)
    if labels is None or label_lengths is None or logit_lengths is None:
        if infeasible == "error":
            raise ValueError(
                "infeasible='error' needs labels and lengths whose values are known, which a compiled function has not: "
                "use infeasible='zero' there, and check the data with ctc_feasible."
            )
        return
    inside = np.arange(labels.shape[1]) < label_lengths[:, None]
    wrong = inside & ((labels < 0) | (labels >= classes) | (labels == blank))
    if np.any(wrong):
        row, place = np.argwhere(wrong)[0]
        raise ValueError(
            f"labels must be classes from 0 to {classes - 1} other than the blank {blank}, "
            f"got {labels[row, place]} at row {row}, place {place}."
        )
    if infeasible == "error":
        repeats = np.sum((labels[:, 1:] == labels[:, :-1]) & inside[:, 1:], axis=1)
        short = np.flatnonzero(label_lengths + repeats > logit_lengths)
        if short.size:
            row = short[0]
            raise ValueError(
                f"labels in row {row} need at least {label_lengths[row] + repeats[row]} frames ({label_lengths[row]} symbols, "
                f"{repeats[row]} repeated), got logit_lengths {logit_lengths[row]}."
            )


def _negative_log_likelihood(labels, log_probabilities, label_lengths, logit_lengths, blank):
    # l' alternates blank and symbol: (batch, 2 symbols + 1).
    doubled = keras.ops.reshape(
        keras.ops.stack([keras.ops.full_like(labels, blank), labels], axis=2), (keras.ops.shape(labels)[0], 2 * keras.ops.shape(labels)[1])
    )
    extended = keras.ops.pad(doubled, [[0, 0], [0, 1]], constant_values=blank)
    before = keras.ops.pad(extended, [[0, 0], [2, 0]], constant_values=blank)[:, :-2]
    may_skip = (extended != blank) & (extended != before)
    states = keras.ops.expand_dims(keras.ops.arange(keras.ops.shape(extended)[1], dtype="int32"), 0)
    ends = keras.ops.expand_dims(2 * label_lengths, 1)
    final = keras.ops.where((states == ends) | (states == ends - 1), 0.0, LOG_ZERO)

    emissions = keras.ops.take_along_axis(log_probabilities, keras.ops.expand_dims(extended, 1), axis=2)
    emissions = keras.ops.transpose(keras.ops.maximum(emissions, LOG_ZERO), (1, 0, 2))  # (frames, batch, states)
    steps = keras.ops.arange(keras.ops.shape(emissions)[0], dtype="int32")
    active = keras.ops.expand_dims(keras.ops.expand_dims(steps, 1) < keras.ops.expand_dims(logit_lengths, 0), 2)  # (frames, batch, 1)

    @keras.ops.custom_gradient
    def negative_log_likelihood(emissions):
        """Return the losses and the function of their gradient, by the forward and backward variables."""
        # One array a scan: keras.ops.scan over several fails where the number of frames is unknown.
        frames = keras.ops.concatenate([emissions, keras.ops.cast(active, "float32")], axis=2)
        alphas, last, scale = _forward(frames, may_skip)
        loss = -(scale[:, 0] + keras.ops.logsumexp(last + final, axis=1))

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            joint = keras.ops.reshape(alphas + _backward(frames, may_skip, final), keras.ops.shape(emissions))
            # The share of all alignments of the label that pass through state s at frame t.
            occupancy = keras.ops.exp(joint - keras.ops.logsumexp(joint, axis=2, keepdims=True))
            return -keras.ops.where(active, occupancy, 0.0) * keras.ops.reshape(upstream, (1, -1, 1))

        return loss, gradient

    return negative_log_likelihood(emissions)


def _log_sum(one, two, three):
    return keras.ops.logsumexp(keras.ops.stack([one, two, three]), axis=0)


def _rescaled(values):
    """Return `values` (batch, states) moved so that the largest is 0, and by how much (batch, 1)."""
    largest = keras.ops.max(values, axis=1, keepdims=True, initial=LOG_ZERO)
    return values - largest, largest


def _forward(frames, may_skip):
    """Return ln alpha_t up to a constant a frame (frames, batch, states), that of the last frame, and the sum of the constants.

    `frames` holds the emissions and, as a last column, 1 where the frame lies within the row's length.
    """

    def step(carry, frame):
        (alpha, scale), emission, on = carry, frame[:, :-1], frame[:, -1:] > 0
        padded = keras.ops.pad(alpha, [[0, 0], [2, 0]], constant_values=LOG_ZERO)
        arrived = _log_sum(alpha, padded[:, 1:-1], keras.ops.where(may_skip, padded[:, :-2], LOG_ZERO))
        moved, constant = _rescaled(arrived + emission)
        carry = keras.ops.where(on, moved, alpha), keras.ops.where(on, scale + constant, scale)
        return carry, carry

    # Before the first frame all probability lies on the first blank, from where a step reaches it or the first symbol.
    start = keras.ops.zeros_like(may_skip[:, 1:], dtype="float32") + LOG_ZERO
    start = keras.ops.pad(start, [[0, 0], [1, 0]])
    (last, scale), (alphas, _) = keras.ops.scan(step, (start, start[:, :1]), frames)
    return alphas, last, scale


def _backward(frames, may_skip, final):
    """Return ln beta_t up to a constant a frame: the probability of the rest of the label after frame t from state s."""

    def step(beta, frame):
        entering = beta + frame[:, :-1]
        steps = keras.ops.pad(entering, [[0, 0], [0, 2]], constant_values=LOG_ZERO)[:, 1:-1]
        skips = keras.ops.pad(keras.ops.where(may_skip, entering, LOG_ZERO), [[0, 0], [0, 2]], constant_values=LOG_ZERO)[:, 2:]
        moved, _ = _rescaled(_log_sum(entering, steps, skips))
        return keras.ops.where(frame[:, -1:] > 0, moved, beta), beta

    _, betas = keras.ops.scan(step, final, frames, reverse=True)
    return betas
