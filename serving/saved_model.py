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

from ..zoo.errors import CanonError
from ..zoo.graph_tokenizer import fits_graph
from ..zoo.memory import free_graphs
from ..zoo.model import Model, load_model
from ..zoo.records import ModelRecord, Preprocessing
from ..zoo.tokenizers_files import load_tokenizer
from .bundle import LABELS, MANIFEST, TOKENIZER, Bundle, Manifest, hash_files
from .companions import Precision, check_request, prepare, write_companions
from .freezing import reads_tables
from .inspection import read_saved_model
from .samples import read_samples
from .signatures import LOGITS, build_signatures, in_float32, plan_signatures
from .text_signatures import Text, text_signatures, writes_text
from .versions import new_version
from .warmup import write_warmup

_LARGE = 4_000_000  # parameters: an export holds them some thirty times over


def export(
    model: keras.Model | str | Path,
    directory: str | Path,
    *,
    labels: Sequence[str] | None = None,
    preprocessing: Preprocessing | None = None,
    version: int | None = None,
    precision: Precision = "float32",
    formats: Sequence[str] = (),
    data: Any = None,
    text: Text | None = None,
) -> Bundle:
    """Write a model as a SavedModel bundle in `directory/VERSION`.

    The signature `serving_default` takes arrays, `bytes` takes encoded images (JPEG, PNG, GIF, BMP or WebP of any size) and holds
    the preprocessing, `features` gives the declared feature maps. All take batches of any size, 0 too, speak float32 whatever the
    model's dtype policy is, and share one set of weights, which are constants with batch norm folded into them (above 1.5 GB they
    stay variables). The folder appears whole or not at all.

    Args:
        model: a `zoo.Model`, another functional Keras model, a `.keras` file, or the folder of a run.
        directory: NAME/; the name of the folder is the name under which the model is served.
        labels: class names in the order of the logits; None for those in the model's record.
        preprocessing: how an encoded image becomes the model's input; None for that in the model's record.
        version: number of the version; None counts up from 1.
        precision: "float32"; "bfloat16" for half the size and, on CPUs that have it, about twice the speed; or "int8" for a
            LiteRT file beside the float32 SavedModel, which needs data.
        formats: other formats to write into the bundle: "litert", "onnx", "openvino". Each is compared with the SavedModel.
        data: what accuracy and speed are measured on, for the manifest: an array, a mapping of names to arrays, a pair of one of
            these and the class indices, the path of an `.npz` file of arrays (classes under `targets`), or a folder of images.
        text: for a model that reads or writes text, its tokenizer and how it writes: adds the signature `generate` and, to a
            recurrent one, `step`; or `bytes`, from text to the outputs, or from an image to the text on it. None takes the
            tokenizer of bytes, characters or byte-level BPE that lies beside the model as `tokenizer.json`, if there is one.

    Returns:
        the bundle: its path and its manifest.

    Raises:
        CanonError: when the source is missing, the model has no fixed inputs, labels, preprocessing or data do not fit, the version
            exists, or a format or precision cannot hold the model.

    Example:
        >>> from keras_canon import serving, zoo
        >>> bundle = serving.export(zoo.create("lenet5"), folder / "lenet5")
        >>> bundle.version, sorted(bundle.manifest.signatures)
        (1, ['bytes', 'features', 'serving_default'])
    """
    wanted = check_request(precision, tuple(dict.fromkeys(formats)), data)
    directory = Path(directory)
    _check_name(directory)
    text = _text_beside(model) if text is None else text
    bundle = _export(_read_model(model), directory, labels, preprocessing, version, precision, wanted, data, text)
    if bundle.manifest.parameters > _LARGE:
        free_graphs()
    return bundle


def _export(
    source: keras.Model,
    directory: Path,
    labels: Sequence[str] | None,
    preprocessing: Preprocessing | None,
    version: int | None,
    precision: Precision,
    formats: tuple[str, ...],
    data: Any,
    text: Text | None,
) -> Bundle:
    """Write the bundle; what it has built on the way hangs on nothing when it returns."""
    record = _record(source)
    if record is not None:
        labels = record.labels if labels is None else labels
        preprocessing = record.preprocessing if preprocessing is None else preprocessing
    source = source if text is None else in_float32(source)  # once, so that all signatures share its weights
    writes = text is not None and writes_text(source)
    arithmetic = prepare(plan_signatures(source, preprocessing), precision, formats, keep_variables=writes)
    plan = arithmetic.plan
    signatures = build_signatures(plan, arithmetic.written)
    if text is not None:
        signatures |= text_signatures(source, plan, arithmetic.written, text)
    names = _check_labels(tuple(labels or ()), signatures)
    samples = None if data is None else read_samples(data, arithmetic.specs, preprocessing, names)
    record = None if record is None else dataclasses.replace(record, labels=names, preprocessing=preprocessing)
    with new_version(directory, version) as folder:
        _write_saved_model(plan.model, signatures, names, folder.path)
        name = directory.resolve().name
        saved = read_saved_model(folder.path)
        write_warmup(folder.path, name, saved.signatures, signatures, preprocessing)
        if text is not None:
            text.tokenizer.save(folder.path / TOKENIZER.parent)
        written, measurements = write_companions(arithmetic, folder.path, formats, samples)
        manifest = Manifest(
            name=name,
            version=folder.version,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            model=source.name,
            parameters=source.count_params(),
            record=record,
            preprocessing=preprocessing,
            signatures=saved.signatures,
            ops=saved.ops,
            files=hash_files(folder.path),
            versions={package: package_version(package) for package in ("keras-canon", "keras", "tensorflow")},
            precision=precision,
            formats=written,
            measurements=measurements,
        )
        (folder.path / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return Bundle(directory / str(folder.version), manifest)


def _read_model(model: keras.Model | str | Path) -> keras.Model:
    if isinstance(model, keras.Model):
        return model
    return load_model(model)


def _text_beside(model: keras.Model | str | Path) -> Text | None:
    """Return how to read and write text when the model comes from a folder with a tokenizer that a graph can hold."""
    if isinstance(model, keras.Model):
        return None
    path = Path(model)
    file = (path if path.is_dir() else path.parent) / TOKENIZER.name
    if not file.is_file():
        return None
    tokenizer = load_tokenizer(file)
    return Text(tokenizer) if fits_graph(tokenizer) else None


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
    model: keras.Model
    labels: tf.saved_model.Asset


def _write_saved_model(model: keras.Model, signatures: dict[str, Any], labels: tuple[str, ...], folder: Path) -> None:
    module = _Bundle()
    captured = {id(variable) for function in signatures.values() for variable in function.variables}
    # The signatures share these; state that they do not read (seeds of dropout, say) stays behind.
    module.weights = [variable.value for variable in model.variables if id(variable.value) in captured]
    if any(reads_tables(function) for function in signatures.values()):
        module.model = model  # the tables hang on its layers
    if labels:
        source = folder / Path(LABELS).name
        source.write_text("\n".join(labels) + "\n", encoding="utf-8")
        module.labels = tf.saved_model.Asset(str(source))
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, str(folder), signatures=signatures, options=options)
    if labels:
        source.unlink()  # the asset is the copy in assets/
