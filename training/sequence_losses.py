"""Losses and figures of sequences, one value an example; padding counts nowhere."""

import keras

from ..zoo.errors import CanonError
from .auxiliary import main_output
from .cross_entropy import CrossEntropy, accuracy
from .data.sequences import Kind, SequenceDataset
from .losses import build_loss
from .sections import TrainSection
from .steps import PerExample
from .transcripts import TranscriptLoss, whole_lines

NEAR = 0.04


@keras.saving.register_keras_serializable(package="keras_canon")
class SequenceCrossEntropy(keras.losses.Loss):
    r"""Cross-entropy of the labels of a sequence: its mean over the steps that are not padding.

    $$L = \frac{1}{\sum_t m_t} \sum_t m_t \left(-\log \mathrm{softmax}(z_t)_{y_t}\right), \quad m_t = [y_t \neq \mathrm{padding}] \tag{1}$$

    A sequence without any label contributes 0. The length to which a batch was padded changes nothing.

    Args:
        label_smoothing: share of the probability that is spread over all classes, 0 to below 1.
        ignored_label: label of padding; -1 where 0 is a class like any other, as in the rows of `training.data.pack`. Labels below 0
            never count.
        **kwargs: passed on to `keras.losses.Loss`.

    Input shapes:
        labels (batch, steps), integers; logits (batch, steps, classes), or a mapping with these as `token_logits`

    Output shape:
        the mean over the batch; (batch,) with `reduction="none"`

    Raises:
        ValueError: a smoothing outside 0 to 1.

    Reference:
        Sutskever, Vinyals, Le, 2014, "Sequence to Sequence Learning with Neural Networks", section 3.2, arXiv:1409.3215.

    Example:
        >>> from keras_canon.training.sequence_losses import SequenceCrossEntropy
        >>> print(round(float(SequenceCrossEntropy()([[1, 0]], [[[0.0, 0.0], [9.0, 0.0]]])), 4))
        0.6931
    """

    def __init__(self, label_smoothing=0.0, ignored_label=0, **kwargs):
        super().__init__(**{"dtype": "float32", **kwargs})
        self.tokens = CrossEntropy(label_smoothing, ignored_label, reduction="none")
        self.label_smoothing, self.ignored_label = float(label_smoothing), ignored_label

    def __call__(self, y_true, y_pred, sample_weight=None):
        """Return the loss; the mask that Keras hangs on outputs is left behind, since labels tell what counts."""
        return super().__call__(y_true, keras.ops.copy(main_output(y_pred)), sample_weight)

    def call(self, y_true, y_pred):
        """Return the loss of each sequence, (B,)."""
        logits, labels = keras.ops.cast(y_pred, "float32"), keras.ops.cast(y_true, "int32")
        classes = keras.ops.maximum(labels, 0)  # no class would raise on one device and give NaN on another
        if self.label_smoothing:
            losses = self.tokens(classes, logits)
        else:  # without labels one out of many, which a vocabulary makes large
            losses = keras.ops.sparse_categorical_crossentropy(classes, logits, from_logits=True)
        return mean_of_real(losses, labels, self.ignored_label)

    def get_config(self):
        """Return the arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing, "ignored_label": self.ignored_label}


def mean_of_real(values, labels, ignored_label=0):
    """Return the mean of each row (B, T) over the steps whose label is not padding, (B,); 0 for a row without any."""
    counts = keras.ops.logical_and(keras.ops.not_equal(labels, ignored_label), keras.ops.greater_equal(labels, 0))
    real = keras.ops.cast(counts, "float32")
    return keras.ops.sum(keras.ops.cast(values, "float32") * real, axis=1) / keras.ops.maximum(keras.ops.sum(real, axis=1), 1.0)


def token_accuracy(labels, logits):
    """Return the share of right labels of each sequence, padding left out, (B,).

    Args:
        labels: (B, T), 0, or below, for padding.
        logits: (B, T, classes).
    """
    labels = keras.ops.cast(labels, "int32")
    right = keras.ops.equal(keras.ops.cast(keras.ops.argmax(logits, axis=-1), "int32"), labels)
    return mean_of_real(right, labels)


def nearness(labels, outputs):
    """Return 1 for each number (B, 1) within 0.04 of the right one, which counts as right in Hochreiter and Schmidhuber 1997."""
    distance = keras.ops.abs(keras.ops.cast(outputs, "float32") - keras.ops.cast(labels, "float32"))
    return keras.ops.cast(keras.ops.all(distance <= NEAR, axis=-1), "float32")


def sequence_accuracy(kind: Kind) -> PerExample:
    """Return what a run calls accuracy: of classes, of numbers that are near enough, of the ids of a sequence, or of whole lines."""
    return {"classes": accuracy, "numbers": nearness, "tokens": token_accuracy, "transcripts": whole_lines}[kind]


def sequence_loss(section: TrainSection, data: SequenceDataset) -> keras.losses.Loss:
    """Return the loss of a recipe for a kind of labels.

    Raises:
        CanonError: for a loss, or an option, that does not fit them.
    """
    wanted = {"numbers": "mean_squared_error", "transcripts": "ctc"}.get(data.kind, "cross_entropy")
    if section.loss != wanted:
        raise CanonError(f"The labels of {data.name!r} are {data.kind}, whose loss is {wanted!r}, got train.loss = {section.loss!r}.")
    if section.class_weights is not None or section.auxiliary_weight is not None:
        raise CanonError("train.class_weights and train.auxiliary_weight belong to pictures: leave them out for sequences.")
    if data.kind == "transcripts":
        if section.loss_options:
            raise CanonError(f"The loss 'ctc' has no options: leave out train.loss_options, got {section.loss_options}.")
        return TranscriptLoss()
    loss = build_loss(section.loss, section.loss_options)
    if data.kind == "tokens":
        assert isinstance(loss, CrossEntropy)  # as wanted
        return SequenceCrossEntropy(loss.label_smoothing)
    return loss
