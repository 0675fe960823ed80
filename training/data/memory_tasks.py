"""Tasks made by formula that need a memory over many steps: adding, copying, parity."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...zoo.errors import CanonError
from .sequence_builder import SequenceSource

BLANK, GO = 9, 10
COPY_NAMES = ("<padding>", *(f"symbol_{number}" for number in range(1, BLANK)), "blank", "go")
_SEED = 2024


@dataclass(frozen=True)
class MemoryOptions:
    """What `adding:length=100` says.

    Args:
        length: steps of the adding problem; the most bits of parity.
        delay: steps between the symbols of the copying task and the sign to repeat them.
        symbols: how many symbols the copying task repeats.
        examples: number of examples; a fifth is the test split.
    """

    length: int = 100
    delay: int = 20
    symbols: int = 10
    examples: int = 20_000

    def __post_init__(self):
        limits = {"length": (2, 10_000), "delay": (1, 10_000), "symbols": (1, 1000), "examples": (50, 1_000_000)}
        for name, (low, high) in limits.items():
            if not low <= getattr(self, name) <= high:
                raise CanonError(f"{name} of a memory task must be {low} to {high}, got {getattr(self, name)}.")


_TAKEN = {"adding": ("length", "examples"), "copying": ("delay", "symbols", "examples"), "parity": ("length", "examples")}


def parse_options(kind: str, argument: str) -> MemoryOptions:
    """Read `length=100,examples=5000`; options left out keep their defaults.

    Raises:
        CanonError: for an option that the task does not have, or a value out of range.
    """
    values = whole_numbers(kind, argument, _TAKEN[kind])
    return MemoryOptions(**values)


def whole_numbers(kind: str, argument: str, allowed: tuple[str, ...]) -> dict[str, int]:
    """Read whole numbers by key.

    Raises:
        CanonError: for another key or no whole number.
    """
    values = {}
    for item in filter(None, argument.split(",")):
        key, _, value = (part.strip() for part in item.partition("="))
        if key not in allowed or not value.isdecimal():
            raise CanonError(f"{kind} takes whole numbers for {', '.join(allowed)}, as in {kind}:{allowed[0]}=100, got {item!r}.")
        values[key] = int(value)
    return values


def memory_source(kind: str, options: MemoryOptions) -> SequenceSource:
    """Return the source of a task; equal options give equal examples on every machine."""
    length = options.length
    specs: dict[str, tuple[str, Mapping[str, tuple[tuple[int, ...], str]]]] = {
        "adding": (
            "Random numbers, two of which are marked: their sum is asked for.",
            {"sequence": ((length, 2), "float32"), "label": ((1,), "float32")},
        ),
        "copying": (
            "Symbols, a delay, and a sign to repeat them.",
            dict.fromkeys(("sequence", "label"), ((2 * options.symbols + options.delay,), "int32")),
        ),
        "parity": (
            "Bits as -1 and 1, of 1 up to so many steps: whether the number of ones is odd.",
            {"sequence": ((length, 1), "float32"), "label": ((), "int64")},
        ),
    }
    description, features = specs[kind]
    words = [kind, *(f"{field.name}_{getattr(options, field.name)}" for field in fields(options) if field.name in _TAKEN[kind])]
    tests = options.examples // 5

    def splits() -> Mapping[str, Iterator[dict[str, Any]]]:
        return {"train": _examples(kind, options, tests, options.examples), "test": _examples(kind, options, 0, tests)}

    return SequenceSource("_".join(words), description, features, splits)


def _examples(kind: str, options: MemoryOptions, start: int, stop: int) -> Iterator[dict[str, Any]]:
    make = {"adding": adding, "copying": copying, "parity": parity}[kind]
    for row in range(start, stop):
        sequence, label = make(np.random.default_rng([_SEED, row]), options)
        yield {"sequence": sequence, "label": label}


def adding(generator: np.random.Generator, options: MemoryOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers from 0 to 1 with a mark in each half, (length, 2), and the sum of the marked ones, (1,)."""
    half = options.length // 2
    marked = [generator.integers(0, half), generator.integers(half, options.length)]
    sequence = np.zeros((options.length, 2), "float32")
    sequence[:, 0] = generator.uniform(size=options.length)
    sequence[marked, 1] = 1.0
    return sequence, sequence[marked, 0].sum(keepdims=True)


def copying(generator: np.random.Generator, options: MemoryOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return ids of symbols, a delay and a sign, and at each step a blank or, from the step after the sign on, the symbols in order."""
    symbols = generator.integers(1, BLANK, size=options.symbols)
    before = options.symbols + options.delay
    sequence = np.full(before + options.symbols, BLANK, "int32")
    sequence[: options.symbols], sequence[before - 1] = symbols, GO
    label = np.full(before + options.symbols, BLANK, "int32")
    label[before:] = symbols
    return sequence, label


def parity(generator: np.random.Generator, options: MemoryOptions) -> tuple[np.ndarray, int]:
    """Return bits as -1 and 1, with zeros behind them as padding, (length, 1), and 1 where the number of ones is odd."""
    steps = int(generator.integers(1, options.length + 1))
    bits = generator.integers(0, 2, size=steps)
    sequence = np.zeros((options.length, 1), "float32")
    sequence[:steps, 0] = 2 * bits - 1
    return sequence, int(bits.sum() % 2)
