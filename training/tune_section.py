"""The `[tune]` section of a recipe: which keys a search may change, and over what; reading it needs no TensorFlow."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..zoo.errors import CanonError

METHODS = ("random", "hyperband", "bayesian")

# what may not be searched, and why not
_REFUSED = {
    "data": "trials on different examples cannot be compared",
    "expect": "it is no part of what is trained",
    "smoke": "it is no part of what is trained",
    "tune": "a search cannot search itself",
    "train.monitor": "trials with different measures cannot be compared",
    "train.seed": "a lucky seed is no better recipe",
}
# under these the same answers give another loss
_MOVES_LOSS = ("train.loss", "train.loss_options", "train.class_weights", "train.l1", "train.l2")


@dataclass(frozen=True)
class Range:
    """What one key may be: exactly one of `choices`, `integers` and `floats`.

    Args:
        choices: the values, of any kind.
        integers: lowest and highest whole number, both included.
        floats: lowest and highest number.
        sampling: "linear", or "log" for numbers whose size matters rather than their difference; left out, linear.
        step: distance between neighbours of a linear range; left out, 1 for integers and none for floats.
    """

    choices: tuple[Any, ...] | None = None
    integers: tuple[int, int] | None = None
    floats: tuple[float, float] | None = None
    sampling: Literal["linear", "log"] | None = None
    step: int | float | None = None

    def __post_init__(self):
        given = [kind for kind in ("choices", "integers", "floats") if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"exactly one of choices, integers and floats is needed, got {' and '.join(given) or 'none'}.")
        if self.choices is not None:
            if not self.choices or any(value in self.choices[:index] for index, value in enumerate(self.choices)):
                raise ValueError(f"choices must be one or more different values, got {list(self.choices)}.")
            if self.sampling is not None or self.step is not None:
                raise ValueError("sampling and step do nothing to choices: leave them out.")
            return
        low, high = self.bounds
        if not low < high:
            raise ValueError(f"{given[0]} must be the lowest and a higher value, got {[low, high]}.")
        if self.sampling == "log" and not low > 0:
            raise ValueError(f"a range with log sampling must start above 0, got {low}.")
        if self.step is not None and self.sampling == "log":
            raise ValueError("step does nothing to log sampling: leave it out.")
        if self.step is not None and not 0 < self.step <= high - low:
            raise ValueError(f"step must be above 0 and at most {high - low}, got {self.step}.")
        if self.integers is not None and self.step is not None and not isinstance(self.step, int):
            raise ValueError(f"step of integers must be an integer, got {self.step}.")

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest number of a range that is no list of choices."""
        bounds = self.integers if self.integers is not None else self.floats
        assert bounds is not None
        return bounds

    @property
    def ends(self) -> tuple[Any, ...]:
        """All choices, or the lowest and the highest value."""
        return self.bounds if self.choices is None else self.choices


@dataclass(frozen=True)
class TuneSection:
    """`[tune]`: the space that `canon tune` searches.

    Args:
        objective: what is best; left out, `train.monitor`.
        space: a range for each key, such as `{ floats = [1e-4, 1e-1], sampling = "log" }` for "optimizer.learning_rate".
    """

    objective: Literal["val_loss", "val_accuracy"] | None = None
    space: dict[str, Range] = field(default_factory=dict)

    def check(self, sections: Mapping[str, Any], monitor: str) -> None:
        """Refuse keys that no recipe has, and those over which trials cannot be compared.

        Args:
            sections: the other sections of the recipe by name.
            monitor: `train.monitor`.

        Raises:
            ValueError: it names the key.
        """
        for key in self.space:
            section, *rest = key.split(".")
            why = _REFUSED.get(section) or _REFUSED.get(key)
            if why is not None:
                raise ValueError(f"tune.space cannot hold {key!r}: {why}.")
            if section not in sections or not rest:
                raise ValueError(f"tune.space holds {key!r}, which is no key of a recipe: write it like 'optimizer.learning_rate'.")
            allowed = [item.name for item in dataclasses.fields(sections[section])]
            if rest[0] not in allowed:
                raise ValueError(f"tune.space holds {key!r}, but [{section}] has no {rest[0]!r}: it has {', '.join(allowed)}.")
            for other in self.space:
                if other.startswith(f"{key}."):
                    raise ValueError(f"tune.space holds {key!r} and {other!r}, a part of it: keep one of them.")
            if (self.objective or monitor) == "val_loss" and ".".join([section, rest[0]]) in _MOVES_LOSS:
                raise ValueError(f"tune.space holds {key!r}, which changes what val_loss means: set tune.objective = 'val_accuracy'.")


def flat_space(section: Any, where: str) -> Any:
    """Return a `[tune]` table whose space is one table of dotted keys, however it was written.

    TOML reads `optimizer.learning_rate = {...}` as nested tables and `"optimizer.learning_rate" = {...}` as one key; both are
    welcome, but not both for one key.

    Args:
        section: the table as TOML gives it.
        where: how to name it in an error.

    Raises:
        CanonError: for a key with two ranges, or a range that is no table.
    """
    if not isinstance(section, Mapping) or not isinstance(section.get("space"), Mapping):
        return section
    flat: dict[str, Any] = {}
    _flatten(section["space"], "", flat, where)
    return {**section, "space": flat}


def _flatten(tables: Mapping[str, Any], prefix: str, flat: dict[str, Any], where: str) -> None:
    kinds = {item.name for item in dataclasses.fields(Range)}
    for name, table in tables.items():
        key = prefix + name
        if not isinstance(table, Mapping):
            raise CanonError(
                f"{key} of space in {where} must be a table with choices, integers or floats, such as {{ floats = [1e-4, 1e-1] }}, "
                f"got {table!r}."
            )
        if table and not kinds & set(table):
            _flatten(table, f"{key}.", flat, where)
        elif key in flat:
            raise CanonError(f"{key} of space in {where} has two ranges, {dict(flat[key])} and {dict(table)}: keep one of them.")
        else:
            flat[key] = table
