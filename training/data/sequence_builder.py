"""The TFDS builder of all sequences that are made or collected on this machine."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import numpy as np
import tensorflow_datasets as tfds

from .prepare import prepare, read


@dataclasses.dataclass(frozen=True)
class SequenceSource:
    """Where sequences come from.

    Args:
        directory: a folder name of its own for every choice.
        description: one sentence.
        features: by name, shape and type of an array, or None for a text.
        splits: makes the examples of `train` and `test`, called once.
        origin: where they come from.
    """

    directory: str
    description: str
    features: Mapping[str, tuple[tuple[int, ...], str] | None]
    splits: Callable[[], Mapping[str, Iterable[dict[str, Any]]]]
    origin: str = "generated"


@dataclasses.dataclass
class SequencesConfig(tfds.core.BuilderConfig):
    """Carries the source into the builder."""

    source: SequenceSource | None = None


class CanonSequences(tfds.core.GeneratorBasedBuilder):
    """Prepares what a `SequenceSource` makes."""

    VERSION = tfds.core.Version("1.0.0")

    @property
    def _source(self) -> SequenceSource:
        return cast(SequenceSource, cast(SequencesConfig, self.builder_config).source)

    def _info(self) -> tfds.core.DatasetInfo:
        features = {name: _feature(spec) for name, spec in self._source.features.items()}
        return tfds.core.DatasetInfo(
            builder=self,
            description=self._source.description,
            features=tfds.features.FeaturesDict(features),
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        return {name: self._generate_examples(examples) for name, examples in self._source.splits().items()}

    def _generate_examples(self, examples: Iterable[dict[str, Any]]):
        yield from enumerate(examples)


def read_source(source: SequenceSource, name: str, data_dir: str | None) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, Any]]:
    """Prepare a source where that has not been done, and read it.

    Args:
        source: the source.
        name: of the data set, for messages.
        data_dir: where prepared data lie.

    Returns:
        (arrays by feature by split, facts for reports); texts are arrays of bytes.
    """

    def make() -> CanonSequences:
        config = SequencesConfig(name=source.directory, description=source.description, source=source)
        return CanonSequences(data_dir=data_dir, config=config)

    builder = prepare(make, name, data_dir)
    splits = {}
    for split in ("train", "test"):
        batches = [{key: value.numpy() for key, value in batch.items()} for batch in read(builder, split)]
        splits[split] = {key: np.concatenate([batch[key] for batch in batches]) for key in source.features}
    facts = {"source": source.origin, "version": builder.info.full_name, "prepared_in": str(builder.data_dir)}
    return splits, facts


def _feature(spec: tuple[tuple[int, ...], str] | None):
    return tfds.features.Text() if spec is None else tfds.features.Tensor(shape=spec[0], dtype=np.dtype(spec[1]))
