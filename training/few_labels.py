"""What the ways to use few labels share: a short training of any model by the loop of this package, without a recipe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import keras
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.model import Model
from ..zoo.records import Preprocessing
from .augmentation import Augmentation
from .callbacks import BestWeights
from .data import Dataset, load
from .loop import train
from .optimizers import is_decayed
from .steps import PerExample

_FINAL_SHARE = 0.01


@dataclass(frozen=True)
class ShortTraining:
    """How to train: AdamW, whose rate falls along half a cosine; the weights of the epoch with the best validation loss are kept.

    Args:
        epochs: passes over the examples.
        batch_size: examples for each update.
        learning_rate: at the start.
        weight_decay: AdamW's; biases and normalisation are left alone.
        seed: of the order of examples, masks and the like. Initial weights are those of the model that is handed in.
    """

    epochs: int = 20
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    seed: int = 0

    def __post_init__(self):
        for name in ("epochs", "batch_size"):
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise CanonError(f"{name} must be an integer of at least 1, got {getattr(self, name)!r}.")
        if not self.learning_rate > 0.0:
            raise CanonError(f"learning_rate must be above 0, got {self.learning_rate!r}.")

    def fit(
        self,
        model: keras.Model,
        batches: Callable[[int], tf.data.Dataset],
        validation: tf.data.Dataset,
        loss: keras.losses.Loss,
        metrics: Mapping[str, PerExample] | None = None,
    ) -> dict[str, list[float]]:
        """Train a model in place and return the figures by name, one for each epoch.

        Args:
            model: its compiled state is replaced.
            batches: the (inputs, labels) batches of an epoch.
            validation: batches that choose the best epoch.
            loss: on labels and outputs.
            metrics: as for `loop.train`.
        """
        first = batches(0)
        counted = int(first.cardinality())  # negative where it is not known
        steps = self.epochs * (counted if counted >= 0 else sum(1 for _ in first))
        rate = keras.optimizers.schedules.CosineDecay(self.learning_rate, max(steps, 1), alpha=_FINAL_SHARE)
        optimizer = keras.optimizers.AdamW(rate, weight_decay=self.weight_decay)
        optimizer.exclude_from_weight_decay([weight for weight in model.trainable_weights if not is_decayed(weight)])
        model.compile(optimizer=optimizer, loss=loss, jit_compile=False, auto_scale_loss=False)
        callbacks = [BestWeights(None, "val_loss")]
        return train(model, batches, epochs=self.epochs, validation=validation, metrics=metrics, callbacks=callbacks)


def refuse_mixed(augmentation: Augmentation | None) -> None:
    """Refuse augmentation that mixes labels, where there is no place for shares of classes.

    Raises:
        CanonError: for mixup and CutMix.
    """
    if augmentation is not None and augmentation.section.mixes_labels:
        raise CanonError("mixup and cutmix mix labels, and here each picture has its own: leave them out of the augmentation.")


def checked(model: Model, data: Dataset | str) -> tuple[Preprocessing, Dataset]:
    """Return the preprocessing of a classifier and the data set, after a look at whether they fit.

    Raises:
        CanonError: for a model without preprocessing, or with another number of classes than the data.
    """
    data = data if isinstance(data, Dataset) else load(data)
    if model.record.num_classes != data.num_classes:
        raise CanonError(f"Model {model.name!r} has {model.record.num_classes} classes, but {data.name!r} has {data.num_classes}.")
    return preprocessing_of(model), data


def preprocessing_of(model: Model) -> Preprocessing:
    """Return the preprocessing of a model.

    Raises:
        CanonError: when it has none.
    """
    if model.record.preprocessing is None:
        raise CanonError(f"Model {model.name!r} has no preprocessing in its record: its inputs are not images.")
    return model.record.preprocessing
