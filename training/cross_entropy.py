"""Cross-entropy from logits, for integer labels and for shares of classes, with label smoothing; and class weights for any loss."""

from collections.abc import Mapping, Sequence

import keras

from ..zoo.errors import CanonError


def _shares(labels, logits, ignored: int | None = None):
    """Return labels as shares of each class (..., K), and whether each counts (...), None where all do.

    Class numbers have one axis less than logits, or a last one of length 1.
    """
    ops = keras.ops
    labels = ops.convert_to_tensor(labels)
    if len(labels.shape) == len(logits.shape) and (labels.shape[-1] != 1 or logits.shape[-1] == 1):
        return ops.cast(labels, "float32"), None
    if len(labels.shape) == len(logits.shape):
        labels = ops.squeeze(labels, axis=-1)
    labels = ops.cast(labels, "int32")
    counts = None if ignored is None else labels != ignored
    # a label that does not count may be outside of the classes
    labels = labels if counts is None else ops.where(counts, labels, 0)
    return ops.one_hot(labels, logits.shape[-1], dtype="float32"), counts


@keras.saving.register_keras_serializable(package="keras_canon")
class CrossEntropy(keras.losses.Loss):
    """Cross-entropy between labels and the softmax of logits.

    q'(k) = (1 - epsilon) q(k) + epsilon / K                   (1)
    loss = - sum over k of q'(k) log softmax(z)_k              (2)

    Labels may be class numbers or the shares q of each class (one-hot, or mixed by mixup), with any number of axes between
    batch and classes; all give the same figures, whatever the smoothing.

    Args:
        label_smoothing: epsilon, 0 to below 1.
        ignored_label: class number of labels that contribute 0, such as -1 for padding; they still count in the mean.
        **kwargs: passed on to `keras.losses.Loss`.

    Input shapes:
        labels (batch, ...) or (batch, ..., 1), integers, or (batch, ..., classes); logits (batch, ..., classes)

    Output shape:
        the mean over all labels; (batch, ...) with `reduction="none"`

    Raises:
        ValueError: a smoothing outside 0 to 1.

    Reference:
        Szegedy et al., 2016, "Rethinking the Inception Architecture for Computer Vision", section 7, arXiv:1512.00567.

    Example:
        >>> from keras_canon.training.losses import CrossEntropy
        >>> print(round(float(CrossEntropy(label_smoothing=0.1)([0], [[2.0, 0.0, 0.0, 0.0]])), 4))
        0.4908
    """

    def __init__(self, label_smoothing=0.0, ignored_label=None, **kwargs):
        # the dtype is that of labels, too, and class numbers above 256 are no bfloat16 numbers
        super().__init__(**{"dtype": "float32", **kwargs})
        if not 0.0 <= label_smoothing < 1.0:
            raise ValueError(f"label_smoothing must be from 0 to below 1, got {label_smoothing!r}.")
        self.label_smoothing, self.ignored_label = float(label_smoothing), ignored_label

    def call(self, y_true, y_pred):
        """Return the loss of each label."""
        logits = keras.ops.cast(y_pred, "float32")
        shares, counts = _shares(y_true, logits, self.ignored_label)
        smooth = (1.0 - self.label_smoothing) * shares + self.label_smoothing / logits.shape[-1]
        losses = keras.ops.categorical_crossentropy(smooth, logits, from_logits=True)
        return losses if counts is None else keras.ops.where(counts, losses, 0.0)

    def get_config(self):
        """Return the arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing, "ignored_label": self.ignored_label}


@keras.saving.register_keras_serializable(package="keras_canon")
class ClassWeighted(keras.losses.Loss):
    """Another loss, times a weight for the class of each label.

    The sum is divided by the number of labels, not by the sum of weights, as for Keras's `class_weight`. For shares of classes
    the weight is the mean of the classes' by share.

    Args:
        loss: a Keras loss with one value a label.
        weights: one for each class, at least 0.
        **kwargs: passed on to `keras.losses.Loss`.

    Raises:
        ValueError: weights below 0, or none.

    Example:
        >>> from keras_canon.training.losses import ClassWeighted, CrossEntropy
        >>> print(round(float(ClassWeighted(CrossEntropy(), [2.0, 1.0])([0], [[0.0, 0.0]])), 4))
        1.3863
    """

    def __init__(self, loss, weights, **kwargs):
        super().__init__(**{"dtype": "float32", **kwargs})
        loss = keras.losses.get(loss)
        self.weights = tuple(float(weight) for weight in weights)
        if not self.weights or min(self.weights) < 0.0:
            raise ValueError(f"weights must be numbers of at least 0, one for each class, got {list(self.weights)}.")
        self.loss = type(loss).from_config({**loss.get_config(), "reduction": "none"})

    def call(self, y_true, y_pred):
        """Return the loss of each label."""
        shares, _ = _shares(y_true, keras.ops.convert_to_tensor(y_pred))
        return self.loss(y_true, y_pred) * keras.ops.sum(shares * keras.ops.convert_to_tensor(self.weights, "float32"), axis=-1)

    def get_config(self):
        """Return the arguments."""
        return {**super().get_config(), "loss": keras.losses.serialize(self.loss), "weights": list(self.weights)}


def class_weight_list(weights: Mapping[str, float] | Mapping[int, float], class_names: Sequence[str]) -> list[float]:
    """Return the weight of each class, 1 for those that are left out.

    Args:
        weights: by class name or class number (which a TOML key writes as a string); a name wins over a number.
        class_names: by class number.

    Raises:
        CanonError: (a ValueError) for keys that are no class, with all of them; for a class that is named twice, or a weight below 0.

    Example:
        >>> from keras_canon.training.losses import class_weight_list
        >>> class_weight_list({"dog": 2.0}, ["cat", "dog"])
        [1.0, 2.0]
    """
    numbers = {**{str(number): number for number in range(len(class_names))}, **{name: k for k, name in enumerate(class_names)}}
    unknown = [key for key in weights if str(key) not in numbers]
    if unknown:
        raise CanonError(
            f"class_weights has keys that are no class: {', '.join(map(repr, unknown))}; "
            f"the {len(class_names)} classes are {', '.join(class_names)}, or 0 to {len(class_names) - 1}."
        )
    found: dict[int, float] = {}
    for key, weight in weights.items():
        number = numbers[str(key)]
        if number in found:
            raise CanonError(f"class_weights gives two weights for the class {class_names[number]!r}: keep one of them.")
        if not 0.0 <= weight < float("inf"):
            raise CanonError(f"class_weights must be at least 0 and finite, got {weight} for {key!r}.")
        found[number] = float(weight)
    return [found.get(number, 1.0) for number in range(len(class_names))]


def accuracy(labels, logits):
    """Return 1 for each label whose class has the largest logit, else 0; where labels are shares, the largest share is the class.

    Args:
        labels: (B, ...) integers or (B, ..., K) shares.
        logits: (B, ..., K).
    """
    shares, _ = _shares(labels, keras.ops.convert_to_tensor(logits))
    return keras.ops.cast(keras.ops.argmax(shares, axis=-1) == keras.ops.argmax(logits, axis=-1), "float32")
