"""Strict reading of tables into dataclasses."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

from keras_canon.zoo.errors import CanonError, unknown_name
from keras_canon.zoo.fields import read_fields


@dataclass(frozen=True)
class Inner:
    size: tuple[int, int]
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    name: str
    rate: float = 0.5
    count: int | None = None
    flag: bool = False
    inner: Inner | None = None
    rows: tuple[Inner, ...] = ()
    table: dict[str, float] = field(default_factory=dict)

    def __post_init__(self):
        if self.rate > 1.0:
            raise ValueError(f"rate must be at most 1, got {self.rate}.")


def test_reads_nested_tables_and_converts():
    found = read_fields(
        Outer, {"name": "x", "rate": 1, "inner": {"size": [1, 2]}, "rows": [{"size": [3, 4], "kind": "b"}], "table": {"a": 2}}, "t"
    )
    assert found == Outer("x", 1.0, None, False, Inner((1, 2)), (Inner((3, 4), "b"),), {"a": 2.0})
    assert isinstance(found.rate, float)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "x", "rte": 1}, r"no key in \[x\] called 'rte': did you mean 'rate'"),
        ({}, r"\[x\] lacks the key 'name'"),
        ({"name": 3}, r"name in \[x\] must be a string, got 3"),
        ({"name": "x", "rate": "0.5"}, "rate in .* must be a number"),
        ({"name": "x", "rate": True}, "rate in .* must be a number, got True"),
        ({"name": "x", "count": 1.5}, "count in .* must be an integer, got 1.5"),
        ({"name": "x", "flag": 1}, "flag in .* must be true or false"),
        ({"name": "x", "inner": {"size": [1]}}, "size in inner in .* must be a list of 2, got 1"),
        ({"name": "x", "inner": {"size": [1, 2], "kind": "c"}}, "kind in inner in .* must be one of 'a', 'b', got 'c'"),
        ({"name": "x", "inner": 3}, "inner in .* must be a table"),
        ({"name": "x", "rows": {}}, "rows in .* must be a list"),
        ({"name": "x", "rate": 2.0}, "rate must be at most 1"),
        ([], "must be a table"),
    ],
)
def test_errors_name_key_and_place(data, message):
    with pytest.raises(CanonError, match=message):
        read_fields(Outer, data, "[x]")


def test_unknown_name_lists_near_or_all():
    assert "did you mean 'resnet20'" in str(unknown_name("model", "resnet2", ["resnet20", "lenet5"]))
    assert "allowed: a, b" in str(unknown_name("mode", "zzz", ["b", "a"]))
    many = [f"name{index:02d}" for index in range(40)]
    assert "for example name00" in str(unknown_name("thing", "zzz", many, "see the list"))
