import numpy as np
import pytest

from keras_canon.training.data.splits import check_share, cut, digests_of
from keras_canon.zoo import CanonError


def numbers(count):
    return [str(number) for number in range(count)]


def test_b39_parts_of_0_to_99_never_share_an_example():
    labels = np.zeros(100, np.int64)
    passes = [cut(labels, numbers(100), 0.2, salt="1") for _ in range(2)]
    for train, validation in passes:
        assert (len(train), len(validation)) == (80, 20)
        assert sorted([*train, *validation]) == list(range(100))
        np.testing.assert_array_equal(train, passes[0][0])
        np.testing.assert_array_equal(validation, passes[0][1])


def test_another_salt_cuts_others():
    labels = np.zeros(1000, np.int64)
    first, second = (set(cut(labels, numbers(1000), 0.5, salt)[1].tolist()) for salt in ("1", "2"))
    assert 200 < len(first & second) < 300  # 250 are expected by chance


def test_the_cut_is_fixed_for_ever():
    _, validation = cut(np.arange(20) % 2, numbers(20), 0.3, salt="0")
    assert validation.tolist() == [4, 7, 9, 10, 15, 18]


def test_stratified_with_the_right_total():
    labels = np.repeat([0, 1, 2], [100, 53, 7])
    train, validation = cut(labels, numbers(160), 0.1, salt="s")
    assert np.bincount(labels[validation]).tolist() == [10, 5, 1]
    assert np.bincount(labels[train]).tolist() == [90, 48, 6]


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_class_of_two_is_on_both_sides_and_a_class_of_one_stays(share):
    labels = np.array([0] * 10 + [1, 1] + [2])
    train, validation = cut(labels, numbers(13), share, salt="s")
    assert set(labels[train]) == {0, 1, 2}
    assert set(labels[validation]) == {0, 1}


def test_equal_content_stays_on_one_side_even_across_classes():
    digests = [str(number // 4) for number in range(400)]
    labels = np.arange(400) % 3
    train, validation = cut(labels, digests, 0.25, salt="s")
    assert len(train) + len(validation) == 400
    assert len({digests[row] for row in validation}) == 25
    assert not {digests[row] for row in train} & {digests[row] for row in validation}


def test_new_examples_move_few_others():
    before = set(cut(np.zeros(1000, np.int64), numbers(1000), 0.1, salt="s")[1].tolist())
    after = set(cut(np.zeros(1010, np.int64), numbers(1010), 0.1, salt="s")[1].tolist())
    assert len(before - after) <= 3


def test_digests_tell_pictures_apart():
    images = np.zeros((3, 4, 4, 1), np.uint8)
    images[1, 3, 3, 0] = 1
    first, second, third = digests_of(images)
    assert first == third != second


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, True, "0.1", None, float("nan")])
def test_bad_share_is_refused(share):
    with pytest.raises(CanonError, match="validation must be a share above 0 and below 1"):
        check_share("validation", share)
