"""The sections of a recipe as frozen records; reading them needs no TensorFlow."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Literal

from .augment_section import AugmentSection
from .schedule_section import ScheduleSection
from .transfer_section import TransferSection
from .tune_section import TuneSection


@dataclass(frozen=True)
class ModelSection:
    """`[model]`: what is trained.

    Args:
        name: a model of the zoo.
        input_shape: height, width and channels; left out, the paper's. For sequences, left out, what the data have.
        overrides: changes to the family's config, such as `{ dropout = 0.2 }`.
        preprocessing: changes to how pictures become the model's input, by the names of `zoo.Preprocessing`: `{ fraction = 1.0 }` keeps
            the borders that networks for ImageNet cut off. They are saved with the model. Size and channels are those of `input_shape`.
    """

    name: str
    input_shape: tuple[int, ...] | None = None
    overrides: dict[str, Any] = field(default_factory=dict)
    preprocessing: dict[str, Any] = field(default_factory=dict)


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
        clip_value: largest size of any entry of a gradient; larger ones are cut.
        clip_norm: largest norm of the gradient of each weight; larger ones are scaled down.
        clip_global_norm: largest norm of all gradients together; larger ones are scaled down. At most one kind of clipping.
    """

    name: str
    learning_rate: float
    options: dict[str, Any] = field(default_factory=dict)
    clip_value: float | None = None
    clip_norm: float | None = None
    clip_global_norm: float | None = None

    def __post_init__(self):
        for key in ("learning_rate", "clip_value", "clip_norm", "clip_global_norm"):
            value = getattr(self, key)
            if value is not None and not value > 0.0:
                raise ValueError(f"{key} must be above 0, got {value}.")
        clips = [key for key in ("clip_value", "clip_norm", "clip_global_norm") if getattr(self, key) is not None]
        if len(clips) > 1:
            raise ValueError(f"{' and '.join(clips)} are set: keep one kind of clipping.")


@dataclass(frozen=True)
class AverageSection:
    """`[average]`: which mean of the weights over updates is validated, kept and saved, in the place of the last weights.

    Args:
        name: "none"; "exponential", a mean that forgets; or "stochastic", the plain mean of the weights at the end of each epoch
            from `start_epoch` on (Izmailov et al. 2018), with normalisation statistics taken anew over the training split.
        momentum: of the exponential mean, above 0 and below 1; left out, 0.999.
        start_epoch: first epoch of the stochastic mean, from 1; the weights before it are used as they are.
    """

    name: Literal["none", "exponential", "stochastic"] = "none"
    momentum: float | None = None
    start_epoch: int | None = None

    def __post_init__(self):
        for key, name in (("momentum", "exponential"), ("start_epoch", "stochastic")):
            if getattr(self, key) is not None and self.name != name:
                raise ValueError(f"{key} does nothing to the average {self.name!r}: leave it out or set name = {name!r}.")
        if self.momentum is not None and not 0.0 < self.momentum < 1.0:
            raise ValueError(f"momentum must be above 0 and below 1, got {self.momentum}.")
        if self.name == "stochastic" and (self.start_epoch or 0) < 1:
            raise ValueError(f"the stochastic average needs the key 'start_epoch', at least 1, got {self.start_epoch}.")


