"""Checks of constructor arguments: each returns the value in its stored form or raises a ValueError that names it.

They run in `__init__`, before any weight is made, so that a bad argument never reaches a compute kernel.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any


def positive_integer(name: str, value: Any) -> int:
    """Return `value` as an int of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
    return int(value)


def real(name: str, value: Any, minimum: float | None = None, maximum: float | None = None) -> float:
    """Return `value` as a float within [minimum, maximum], both ends included."""
    low = float("-inf") if minimum is None else minimum
    high = float("inf") if maximum is None else maximum
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        bounds = {(True, True): "a number", (False, True): f"at least {minimum}", (True, False): f"at most {maximum}"}
        allowed = bounds.get((minimum is None, maximum is None), f"between {minimum} and {maximum}")
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")
    return float(value)


def rate(name: str, value: Any) -> float:
    """Return `value` as a float in [0, 1): a share that is dropped, of which something must remain."""
    value = real(name, value, 0.0, 1.0)
    if value == 1.0:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value!r}.")
    return value


def one_of(name: str, value: Any, allowed: Sequence) -> Any:
    """Return `value` when it is one of `allowed`."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
    return value


def integers(name: str, value: Any, count: int) -> tuple[int, ...]:
    """Return `value`, an integer of at least 1 or `count` of them, as a tuple of `count` integers."""
    values = (value,) * count if not isinstance(value, Sequence) or isinstance(value, str) else tuple(value)
    if len(values) != count:
        raise ValueError(f"{name} must be an integer or {count} of them, got {value!r}.")
    return tuple(positive_integer(name, item) for item in values)


def input_rank(layer: str, shape: Sequence, rank: int, axes: str) -> None:
    """Raise when `shape` has not `rank` axes or no known channel count; `axes` writes the expected shape out."""
    if len(shape) != rank:
        raise ValueError(f"{layer} expects input of shape {axes} ({rank} axes), got {tuple(shape)}.")
    if shape[-1] is None:
        raise ValueError(f"{layer} needs a known last axis in its input {axes}, got {tuple(shape)}.")


def divisible(name: str, value: int, by_name: str, by: int) -> None:
    """Raise unless `value` is a multiple of `by`."""
    if value % by:
        raise ValueError(f"{name} must be a multiple of {by_name}, got {name}={value} and {by_name}={by}.")
