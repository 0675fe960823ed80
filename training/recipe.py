"""Recipes: found by name or path, read strictly, changed by key, written back as TOML."""

import dataclasses
import datetime
import json
import math
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

from ..zoo import info
from ..zoo.errors import CanonError, unknown_name
from ..zoo.fields import read_fields
from .data.names import parse_name
from .sections import Recipe
from .tune_section import flat_space

_FOLDER = Path(__file__).parent / "recipes"


def list_recipes() -> list[str]:
    """Return the names of the recipes that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load_recipe(source: str | Path, overrides: Mapping[str, Any] | None = None, smoke: bool = False) -> Recipe:
    """Read and check a recipe.

    Args:
        source: a name that `list_recipes` returns, or the path of a TOML file (such as a run's `recipe.toml`).
        overrides: changes by dotted key, such as {"train.epochs": 3}; they win over everything.
        smoke: True to apply the recipe's `[smoke]` section, which shrinks the run to seconds.

    Raises:
        CanonError: for an unknown recipe, key, model or data set, or a value of the wrong type; it names the file and what is allowed.

    Example:
        >>> from keras_canon.training import load_recipe
        >>> load_recipe("lenet5_digits", {"train.epochs": 3}).train.epochs
        3
    """
    path = _find(source)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CanonError(f"{path} is no valid TOML file: {error}") from error
    tables.setdefault("name", path.stem)
    tables = _with_overrides(tables, overrides or {}, path.name)
    # the small version is checked along with the full one, so that a mistake in [smoke] is found by whoever makes it
    shrunk = _with_overrides(_shrunk(tables, path.name), overrides or {}, path.name)
    _read(shrunk, path.name)
    if smoke:
        # what is expected of the full run says nothing about the small one
        tables = {key: value for key, value in shrunk.items() if key not in ("smoke", "expect")}
    recipe = _read(tables, path.name)
    info(recipe.model.name)
    parse_name(recipe.data.name)
    return recipe


def change_recipe(recipe: Recipe, overrides: Mapping[str, Any]) -> Recipe:
    """Return a recipe with changes by dotted key, checked as `load_recipe` checks a file.

    Raises:
        CanonError: for an unknown key or a value that it cannot have.
    """
    where = f"the recipe {recipe.name}"
    return _read(_with_overrides(tomllib.loads(recipe_toml(recipe)), overrides, where), where)


def _find(source: str | Path) -> Path:
    path = Path(source)
    if path.suffix == ".toml":
        if not path.is_file():
            raise CanonError(f"There is no recipe file {str(path)!r}: give an existing .toml file or one of {', '.join(list_recipes())}.")
        return path
    if str(source) not in list_recipes():
        raise unknown_name("recipe", str(source), list_recipes(), "or give the path of a .toml file")
    return _FOLDER / f"{source}.toml"


def _shrunk(tables: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the tables with those of `[smoke]` laid over them, key by key."""
    merged = dict(deepcopy(tables))
    changes = tables.get("smoke", {})
    if not isinstance(changes, Mapping):
        raise CanonError(f"smoke in {file} must be a table of sections, got {changes!r}.")
    for section, values in changes.items():
        if not isinstance(values, Mapping):
            raise CanonError(f"{section} in [smoke] of {file} must be written with its section, such as train.epochs = 1.")
        if isinstance(merged.get(section, {}), Mapping):
            merged[section] = {**merged.get(section, {}), **values}
    return merged


def _with_overrides(tables: Mapping[str, Any], overrides: Mapping[str, Any], file: str) -> dict[str, Any]:
    changed = dict(deepcopy(tables))
    for dotted, value in overrides.items():
        *parents, key = dotted.split(".")
        if not parents and key not in {field.name for field in dataclasses.fields(Recipe)}:
            raise CanonError(f"{dotted!r} is no key of a recipe: write it with its section, such as train.epochs.")
        table = changed
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                raise CanonError(f"{dotted!r} is no key of {file}: {parent!r} holds a value, not a table.")
        table[key] = value
    return changed


def _read(tables: Mapping[str, Any], file: str) -> Recipe:
    hints = get_type_hints(Recipe)
    _check_keys(tables, Recipe, file)
    values = dict(tables)
    for section, kind in hints.items():
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and section in values:
            where = f"[{section}] of {file}"
            _check_keys(values[section], kind, where)
            table = flat_space(values[section], where) if section == "tune" else values[section]
            values[section] = read_fields(kind, table, where)
    return read_fields(Recipe, values, file)


def _check_keys(table: Any, kind: Any, where: str) -> None:
    """Refuse unknown keys with all that are allowed, which is more than the nearest few."""
    if not isinstance(table, Mapping):
        raise CanonError(f"{where} must be a table of keys and values, got {table!r}.")
    allowed = [field.name for field in dataclasses.fields(kind)]
    for key in table:
        if key not in allowed:
            near = get_close_matches(key, allowed, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise CanonError(f"There is no key {key!r} in {where}: {hint}Allowed: {', '.join(allowed)}.")


def recipe_toml(recipe: Recipe, comment: str = "") -> str:
    """Return a recipe as TOML that `load_recipe` reads back to an equal one.

    Args:
        recipe: the recipe.
        comment: lines for the head of the file.
    """
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    return "\n".join([*lines, *_table_lines(_plain(recipe), ())]) + "\n"


def _plain(record: Any) -> dict[str, Any]:
    """Return a record as nested tables without the keys that are not set: TOML has no null."""
    if dataclasses.is_dataclass(record):
        record = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    values = {key: _plain_value(value) for key, value in record.items() if value is not None}
    return {key: value for key, value in values.items() if value != {} and value != ()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple) and value and all(map(dataclasses.is_dataclass, value)):
        return [_plain(item) for item in value]
    return _plain(value) if isinstance(value, Mapping) or dataclasses.is_dataclass(value) else value


def _table_lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"{_key(key)} = {toml_value(value)}" for key, value in table.items() if not isinstance(value, Mapping)]
    if path and (lines or not table):
        lines = ["", f"[{'.'.join(map(_key, path))}]", *lines]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += _table_lines(value, (*path, key))
    return lines


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else toml_value(key)


def toml_value(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # a JSON string is a TOML string, but for DEL, which TOML wants escaped
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    raise CanonError(f"A recipe holds numbers, strings, true or false, dates, lists and tables, got {value!r}.")
