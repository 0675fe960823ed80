"""Other formats beside the SavedModel: LiteRT, ONNX and OpenVINO, each checked after writing."""

import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from ..zoo.errors import CanonError, unknown_name
from .measuring import Predictor, difference
from .samples import Samples

TOLERANCE = 1e-3  # of the largest value of an output
_CALIBRATION_ROWS = 200
_FAILURES = (ConverterError, tf.errors.OpError, ValueError, TypeError, KeyError, AttributeError, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class Source:
    """What is converted.

    Args:
        name: of the model, for errors.
        function: tf.function with named inputs and outputs, without the guard for empty batches.
        specs: type, shape and name of each input.
    """

    name: str
    function: Any
    specs: tuple[tf.TensorSpec, ...]


@dataclass(frozen=True)
class Format:
    """A format to write.

    Args:
        file: path inside the bundle.
        packages: module -> extra of this package that brings it.
        write: writes the file.
        open: returns a predictor that runs it.
    """

    file: str
    packages: dict[str, str]
    write: Callable[[Source, Path, Samples | None], None]
    open: Callable[[Path], Predictor]


def check_formats(names: tuple[str, ...]) -> None:
    """Raise when a format is unknown or its packages are not installed."""
    for name in names:
        if name not in FORMATS:
            raise unknown_name("format called", name, FORMATS)
        for module, extra in FORMATS[name].packages.items():
            _import(module, extra)


def write_format(name: str, source: Source, folder: Path, calibration: Samples | None = None) -> Path:
    """Convert a model and write it into the bundle.

    Args:
        name: key of `FORMATS`.
        source: the model.
        folder: the version folder.
        calibration: rows to find the ranges of activations on: the weights and activations become int8 (LiteRT only).

    Returns:
        the file.

    Raises:
        CanonError: when the format cannot hold the model.
    """
    form = FORMATS[name]
    path = folder / form.file
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        form.write(source, path, calibration)
    except _FAILURES as error:
        raise CanonError(f"Model {source.name!r} cannot be written as {name}: {_first_line(error)}") from error
    return path


def open_format(name: str, path: Path) -> Predictor:
    """Return a predictor that runs a written file in its own runtime.

    Raises:
        CanonError: when the runtime cannot.
    """
    try:
        return FORMATS[name].open(path)
    except _FAILURES as error:
        raise CanonError(f"The model was written as {name}, but its runtime cannot open it: {_first_line(error)}") from error


def check_written(name: str, model: str, predict: Predictor, reference: Predictor, samples: Samples) -> float:
    """Compare a written file with the SavedModel on a few rows.

    Returns:
        the largest difference, as a share of the output's largest absolute value.

    Raises:
        CanonError: when the model takes no rows of this size, or the runtime cannot run it, or answers differently.
    """
    rows = samples.rows(0, 4)
    try:
        expected = reference(rows)
    except tf.errors.InvalidArgumentError as error:
        shapes = ", ".join(f"{key!r} of shape {array.shape}" for key, array in rows.items())
        raise CanonError(f"Model {model!r} cannot compute with {shapes}: give data= of a size the network takes.") from error
    try:
        got = predict(rows)
        found = difference(got, expected)
    except _FAILURES as error:
        raise CanonError(f"Model {model!r} was written as {name}, but its runtime cannot run it: {_first_line(error)}") from error
    if not found <= TOLERANCE:
        raise CanonError(
            f"Model {model!r} as {name} differs from the SavedModel by {found:.2g} of the largest output; {TOLERANCE} is allowed."
        )
    return found


def _first_line(error: BaseException) -> str:
    # LiteRT's converter writes pages of MLIR, and names what it lacks in one of two ways
    listed = re.search(r"TF Select ops: (.+)", str(error))
    lacking = listed[1].strip() if listed else ", ".join(dict.fromkeys(re.findall(r"'tf\.(\w+)' op ", str(error))))
    if lacking:
        return f"its runtime lacks the operation{'s' if ',' in lacking else ''} {lacking} as used here."
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{lines[0][:200].rstrip('.') if lines else type(error).__name__}."


def _import(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise CanonError(f"This format needs {module.split('.')[0]}: pip install 'keras-canon[{extra}]'.") from error


def _write_litert(source: Source, path: Path, calibration: Samples | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(tf.Module(), folder, signatures={"serving_default": source.function.get_concrete_function()})
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=["serving_default"])
        if calibration is not None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.representative_dataset = lambda: _one_by_one(calibration)
        with warnings.catch_warnings():
            # the converter itself calibrates with the interpreter that TensorFlow has marked as old
            warnings.filterwarnings("ignore", message=r"\s*Warning: tf\.lite\.Interpreter is deprecated", category=UserWarning)
            path.write_bytes(converter.convert())


def _one_by_one(samples: Samples):
    for index in range(min(len(samples), _CALIBRATION_ROWS)):
        yield samples.rows(index, index + 1)


def _open_litert(path: Path) -> Predictor:
    interpreter = _import("ai_edge_litert.interpreter", "litert").Interpreter(model_path=str(path))
    runner = interpreter.get_signature_runner("serving_default")

    def predict(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: np.array(value) for name, value in runner(**inputs).items()}

    return predict


def _write_onnx(source: Source, path: Path, calibration: Samples | None) -> None:
    tf2onnx = _import("tf2onnx", "onnx")
    tf2onnx.convert.from_function(source.function, input_signature=source.specs, opset=18, output_path=str(path))


def _open_onnx(path: Path) -> Predictor:
    with _as_runtime_error():
        session = _import("onnxruntime", "onnx").InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def predict(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with _as_runtime_error():
            return dict(zip(names, session.run(names, dict(inputs)), strict=True))

    return predict


@contextmanager
def _as_runtime_error() -> Iterator[None]:
    """Turn an error of ONNX Runtime, whose classes have no base of their own, into a RuntimeError."""
    known = vars(_import("onnxruntime.capi.onnxruntime_pybind11_state", "onnx")).values()
    kinds = tuple(kind for kind in known if isinstance(kind, type) and issubclass(kind, Exception))
    try:
        yield
    except kinds as error:
        raise RuntimeError(str(error)) from error


def _write_openvino(source: Source, path: Path, calibration: Samples | None) -> None:
    openvino = _import("openvino", "openvino")
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(tf.Module(), folder, signatures={"serving_default": source.function.get_concrete_function()})
        openvino.save_model(openvino.convert_model(folder), str(path), compress_to_fp16=False)


def _open_openvino(path: Path) -> Predictor:
    openvino = _import("openvino", "openvino")
    compiled = openvino.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def predict(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        results = compiled(dict(inputs))
        return {next(iter(output.get_names())): np.array(value) for output, value in results.items()}

    return predict


FORMATS: dict[str, Format] = {
    "litert": Format("litert/model.tflite", {"ai_edge_litert.interpreter": "litert"}, _write_litert, _open_litert),
    "onnx": Format("onnx/model.onnx", {"tf2onnx": "onnx", "onnxruntime": "onnx"}, _write_onnx, _open_onnx),
    "openvino": Format("openvino/model.xml", {"openvino": "openvino"}, _write_openvino, _open_openvino),
}
