"""ConvNeXt against the paper, torchvision and keras.applications."""

import keras
import numpy as np
import pytest
from checks.applications import check_twin
from checks.golden import check_golden

from keras_canon import layers, zoo

# table 1, rounded as printed: parameters in millions, multiply-adds in G
PAPER = {"convnext_tiny": (29, 4.5), "convnext_small": (50, 8.7), "convnext_base": (89, 15.4), "convnext_large": (198, 34.4)}
SIZES = {"convnext_tiny": "Tiny", "convnext_small": "Small", "convnext_base": "Base", "convnext_large": "Large"}
SMALL = {"depths": [1, 1, 2, 1], "widths": [8, 12, 16, 24]}


@pytest.mark.parametrize("name", PAPER)
def test_sizes_of_table_1(name):
    row = zoo.info(name)
    assert (round(row.trainable_parameters / 1e6), round(row.gmacs, 1)) == PAPER[name]


def test_structure():
    model = zoo.create("convnext_tiny", overrides={"widths": [8, 16, 24, 32]})
    blocks = [layer for layer in model.layers if isinstance(layer, layers.ConvNeXtBlock)]
    assert [sum(layer.name.startswith(f"res{stage}_") for layer in blocks) for stage in (2, 3, 4, 5)] == [3, 3, 9, 3]
    assert {layer.kernel_size for layer in blocks} == {(7, 7)}
    assert {layer.layer_scale for layer in blocks} == {1e-6}
    # linear rates from 0 to that of table 5
    np.testing.assert_allclose([layer.branch_dropout.rate for layer in blocks], np.linspace(0.0, 0.1, 18))
    assert [model.get_layer(name).kernel_size for name in ("stem_patches", "res3_downsample")] == [(4, 4), (2, 2)]
    assert [model.get_layer(name).strides for name in ("stem_patches", "res3_downsample")] == [(4, 4), (2, 2)]
    assert {layer.epsilon for layer in model._flatten_layers() if isinstance(layer, keras.layers.LayerNormalization)} == {1e-6}


def test_last_drop_rates_of_table_5():
    assert [zoo.info(name).config["stochastic_depth"] for name in PAPER] == [0.1, 0.4, 0.5, 0.5]


def test_any_size_from_32_on():
    model = zoo.create("convnext_tiny", num_classes=3, input_shape=(None, None, 3), overrides=SMALL)
    assert model(np.zeros((1, 33, 70, 3), "float32")).shape == (1, 3)
    with pytest.raises(zoo.CanonError, match=r"at least 32 x 32.*\(31, 64, 3\)"):
        zoo.create("convnext_tiny", input_shape=(31, 64, 3), overrides=SMALL)
    with pytest.raises(zoo.CanonError, match="one number a stage"):
        zoo.create("convnext_tiny", overrides={"depths": [1, 1]})


def test_without_a_head_the_features_are_normalised():
    model = zoo.create("convnext_tiny", num_classes=0, input_shape=(32, 32, 3), overrides=SMALL)
    features = np.asarray(model(np.random.RandomState(0).standard_normal((2, 32, 32, 3)).astype("float32")))
    assert features.shape == (2, 24)
    np.testing.assert_allclose(features.mean(1), 0.0, atol=1e-5)


def test_golden():
    check_golden("convnext_tiny", "convnext_tiny")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER)
def test_twin(name):
    build = getattr(keras.applications, f"ConvNeXt{SIZES[name]}")
    check_twin(name, lambda **arguments: build(include_preprocessing=False, **arguments), 64)
