"""Pre-training without labels: the loss by hand, exact masks, and a backbone that knows more afterwards."""

import keras
import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.data import load_unlabelled
from keras_canon.training.self_supervised import MaskedReconstruction, hidden_pixels

DATA = "synthetic:classes=4,size=16,channels=1,examples=200"
VIT = {"patch_size": 4, "model_dim": 16, "depth": 1, "num_heads": 2, "feedforward_dim": 32}


def test_loss_counts_masked_pixels_only():
    pictures, outputs = np.random.default_rng(0).normal(size=(2, 2, 4, 4, 3)).astype("float32")
    masked = np.zeros((2, 4, 4, 1), "float32")
    masked[0, :2] = 1
    expected = [np.abs(pictures[0, :2] - outputs[0, :2]).mean(), 0.0]
    loss = MaskedReconstruction(reduction="none")(np.concatenate([pictures, masked], -1), outputs)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_masks_hide_whole_patches_and_exactly_the_share():
    first = hidden_pixels((32, 16), (8, 4), 0.6, seed=[0, 1]).numpy()
    assert first.shape == (32, 16, 1)
    patches = first.reshape(8, 4, 4, 4)
    assert set(patches.mean(axis=(1, 3)).ravel()) == {0.0, 1.0}
    assert patches.mean() == round(0.6 * 32) / 32
    np.testing.assert_array_equal(hidden_pixels((32, 16), (8, 4), 0.6, seed=[0, 1]), first)
    assert (hidden_pixels((32, 16), (8, 4), 0.6, seed=[1, 1]).numpy() != first).any()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["masked_patches", "autoencoder"])
def test_a_vision_transformer_learns_to_fill_in(method):
    keras.utils.set_random_seed(0)
    model, pictures = zoo.create("vit_tiny_16", input_shape=(16, 16, 1), num_classes=4, overrides=VIT), load_unlabelled(DATA)
    images = zoo.preprocess(pictures.store.images[pictures.rows], model).numpy()
    head = model.get_layer("logits").get_weights()
    how = training.ShortTraining(epochs=3, batch_size=8, learning_rate=3e-3)
    history = training.pretrain(model, pictures, method=method, how=how)
    assert history["val_loss"][-1] < np.abs(images - np.median(images, axis=0)).mean(), "better than the best constant picture"
    assert method in model.record.weights
    for old, new in zip(head, model.get_layer("logits").get_weights(), strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.slow
def test_a_convolutional_backbone_needs_no_change():
    keras.utils.set_random_seed(0)
    model = zoo.create("lenet5_modern", num_classes=4)
    how = training.ShortTraining(epochs=3, batch_size=16, learning_rate=3e-3)
    history = training.pretrain(model, load_unlabelled(DATA), method="autoencoder", how=how)
    assert history["val_loss"][-1] < 0.97 * history["val_loss"][0]


@pytest.mark.slow
def test_a_residual_network_fills_in_clothes():
    """What holds: the pixels are learnt. How little that helped a classifier with few labels is in docs/few-labels.md."""
    keras.utils.set_random_seed(0)
    model = zoo.create("resnet20", num_classes=10, input_shape=(28, 28, 1), overrides={"blocks_per_stage": 1})
    pictures = load_unlabelled("fashion_mnist[per_class=200]")
    images = zoo.preprocess(pictures.store.images[pictures.rows], model).numpy()
    constant = np.abs(images - np.median(images, axis=0)).mean()
    history = training.pretrain(model, pictures, how=training.ShortTraining(epochs=5, batch_size=64))
    print(f"error of hidden pixels {history['val_loss'][-1]:.4f}, of the best constant picture {constant:.4f}")
    assert history["val_loss"][-1] < 0.9 * constant


@pytest.mark.parametrize(
    ("options", "message"),
    [({"method": "contrast"}, "method must be 'masked_patches' or 'autoencoder'"), ({"masked": 1.0}, "masked must be above 0")],
)
def test_bad_arguments(options, message):
    with pytest.raises(zoo.CanonError, match=message):
        training.pretrain(zoo.create("lenet5_modern"), load_unlabelled(DATA), **options)
