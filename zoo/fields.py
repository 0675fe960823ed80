"""Strict reading of plain data (TOML tables, JSON objects, overrides) into frozen dataclasses."""

import dataclasses
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import CanonError, unknown_name

Record = TypeVar("Record")


def read_fields(cls: type[Record], data: Mapping[str, Any], where: str) -> Record:
    """Return `cls(**data)` after checking every key and every type.

    Lists become tuples, ints become floats where a float is declared, and nested tables become nested dataclasses.

    Args:
        cls: a dataclass.
        data: the table.
        where: how to name the table in an error, such as "[model] in recipes/lenet5_digits.toml".

    Raises:
        CanonError: for an unknown key (with the nearest allowed ones), a missing key, or a value of the wrong type.
    """
    if not isinstance(data, Mapping):
        raise CanonError(f"{where} must be a table of keys and values, got {data!r}.")
    hints, fields = _declared(cls)
    for key in data:
        if key not in fields:
            raise unknown_name(f"key in {where} called", key, fields)
    values = {key: convert(hints[key], value, f"{key} in {where}") for key, value in data.items()}
    for name, field in fields.items():
        if name not in values and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise CanonError(f"{where} lacks the key {name!r}, which has no default.")
    try:
        return cls(**values)
    except CanonError:
        raise
    except ValueError as error:
        raise CanonError(f"{where}: {error}") from error


@cache
def _declared(cls: type) -> tuple[dict[str, Any], dict[str, dataclasses.Field]]:
    """Return the types and the fields of a dataclass by name."""
    return get_type_hints(cls), {field.name: field for field in dataclasses.fields(cls) if field.init}


def convert(hint: Any, value: Any, where: str) -> Any:
    """Return `value` as the type `hint` declares, or raise a CanonError that names `where`."""
    if hint is Any:
        return value
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _convert_union(hint, arguments, value, where)
    if origin is Literal:
        if value not in arguments:
            raise CanonError(f"{where} must be one of {', '.join(map(repr, arguments))}, got {value!r}.")
        return value
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else read_fields(hint, value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise CanonError(f"{where} must be a list, got {value!r}.")
        kinds = (arguments[0],) * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(value):
            raise CanonError(f"{where} must be a list of {len(kinds)}, got {len(value)}: {value!r}.")
        return tuple(convert(kind, item, where) for kind, item in zip(kinds, value, strict=True))
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        if not isinstance(value, Mapping):
            raise CanonError(f"{where} must be a table of keys and values, got {value!r}.")
        return {key: convert(arguments[1], item, f"{key} of {where}") for key, item in value.items()}
    return _convert_plain(hint, value, where)


def _convert_union(hint: Any, arguments: tuple, value: Any, where: str) -> Any:
    for kind in arguments:
        if kind is type(None) and value is None:
            return None
    errors = []
    for kind in (kind for kind in arguments if kind is not type(None)):
        try:
            return convert(kind, value, where)
        except CanonError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    raise CanonError(f"{where} must be {hint}, got {value!r}.")


def _convert_plain(hint: Any, value: Any, where: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        names = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}
        raise CanonError(f"{where} must be {names.get(hint, hint)}, got {value!r}.")
    return value
