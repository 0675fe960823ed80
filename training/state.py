"""What must be remembered of a run so that another process can go on with it: variables, callbacks, random generators.

A state is plain: one dictionary of arrays and one of values that JSON can hold.
"""

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError

Arrays = dict[str, np.ndarray]

# of a Keras callback, and not its own: the model, what the loop tells it, and the direction that Keras gives `min_delta` anew in
# each process (restoring it would turn it twice)
_FOREIGN = {"_model", "params", "validation_data", "monitor_op", "min_delta"}
_VARIABLE = (keras.Variable, tf.Variable)
_PLAIN = (bool, int, float, str, type(None))


def save_variables(variables: Sequence[Any], prefix: str, arrays: Arrays) -> list[dict[str, Any]]:
    """Put the values of variables into `arrays` and return their names and types, in order."""
    listed = []
    for number, variable in enumerate(variables):
        value = np.asarray(variable.numpy())
        name = getattr(variable, "path", variable.name)
        listed.append({"name": name, "shape": list(value.shape), "dtype": value.dtype.name})
        arrays[f"{prefix}/{number:05d}"] = _storable(value)
    return listed


def restore_variables(variables: Sequence[Any], prefix: str, listed: Sequence[Mapping[str, Any]], arrays: Arrays) -> None:
    """Give variables the values that `save_variables` put aside.

    Raises:
        CanonError: when they are not the variables that were saved, by number, shape or type.
    """
    if len(variables) != len(listed):
        raise CanonError(f"The checkpoint holds {len(listed)} variables of the {prefix}, but this run has {len(variables)}.")
    for number, (variable, record) in enumerate(zip(variables, listed, strict=True)):
        if list(variable.shape) != record["shape"]:
            raise CanonError(
                f"{record['name']} has shape {tuple(record['shape'])} in the checkpoint and {tuple(variable.shape)} in this run."
            )
        dtype = tf.as_dtype(variable.dtype).name
        if dtype != record["dtype"]:
            raise CanonError(f"{record['name']} is of type {record['dtype']} in the checkpoint and {dtype} in this run.")
        variable.assign(_loaded(arrays[f"{prefix}/{number:05d}"], record["dtype"]))


def _storable(value: np.ndarray) -> np.ndarray:
    # NumPy's files know no bfloat16 and no float8: their bits are kept as integers
    return value if value.dtype.isbuiltin == 1 else value.view(f"uint{8 * value.dtype.itemsize}")


def _loaded(value: np.ndarray, dtype: str) -> np.ndarray:
    return value if value.dtype.name == dtype else value.view(tf.as_dtype(dtype).as_numpy_dtype)


class CallbackState:
    """The state of Keras callbacks, whoever wrote them: every attribute with a plain value that training has changed.

    Plain are numbers, strings, None, arrays, variables, and lists, tuples and dictionaries of these. A callback for which that is
    too much, or not enough, has methods `get_state()` and `set_state(state)` of its own; the state must be plain.

    Args:
        callbacks: after their `on_train_begin`, so that what a callback begins with is known.
    """

    def __init__(self, callbacks: Sequence[keras.callbacks.Callback]):
        self._callbacks = _named(callbacks)
        self._begin = {name: {} if hasattr(item, "get_state") else _copy(_attributes(item)) for name, item in self._callbacks.items()}

    def save(self, arrays: Arrays) -> dict[str, Any]:
        """Put arrays into `arrays` and return all else."""
        saved = {}
        for name, callback in self._callbacks.items():
            if hasattr(callback, "get_state"):
                values = callback.get_state()
            else:
                begin = self._begin[name]
                values = {key: value for key, value in _attributes(callback).items() if key not in begin or not _same(value, begin[key])}
            saved[name] = _pack(values, f"callback/{name}", arrays)
        return saved

    def restore(self, saved: Mapping[str, Any], arrays: Arrays) -> None:
        """Give the callbacks the state they had; one that was not there before keeps its own."""
        for name, callback in self._callbacks.items():
            if name not in saved:
                continue
            values = _unpack(saved[name], arrays)
            if hasattr(callback, "set_state"):
                callback.set_state(values)
                continue
            for key, value in values.items():
                if not _assign(getattr(callback, key, None), value):
                    setattr(callback, key, value)


