import keras
import numpy as np
import pytest

from keras_canon.layers import causal_mask
from keras_canon.layers.attention_masks import attached_mask, boolean_mask, combine_masks, head_mask


@pytest.mark.parametrize(("queries", "keys"), [(4, 4), (2, 5), (1, 3), (5, 2)])
def test_causal_mask_is_aligned_at_the_right(queries, keys):
    expected = [[j <= i + keys - queries for j in range(keys)] for i in range(queries)]
    np.testing.assert_array_equal(causal_mask(queries, keys), expected)


def test_head_mask_has_four_axes():
    assert head_mask("mask", np.ones((3, 5), bool)).shape == (1, 1, 3, 5)
    assert head_mask("mask", np.ones((2, 3, 5), bool)).shape == (2, 1, 3, 5)
    assert head_mask("mask", np.ones((2, 4, 3, 5), "int32")).shape == (2, 4, 3, 5)
    with pytest.raises(ValueError, match=r"attention_mask must have shape \(T, S\), .* got \(5,\)"):
        head_mask("attention_mask", np.ones(5, bool))


def test_numbers_to_add_are_not_taken_for_a_mask():
    with pytest.raises(ValueError, match=r"attention_mask must be boolean, .* got dtype float32; .* bias"):
        boolean_mask("attention_mask", np.zeros((2, 2), "float32"))


def test_combine_and_attach():
    one, other = np.asarray([True, True, False]), np.asarray([True, False, False])
    assert combine_masks(None, None) is None
    np.testing.assert_array_equal(combine_masks(None, one, other), other)
    tensor = keras.ops.ones((3,))
    assert attached_mask(tensor) is None
    assert attached_mask(tensor, one) is one
    tensor._keras_mask = other
    assert attached_mask(tensor) is other
    assert attached_mask(tensor, one) is one
