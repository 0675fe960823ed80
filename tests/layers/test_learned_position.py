import keras
import numpy as np
import pytest

from keras_canon.layers import LearnedPositionEmbedding


def test_values_are_rows_of_the_table():
    layer, inputs = LearnedPositionEmbedding(9), np.random.RandomState(0).standard_normal((2, 4, 5)).astype("float32")
    found = layer(inputs)
    table = layer.get_weights()[0]
    assert table.shape == (9, 5)
    np.testing.assert_allclose(found, inputs + table[:4], atol=1e-6)
    np.testing.assert_allclose(layer(inputs, offset=5), inputs + table[5:], atol=1e-6)
    np.testing.assert_allclose(layer(inputs, offset=np.asarray([0, 5])), inputs + np.stack([table[:4], table[5:]]), atol=1e-6)
    places = np.asarray([[0, 1, 0, 1], [8, 0, 1, 2]])
    np.testing.assert_allclose(layer(inputs, offset=places), inputs + table[places], atol=1e-6)


def test_unknown_length_and_rows_beyond_the_table():
    layer = LearnedPositionEmbedding(6)
    model = keras.Model(inputs := keras.Input((None, 5)), layer(inputs))
    table = layer.get_weights()[0]
    np.testing.assert_allclose(model(np.zeros((1, 6, 5), "float32"))[0], table, atol=1e-6)
    found = layer(np.zeros((2, 1, 5), "float32"), offset=np.asarray([5, 6]))
    assert np.isnan(found).any(axis=(1, 2)).tolist() == [False, True]


def test_sequence_longer_than_the_table():
    message = "A sequence that ends at step {} is longer than the position table, max_length=6"
    with pytest.raises(ValueError, match=message.format(7)):
        LearnedPositionEmbedding(6)(np.zeros((1, 7, 5)))
    layer = LearnedPositionEmbedding(6)
    layer(np.zeros((1, 3, 5)))
    with pytest.raises(ValueError, match=message.format(7)):
        layer(np.zeros((1, 7, 5)))
    with pytest.raises(ValueError, match=message.format(8)):
        layer(np.zeros((1, 3, 5)), offset=5)
    with pytest.raises(ValueError, match=message.format(7)):
        keras.Model(inputs := keras.Input((7, 5)), LearnedPositionEmbedding(6)(inputs))


def test_bad_arguments():
    with pytest.raises(ValueError, match="max_length must be an integer of at least 1, got 0"):
        LearnedPositionEmbedding(0)
    with pytest.raises(ValueError, match="offset must be at least 0, got -1"):
        LearnedPositionEmbedding(6)(np.zeros((1, 3, 5)), offset=-1)
    with pytest.raises(ValueError, match=r"LearnedPositionEmbedding expects input of shape \(batch, steps, width\)"):
        LearnedPositionEmbedding(6)(np.zeros((1, 3)))
