"""What every builder asks of the sizes in its config and of its input shape, so that a wrong one is told by its name."""

import dataclasses
from collections.abc import Iterator
from numbers import Integral
from typing import Any

from .errors import CanonError


def check_sizes(config: Any, default: Any, where: str) -> None:
    """Raise for a size that no network has: a number below 1, or a list without entries.

    0 is allowed where the variant has it, and where the field's metadata names it as `least`.

    Args:
        config: the dataclass to check.
        default: the same with the variant's own values.
        where: how to name the config in an error, such as "the overrides of 'resnet20'".

    Raises:
        CanonError: it names the field.
    """
    for field in dataclasses.fields(config):
        value, known = getattr(config, field.name), getattr(default, field.name)
        name = f"{field.name} in {where}"
        if dataclasses.is_dataclass(value):
            check_sizes(value, known, name)
            continue
        if known != () and any(not entry for entry in _lists(value)):
            raise CanonError(f"{name} must hold at least one entry in each list, got {value!r}.")
        least = field.metadata.get("least", int(all(number >= 1 for number in _integers(known))))
        if any(number < least for number in _integers(value)):
            what = "hold integers" if isinstance(value, tuple) else "be an integer"
            raise CanonError(f"{name} must {what} of at least {least}, got {value!r}.")


def checked_shape(input_shape: Any) -> tuple[int | None, ...]:
    """Return an input shape as a tuple.

    Raises:
        CanonError: for other than integers of at least 1 and None.
    """
    sizes = tuple(input_shape) if isinstance(input_shape, list | tuple) else (0,)
    if any(size is not None and (isinstance(size, bool) or not isinstance(size, Integral) or size < 1) for size in sizes):
        raise CanonError(f"input_shape must be a tuple of integers of at least 1, None where any length will do, got {input_shape!r}.")
    return tuple(None if size is None else int(size) for size in sizes)


def _lists(value: Any) -> Iterator[tuple]:
    if isinstance(value, tuple):
        yield value
        for item in value:
            yield from _lists(item)


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for item in value:
            yield from _integers(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value
