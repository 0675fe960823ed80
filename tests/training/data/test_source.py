import numpy as np
import pytest

from keras_canon.training.data import Split
from keras_canon.training.data.stores import ArrayStore


@pytest.fixture
def split():
    """Four of six pictures; picture n is filled with n."""
    images = np.tile(np.arange(6, dtype=np.uint8)[:, None, None, None], (1, 2, 3, 1))
    rows = np.array([5, 3, 1, 0])
    return Split("train", rows % 2, np.array([f"train/{row}" for row in rows]), rows, ArrayStore(images))


def test_all_examples_in_ascending_order(split):
    elements = list(split.dataset())
    assert [element["index"].numpy() for element in elements] == [0, 1, 2, 3]
    assert [element["image"].numpy()[0, 0, 0] for element in elements] == [5, 3, 1, 0]
    assert [element["label"].numpy() for element in elements] == [1, 1, 1, 0]
    assert len(split) == 4


def test_element_spec(split):
    spec = split.dataset(np.array([1])).element_spec
    assert {key: (value.dtype.name, value.shape.as_list()) for key, value in spec.items()} == {
        "image": ("uint8", [2, 3, 1]),
        "label": ("int64", []),
        "index": ("int64", []),
    }


@pytest.mark.parametrize("batch_size", [None, 2])
def test_any_order_is_kept(split, batch_size):
    order = np.array([3, 0, 0, 2, 1])
    dataset = split.dataset(order, batch_size)
    examples = dataset if batch_size is None else dataset.unbatch()
    assert [element["index"].numpy() for element in examples] == order.tolist()
    assert [element["image"].numpy()[1, 2, 0] for element in examples] == split.rows[order].tolist()


def test_batches_and_their_short_end(split):
    shapes = [batch["image"].shape.as_list() for batch in split.dataset(batch_size=3)]
    assert shapes == [[3, 2, 3, 1], [1, 2, 3, 1]]


def test_a_resumed_epoch_is_the_end_of_the_whole_one(split):
    order = np.random.default_rng(7).permutation(4)
    whole = [element["image"].numpy().tolist() for element in split.dataset(order)]
    assert [element["image"].numpy().tolist() for element in split.dataset(order[3:])] == whole[3:]


def test_cardinality_is_known_and_an_empty_order_is_empty(split):
    assert split.dataset().cardinality().numpy() == 4
    assert list(split.dataset(np.array([]))) == []


def test_one_image(split):
    image = split.image(1)
    assert image.shape == (2, 3, 1)
    assert (image == 3).all()


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([4], "positions from 0 to 3 of train, got 4 to 4"),
        ([-1, 2], "positions from 0 to 3 of train, got -1 to 2"),
        ([0.5], "vector of integers, got float64"),
        ([[0, 1]], r"got int64 of shape \(1, 2\)"),
    ],
)
def test_bad_order_is_refused(split, order, message):
    with pytest.raises(ValueError, match=message):
        split.dataset(np.array(order))
