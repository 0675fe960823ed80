"""Knowledge distillation: a small student learns from a large teacher what the labels do not say."""

import keras
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.model import Model
from ..zoo.records import Preprocessing
from .augmentation import Augmentation
from .cross_entropy import accuracy
from .data import Dataset
from .few_labels import ShortTraining, checked, preprocessing_of, refuse_mixed
from .pipeline import epoch_order, reader


@keras.saving.register_keras_serializable(package="keras_canon")
class Distillation(keras.losses.Loss):
    """Cross-entropy with the labels, and with the softened answers of a teacher.

    p_i(T) = exp(z_i / T) / sum over j of exp(z_j / T)                              (1)
    loss = (1 - share) CE(labels, p(1)) + share T^2 CE(teacher's p(T), p(T))

    T^2 keeps the two parts of one size when T changes, as section 2 says, because the gradients of the soft part fall with 1 / T^2.

    Args:
        temperature: T, above 0.
        share: of the teacher's part, 0 to 1.
        **kwargs: passed on to `keras.losses.Loss`.

    Input shapes:
        labels (batch,), integers; logits (batch, 2, classes), those of the student and then those of the teacher

    Output shape:
        the mean over the batch; (batch,) with `reduction="none"`

    Raises:
        ValueError: a temperature that is not above 0, or a share outside 0 to 1.

    Reference:
        Hinton, Vinyals, Dean, 2015, "Distilling the Knowledge in a Neural Network", section 2, equation 1, arXiv:1503.02531.

    Example:
        >>> from keras_canon.training.distillation import Distillation
        >>> print(round(float(Distillation(share=0.0)([0], [[[2.0, 0.0], [9.0, 0.0]]])), 4))
        0.1269
    """

    def __init__(self, temperature=4.0, share=0.9, **kwargs):
        super().__init__(**kwargs)
        if not temperature > 0.0:
            raise ValueError(f"temperature must be above 0, got {temperature!r}.")
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"share must be from 0 to 1, got {share!r}.")
        self.temperature, self.share = float(temperature), float(share)

    def call(self, y_true, y_pred):
        """Return the loss of each example, (B,)."""
        ops = keras.ops
        logits = ops.cast(y_pred, "float32")
        student, teacher = logits[:, 0], logits[:, 1]  # (B, classes)
        labels = ops.one_hot(ops.cast(ops.reshape(y_true, (-1,)), "int32"), student.shape[-1])
        hard = -ops.sum(labels * ops.log_softmax(student), axis=-1)
        soft = -ops.sum(ops.softmax(teacher / self.temperature) * ops.log_softmax(student / self.temperature), axis=-1)
        return (1.0 - self.share) * hard + self.share * self.temperature**2 * soft

    def get_config(self):
        """Return the arguments."""
        return {**super().get_config(), "temperature": self.temperature, "share": self.share}


def distil(
    student: Model,
    teacher: Model,
    data: Dataset | str,
    *,
    temperature: float = 4.0,
    share: float = 0.9,
    how: ShortTraining | None = None,
    augmentation: Augmentation | None = None,
) -> dict[str, list[float]]:
    """Train a student, in place, on the labels and on the answers of a teacher to the same pictures.

    Teacher and student see one and the same picture, changed by augmentation in the same way. The teacher's weights and statistics stay
    as they are. Where it prepares pictures otherwise, its input is made from the student's.

    Args:
        student: learns.
        teacher: a trained classifier of the same classes.
        data: a data set or its name.
        temperature: T, higher for softer answers of the teacher.
        share: of the teacher's part in the loss; 0 trains on the labels alone.
        how: epochs and the like; None for the defaults.
        augmentation: changes of the pictures; None for none.

    Returns:
        the figures by name, one for each epoch; accuracy is the student's.

    Raises:
        CanonError: (a ValueError) for models of other classes than the data's, or that see other channels, or augmentation that
            mixes labels.

    Reference:
        Hinton et al., 2015, "Distilling the knowledge in a neural network", section 2, arXiv:1503.02531.
    """
    refuse_mixed(augmentation)
    how = how or ShortTraining()
    preprocessing, data = checked(student, data)
    checked(teacher, data)
    if student.record.labels and teacher.record.labels and student.record.labels != teacher.record.labels:
        raise CanonError(
            f"Student {student.name!r} and teacher {teacher.name!r} know their classes by different names or in another order."
        )
    pair = _pair(student, teacher)
    read = reader(data.train, preprocessing, how.batch_size, augmentation)
    validation = reader(data.validation, preprocessing, 256)

    def batches(epoch: int) -> tf.data.Dataset:
        return read(epoch_order(len(data.train), how.seed, epoch), epoch)

    metrics = {"accuracy": lambda labels, logits: accuracy(labels, logits[:, 0])}
    history = how.fit(pair, batches, validation(None), Distillation(temperature, share), metrics)
    student.update_record(labels=data.class_names, weights=f"distilled from {teacher.name} on {data.name}")
    return history


def _pair(student: Model, teacher: Model) -> keras.Model:
    """Return a model from the student's input to the logits of both, (B, 2, classes)."""
    seen = _as_teacher_sees(student.input, preprocessing_of(student), preprocessing_of(teacher))
    # a copy, so that the flags of the teacher stay as they are
    frozen = Model.from_config(teacher.get_config())
    frozen.set_weights(teacher.get_weights())
    frozen.trainable = False
    # training=False fixes dropout and statistics, whatever the loop calls for
    answers = frozen(seen, training=False)
    outputs = [keras.layers.Activation("linear", dtype="float32", name=name)(x) for name, x in (("s", student.output), ("t", answers))]
    rows = [keras.layers.Reshape((1, student.record.num_classes))(output) for output in outputs]
    return keras.Model(student.input, keras.layers.Concatenate(axis=1)(rows), name=f"{student.name}_and_{teacher.name}")


def _as_teacher_sees(images, student: Preprocessing, teacher: Preprocessing):
    """Turn images prepared for the student into what the teacher was trained on: another size, scale, mean or deviation."""
    if student.channels != teacher.channels or student.channel_order != teacher.channel_order:
        raise CanonError(
            f"The student sees {student.channels} channels ({student.channel_order}) and the teacher {teacher.channels} "
            f"({teacher.channel_order}): build both for the same."
        )
    pairs = [_all_channels(record) for record in (student, teacher)]
    (mean, std), (other_mean, other_std) = pairs
    factor = [s * teacher.scale / (student.scale * t) for s, t in zip(std, other_std, strict=True)]
    offset = [(m * teacher.scale / student.scale - n) / t for m, n, t in zip(mean, other_mean, other_std, strict=True)]
    if any(abs(value - 1.0) > 1e-6 for value in factor) or any(abs(value) > 1e-6 for value in offset):
        images = keras.layers.Rescaling(factor, offset, name="teacher_scale")(images)
    if tuple(images.shape[1:3]) != tuple(teacher.size):
        images = keras.layers.Resizing(*teacher.size, data_format="channels_last", name="teacher_size")(images)
    return images


def _all_channels(record: Preprocessing) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and deviation, one value a channel."""
    return tuple(record.mean * record.channels)[: record.channels], tuple(record.std * record.channels)[: record.channels]
