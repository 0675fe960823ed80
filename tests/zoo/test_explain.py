"""Explanations on networks whose reasons are known."""

import keras
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from keras_canon import zoo
from keras_canon.cli.main import app
from keras_canon.zoo.explain_pictures import as_seen, draw_explanations
from keras_canon.zoo.spatial_maps import last_spatial_map, patch_grid

VIT = {"patch_size": 8, "model_dim": 16, "depth": 2, "num_heads": 2, "feedforward_dim": 32}


def edges() -> keras.Model:
    """Class 0 counts vertical edges and class 1 horizontal ones; nothing is trained."""
    images = keras.Input((32, 32, 1))
    maps = keras.layers.Conv2D(2, 3, padding="same", activation="relu", use_bias=False, name="edges", data_format="channels_last")(images)
    pooled = keras.layers.GlobalAveragePooling2D(data_format="channels_last")(maps)
    model = keras.Model(images, keras.layers.Dense(2, use_bias=False, name="logits")(pooled))
    vertical = np.array([[-1.0, 0, 1]] * 3)
    model.layers[1].set_weights([np.stack([vertical, vertical.T], -1)[:, :, None]])
    model.layers[-1].set_weights([np.eye(2)])
    return model


def stripes() -> np.ndarray:
    """Vertical stripes in the upper left, horizontal ones in the lower right."""
    picture = np.zeros((1, 32, 32, 1), "float32")
    picture[0, 2:14, 2:14:4] = picture[0, 2:14, 3:14:4] = 1.0
    picture[0, 18:30:4, 18:30] = picture[0, 19:30:4, 18:30] = 1.0
    return picture


def share_inside(heat, rows, columns):
    return heat[rows, columns].sum() / heat.sum()


UPPER_LEFT, LOWER_RIGHT = (slice(0, 16), slice(0, 16)), (slice(16, 32), slice(16, 32))


def nested(inner: keras.Model) -> keras.Model:
    """Return a model inside a model inside a model."""
    images = keras.Input(inner.input.shape[1:])
    middle = keras.Model(images, inner(keras.layers.Rescaling(1.0)(images)), name="middle")
    outer = keras.Input(inner.input.shape[1:])
    return keras.Model(outer, middle(outer))


@pytest.mark.parametrize("wrap", [lambda model: model, nested], ids=["flat", "nested"])
def test_grad_cam_finds_the_place(wrap):
    model = wrap(edges())
    first, second = (zoo.grad_cam(model, stripes(), target)[0] for target in (0, 1))
    assert first.shape == (32, 32)
    assert first.max() == pytest.approx(1.0)
    assert share_inside(first, *UPPER_LEFT) > 0.75
    assert share_inside(second, *LOWER_RIGHT) > 0.75
    np.testing.assert_array_equal(zoo.grad_cam(model, np.repeat(stripes(), 2, 0), [1, 0]), np.stack([second, first]))


def test_grad_cam_by_hand():
    model, picture = edges(), stripes()
    maps = keras.Model(model.input, model.get_layer("edges").output)(picture).numpy()
    expected = maps[0, ..., 0] / maps[0, ..., 0].max()  # alpha is the same for all places, and 0 for the other map
    np.testing.assert_allclose(zoo.grad_cam(model, picture, 0)[0], expected, atol=1e-6)


def test_nothing_speaks_for_a_class():
    heat = zoo.grad_cam(edges(), np.zeros((1, 32, 32, 1), "float32"), 0)
    np.testing.assert_array_equal(heat, 0.0)


def test_integrated_gradients_of_a_linear_model_are_exact():
    images = keras.Input((2, 2, 1))
    model = keras.Model(images, keras.layers.Dense(2, name="logits")(keras.layers.Flatten()(images)))
    weights = np.arange(8, dtype="float32").reshape(4, 2)
    model.layers[-1].set_weights([weights, np.ones(2)])
    picture, baseline = np.array([1.0, 2, 3, 4], "float32").reshape(1, 2, 2, 1), np.full((2, 2, 1), 0.5, "float32")
    found = zoo.integrated_gradients(model, picture, 1, baseline=baseline, steps=3)
    np.testing.assert_allclose(found.attributions.ravel(), weights[:, 1] * (picture.ravel() - 0.5), rtol=1e-5)
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lenet5_modern", {}),
        ("resnet20", {"input_shape": (16, 16, 3)}),
        pytest.param("vit_tiny_16", {"input_shape": (32, 32, 3), "overrides": VIT}, marks=pytest.mark.slow),
    ],
)
def test_completeness_and_heat_of_models_of_the_zoo(name, options):
    keras.utils.set_random_seed(3)
    model = zoo.create(name, num_classes=4, **options)
    images = np.random.default_rng(0).normal(size=(2, *model.input.shape[1:])).astype("float32")
    coarse, fine = (zoo.integrated_gradients(model, images, steps=steps) for steps in (4, 128))
    np.testing.assert_allclose(fine.attributions.sum(axis=(1, 2, 3)) + fine.gap, fine.change, atol=1e-4)
    assert np.abs(fine.gap).max() <= 0.02 * np.abs(fine.change).max() + 1e-3
    assert np.abs(fine.gap).max() <= np.abs(coarse.gap).max() + 1e-3
    assert fine.heat.shape == images.shape[:3]
    heat = zoo.grad_cam(model, images)
    assert heat.shape == images.shape[:3]
    assert np.isfinite(heat).all()
    np.testing.assert_allclose(zoo.grad_cam(nested(model), images), heat, atol=1e-5)