def _named(callbacks: Sequence[keras.callbacks.Callback]) -> dict[str, keras.callbacks.Callback]:
    """Return callbacks by class and number, so that one more at the end does not shift the others."""
    named: dict[str, keras.callbacks.Callback] = {}
    for callback in callbacks:
        kind = type(callback).__name__
        named[f"{kind}.{sum(name.startswith(f'{kind}.') for name in named)}"] = callback
    return named


def _attributes(callback: keras.callbacks.Callback) -> dict[str, Any]:
    return {key: value for key, value in vars(callback).items() if key not in _FOREIGN and _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, _PLAIN) for key in value) and all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    return isinstance(value, (*_PLAIN, *_VARIABLE, np.generic))


def _copy(value: Any) -> Any:
    """Return a copy that later changes leave alone; a variable becomes its value."""
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in value]
    return np.array(value.numpy()) if isinstance(value, _VARIABLE) else deepcopy(value)


def _same(value: Any, begin: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(begin, Mapping) and list(value) == list(begin) and all(_same(value[key], begin[key]) for key in value)
    if isinstance(value, list | tuple):
        return isinstance(begin, list) and len(value) == len(begin) and all(map(_same, value, begin))
    if isinstance(value, _VARIABLE):
        value = value.numpy()
    return type(value) is type(begin) and bool(np.array_equal(value, begin))


def _pack(value: Any, path: str, arrays: Arrays) -> Any:
    """Return a plain value as JSON can hold it; every table says what it stands for."""
    if isinstance(value, Mapping):
        return {"dict": [[key, _pack(item, f"{path}/{number}", arrays)] for number, (key, item) in enumerate(value.items())]}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_pack(item, f"{path}/{number}", arrays) for number, item in enumerate(value)]}
    if isinstance(value, _VARIABLE):
        value = np.asarray(value.numpy())
    if isinstance(value, np.ndarray | np.generic):
        arrays[path] = _storable(np.asarray(value))
        return {"array": path, "dtype": value.dtype.name, "scalar": isinstance(value, np.generic)}
    return value


def _unpack(packed: Any, arrays: Arrays) -> Any:
    if not isinstance(packed, Mapping):
        return packed
    if "dict" in packed:
        return {key: _unpack(item, arrays) for key, item in packed["dict"]}
    if "array" in packed:
        value = _loaded(arrays[packed["array"]], packed["dtype"])
        return value[()] if packed["scalar"] else value
    items = [_unpack(item, arrays) for item in packed["list" if "list" in packed else "tuple"]]
    return items if "list" in packed else tuple(items)


def _assign(present: Any, value: Any) -> bool:
    """Assign to the variables where a callback has them; False where there are none."""
    if isinstance(present, _VARIABLE):
        present.assign(value)
        return True
    if isinstance(present, list | tuple) and present and all(isinstance(item, _VARIABLE) for item in present):
        for variable, item in zip(present, value, strict=True):
            variable.assign(item)
        return True
    return False


def save_random(arrays: Arrays) -> dict[str, Any]:
    """Put aside the generators of Python and NumPy, which callbacks may draw from."""
    kind, keys, position, has_gauss, gauss = np.random.get_state()  # noqa: NPY002  the global generator is what others draw from
    arrays["random/numpy"] = np.asarray(keys)
    version, state, gauss_next = random.getstate()
    arrays["random/python"] = np.asarray(state, "uint64")
    return {"numpy": [kind, int(position), int(has_gauss), float(gauss)], "python": [version, gauss_next]}


def restore_random(saved: Mapping[str, Any], arrays: Arrays) -> None:
    """Set the generators of Python and NumPy."""
    kind, position, has_gauss, gauss = saved["numpy"]
    np.random.set_state((kind, arrays["random/numpy"], position, has_gauss, gauss))  # noqa: NPY002
    version, gauss_next = saved["python"]
    random.setstate((version, tuple(arrays["random/python"].tolist()), gauss_next))
