"""What the zoo knows about a model, as frozen records: they are read from TOML and JSON and need no TensorFlow."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Preprocessing:
    """How encoded or raw images (values 0 to 255) become a model's input; `zoo.preprocess` applies it.

    Args:
        size: height and width of the model's input, in pixels.
        resize: "squash" resizes to the size and ignores the aspect ratio; "crop" resizes the shorter side to size / fraction
            and cuts the centre; "pad" fits the image into fraction x size and centres it on black.
        fraction: share of the side that is cut out ("crop") or filled ("pad").
        interpolation: a method of `tf.image.resize`.
        antialias: True to smooth when the image shrinks, as Pillow does.
        scale: factor on the raw values, 1/255 for a range of 0 to 1.
        mean: subtracted after scaling, one value a channel or one for all.
        std: divisor after that, one value a channel or one for all.
        channels: 1 for grey, 3 for colour; images of the other kind are converted.
        channel_order: "rgb", or "bgr" for weights that came from Caffe.
    """

    size: tuple[int, int]
    resize: Literal["squash", "crop", "pad"] = "squash"
    fraction: float = 1.0
    interpolation: Literal["bilinear", "bicubic", "nearest", "area", "lanczos3"] = "bilinear"
    antialias: bool = True
    scale: float = 1.0 / 255.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    channels: int = 3
    channel_order: Literal["rgb", "bgr"] = "rgb"

    def __post_init__(self):
        if len(self.size) != 2 or min(self.size) < 1:
            raise ValueError(f"size must be a height and a width of at least 1, got {self.size}.")
        if not 0.0 < self.fraction <= 1.0:
            raise ValueError(f"fraction must be above 0 and at most 1, got {self.fraction}.")
        for name in ("mean", "std"):
            if len(getattr(self, name)) not in (1, self.channels):
                raise ValueError(f"{name} must have 1 or {self.channels} values, got {len(getattr(self, name))}.")
        if min(self.std) <= 0.0:
            raise ValueError(f"std must be above 0, got {self.std}.")

    def fitted(self, input_shape: tuple[int | None, ...]) -> "Preprocessing":
        """Return the preprocessing for another input shape.

        Grey input and input with more channels have no statistics of their own: the mean over the given channels stands for each.
        """
        if len(input_shape) != 3 or input_shape[2] is None:
            return self
        height, width, channels = input_shape
        mean, std = self.mean, self.std
        if channels != self.channels:
            mean, std = (sum(mean) / len(mean),), (sum(std) / len(std),)
        size = (height or self.size[0], width or self.size[1])
        return dataclasses.replace(self, size=size, channels=channels, mean=mean, std=std)


@dataclass(frozen=True)
class Paper:
    """The paper that a family follows.

    Args:
        title, authors: as it prints them.
        year: of the paper, which may be before that of the venue.
        url: of arXiv or the DOI.
        venue: where it appeared; "" for arXiv alone.
    """

    title: str
    authors: str
    year: int
    url: str
    venue: str = ""

    @property
    def appeared(self) -> str:
        """Where it appeared and when: its own year first where that is before the venue's."""
        years = re.findall(r"\b(?:19|20)\d\d\b", self.venue)
        if not years:
            return f"{self.venue or 'arXiv'}, {self.year}"
        return self.venue if str(self.year) in years else f"{self.year}; {self.venue}"


WeightsFormat = Literal["canon", "keras_applications", "torchvision", "huggingface", "torch"]


@dataclass(frozen=True)
class WeightsTraining:
    """How weights that this project ships were made.

    Args:
        command: makes them again.
        date: day of the run, as 2026-11-29.
        seed: its `train.seed`.
        epochs: that were trained.
        minutes: that it took.
        hardware: on what.
    """

    command: str
    date: str
    seed: int
    epochs: int
    minutes: float
    hardware: str


