"""Generated pictures that a small network learns in seconds, as a TFDS builder, for smoke tests."""

import dataclasses
from typing import cast

import numpy as np
import tensorflow_datasets as tfds

from ...zoo.errors import CanonError

DIRECTIONS = 8
NOISE = 24.0


@dataclasses.dataclass(frozen=True)
class SyntheticOptions:
    """What `synthetic:classes=4,size=16` says.

    Args:
        classes: number of classes, 2 to 100.
        size: height and width in pixels, 4 to 512.
        channels: 1 or 3.
        examples: number of pictures, at least 10 a class; a fifth is the test split.
    """

    classes: int = 10
    size: int = 28
    channels: int = 1
    examples: int = 1000

    def __post_init__(self):
        limits = {"classes": (2, 100), "size": (4, 512), "channels": (1, 3), "examples": (10 * self.classes, 1_000_000)}
        for name, (low, high) in limits.items():
            if not low <= getattr(self, name) <= high or (name == "channels" and self.channels == 2):
                allowed = "1 or 3" if name == "channels" else f"{low} to {high}"
                raise CanonError(f"synthetic takes {name} of {allowed}, got {getattr(self, name)}.")

    @classmethod
    def parse(cls, argument: str) -> "SyntheticOptions":
        """Read `classes=4,size=16`; options left out keep their defaults."""
        allowed = [field.name for field in dataclasses.fields(cls)]
        values = {}
        for item in filter(None, argument.split(",")):
            key, _, value = (part.strip() for part in item.partition("="))
            if key not in allowed or not value.isdecimal():
                raise CanonError(
                    f"synthetic takes whole numbers for {', '.join(allowed)}, as in synthetic:classes=4,size=16, got {item!r}."
                )
            values[key] = int(value)
        return cls(**values)

    @property
    def directory(self) -> str:
        """A folder name of its own for every choice."""
        return f"{self.classes}_classes_{self.size}x{self.size}x{self.channels}_{self.examples}"


@dataclasses.dataclass
class SyntheticConfig(tfds.core.BuilderConfig):
    """Carries the options into the builder."""

    options: SyntheticOptions = SyntheticOptions()


class CanonSynthetic(tfds.core.GeneratorBasedBuilder):
    """Prepares `synthetic`: stripes whose direction and width tell the class, shifted, dimmed and in noise."""

    VERSION = tfds.core.Version("1.0.0")

    @property
    def _options(self) -> SyntheticOptions:
        return cast(SyntheticConfig, self.builder_config).options

    def _info(self) -> tfds.core.DatasetInfo:
        options = self._options
        features = {
            "image": tfds.features.Image(shape=(options.size, options.size, options.channels)),
            "label": tfds.features.ClassLabel(names=[f"stripes_{label:02d}" for label in range(options.classes)]),
        }
        return tfds.core.DatasetInfo(
            builder=self,
            description="Generated stripes in noise, for smoke tests.",
            features=tfds.features.FeaturesDict(features),
            supervised_keys=("image", "label"),
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        rounds = np.arange(self._options.examples) // self._options.classes
        is_test = rounds % 5 == 4
        return {name: self._generate_examples(np.flatnonzero(chosen)) for name, chosen in (("train", ~is_test), ("test", is_test))}

    def _generate_examples(self, rows: np.ndarray):
        for row in rows.tolist():
            yield row, {"image": picture(row, self._options), "label": row % self._options.classes}


def picture(row: int, options: SyntheticOptions) -> np.ndarray:
    """Return picture number `row`, uint8 (size, size, channels); the same number gives the same picture."""
    generator = np.random.default_rng([2024, row])
    label = row % options.classes
    angle = np.pi * (label % DIRECTIONS) / DIRECTIONS
    waves = 2 + label // DIRECTIONS
    shift = generator.integers(-1, 2, size=2)
    y, x = np.mgrid[: options.size, : options.size] + shift[:, np.newaxis, np.newaxis]
    stripes = np.cos(2 * np.pi * waves * (x * np.cos(angle) + y * np.sin(angle)) / options.size)  # (size, size), -1 to 1
    contrast = generator.uniform(60, 110)
    noise = generator.normal(0, NOISE, size=(options.size, options.size, options.channels))
    return np.clip(np.rint(128 + contrast * stripes[..., np.newaxis] + noise), 0, 255).astype(np.uint8)
