"""The sections of a recipe as frozen records; reading them needs no TensorFlow."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class ModelSection:
    """`[model]`: what is trained.

    Args:
        name: a model of the zoo.
        input_shape: height, width and channels; left out, the paper's.
        overrides: changes to the family's config, such as `{ dropout = 0.2 }`.
    """

    name: str
    input_shape: tuple[int, ...] | None = None
    overrides: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DataSection:
    """`[data]`: what it is trained on.

    Args:
        name: a data set, as `training.data.load` takes it.
        seed: decides which examples of the training part become the validation split. It is apart from `train.seed`, so that
            runs with different seeds are compared on the same examples.
        validation: share of the training part that becomes the validation split; left out, the data set's own.
    """

    name: str
    seed: int = 0
    validation: float | None = None


@dataclass(frozen=True)
class OptimizerSection:
    """`[optimizer]`: how weights move.

    Args:
        name: an optimizer of Keras in lower case, such as "sgd", "adam" or "adamw".
        learning_rate: the rate; the peak of a schedule.
        options: further arguments of the Keras optimizer, such as `{ momentum = 0.9 }`. `weight_decay` is Keras's decoupled one
            and leaves biases and normalisation alone.
    """

    name: str
    learning_rate: float
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        if not self.learning_rate > 0.0:
            raise ValueError(f"learning_rate must be above 0, got {self.learning_rate}.")


@dataclass(frozen=True)
class ScheduleSection:
    """`[schedule]`: how the learning rate moves.

    Args:
        name: "constant", or "warmup_cosine" from 0 to the peak and down along half a cosine by the end of the last epoch.
        warmup_epochs: length of the warm-up; fractions are allowed.
        floor: the rate after the end.
    """

    name: Literal["constant", "warmup_cosine"] = "constant"
    warmup_epochs: float | None = None
    floor: float | None = None

    def __post_init__(self):
        for key in ("warmup_epochs", "floor"):
            value = getattr(self, key)
            if value is not None and self.name == "constant":
                raise ValueError(f"{key} does nothing to a constant learning rate: leave it out or set name = 'warmup_cosine'.")
            if value is not None and value < 0.0:
                raise ValueError(f"{key} must be at least 0, got {value}.")


@dataclass(frozen=True)
class TrainSection:
    """`[train]`: the run.

    Args:
        epochs: passes over the training split, at most.
        batch_size: examples for each update; the last batch of an epoch may be short.
        loss: "cross_entropy" of softmax, or "rbf_maximum_a_posteriori" (LeCun et al. 1998, equation 9).
        loss_options: arguments of the loss, such as `{ rubbish_penalty = 10.0 }`.
        patience: epochs without a better `monitor` before training stops; left out, it never stops early.
        monitor: what chooses the best weights. Figures of the training split are not offered: they are averages over an epoch
            during which the weights moved, and so belong to no weights in particular.
        seed: of initial weights, order and dropout.
        deterministic: True for the same weights, bit for bit, on the same machine and seed; False may be faster on GPUs.
    """

    epochs: int
    batch_size: int
    loss: Literal["cross_entropy", "rbf_maximum_a_posteriori"] = "cross_entropy"
    loss_options: dict[str, Any] = field(default_factory=dict)
    patience: int | None = None
    monitor: Literal["val_loss", "val_accuracy"] = "val_loss"
    seed: int = 0
    deterministic: bool = True

    def __post_init__(self):
        for key in ("epochs", "batch_size", "patience"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise ValueError(f"{key} must be at least 1, got {value}.")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be from 0 to {2**32 - 1}, got {self.seed}.")


@dataclass(frozen=True)
class Measured:
    """`[expect.measured]`: what this project measured with the recipe as it stands.

    Args:
        test_accuracy: share of the test split that was classified correctly.
        date: day of the run.
        seed: `train.seed` of the run.
        epochs: epochs that were trained.
        seconds: how long training took.
        hardware: on what.
    """

    test_accuracy: float
    date: datetime.date
    seed: int
    epochs: int
    seconds: float
    hardware: str


@dataclass(frozen=True)
class ExpectSection:
    """`[expect]`: what should come out, the paper's figure and this project's apart.

    Args:
        paper_accuracy: test accuracy that the paper prints, as a share; left out where the paper has none for this data set.
        paper_source: table or figure of the paper, and on which data it was measured.
        measured: what this project measured; left out where it has not been run in full.
    """

    paper_accuracy: float | None = None
    paper_source: str = ""
    measured: Measured | None = None


@dataclass(frozen=True)
class Recipe:
    """All that decides the result of a run.

    Args:
        model: what is trained.
        data: on what.
        optimizer: how weights move.
        train: the run.
        schedule: how the learning rate moves.
        expect: what should come out.
        smoke: changes, by section, that shrink the run to seconds.
        name: name of the recipe; left out of a file, the file's.
        summary: one line.
    """

    model: ModelSection
    data: DataSection
    optimizer: OptimizerSection
    train: TrainSection
    schedule: ScheduleSection = field(default_factory=ScheduleSection)
    expect: ExpectSection = field(default_factory=ExpectSection)
    smoke: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    name: str = ""
    summary: str = ""
