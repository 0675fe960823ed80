import keras
import numpy as np
import pytest

from keras_canon.layers import PatchEmbedding


def test_values_are_projected_patches_row_by_row():
    images = np.random.RandomState(0).standard_normal((2, 4, 9, 3)).astype("float32")
    layer = PatchEmbedding((2, 3), 5)
    found = layer(images).numpy()
    kernel, bias = layer.get_weights()
    assert found.shape == (2, 6, 5)
    for b, row, column in np.ndindex(2, 2, 3):
        patch = images[b, 2 * row : 2 * row + 2, 3 * column : 3 * column + 3]
        expected = patch.reshape(-1) @ kernel.reshape(-1, 5) + bias
        np.testing.assert_allclose(found[b, 3 * row + column], expected, atol=1e-5)


def test_unknown_size_and_empty_batch():
    model = keras.Model(inputs := keras.Input((None, None, 3)), PatchEmbedding(4, 5)(inputs))
    assert model.output_shape == (None, None, 5)
    assert model(np.zeros((1, 8, 12, 3))).shape == (1, 6, 5)
    with pytest.raises(ValueError, match="The width of an image must be a multiple of the patch's, 4, got 13"):
        PatchEmbedding(4, 5)(np.zeros((1, 8, 13, 3)))
    layer = PatchEmbedding(4, 5)
    layer.build((None, None, None, 3))
    with pytest.raises(ValueError, match="The height of an image must be a multiple of the patch's, 4, got 6"):
        layer(np.zeros((1, 6, 12, 3)))


def test_bad_arguments():
    with pytest.raises(ValueError, match="patch_size must be an integer of at least 1, got 0"):
        PatchEmbedding(0, 5)
    with pytest.raises(ValueError, match=r"patch_size must be an integer or 2 of them, got \(1, 2, 3\)"):
        PatchEmbedding((1, 2, 3), 5)
    with pytest.raises(ValueError, match="model_dim must be an integer of at least 1, got None"):
        PatchEmbedding(4, None)
    with pytest.raises(ValueError, match=r"expects input of shape \(batch, height, width, channels\) \(4 axes\), got \(8, 8, 3\)"):
        PatchEmbedding(4, 5)(np.zeros((8, 8, 3)))
