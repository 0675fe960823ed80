import math

import keras
import numpy as np
import pytest

from keras_canon.layers import RelativePositionBias, relative_position_bucket


def bucket(distance, num_buckets, max_distance, bidirectional):
    """Section 2.1 in words: exact buckets near by, logarithmic ones up to the maximum, the last for all beyond."""
    first = 0
    if bidirectional:
        num_buckets //= 2
        first, distance = (num_buckets if distance > 0 else 0), abs(distance)
    else:
        distance = max(-distance, 0)
    exact = num_buckets // 2
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(max_distance / exact)
    return first + min(exact + int(share * (num_buckets - exact) + 1e-6), num_buckets - 1)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (8, 20)])
def test_buckets(num_buckets, max_distance, bidirectional):
    distances = np.arange(-200, 201, dtype="int32")
    found = relative_position_bucket(distances, num_buckets, max_distance, bidirectional)
    expected = [bucket(int(d), num_buckets, max_distance, bidirectional) for d in distances]
    # A logarithm that is a whole number in exact arithmetic may fall on either side of it in float32.
    assert np.sum(np.asarray(found) != expected) <= 2
    assert np.max(np.abs(np.asarray(found) - expected)) <= 1


def test_known_buckets():
    """Those of T5's own settings."""
    found = relative_position_bucket(np.asarray([0, -1, -7, -8, -200, 1, 7, 8, 200], "int32"))
    assert found.numpy().tolist() == [0, 1, 7, 8, 15, 17, 23, 24, 31]
    found = relative_position_bucket(np.asarray([5, 0, -1, -15, -16, -200], "int32"), bidirectional=False)
    assert found.numpy().tolist() == [0, 0, 1, 15, 16, 31]


def test_bias_looks_up_the_bucket_of_each_pair():
    layer, query, key = RelativePositionBias(3, 8, 6), np.zeros((2, 4, 5)), np.zeros((2, 6, 5))
    found = layer(query).numpy()
    table = layer.get_weights()[0]
    for h, i, j in np.ndindex(3, 4, 4):
        assert found[0, h, i, j] == table[bucket(j - i, 8, 6, True), h]
    aligned = layer(query, key).numpy()
    np.testing.assert_array_equal(aligned, layer(key).numpy()[:, :, 2:])
    rows = layer(query[:, :1], key, offset=np.asarray([1, 4])).numpy()
    assert rows.shape == (2, 3, 1, 6)
    full = layer(key).numpy()[0]
    np.testing.assert_array_equal(rows, np.stack([full[:, 1:2], full[:, 4:5]]))


def test_masks_end_here():
    embedded = keras.layers.Embedding(5, 4, mask_zero=True)(np.asarray([[1, 2, 0]]))
    assert getattr(RelativePositionBias(2)(embedded), "_keras_mask", None) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 0}, "num_heads must be an integer of at least 1, got 0"),
        ({"num_buckets": 6}, "num_buckets must be a multiple of the number of its parts, got num_buckets=6 and .*=4"),
        ({"num_buckets": 5, "bidirectional": False}, "num_buckets=5 and .*=2"),
        ({"max_distance": 8}, "max_distance must be above 8, the exact buckets, got 8"),
        ({"max_distance": 16, "bidirectional": False}, "max_distance must be above 16, .* got 16"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        RelativePositionBias(**{"num_heads": 2, **options})
