import keras
import numpy as np
import pytest

from keras_canon.layers import SegmentEmbedding, TokenEmbedding

SEGMENTS = np.asarray([[0, 0, 1], [1, 0, 0]], "int32")


def test_each_step_gets_the_row_of_its_segment():
    layer = SegmentEmbedding(2)
    x = np.random.RandomState(0).standard_normal((2, 3, 4)).astype("float32")
    found = layer(x, SEGMENTS)
    (table,) = layer.get_weights()
    np.testing.assert_allclose(found, x + table[SEGMENTS], atol=1e-6)


def test_b05_mask_of_the_tokens_is_passed_on():
    tokens = np.asarray([[3, 1, 0], [2, 0, 0]], "int32")
    hidden = SegmentEmbedding(2)(TokenEmbedding(5, 4, mask_zero=True)(tokens), SEGMENTS)
    np.testing.assert_array_equal(hidden._keras_mask, tokens != 0)
    inputs = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    outputs = SegmentEmbedding(2)(TokenEmbedding(5, 4, mask_zero=True)(inputs[0]), inputs[1])
    found = keras.Model(inputs, outputs)([tokens, SEGMENTS])
    np.testing.assert_array_equal(found._keras_mask, tokens != 0)


def test_bad_arguments():
    with pytest.raises(ValueError, match="num_segments must be an integer of at least 1, got 0"):
        SegmentEmbedding(0)
    with pytest.raises(ValueError, match=r"SegmentEmbedding expects input of shape \(batch, steps, width\)"):
        SegmentEmbedding(2)(np.zeros((2, 3), "float32"), SEGMENTS)
