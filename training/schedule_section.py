"""The `[schedule]` section of a recipe; reading it needs no TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

# by schedule: the keys that it needs, and those that it takes besides
_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "constant": ((), ("warmup_epochs",)),
        "linear": ((), ("warmup_epochs", "floor")),
        "step": (("factor", "every_epochs"), ("warmup_epochs",)),
        "multi_step": (("factor", "milestones"), ("warmup_epochs",)),
        "exponential": (("factor",), ("warmup_epochs",)),
        "polynomial": (("power",), ("warmup_epochs", "floor")),
        "inverse_square_root": (("warmup_epochs",), ()),
        "cosine": ((), ("warmup_epochs", "floor")),
        "cosine_restarts": (("cycle_epochs",), ("warmup_epochs", "floor", "growth")),
        "triangular": (("cycle_epochs",), ("warmup_epochs", "floor", "shrink")),
        "one_cycle": ((), ("floor", "start", "tail", "momentum")),
        "plateau": (("factor", "patience"), ("floor",)),
    }
)
_CHAINING = ("epochs", "then", "learning_rate")
_POSITIVE = ("every_epochs", "cycle_epochs", "power", "epochs", "learning_rate")


@dataclass(frozen=True)
class ScheduleSection:
    """`[schedule]`: how the learning rate moves. `optimizer.learning_rate` is its highest value.

    | name | keys | the rate |
    | --- | --- | --- |
    | constant | | stays |
    | linear, cosine, polynomial | floor, power | goes down to the floor by the end of the run |
    | step | factor, every_epochs | is multiplied by the factor every so many epochs |
    | multi_step | factor, milestones | is multiplied by the factor at each of these epochs |
    | exponential | factor | goes down by the factor in each epoch, a little at every update |
    | inverse_square_root | warmup_epochs | goes down with the root of the number of updates (Vaswani et al. 2017) |
    | cosine_restarts | cycle_epochs, growth, floor | goes down in half cosines, and jumps back up |
    | triangular | cycle_epochs, shrink, floor | goes up from the floor and down again |
    | one_cycle | start, floor, tail, momentum | goes up and down once, then down to the floor in the tail |
    | plateau | factor, patience, floor | is multiplied by the factor when `train.monitor` has not improved for `patience` epochs |

    Args:
        name: the schedule.
        warmup_epochs: epochs of a straight way up before it; fractions are allowed; not for one_cycle and plateau.
        floor: lowest rate; left out, 0.
        factor: above 0 and below 1.
        every_epochs: length of a step.
        milestones: epochs after which the rate changes, counted from the end of the warm-up.
        power: exponent; 1 is a straight line.
        cycle_epochs: length of a cycle (the first one, where cycles grow).
        growth: factor between lengths of cycles, an integer; left out, 1.
        shrink: factor between heights of cycles; left out, 1.
        start: rate of the first update of one_cycle; left out, a tenth of the highest.
        tail: share of the run that one_cycle spends on its tail; left out, 0.1.
        momentum: lowest and highest momentum that go with one_cycle (`beta_1` of Adam).
        patience: epochs without improvement.
        epochs: how long this schedule lasts before the next of `then`, its warm-up included.
        then: schedules that follow, with the same keys; all but the last have `epochs`.
        learning_rate: highest rate of a schedule in `then`; left out, `optimizer.learning_rate`.
    """

    name: Literal[
        "constant",
        "linear",
        "step",
        "multi_step",
        "exponential",
        "polynomial",
        "inverse_square_root",
        "cosine",
        "cosine_restarts",
        "triangular",
        "one_cycle",
        "plateau",
    ] = "constant"
    warmup_epochs: float | None = None
    floor: float | None = None
    factor: float | None = None
    every_epochs: float | None = None
    milestones: tuple[float, ...] | None = None
    power: float | None = None
    cycle_epochs: float | None = None
    growth: int | None = None
    shrink: float | None = None
    start: float | None = None
    tail: float | None = None
    momentum: tuple[float, float] | None = None
    patience: int | None = None
    epochs: float | None = None
    then: tuple[ScheduleSection, ...] = ()
    learning_rate: float | None = None

    def __post_init__(self):
        needed, taken = _KEYS[self.name]
        for key in needed:
            if getattr(self, key) is None:
                raise ValueError(f"the schedule {self.name!r} needs the key {key!r}.")
        for key in self.__dataclass_fields__:
            if getattr(self, key) is not None and key not in ("name", *needed, *taken, *_CHAINING):
                allowed = ", ".join([*needed, *taken]) or "none"
                raise ValueError(f"{key} does nothing to the schedule {self.name!r}: leave it out; its keys: {allowed}.")
        for key in ("warmup_epochs", "floor", "start"):
            _require(self, key, lambda value: value >= 0.0, "at least 0")
        for key in _POSITIVE:
            _require(self, key, lambda value: value > 0.0, "above 0")
        _require(self, "factor", lambda value: 0.0 < value < 1.0, "above 0 and below 1")
        for key in ("patience", "growth"):
            _require(self, key, lambda value: value >= 1, "at least 1")
        if self.milestones is not None and (not self.milestones or list(self.milestones) != sorted({*self.milestones})):
            raise ValueError(f"milestones must be strictly ascending epochs, at least one, got {list(self.milestones)}.")
        if self.milestones is not None and self.milestones[0] <= 0.0:
            raise ValueError(f"milestones must be above 0, got {list(self.milestones)}.")
        self._check_chain()

    def check_head(self) -> None:
        """Refuse what only schedules of a chain have, in the section itself, which does not know whether it is part of one.

        Raises:
            ValueError: for a key that does nothing.
        """
        if self.learning_rate is not None:
            raise ValueError("schedule.learning_rate is for schedules in then: set optimizer.learning_rate.")
        if self.epochs is not None and not self.then:
            raise ValueError("schedule.epochs is for a schedule that another follows in then: set train.epochs.")

    def _check_chain(self):
        parts = (self, *self.then)
        if not self.then:
            return
        for part in parts[:-1]:
            if part.epochs is None:
                raise ValueError(f"the schedule {part.name!r} needs the key 'epochs', because another follows.")
        if parts[-1].epochs is not None:
            raise ValueError("epochs of the last schedule in then does nothing: it lasts to the end of the run.")
        for part in parts:
            if part.name == "plateau" or part.momentum is not None or (part is not self and part.then):
                what = "plateau" if part.name == "plateau" else "momentum" if part.momentum is not None else "a further then"
                raise ValueError(f"{what} cannot be part of a chain of schedules.")


def _require(section: ScheduleSection, key: str, holds, allowed: str) -> None:
    value = getattr(section, key)
    if value is not None and not holds(value):
        raise ValueError(f"{key} must be {allowed}, got {value}.")
