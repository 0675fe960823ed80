import json

import numpy as np
import pytest

from keras_canon.serving import TensorSpec
from keras_canon.serving.errors import RequestError
from keras_canon.serving.tensors import from_array, from_json

FLOATS = TensorSpec("float32", (None, 2), "x:0")
COUNTS = TensorSpec("int32", (None,), "n:0")
TEXTS = TensorSpec("string", (None,), "s:0")
FLAGS = TensorSpec("bool", (None,), "b:0")


def test_json_numbers():
    np.testing.assert_array_equal(from_json([[1, 2.5], [-3, 1e-3]], FLOATS, "x"), np.array([[1, 2.5], [-3, 1e-3]], "float32"))
    assert from_json([[1, 2]], FLOATS, "x").dtype == np.float32
    assert from_json([1, -2], COUNTS, "n").dtype == np.int32
    np.testing.assert_array_equal(from_json([True, False], FLAGS, "b"), [True, False])
    assert from_json([], COUNTS, "n").shape == (0,)
    assert np.isnan(from_json([[float("nan"), 1]], FLOATS, "x")[0, 0])


def test_json_strings():
    values = ["é", {"b64": "AP8="}, {"b64": "AP8"}, ""]
    assert from_json(values, TEXTS, "s").tolist() == ["é".encode(), b"\x00\xff", b"\x00\xff", b""]


@pytest.mark.parametrize(
    ("value", "spec", "message"),
    [
        ([[1, 2], [3]], FLOATS, r"'x' is ragged: on axis 1 it has rows of lengths 1 and 2"),
        ([[1, 2], 3], FLOATS, "'x' mixes lists and values on axis 1"),
        ([[1, 2, 3]], FLOATS, r"'x' must have shape \(\?, 2\), with \? for any length, got \(1, 3\)"),
        ([1, 2], FLOATS, r"got \(2,\)"),
        (7, FLOATS, r"got \(\)"),
        ([[1, "abc"]], FLOATS, r"'x' must hold numbers \(float32\), got the string 'abc'"),
        ([[1, True]], FLOATS, "got true"),
        ([[1, None]], FLOATS, "got null"),
        ([[1, {"b64": "AA=="}]], FLOATS, "got an object"),
        ([[1, 1e39]], FLOATS, "a number that float32 cannot hold"),
        ([[1, 10**400]], FLOATS, "a number that float32 cannot hold"),
        (json.loads("[[1, 1e999]]"), FLOATS, "a number that float32 cannot hold"),
        ([1.0], COUNTS, r"'x' must hold whole numbers \(int32\), got the number 1.0"),
        ([2**40], COUNTS, "a number that int32 cannot hold"),
        ([1], FLAGS, "true or false"),
        ([3], TEXTS, r"must hold strings or \{"),
        ([{"b64": "***"}], TEXTS, r"not base64 \(RFC 4648\), beginning '\*\*\*'"),
        ([{"b64": 3}], TEXTS, "got an object"),
    ],
)
def test_json_that_does_not_fit(value, spec, message):
    with pytest.raises(RequestError, match=message) as caught:
        from_json(value, spec, "x")
    assert caught.value.status == 400


def test_arrays():
    assert from_array(np.ones((1, 2), "float64"), FLOATS, "x").dtype == np.float32
    assert from_array([[1, 2]], FLOATS, "x").dtype == np.float32
    assert from_array([b"a\x00", "b"], TEXTS, "s").tolist() == [b"a\x00", b"b"]
    assert from_array([[np.inf, np.nan]], FLOATS, "x")[0, 0] == np.inf
    assert from_array(np.array([2**31 - 1], "uint64"), COUNTS, "n").dtype == np.int32


@pytest.mark.parametrize(
    ("value", "spec", "message"),
    [
        ([[1, 2], [3]], FLOATS, "rows of different lengths"),
        (np.ones(2), FLOATS, r"must have shape \(\?, 2\)"),
        (np.array([["a", "b"]]), FLOATS, "must hold float32, got <U1"),
        (np.array([1.5]), COUNTS, "must hold int32, got float64"),
        ([[True, False]], FLOATS, "must hold float32, got bool"),
        ([1], TEXTS, "must hold strings"),
        ([2**32 + 5], COUNTS, "a number that int32 cannot hold"),
        (np.array([2**64 - 1], "uint64"), TensorSpec("int64", (None,), "n:0"), "a number that int64 cannot hold"),
        ([-1], TensorSpec("uint8", (None,), "n:0"), "a number that uint8 cannot hold"),
        ([[1.0, 1e300]], FLOATS, "a number that float32 cannot hold"),
    ],
)
def test_arrays_that_do_not_fit(value, spec, message):
    with pytest.raises(RequestError, match=message):
        from_array(value, spec, "x")
