"""Huge pages change where weights lie, and nothing else."""

import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_canon.zoo.memory import use_huge_pages


def in_huge_pages() -> int:
    """Bytes of this process that lie in huge pages."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))


def test_large_variables_are_moved_and_keep_their_values():
    values = np.random.default_rng(0).normal(size=(3000, 3000)).astype("float32")  # 36 MB
    variable = tf.Variable(values)
    moved = use_huge_pages([variable, tf.Variable(1.0)])
    np.testing.assert_array_equal(variable.numpy(), values)
    if not moved:
        pytest.skip("this system gives no huge pages")
    assert values.nbytes - 2 * 2**21 <= moved <= values.nbytes
    assert in_huge_pages() >= moved - 2**21  # what other tests have left may lie among them already
    variable.assign_add(tf.ones_like(variable))
    np.testing.assert_array_equal(variable.numpy(), values + 1.0)


@pytest.mark.parametrize("dtype", ["bfloat16", "string"])
def test_what_has_no_address_is_left_alone(dtype):
    ones = np.full((1500, 1500), "1" if dtype == "string" else 1.0)
    assert use_huge_pages([tf.Variable(tf.cast(ones, dtype) if dtype == "bfloat16" else ones)]) == 0


def test_other_systems_have_none(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert use_huge_pages([tf.Variable(tf.zeros((2000, 2000)))]) == 0
