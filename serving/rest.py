"""TensorFlow Serving's JSON for `predict`, both ways: row form (`instances`, `predictions`) and column form (`inputs`, `outputs`).

Reference: TensorFlow Serving, "RESTful API", https://www.tensorflow.org/tfx/serving/api_rest
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .bundle import Signature, TensorSpec
from .errors import RequestError
from .servable import DEFAULT_SIGNATURE, Servable, check_names
from .tensors import from_json

Form = Literal["instances", "inputs"]


@dataclass(frozen=True)
class PredictRequest:
    """A predict request that was read: which signature, in which form, on what.

    Args:
        signature: name of the signature.
        form: "instances" for the row form, "inputs" for the column form; the reply has the same.
        arrays: the inputs, with the signature's types and shapes.
    """

    signature: str
    form: Form
    arrays: dict[str, np.ndarray]


def answer(servable: Servable, body: bytes) -> bytes:
    """Answer the body of a predict request with the body of the reply, in this thread and by itself.

    Raises:
        RequestError: when the request cannot be answered.
    """
    request = read_request(servable, body)
    return write_reply(servable.run(request.signature, request.arrays), request.form)


def read_request(servable: Servable, body: bytes) -> PredictRequest:
    """Read the body of a predict request.

    Raises:
        RequestError: when it is not one that the servable can answer.
    """
    request = _parse(body)
    name = _signature_name(request)
    signature = servable.signature(name)
    form = _form(request)
    arrays = _rows(request[form], signature, name) if form == "instances" else _columns(request[form], signature, name)
    return PredictRequest(name, form, arrays)


def describe(servable: Servable) -> dict[str, Any]:
    """Return the reply to a metadata request: the JSON form of the signatures' protocol buffers."""
    signatures = {
        name: {
            "inputs": {key: _tensor_info(spec) for key, spec in signature.inputs.items()},
            "outputs": {key: _tensor_info(spec) for key, spec in signature.outputs.items()},
            "method_name": "tensorflow/serving/predict",
            "defaults": {},
        }
        for name, signature in servable.signatures.items()
    }
    bundle = servable.bundle
    return {
        "model_spec": {"name": bundle.name, "signature_name": "", "version": str(bundle.version)},
        "metadata": {"signature_def": {"signature_def": signatures}},
    }


def _tensor_info(spec: TensorSpec) -> dict[str, Any]:
    # a protocol buffer's 64-bit integers are strings in JSON, and -1 is an axis of any length
    axes = [{"size": str(-1 if size is None else size), "name": ""} for size in spec.shape or ()]
    kinds = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF"}
    return {
        "dtype": kinds.get(spec.dtype, f"DT_{spec.dtype.upper()}"),
        "tensor_shape": {"dim": axes, "unknown_rank": spec.shape is None},
        "name": spec.tensor,
    }


def _parse(body: bytes) -> dict[str, Any]:
    if not body.strip():
        raise RequestError('The request has no body: send a JSON object such as {"instances": [...]}.')
    try:
        request = json.loads(body, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise RequestError(f"The request is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from error
    except RequestError:
        raise
    except RecursionError as error:
        raise RequestError("The request is nested too deeply.") from error
    except ValueError as error:  # bytes that are no text, or a whole number of thousands of digits
        raise RequestError("The request is not valid JSON in UTF-8.") from error
    if not isinstance(request, dict):
        raise RequestError(f'The request must be a JSON object such as {{"instances": [...]}}, got {_json_type(request)}.')
    return request


def _refuse_constant(text: str) -> Any:
    raise RequestError(f"The request is not valid JSON: it holds {text}, which JSON cannot say.")


def _json_type(value: Any) -> str:
    return {list: "a list", str: "a string", bool: "a boolean", type(None): "null", dict: "an object"}.get(type(value), "a number")


def _signature_name(request: Mapping[str, Any]) -> str:
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise RequestError(f"signature_name must be a string, got {_json_type(name)}.")
    return name or DEFAULT_SIGNATURE


def _form(request: Mapping[str, Any]) -> Form:
    if "instances" in request and "inputs" in request:
        raise RequestError("The request must have either 'instances' (row form) or 'inputs' (column form), got both.")
    if "instances" in request:
        return "instances"
    if "inputs" in request:
        return "inputs"
    got = ", ".join(repr(key[:20]) for key in list(request)[:5]) or "no key"
    raise RequestError(f"The request must have 'instances' (row form) or 'inputs' (column form), got {got}.")


def _rows(instances: Any, signature: Signature, name: str) -> dict[str, np.ndarray]:
    """Read the row form: a list with one value a row, bare for a single input, else an object of named values."""
    if not isinstance(instances, list):
        raise RequestError(f"'instances' must be a list with one item a row, got {_json_type(instances)}.")
    if not instances:
        raise RequestError("'instances' must have at least one row, got an empty list.")
    named = [_is_named(row) for row in instances]
    if not any(named):
        return _single(instances, signature, name, "a list of objects, one named value for each")
    if not all(named):
        raise RequestError(f"'instances' mixes objects and bare values, first at row {named.index(not named[0])}.")
    for row in instances:
        check_names(row, signature.inputs, name)
    return {key: from_json([row[key] for row in instances], spec, key) for key, spec in signature.inputs.items()}


def _columns(inputs: Any, signature: Signature, name: str) -> dict[str, np.ndarray]:
    """Read the column form: one tensor, bare for a single input, else an object of named tensors."""
    if not _is_named(inputs):
        return _single(inputs, signature, name, "an object of named tensors")
    check_names(inputs, signature.inputs, name)
    return {key: from_json(inputs[key], spec, key) for key, spec in signature.inputs.items()}


def _single(value: Any, signature: Signature, name: str, cure: str) -> dict[str, np.ndarray]:
    if len(signature.inputs) != 1:
        raise RequestError(f"Signature {name!r} has the inputs {', '.join(signature.inputs)}: send {cure}.")
    ((key, spec),) = signature.inputs.items()
    return {key: from_json(value, spec, key)}


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and not (set(value) == {"b64"} and isinstance(value["b64"], str))


def write_reply(outputs: dict[str, np.ndarray], form: Form) -> bytes:
    """Write the body of the reply.

    Raises:
        RequestError: when an output cannot be said in JSON, or has no rows for the row form.
    """
    for name, array in outputs.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise RequestError(f"Output {name!r} holds NaN or infinity, which JSON cannot say: look at the input and the weights.", 500)
    if form == "inputs":
        columns = {name: _to_json(array, name) for name, array in outputs.items()}
        return _dump({"outputs": columns if len(columns) > 1 else next(iter(columns.values()))})
    sizes = {name: len(array) if array.ndim else None for name, array in outputs.items()}
    if len(set(sizes.values())) > 1 or None in sizes.values():
        raise RequestError("The outputs have different lengths on axis 0, so they have no rows: use the column form ('inputs').")
    columns = {name: _to_json(array, name) for name, array in outputs.items()}
    if len(columns) == 1:
        return _dump({"predictions": next(iter(columns.values()))})
    return _dump({"predictions": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]})


def _to_json(array: np.ndarray, name: str) -> Any:
    if array.dtype.kind != "O":
        return array.tolist()
    binary = name.endswith("_bytes")
    texts = [
        {"b64": base64.b64encode(item).decode("ascii")} if binary else item.decode("utf-8", "backslashreplace") for item in array.ravel()
    ]
    cells = np.empty(len(texts), dtype=object)
    cells[:] = texts
    return cells.reshape(array.shape).tolist()


def _dump(reply: dict[str, Any]) -> bytes:
    return json.dumps(reply, allow_nan=False, separators=(",", ":")).encode()
