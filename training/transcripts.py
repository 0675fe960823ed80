"""Transcripts: fewer labels than frames, without their places. Loss, figure of an epoch, and what has no alignment."""

import keras
import numpy as np
import tensorflow as tf

from ..layers import ctc_feasible, ctc_greedy_decode, ctc_loss
from ..zoo.errors import CanonError
from ..zoo.model import Model
from .auxiliary import LENGTHS, MAIN_OUTPUT
from .data.sequences import Ragged, SequenceDataset, SequenceSplit
from .data.vocabulary import Characters
from .sequence_pipeline import in_order

_AT_ONCE = 256


@keras.saving.register_keras_serializable(package="keras_canon")
class TranscriptLoss(keras.losses.Loss):
    r"""Connectionist temporal classification of lines, blank 0: minus the log-probability of each transcript.

    $$L = -\ln p(l \mid x) \tag{8}$$

    A transcript without any alignment would contribute 0; `refuse_infeasible` finds those before training.

    Args:
        **kwargs: passed on to `keras.losses.Loss`.

    Input shapes:
        labels (batch, symbols), 0 behind each transcript; a mapping of `logits` (batch, frames, classes) and `lengths` (batch,)

    Output shape:
        the mean over the batch; (batch,) with `reduction="none"`

    Reference:
        Graves, Fernandez, Gomez, Schmidhuber, 2006, "Connectionist Temporal Classification", section 4, ICML,
        doi:10.1145/1143844.1143891.

    Example:
        >>> import keras
        >>> from keras_canon.training.transcripts import TranscriptLoss
        >>> outputs = {"logits": keras.ops.log([[[0.6, 0.4], [0.6, 0.4]]]), "lengths": [2]}
        >>> print(round(float(TranscriptLoss()([[1]], outputs)), 4))
        0.4463
    """

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": "float32", **kwargs})

    def call(self, y_true, y_pred):
        """Return the loss of each line, (B,)."""
        labels, lengths = keras.ops.cast(y_true, "int32"), keras.ops.cast(y_pred[LENGTHS], "int32")
        symbols = keras.ops.sum(keras.ops.cast(keras.ops.not_equal(labels, 0), "int32"), axis=1)
        return ctc_loss(labels, y_pred[MAIN_OUTPUT], symbols, lengths)


def whole_lines(labels, outputs):
    """Return 1 for each line that is read without a mistake along the best path, (B,).

    Args:
        labels: (B, S), 0 behind each transcript.
        outputs: a mapping of `logits` (B, T, classes) and `lengths` (B,).
    """
    found, _ = ctc_greedy_decode(outputs[MAIN_OUTPUT], outputs[LENGTHS])
    found = keras.ops.maximum(found, 0)  # behind the end stands -1
    labels = keras.ops.cast(labels, "int32")
    # one may be longer than the other: compared over the length of both
    empty, blank = keras.ops.zeros_like(labels), keras.ops.zeros_like(found)
    same = keras.ops.equal(keras.ops.concatenate([found, empty], axis=1), keras.ops.concatenate([labels, blank], axis=1))
    return keras.ops.cast(keras.ops.all(same, axis=1), "float32")


def refuse_infeasible(model: Model, data: SequenceDataset, split: SequenceSplit) -> None:
    """Refuse lines and utterances whose transcript cannot be read out of the frames that the model has for them.

    Args:
        model: from `images` or `sequences` to `logits` and `lengths`.
        data: for messages.
        split: of the data.

    Raises:
        CanonError: with the first of them.
    """
    assert isinstance(split.labels, Ragged)
    alphabet = Characters(data.class_names)
    what, cure = ("line", "use wider pictures") if "images" in split.inputs else ("utterance", "leave it out, or let it be said slower")
    frames = keras.Model(model.input, model.output[LENGTHS])  # all else is left out, and costs nothing
    for positions, images, labels in in_order(split, _AT_ONCE):
        symbols = split.labels.lengths[positions].astype("int32")
        fits = np.asarray(ctc_feasible(labels, symbols, frames(images, training=False), data.num_classes))
        for place in positions[~fits][:1]:
            raise CanonError(
                f"The {what} {alphabet.decode(split.labels[int(place)])!r} of {data.name!r} has more characters than {model.name!r} has "
                f"frames for it, so that no reading of it is right: {cure}."
            )


def read_lines(model: Model, split: SequenceSplit, forward) -> tuple[list[np.ndarray], float]:
    """Return what a model reads along the best path of each line, as ids by position, and the mean of its loss.

    Args:
        model: from `images` or `sequences` to `logits` and `lengths`.
        split: the lines or utterances.
        forward: its compiled forward pass.
    """
    read: list[np.ndarray] = [np.zeros(0, "int32")] * len(split)
    total, loss = 0.0, TranscriptLoss(reduction="none")
    for positions, images, labels in in_order(split, _AT_ONCE):
        outputs = forward(images)
        total += float(tf.reduce_sum(loss(labels, outputs)))
        found = np.asarray(ctc_greedy_decode(outputs[MAIN_OUTPUT], outputs[LENGTHS])[0])
        for place, row in zip(positions, found, strict=True):
            read[int(place)] = row[row > 0]
    return read, total / max(len(split), 1)
