"""In which keys recipes differ, as written in TOML."""

import tomllib
from collections.abc import Mapping
from typing import Any

# what is said about a recipe and does not decide what comes out
_ABOUT = ("expect", "smoke", "name", "summary")


def recipe_keys(text: str) -> dict[str, Any]:
    """Return the values of a recipe by dotted key, without what is only said about it."""
    flat: dict[str, Any] = {}
    _flatten({key: value for key, value in tomllib.loads(text).items() if key not in _ABOUT}, "", flat)
    return flat


def changed_keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the keys that two recipes do not have in common with one value, in order."""
    return [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]


def _flatten(tables: Mapping[str, Any], prefix: str, flat: dict[str, Any]) -> None:
    for key, value in tables.items():
        if isinstance(value, Mapping):
            _flatten(value, f"{prefix}{key}.", flat)
        else:
            flat[prefix + key] = value