@dataclass(frozen=True)
class TrainSection:
    """`[train]`: the run.

    Args:
        epochs: passes over the training split, at most.
        batch_size: examples for each update; the last batch of an epoch may be short.
        loss: "cross_entropy" of softmax; for sequences with numbers as labels "mean_squared_error", for transcripts "ctc"; or
            "rbf_maximum_a_posteriori" (LeCun et al. 1998, equation 9).
        loss_options: arguments of the loss, such as `{ rubbish_penalty = 10.0 }` or `{ label_smoothing = 0.1 }`.
        auxiliary_weight: weight of the loss of each auxiliary output, for models that have any; they take no part in validation and
            evaluation.
        class_weights: weight of the loss by class name or number, such as `{ cat = 2.0 }`, 1 for classes left out; or "balanced".
        l1: sum of absolute weights, times this, added to the loss; biases and normalisation are left alone.
        l2: sum of squared weights, times this, added to the loss; biases and normalisation are left alone.
        micro_batches: parts into which each batch is cut to fit into memory; gradients are added up over them, and the weights
            move once for each batch.
        precision: "float32", "mixed_float16", "mixed_bfloat16", or "auto" for what suits the machine (on
            processors, float32 for sequences).
        snapshots: True to keep the weights at the end of each cycle of the schedule "cosine_restarts" (Huang et al. 2017).
        patience: epochs without a better `monitor` before training stops; left out, it never stops early.
        monitor: what chooses the best weights. Figures of the training split are not offered: they are averages over an epoch
            during which the weights moved, and so belong to no weights in particular.
        seed: of initial weights, order and dropout.
        deterministic: True for the same weights, bit for bit, on the same machine and seed; False may be faster on GPUs.
        gradient_norms: True to write the norm of each layer's gradient after each epoch to `gradient_norms.csv`, and to warn of those
            that vanish or explode.
        scheduled_sampling: for models that translate, how many of the words of a target are at last the model's own, as a share; it
            rises from 0 over the run (Bengio et al. 2015). 0 for none, which is teacher forcing.
        steps_per_epoch: updates of an epoch, fewer than the training split has batches; left out, all of them.
        strategy: "mirrored" for all graphics cards of the machine, "multi_worker" for the cluster in `TF_CONFIG`, "tpu" for the one
            in `TPU_NAME`, or "auto" for what there is.
        checkpoint_seconds: how old the last checkpoint may become; one is written at the end of each epoch in any case.
        checkpoint_steps: write one after so many updates too.
    """

    epochs: int
    batch_size: int
    loss: Literal["cross_entropy", "ctc", "mean_squared_error", "rbf_maximum_a_posteriori"] = "cross_entropy"
    loss_options: dict[str, Any] = field(default_factory=dict)
    auxiliary_weight: float | None = None
    class_weights: dict[str, float] | Literal["balanced"] | None = None
    l1: float = 0.0
    l2: float = 0.0
    micro_batches: int = 1
    precision: Literal["float32", "mixed_float16", "mixed_bfloat16", "auto"] = "float32"
    snapshots: bool = False
    patience: int | None = None
    monitor: Literal["val_loss", "val_accuracy"] = "val_loss"
    seed: int = 0
    deterministic: bool = True
    gradient_norms: bool = False
    scheduled_sampling: float = 0.0
    steps_per_epoch: int | None = None
    strategy: Literal["auto", "mirrored", "multi_worker", "tpu"] = "auto"
    checkpoint_seconds: float = 600.0
    checkpoint_steps: int | None = None

    def __post_init__(self):
        if not self.checkpoint_seconds > 0.0:
            raise ValueError(f"checkpoint_seconds must be above 0, got {self.checkpoint_seconds}.")
        for key in ("epochs", "batch_size", "micro_batches", "patience", "steps_per_epoch", "checkpoint_steps"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise ValueError(f"{key} must be at least 1, got {value}.")
        for key in ("l1", "l2", "auxiliary_weight"):
            value = getattr(self, key)
            if value is not None and not value >= 0.0:
                raise ValueError(f"{key} must be at least 0, got {value}.")
        if not 0.0 <= self.scheduled_sampling <= 1.0:
            raise ValueError(f"scheduled_sampling must be from 0 to 1, got {self.scheduled_sampling}.")
        if self.micro_batches > self.batch_size:
            raise ValueError(f"micro_batches must be at most the batch_size of {self.batch_size}, got {self.micro_batches}.")
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
        figures: further figures of the test split by name, such as `{ mean_squared_error = 0.001 }`.
        parameters: trainable parameters of the network; recipes of version 0.1 do not tell them.
    """

    test_accuracy: float
    date: datetime.date
    seed: int
    epochs: int
    seconds: float
    hardware: str
    figures: dict[str, float] = field(default_factory=dict)
    parameters: int | None = None


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
        augment: how training pictures are changed.
        average: which mean of the weights is kept.
        transfer: from which trained weights the run starts, and what of the model is trained when.
        tune: what a search may change; it takes no part in a run.
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
    augment: AugmentSection = field(default_factory=AugmentSection)
    average: AverageSection = field(default_factory=AverageSection)
    transfer: TransferSection = field(default_factory=TransferSection)
    tune: TuneSection = field(default_factory=TuneSection)
    expect: ExpectSection = field(default_factory=ExpectSection)
    smoke: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    name: str = ""
    summary: str = ""

    def __post_init__(self):
        if self.augment.mixes_labels and self.train.loss != "cross_entropy":
            raise ValueError(
                f"augment.mixup and augment.cutmix mix labels, which the loss {self.train.loss!r} cannot take: use 'cross_entropy'."
            )
        if self.train.snapshots and (self.schedule.name != "cosine_restarts" or self.schedule.then):
            raise ValueError("train.snapshots needs the schedule 'cosine_restarts', at whose restarts they are taken.")
        if self.train.snapshots and self.average.name != "none":
            raise ValueError("train.snapshots and [average] both choose the weights: keep one of them.")
        self.schedule.check_head()
        if self.schedule.momentum is not None:
            key = {"sgd": "momentum", "adam": "beta_1", "adamw": "beta_1"}.get(self.optimizer.name)
            if key is None:
                raise ValueError(
                    f"schedule.momentum moves the momentum of sgd, adam and adamw, not of {self.optimizer.name!r}: leave it out."
                )
            if key in self.optimizer.options:
                raise ValueError(f"schedule.momentum and optimizer.options.{key} both set the momentum: keep one of them.")
        sections = {name: value for name, value in vars(self).items() if is_dataclass(value) and name not in ("tune", "expect")}
        self.tune.check(sections, self.train.monitor)