def test_the_baseline_is_black_as_the_model_sees_it():
    model = zoo.create("lenet5_modern", num_classes=3)
    black = zoo.preprocess(np.zeros((28, 28, 1), "uint8"), model)
    found = zoo.integrated_gradients(model, black, 0, steps=2)
    np.testing.assert_allclose(found.attributions, 0.0, atol=1e-7)
    np.testing.assert_allclose(found.change, 0.0, atol=1e-6)


@pytest.mark.parametrize("pool", ["token", "average"])
def test_attention_of_a_vision_transformer(pool):
    model = zoo.create("vit_tiny_16", input_shape=(32, 32, 3), num_classes=3, overrides={**VIT, "pool": pool})
    images = np.random.default_rng(1).normal(size=(2, 32, 32, 3)).astype("float32")
    weights = zoo.attention_maps(model, images)
    tokens = 16 + (pool == "token")
    assert weights.shape == (2, 2, 2, tokens, tokens)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-5)
    np.testing.assert_allclose(zoo.attention_maps(nested(model), images), weights, atol=1e-5)
    heat = zoo.attention_rollout(weights)
    assert heat.shape == (2, 4, 4)
    assert (heat.min(), heat.max()) == (0.0, 1.0)


@pytest.mark.parametrize("pool", ["token", "average"])
@pytest.mark.parametrize("wrap", [lambda model: model, nested], ids=["flat", "nested"])
def test_a_vision_transformer_of_oblong_images(pool, wrap):
    model = zoo.create("vit_tiny_16", input_shape=(32, 64, 3), num_classes=3, overrides={**VIT, "pool": pool})
    images = np.random.default_rng(1).normal(size=(1, 32, 64, 3)).astype("float32")
    assert last_spatial_map(wrap(model)).grid == patch_grid(wrap(model)) == (4, 8)
    heat = zoo.grad_cam(wrap(model), images)
    assert heat.shape == (1, 32, 64)
    assert heat.max() == pytest.approx(1.0)
    weights = np.eye(32 + (pool == "token"))[None, None, None]
    assert zoo.attention_rollout(weights, patch_grid(model)).shape == (1, 4, 8)
    with pytest.raises(zoo.CanonError, match=f"{32 + (pool == 'token')} tokens are neither a square nor that and a class token"):
        zoo.attention_rollout(weights)


def test_grad_cam_of_a_class_token_looks_before_the_last_block():
    model = zoo.create("vit_tiny_16", input_shape=(32, 32, 3), num_classes=3, overrides=VIT)
    images = np.random.default_rng(1).normal(size=(1, 32, 32, 3)).astype("float32")
    np.testing.assert_allclose(zoo.grad_cam(model, images), zoo.grad_cam(model, images, layer="encoder_block1"), atol=1e-6)
    for behind in ("encoder_block2", "norm"):
        with pytest.raises(zoo.CanonError, match=r"From 'encoder_block2' on only the class token of 'vit_tiny_16' is read"):
            zoo.grad_cam(model, images, layer=behind)


def test_rollout_by_hand():
    attention = np.zeros((1, 1, 1, 5, 5), "float32")
    attention[..., 3] = 1.0  # all look at token 3, the third of four places
    np.testing.assert_allclose(zoo.attention_rollout(attention)[0], [[0, 0], [1, 0]], atol=1e-6)


def test_last_spatial_map_of_every_kind():
    assert last_spatial_map(edges()).layer == "edges"
    assert last_spatial_map(edges(), "edges").grid == (32, 32)
    vit = zoo.create("vit_tiny_16", input_shape=(32, 32, 3), num_classes=3, overrides=VIT)
    assert last_spatial_map(vit).grid == (4, 4)
    assert last_spatial_map(nested(edges())).path[0].name == "middle"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: zoo.grad_cam(model, stripes(), 2), "class number from 0 to 1, got 2"),
        (lambda model: zoo.grad_cam(model, stripes(), layer="none"), "no layer 'none' whose output has positions"),
        (lambda model: zoo.integrated_gradients(model, stripes(), -1), "class number from 0 to 1, got -1"),
        (lambda model: zoo.integrated_gradients(model, stripes(), steps=0), "steps must be at least 1"),
        (lambda model: zoo.attention_maps(model, stripes()), "no Transformer encoder blocks"),
    ],
)
def test_what_cannot_be_explained_is_one_sentence(call, message):
    with pytest.raises(zoo.CanonError, match=message):
        call(edges())


def test_pictures(tmp_path):
    record = zoo.create("lenet5_modern").record.preprocessing
    seen = as_seen(np.full((50, 40, 3), 200, "uint8"), record)
    assert seen.shape == (32, 32, 1)
    assert abs(int(seen[16, 16, 0]) - 200) <= 1
    draw_explanations(seen, {"Grad-CAM": np.eye(4)}, tmp_path / "a.png", title="cat")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size[0] > 400


def test_command(tmp_path):
    model = zoo.create("vit_tiny_16", input_shape=(32, 32, 3), num_classes=3, overrides=VIT)
    model.update_record(labels=["cat", "dog", "eel"])
    model.save(tmp_path / "model.keras")
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 40, 3), dtype="uint8")).save(tmp_path / "photo.jpg")
    arguments = ["explain", str(tmp_path / "model.keras"), str(tmp_path / "photo.jpg"), "--target", "dog", "--steps", "8"]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    assert "dog: its logit is" in found.output
    with Image.open(tmp_path / "photo_explained.png") as picture:
        assert picture.size[0] > 1000
    bad = CliRunner().invoke(app, [*arguments[:-3], "dgo"])
    assert isinstance(bad.exception, zoo.CanonError)
    assert "did you mean 'dog'" in str(bad.exception)