@dataclass(frozen=True)
class WeightsRecord:
    """Published weights of a variant: where they are, what they are, what was measured with them.

    Args:
        tag: the name that `zoo.create(..., weights=tag)` takes.
        url: where the file is fetched from: an address, hf://OWNER/REPOSITORY/FILE for the Hugging Face hub, or package://FILE for
            a file that comes with this package.
        hash: "sha256:..." or "md5:..." of the file as its publisher lists it; "" where the publisher lists none and this project
            could not fetch the file: then `fetch` tells the file's sha256 when it first comes, and holds it to that from then on.
        licence: SPDX name.
        format: format of `zoo.load_weights`.
        application: for the .h5 files of keras.applications, the function there that builds the network. They list layers in
            order, and names that were counted through the process that wrote them do not tell which layer is which.
        application_arguments: arguments of that function, such as {"alpha": 0.5}.
        preprocessing: how images were prepared in training; None for models of text.
        accuracy: top-1 accuracy, measured by this project, or None where it could not be measured.
        dataset: what the accuracy was measured on.
        labels: name of the class list, as `zoo.class_names` takes it.
        input_shape: of the network that the weights are of; empty for the variant's own.
        overrides: of the variant's config in that network; `zoo.create` takes them over.
        num_classes: of that network; None for the variant's own.
        training: how this project made them; None for weights of others.
    """

    tag: str
    url: str
    licence: str
    format: WeightsFormat
    preprocessing: Preprocessing | None = None
    hash: str = ""
    application: str = ""
    application_arguments: Mapping[str, Any] = field(default_factory=dict)
    accuracy: float | None = None
    dataset: str = ""
    labels: str = ""
    input_shape: tuple[int, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    num_classes: int | None = None
    training: WeightsTraining | None = None

    def __post_init__(self):
        algorithm, _, digest = self.hash.partition(":")
        if self.hash and len(digest) != {"md5": 32, "sha256": 64}.get(algorithm):
            raise ValueError(f"hash must be md5: with 32 digits or sha256: with 64, got {self.hash!r}.")


@dataclass(frozen=True)
class ModelInfo:
    """One variant: a row of its family's TOML, which holds a row of the paper's table.

    Args:
        name: name of the variant, as `zoo.create` takes it.
        family: name of the family (one builder file, one TOML file).
        task: such as "image-classification".
        paper: the paper; `year` is its year.
        table: the table, figure or section of the paper that the row copies.
        input_shape: input shape without the batch axis, in the paper's experiment; None stands for an axis of any length.
        num_classes: number of classes in the paper's experiment.
        trainable_parameters: trainable parameters at that input shape and class count (batch-norm statistics are not trainable).
        gmacs: multiply-adds of one forward pass over one example, in units of 10^9.
        steps: length of the sequence for which the multiply-adds are given; 0 where the input shape says it all.
        preprocessing: of the variant when no weights are named.
        features: name of a feature map -> stride relative to the input.
        weights: published weights.
        summary: one line on what sets the variant apart.
        builder: "module:function" of the builder.
        config: arguments of the builder's config dataclass that differ from its defaults.
    """

    name: str
    family: str
    task: str
    paper: Paper
    table: str
    input_shape: tuple[int | None, ...]
    num_classes: int
    trainable_parameters: int
    gmacs: float
    steps: int
    preprocessing: Preprocessing | None
    features: Mapping[str, int]
    weights: tuple[WeightsRecord, ...]
    summary: str
    builder: str
    config: Mapping[str, Any]

    @property
    def year(self) -> int:
        """Year of the paper."""
        return self.paper.year


@dataclass(frozen=True)
class ModelRecord:
    """What a `zoo.Model` carries through saving and loading.

    Args:
        variant: name of the variant that it was created from.
        overrides: changes to the variant's config.
        input_shape: input shape without the batch axis.
        num_classes: number of classes; 0 for a model without a head.
        preprocessing: how its inputs are prepared.
        labels: class names in the order of the logits; empty when unknown.
        weights: where the weights came from: "random", a tag, a path or a recipe.
    """

    variant: str
    overrides: dict[str, Any] = field(default_factory=dict)
    input_shape: tuple[int | None, ...] = ()
    num_classes: int = 0
    preprocessing: Preprocessing | None = None
    labels: tuple[str, ...] = ()
    weights: str = "random"

    def to_config(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return dataclasses.asdict(self)
