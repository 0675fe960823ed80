"""Batches without TensorFlow: a compute function that notes what it was given."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from keras_canon.serving import Signature, TensorSpec
from keras_canon.serving.batching import Batcher
from keras_canon.serving.errors import RequestError

ROWS = Signature(inputs={"x": TensorSpec("float32", (None, None), "x:0")}, outputs={"y": TensorSpec("float32", (None,), "y:0")})
WHOLE = Signature(inputs={"x": TensorSpec("float32", (None, None), "x:0")}, outputs={"y": TensorSpec("float32", (), "y:0")})


class Adder:
    """Sums each row; holds the first batch back until it is let go; refuses rows that hold a 13."""

    def __init__(self, held=True):
        self.batches, self.gate, self.entered = [], threading.Event(), threading.Event()
        if not held:
            self.gate.set()

    def __call__(self, arrays):
        self.batches.append(arrays["x"].shape)
        self.entered.set()
        assert self.gate.wait(10)
        if (arrays["x"] == 13).any():
            raise RequestError("A row holds 13.")
        if (arrays["x"] == 99).any():
            raise ZeroDivisionError("a fault of the model")
        return {"y": arrays["x"].sum(axis=1)}


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def rows(*values, width=1):
    return {"x": np.repeat(np.array(values, "float32")[:, None], width, axis=1)}


def queue_behind_one(adder, batcher, requests):
    """Submit one request, wait until it is being computed, and queue the others behind it."""
    first = batcher.submit(rows(0))
    assert adder.entered.wait(10)
    others = [batcher.submit(request) for request in requests]
    adder.gate.set()
    assert first.result(10)["y"].tolist() == [0]
    return others


def make(adder, pool, signature=ROWS, max_batch=8, max_wait_s=0.0, **options):
    # one at a time, so that a test knows what waits
    return Batcher(adder, signature, pool, **{"max_batch": max_batch, "max_wait_s": max_wait_s, "parallel": 1, **options})


def test_what_waits_is_computed_together_and_each_gets_its_own(pool):
    adder, seen = Adder(), []
    futures = queue_behind_one(adder, make(adder, pool, observe=seen.append), [rows(1), rows(2, 3), rows(4)])
    assert [future.result(10)["y"].tolist() for future in futures] == [[1], [2, 3], [4]]
    assert adder.batches == [(1, 1), (4, 1)]
    assert seen == [1, 4]


def test_a_batch_is_never_larger_than_allowed_and_order_is_kept(pool):
    adder = Adder()
    futures = queue_behind_one(adder, make(adder, pool, max_batch=4), [rows(*range(3)), rows(5, 6), rows(7), rows(*range(9))])
    assert [len(future.result(10)["y"]) for future in futures] == [3, 2, 1, 9]
    # the third request fits beside the first, the one of nine rows is computed by itself
    assert adder.batches == [(1, 1), (4, 1), (2, 1), (9, 1)]


def test_requests_of_other_lengths_do_not_share_a_batch(pool):
    adder = Adder()
    futures = queue_behind_one(adder, make(adder, pool), [rows(1, width=2), rows(2, width=3), rows(3, width=2)])
    assert [future.result(10)["y"].tolist() for future in futures] == [[2], [6], [6]]
    assert adder.batches == [(1, 1), (2, 2), (1, 3)]


@pytest.mark.parametrize(("signature", "max_batch"), [(WHOLE, 8), (ROWS, 1)])
def test_without_rows_or_with_batches_of_one_each_is_computed_by_itself(pool, signature, max_batch):
    adder = Adder(held=False)
    batcher = make(adder, pool, signature, max_batch)
    for future in [batcher.submit(rows(value)) for value in range(6)]:
        future.result(10)
    assert adder.batches == [(1, 1)] * 6


def test_a_request_that_spoils_its_batch_gets_the_error_alone(pool):
    adder = Adder()
    one, bad, two = queue_behind_one(adder, make(adder, pool), [rows(1), rows(13), rows(2)])
    assert (one.result(10)["y"].tolist(), two.result(10)["y"].tolist()) == ([1], [2])
    with pytest.raises(RequestError, match="holds 13"):
        bad.result(10)


def test_a_fault_reaches_every_caller_and_the_next_batch_is_answered(pool):
    adder = Adder()
    batcher = make(adder, pool)
    for future in queue_behind_one(adder, batcher, [rows(1), rows(99)]):
        with pytest.raises(ZeroDivisionError):
            future.result(10)
    assert batcher.submit(rows(5)).result(10)["y"].tolist() == [5]


def test_a_lone_request_does_not_wait(pool):
    batcher = make(Adder(held=False), pool, max_wait_s=5.0)
    started = time.monotonic()
    batcher.submit(rows(1)).result(10)
    batcher.submit(rows(2)).result(10)
    assert time.monotonic() - started < 4


def test_after_company_a_batch_waits_for_more(pool):
    adder = Adder()
    batcher = make(adder, pool, max_batch=3, max_wait_s=8.0)
    for future in queue_behind_one(adder, batcher, [rows(1), rows(2), rows(3)]):
        future.result(10)
    later: list[Future] = [batcher.submit(rows(4))]
    time.sleep(0.2)
    later += [batcher.submit(rows(5)), batcher.submit(rows(6))]
    assert [future.result(10)["y"].tolist() for future in later] == [[4], [5], [6]]
    assert adder.batches == [(1, 1), (3, 1), (3, 1)]


def test_a_request_that_was_given_up_is_not_computed(pool):
    adder = Adder()
    batcher = make(adder, pool)
    batcher.submit(rows(0))
    assert adder.entered.wait(10)
    given_up, wanted = batcher.submit(rows(1)), batcher.submit(rows(2))
    assert given_up.cancel()
    adder.gate.set()
    assert wanted.result(10)["y"].tolist() == [2]
    assert adder.batches == [(1, 1), (1, 1)]


def test_many_threads_get_their_own_answers(pool):
    batcher = make(Adder(held=False), pool, max_batch=16, max_wait_s=0.001)
    wrong = []

    def client(number):
        for step in range(50):
            values = [100 + number, 200 + step, 300 + number + step][: 1 + step % 3]
            if batcher.submit(rows(*values)).result(10)["y"].tolist() != values:
                wrong.append((number, step))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(14, 26)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
