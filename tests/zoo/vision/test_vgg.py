"""VGG against the tables of the paper, torchvision's networks and keras.applications."""

import keras
import numpy as np
import pytest
from checks.golden import check_golden

from keras_canon import zoo
from keras_canon.zoo.conversion import plan
from keras_canon.zoo.families import conversions

TABLE_1 = {"vgg11": (1, 1, 2, 2, 2), "vgg13": (2, 2, 2, 2, 2), "vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}
TABLE_2 = {"vgg11": 133, "vgg13": 133, "vgg16": 138, "vgg19": 144}
ALL = [name + suffix for name in TABLE_1 for suffix in ("", "_bn")]
SMALL = {"widths": [4, 4, 8, 8, 8], "hidden_units": [16, 16]}


def torchvision_names(variant: str) -> list[str]:
    """Names of the arrays as torchvision numbers its modules: convolution, (normalisation,) ReLU, and a pooling after each stage."""
    normalized = variant.endswith("_bn")
    names, index = [], 0
    for count in TABLE_1[variant.removesuffix("_bn")]:
        for _ in range(count):
            names += [f"features.{index}.{leaf}" for leaf in ("weight", "bias")]
            if normalized:
                leaves = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
                names += [f"features.{index + 1}.{leaf}" for leaf in leaves]
            index += 3 if normalized else 2
        index += 1
    return names + [f"classifier.{index}.{leaf}" for index in (0, 3, 6) for leaf in ("weight", "bias")]


@pytest.mark.parametrize("name", ALL)
def test_layers_of_table_1(name):
    model = zoo.create(name, overrides=SMALL)
    names = [layer.name for layer in model.layers]
    for stage, count in enumerate(TABLE_1[name.removesuffix("_bn")], start=1):
        assert sum(layer.startswith(f"conv{stage}_") for layer in names) == count
        assert model.get_layer(f"pool{stage}").output.shape[1] == 224 // 2**stage
    assert model.get_layer("pool5").output.shape == model.get_layer("grid").output.shape
    assert model.get_layer("conv1_1").normalization == ("batch" if name.endswith("_bn") else None)


@pytest.mark.parametrize("name", TABLE_1)
def test_parameters_of_table_2(name):
    assert round(zoo.info(name).trainable_parameters / 1e6) == TABLE_2[name]
    maps = sum(count * width for count, width in zip(TABLE_1[name], (64, 128, 256, 512, 512), strict=True))
    assert zoo.info(f"{name}_bn").trainable_parameters == zoo.info(name).trainable_parameters + 2 * maps


@pytest.mark.parametrize("name", ALL)
def test_torchvision_names_of_every_member_lead_to_every_weight(name):
    model = zoo.create(name, overrides=SMALL)
    conversion = next(one for one in conversions("vgg") if one.format == "torchvision" and name in one.variants)
    moves, unknown = plan(conversion, torchvision_names(name), [weight.path for weight in model.weights])
    targets = [move.targets[0] for move in moves if move.rule.how != "skip"]
    seeds = [weight.path for weight in model.weights if "seed_generator" in weight.path]
    assert not unknown
    assert sorted(targets + seeds) == sorted(weight.path for weight in model.weights)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vgg16", "vgg16_bn"])
def test_golden(name):
    check_golden(name, name)


def keras_twin(name: str, **arguments) -> keras.Model:
    keras.utils.set_random_seed(1)
    theirs = getattr(keras.applications, name.upper())(weights=None, classifier_activation=None, **arguments)
    for weight in theirs.weights:
        if weight.path.endswith("bias"):
            weight.assign(np.random.RandomState(len(weight.path)).standard_normal(weight.shape) * 0.1)
        else:
            weight.assign(weight * 1.4)  # Glorot's weights fade through sixteen ReLUs
    return theirs


def check_twin(name: str, ours: zoo.Model, theirs: keras.Model) -> None:
    report = zoo.load_weights(ours, theirs, format="keras_applications")
    assert len(report.loaded) == len(theirs.weights)
    assert not report.unused
    images = np.random.RandomState(0).standard_normal((2, *ours.input_shape[1:])).astype("float32")
    expected = np.asarray(theirs.predict(images, verbose=0))
    found = np.asarray(ours.predict(images, verbose=0))
    assert expected.std() > 1e-3, f"{name}: the twin's outputs say nothing"
    assert np.abs(found - expected).max() < 1e-4 * expected.std()


def test_keras_applications_bodies():
    """The bodies at a small size; the dense layers, which keras.applications fixes at 224 x 224, come under `slow`."""
    for name in ("vgg16", "vgg19"):
        theirs = keras_twin(name, include_top=False, input_shape=(32, 32, 3))
        ours = zoo.create(name, num_classes=0, input_shape=(32, 32, 3), overrides={"hidden_units": [8, 8]})
        report = zoo.load_weights(ours, theirs, format="keras_applications", strict=False)
        assert len(report.loaded) == len(theirs.weights)
        images = np.random.RandomState(0).standard_normal((2, 32, 32, 3)).astype("float32")
        expected = np.asarray(theirs(images))
        found = np.asarray(keras.Model(ours.input, ours.get_layer("pool5").output)(images))
        assert np.abs(found - expected).max() < 1e-4 * expected.std()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vgg16", "vgg19"])
def test_keras_applications_twin(name):
    check_twin(name, zoo.create(name), keras_twin(name))


def test_weights_fit_every_input_size():
    model = zoo.create("vgg11_bn", overrides=SMALL)
    for shape in ((32, 32, 3), (96, 64, 3), (None, None, 3)):
        other = zoo.create("vgg11_bn", overrides=SMALL, input_shape=shape)
        report = zoo.load_weights(other, model)
        assert not report.adapted
        assert other.predict(np.zeros((1, *(size or 40 for size in shape[:2]), 3), "float32"), verbose=0).shape == (1, 1000)


def test_refusals():
    model = zoo.create("vgg11_bn", overrides=SMALL, input_shape=(32, 32, 3))
    with pytest.raises(zoo.CanonError, match=r"'vgg11_bn' cannot take weights in the format 'keras_applications'"):
        zoo.load_weights(model, {"block1_conv1/kernel": np.zeros((3, 3, 3, 4), "float32")}, format="keras_applications")
    with pytest.raises(zoo.CanonError, match=r"'vgg11' are not weights of 'vgg11_bn'"):
        zoo.load_weights(model, zoo.create("vgg11", overrides=SMALL, input_shape=(32, 32, 3)))
    with pytest.raises(zoo.CanonError, match=r"vgg11.*at least 32 x 32.*\(31, 32, 3\)"):
        zoo.create("vgg11", input_shape=(31, 32, 3))
    with pytest.raises(zoo.CanonError, match=r"widths must name one number a stage"):
        zoo.create("vgg11", overrides={"widths": [4, 4]})
    with pytest.raises(zoo.CanonError, match=r"normalization"):
        zoo.create("vgg11", overrides={"normalization": "layer"})
