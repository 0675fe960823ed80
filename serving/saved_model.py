"""From a trained model to a bundle that TF Serving, or any other SavedModel runtime, loads without this package."""

import dataclasses
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from ..zoo.errors import CanonError
from ..zoo.model import Model, load_model
from ..zoo.records import ModelRecord, Preprocessing
from .bundle import LABELS, MANIFEST, Bundle, Manifest, Signature, TensorSpec, sha256
from .signatures import LOGITS, build_signatures
from .versions import new_version


def export(
    model: keras.Model | str | Path,
    directory: str | Path,
    *,
    labels: Sequence[str] | None = None,
    preprocessing: Preprocessing | None = None,
    version: int | None = None,
) -> Bundle:
    """Write a model as a SavedModel bundle in `directory/VERSION`.

    The signature `serving_default` takes arrays, `bytes` takes encoded images (JPEG, PNG, GIF or BMP of any size) and holds the
    preprocessing. Both take batches of any size, 0 too, and speak float32 whatever the model's dtype policy is. The folder appears
    whole or not at all.

    Args:
        model: a `zoo.Model`, another functional Keras model, a `.keras` file, or the folder of a run.
        directory: NAME/; the name of the folder is the name under which the model is served.
        labels: class names in the order of the logits; None for those in the model's record.
        preprocessing: how an encoded image becomes the model's input; None for that in the model's record.
        version: number of the version; None counts up from 1.

    Returns:
        the bundle: its path and its manifest.

    Raises:
        CanonError: when the source is missing, the model has no fixed inputs, labels or preprocessing do not fit, or the version exists.

    Example:
        >>> from keras_canon import serving, zoo
        >>> bundle = serving.export(zoo.create("lenet5"), folder / "lenet5")
        >>> bundle.version, sorted(bundle.manifest.signatures)
        (1, ['bytes', 'serving_default'])
    """
    source = _read_model(model)
    record = _record(source)
    if record is not None:
        labels = record.labels if labels is None else labels
        preprocessing = record.preprocessing if preprocessing is None else preprocessing
    directory = Path(directory)
    _check_name(directory)
    signatures = build_signatures(source, preprocessing)
    names = _check_labels(tuple(labels or ()), signatures)
    record = None if record is None else dataclasses.replace(record, labels=names, preprocessing=preprocessing)
    with new_version(directory, version) as folder:
        _write_saved_model(source, signatures, names, folder.path)
        manifest = _manifest(source, record, preprocessing, folder.path, directory.resolve().name, folder.version)
        (folder.path / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return Bundle(directory / str(folder.version), manifest)


def _read_model(model: keras.Model | str | Path) -> keras.Model:
    if isinstance(model, keras.Model):
        return model
    path = Path(model)
    if path.is_dir():
        if not (path / "model.keras").is_file():
            raise CanonError(f"The folder {str(path)!r} holds no model.keras: give the folder of a finished run or a .keras file.")
        path = path / "model.keras"
    return load_model(path)


def _record(model: keras.Model) -> ModelRecord | None:
    try:
        return model.record if isinstance(model, Model) else None
    except CanonError:  # built by hand, without a record
        return None


def _check_name(directory: Path) -> None:
    name = directory.resolve().name
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*", name):
        raise CanonError(f"A model cannot be served under the name {name!r}: use letters, digits, '_', '-' and '.' for the last folder.")
    if name.isdigit():
        raise CanonError(
            f"The name {name!r} would be taken for a version: end the path with the model's name, such as saved_models/lenet5."
        )


def _check_labels(labels: tuple[str, ...], signatures: dict[str, Any]) -> tuple[str, ...]:
    outputs = signatures["serving_default"].structured_outputs
    classes = outputs[LOGITS].shape[-1] if LOGITS in outputs else None
    if labels and classes is not None and len(labels) != classes:
        raise CanonError(f"The model has {classes} classes, got {len(labels)} labels.")
    for label in labels:
        if not isinstance(label, str) or not label or "\n" in label or "\r" in label:
            raise CanonError(f"A label must be a text of one line, got {label!r}.")
    return labels


class _Bundle(tf.Module):
    """What the SavedModel holds: the variables that its signatures read, and the file of class names."""

    weights: list[tf.Variable]
    labels: tf.saved_model.Asset


def _write_saved_model(model: keras.Model, signatures: dict[str, Any], labels: tuple[str, ...], folder: Path) -> None:
    module = _Bundle()
    captured = {id(variable) for function in signatures.values() for variable in function.variables}
    # The signatures share these; state that they do not read (seeds of dropout, say) stays behind.
    module.weights = [variable.value for variable in model.variables if id(variable.value) in captured]
    if labels:
        source = folder / Path(LABELS).name
        source.write_text("\n".join(labels) + "\n", encoding="utf-8")
        module.labels = tf.saved_model.Asset(str(source))
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, str(folder), signatures=signatures, options=options)
    if labels:
        source.unlink()  # the asset is the copy in assets/


def _manifest(
    model: keras.Model, record: ModelRecord | None, preprocessing: Preprocessing | None, folder: Path, name: str, version: int
) -> Manifest:
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0]
    nodes = [*graph.graph_def.node, *(node for function in graph.graph_def.library.function for node in function.node_def)]
    # TensorFlow adds a signature of its own for initialisation
    signatures = {key: _signature(value) for key, value in graph.signature_def.items() if not key.startswith("__")}
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return Manifest(
        name=name,
        version=version,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        model=model.name,
        parameters=model.count_params(),
        record=record,
        preprocessing=preprocessing,
        signatures=dict(sorted(signatures.items())),
        ops=tuple(sorted({node.op for node in nodes})),
        files={path.relative_to(folder).as_posix(): sha256(path) for path in files},
        versions={package: package_version(package) for package in ("keras-canon", "keras", "tensorflow")},
    )


def _signature(definition) -> Signature:
    return Signature(inputs=_tensor_specs(definition.inputs), outputs=_tensor_specs(definition.outputs))


def _tensor_specs(infos) -> dict[str, TensorSpec]:
    return {name: _tensor_spec(info) for name, info in sorted(infos.items())}


def _tensor_spec(info) -> TensorSpec:
    shape = tf.TensorShape(info.tensor_shape)
    return TensorSpec(
        dtype=tf.as_dtype(info.dtype).name,
        shape=None if shape.rank is None else tuple(shape.as_list()),
        tensor=info.name,
    )
