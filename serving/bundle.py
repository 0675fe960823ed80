"""A bundle: one version folder that holds a SavedModel and `manifest.json`, which says what it is."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..zoo.errors import CanonError
from ..zoo.fields import read_fields
from ..zoo.records import ModelRecord, Preprocessing
from .versions import list_versions

MANIFEST = "manifest.json"
LABELS = "assets/labels.txt"
TOKENIZER = Path("assets.extra/tokenizer.json")
IMAGES_BYTES = "images_bytes"  # the input of encoded images


@dataclass(frozen=True)
class TensorSpec:
    """One named input or output.

    Args:
        dtype: TensorFlow's name of the type, such as "float32" or "string".
        shape: None stands for an axis of any length; the whole is None when even the rank is open.
        tensor: its name in the graph.
    """

    dtype: str
    shape: tuple[int | None, ...] | None
    tensor: str

    def accepts(self, shape: tuple[int, ...]) -> bool:
        """Return whether an array of `shape` fits."""
        if self.shape is None:
            return True
        return len(shape) == len(self.shape) and all(want in (None, got) for want, got in zip(self.shape, shape, strict=True))

    @property
    def shape_text(self) -> str:
        """The shape for a reader, such as "(?, 32, 32, 1)"."""
        return shape_text(self.shape)


def shape_text(shape: tuple[int | None, ...] | None) -> str:
    """Return a shape for a reader, with "?" for an axis of any length."""
    if shape is None:
        return "(any rank)"
    axes = ["?" if size is None else str(size) for size in shape]
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"


@dataclass(frozen=True)
class Signature:
    """A function of a bundle.

    Args:
        inputs: type and shape by name.
        outputs: type and shape by name.
    """

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]


@dataclass(frozen=True)
class Measurement:
    """What was written, beside the float32 model as it was given, on the data of the export.

    Args:
        what: the file and its precision, such as "saved_model bfloat16".
        examples: rows of data.
        difference: the largest difference of an output, as a share of that output's largest absolute value.
        agreement: share of the rows with the same most likely class; None where there are no classes.
        accuracy: share of the rows with the right class; None without targets.
        float32_accuracy: the same of the float32 model.
        batch: rows that were timed together.
        milliseconds: median time for such a batch.
        float32_milliseconds: the same of the float32 model, measured in turn with it.
    """

    what: str
    examples: int
    difference: float
    agreement: float | None
    accuracy: float | None
    float32_accuracy: float | None
    batch: int
    milliseconds: float
    float32_milliseconds: float


@dataclass(frozen=True)
class Manifest:
    """What a bundle says about itself, in `manifest.json`.

    Args:
        name: name under which it was exported.
        version: its version, from 1.
        created: time of the export, UTC, ISO 8601.
        model: name of the Keras model.
        parameters: number of weights in it.
        record: the record of a `zoo.Model`.
        preprocessing: what the `bytes` signature does to an image before the model sees it.
        signatures: name -> inputs and outputs.
        ops: every kind of TensorFlow op in the graph, sorted.
        files: path -> SHA-256 of every other file of the bundle.
        versions: package -> version that wrote it.
        precision: of the arithmetic: "float32", "bfloat16" or "int8" (the LiteRT file).
        formats: other format -> its file.
        measurements: accuracy and speed beside the float32 model, when the export was given data.
    """

    name: str
    version: int
    created: str
    model: str
    parameters: int
    record: ModelRecord | None
    preprocessing: Preprocessing | None
    signatures: dict[str, Signature]
    ops: tuple[str, ...]
    files: dict[str, str]
    versions: dict[str, str]
    precision: str = "float32"
    formats: dict[str, str] = field(default_factory=dict)
    measurements: tuple[Measurement, ...] = ()

    def to_json(self) -> str:
        """Return the text of `manifest.json`."""
        return json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk.

    Args:
        path: the version folder, NAME/VERSION.
        manifest: its manifest.
    """

    path: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """The name it is served under: that of its folder, which may have been renamed since the export."""
        return self.path.resolve().parent.name

    @property
    def version(self) -> int:
        """The version it is served as."""
        return int(self.path.name) if self.path.name.isdigit() else self.manifest.version

    @property
    def labels(self) -> tuple[str, ...]:
        """Class names in the order of the logits; empty when none were given."""
        if LABELS not in self.manifest.files:
            return ()
        return tuple((self.path / LABELS).read_text(encoding="utf-8").removesuffix("\n").split("\n"))


def read_bundle(path: str | Path) -> Bundle:
    """Read the manifest of a bundle and compare every file with its hash.

    Args:
        path: NAME/VERSION, or NAME/ for its newest version.

    Raises:
        CanonError: when there is no bundle, its manifest is not valid, or a file is missing or changed.
    """
    folder = find_bundle(Path(path))
    where = str(folder / MANIFEST)
    try:
        data: Any = json.loads((folder / MANIFEST).read_bytes())
    except ValueError as error:
        raise CanonError(f"{where!r} is not valid JSON ({error}): export the model again.") from error
    manifest = read_fields(Manifest, data, where)
    for name, digest in manifest.files.items():
        file = folder / name
        if not file.is_file():
            raise CanonError(f"The bundle {str(folder)!r} lacks its file {name!r}: copy it again or export the model again.")
        if sha256(file) != digest:
            raise CanonError(f"The file {name!r} of the bundle {str(folder)!r} was changed or damaged: its SHA-256 is not the manifest's.")
    return Bundle(folder, manifest)


def find_bundle(path: Path) -> Path:
    """Return the version folder that `path` means: itself, or the newest version in it."""
    if (path / MANIFEST).is_file():
        return path
    versions = list_versions(path)
    if not versions:
        raise CanonError(f"There is no exported model in {str(path)!r}: give NAME/ or NAME/VERSION, as serving.export wrote it.")
    folder = versions[max(versions)]
    if not (folder / MANIFEST).is_file():
        raise CanonError(f"{str(folder)!r} has no {MANIFEST}: export the model with serving.export.")
    return folder


def hash_files(folder: Path) -> dict[str, str]:
    """Return path -> SHA-256 of every file of a folder but its manifest."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name: sha256(folder / name) for name in files if name != MANIFEST}


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
