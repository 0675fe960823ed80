"""Values that came from outside, as arrays of the type and shape that a signature asks for."""

import base64
import binascii
from itertools import chain
from typing import Any

import numpy as np

from .bundle import TensorSpec, shape_text
from .errors import RequestError


def from_json(value: Any, spec: TensorSpec, name: str) -> np.ndarray:
    """Turn nested JSON lists into an array.

    Args:
        value: a number, string, boolean, {"b64": text} or nested lists of one of these.
        spec: type and shape that are asked for.
        name: name of the input, for errors.

    Raises:
        RequestError: for rows of different lengths, a wrong shape, or an element of another type; it names expected and got.
    """
    elements, shape = _flatten(value, name)
    if not spec.accepts(shape):
        raise _wrong_shape(spec, shape, name)
    if spec.dtype == "string":
        return _object_array([_to_bytes(element, name) for element in elements], shape)
    _check_types(elements, spec, name)
    return _numbers(elements, spec, name).reshape(shape)


def from_array(value: Any, spec: TensorSpec, name: str) -> np.ndarray:
    """Turn what a Python caller gives into an array of the type and shape that are asked for.

    Raises:
        RequestError: for a wrong shape, or a type that cannot be converted without loss of meaning.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise RequestError(f"Input {name!r} must be an array of shape {spec.shape_text}, got rows of different lengths.") from error
    if not spec.accepts(array.shape):
        raise _wrong_shape(spec, array.shape, name)
    if spec.dtype == "string":
        # NumPy's own byte strings lose trailing zeros, which an encoded image may end with
        elements = np.asarray(value, dtype=object)
        return _object_array([_to_bytes(element, name) for element in elements.ravel()], array.shape)
    kinds = {"b": "b", "i": "iu", "u": "iu", "f": "iuf", "c": "iufc"}[np.dtype(spec.dtype).kind]
    if array.dtype.kind not in kinds:
        raise RequestError(f"Input {name!r} must hold {spec.dtype}, got {array.dtype}.")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = array.astype(spec.dtype, copy=False)
    if cast.dtype != array.dtype:
        wrong = np.isinf(cast) & np.isfinite(array) if cast.dtype.kind in "fc" else cast != array
        if np.any(wrong):
            raise _too_large(spec, name)
    return cast


def _flatten(value: Any, name: str) -> tuple[list, tuple[int, ...]]:
    """Return the elements in order and the shape, level by level: every step is one call over a whole level, which is fast."""
    level, shape = [value], []
    while level and any(isinstance(item, list) for item in level):
        if not all(isinstance(item, list) for item in level):
            raise RequestError(f"Input {name!r} mixes lists and values on axis {len(shape)}: every row must have the same shape.")
        lengths = set(map(len, level))
        if len(lengths) > 1:
            raise RequestError(
                f"Input {name!r} is ragged: on axis {len(shape)} it has rows of lengths {min(lengths)} and {max(lengths)}, "
                "and every row must have the same."
            )
        shape.append(lengths.pop())
        level = list(chain.from_iterable(level))
    return level, tuple(shape)


_JSON_TYPES = {"b": ({bool}, "true or false"), "i": ({int}, "whole numbers"), "u": ({int}, "whole numbers"), "f": ({int, float}, "numbers")}


def _check_types(elements: list, spec: TensorSpec, name: str) -> None:
    allowed, words = _JSON_TYPES[np.dtype(spec.dtype).kind]
    wrong = set(map(type, elements)) - allowed
    if wrong:
        element = next(item for item in elements if type(item) in wrong)
        raise RequestError(f"Input {name!r} must hold {words} ({spec.dtype}), got {_words(element)}.")


def _words(element: Any) -> str:
    if element is None:
        return "null"
    if isinstance(element, bool):
        return str(element).lower()
    if isinstance(element, str):
        return f"the string {element[:20]!r}"
    return f"the number {element}"[:40] if isinstance(element, int | float) else "an object"


def _numbers(elements: list, spec: TensorSpec, name: str) -> np.ndarray:
    try:
        if np.dtype(spec.dtype).kind != "f":
            return np.asarray(elements, dtype=spec.dtype)
        wide = np.asarray(elements, dtype="float64")
    except OverflowError as error:
        raise _too_large(spec, name) from error
    with np.errstate(over="ignore"):
        array = wide.astype(spec.dtype)
    # Python reads 1e999 as infinity
    if np.any(np.isinf(array)):
        raise _too_large(spec, name)
    return array


def _too_large(spec: TensorSpec, name: str) -> RequestError:
    return RequestError(f"Input {name!r} holds a number that {spec.dtype} cannot hold.")


def _to_bytes(element: Any, name: str) -> bytes:
    if isinstance(element, bytes):
        return element
    if isinstance(element, str):
        return element.encode("utf-8", "surrogatepass")
    if isinstance(element, dict) and set(element) == {"b64"} and isinstance(element["b64"], str):
        text = element["b64"]
        try:
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError) as error:
            raise RequestError(f'Input {name!r} holds a "b64" value that is not base64 (RFC 4648), beginning {text[:20]!r}.') from error
    raise RequestError(f'Input {name!r} must hold strings or {{"b64": "..."}} values, got {_words(element)}.')


def _object_array(elements: list[bytes], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array.reshape(shape)


def _wrong_shape(spec: TensorSpec, shape: tuple[int, ...], name: str) -> RequestError:
    return RequestError(f"Input {name!r} must have shape {spec.shape_text}, with ? for any length, got {shape_text(shape)}.")
