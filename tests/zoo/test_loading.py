"""`zoo.load_weights`: what it refuses and changes nothing, what it adapts, and the cases B15, B21, B22, B24 and B25."""

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from checks import optimizer_state
from checks.models import ModelCase
from safetensors.numpy import save_file

from keras_canon import layers, zoo
from keras_canon.zoo import loading
from keras_canon.zoo.conversion import Conversion, Rule
from keras_canon.zoo.layouts import adapt_input_channels

NAMES = {"c1": "0", "c3": "3", "c5": "7", "f6": "9", "logits": "11"}


def lenet(classes: int = 10, channels: int = 1, seed: int = 1, **arguments) -> zoo.Model:
    keras.utils.set_random_seed(seed)
    return zoo.create("lenet5_modern", num_classes=classes, input_shape=(32, 32, channels), **arguments)


def values(model) -> dict[str, np.ndarray]:
    return {weight.path: np.array(weight) for weight in model.weights}


def assert_same(one: dict, other: dict) -> None:
    assert list(one) == list(other)
    for path, value in one.items():
        np.testing.assert_array_equal(value, other[path], err_msg=path)


@pytest.fixture
def torch_names(monkeypatch):
    """Give LeNet, which has none, a conversion from torch's names and layouts."""
    rules = tuple(
        Rule(rf"{number}\.", f"{ours}/", "flatten" if ours == "c5" else "", (16, 5, 5) if ours == "c5" else ())
        for ours, number in NAMES.items()
    )
    known = (Conversion("torch", ("lenet5_modern",), rules),)
    monkeypatch.setattr(loading, "conversions", lambda family: known)


def torch_state(channels: int = 1, classes: int = 10) -> dict[str, np.ndarray]:
    random = np.random.RandomState(2)
    shapes = {"0": (6, channels, 5, 5), "3": (16, 6, 5, 5), "7": (120, 400), "9": (84, 120), "11": (classes, 84)}
    state = {}
    for number, shape in shapes.items():
        state[f"{number}.weight"] = random.standard_normal(shape).astype("float32")
        state[f"{number}.bias"] = random.standard_normal(shape[0]).astype("float32")
    return state


# ---- sources


@pytest.mark.parametrize("kind", ["model", ".keras", ".weights.h5"])
def test_our_own_weights_in_every_form(kind, tmp_path):
    source, model = lenet(seed=1), lenet(seed=2)
    source.update_record(labels=[f"digit {n}" for n in range(10)])
    given = source
    if kind != "model":
        given = str(tmp_path / f"source{kind}")
        source.save(given) if kind == ".keras" else source.save_weights(given)
    report = zoo.load_weights(model, given)
    assert_same(values(model), values(source))
    assert report.format == "canon"
    assert len(report.loaded) == 10
    assert (report.adapted, report.skipped, report.missing, report.unused) == ((), (), (), ())
    assert model.record.weights == ("model 'lenet5_modern'" if kind == "model" else given + " (canon)" * (kind == ".weights.h5"))
    assert model.record.labels == (() if kind == ".weights.h5" else source.record.labels)


def test_weights_file_of_a_compiled_model(tmp_path):
    """Such a file also holds the optimizer's variables, which are no weights."""
    source, model = lenet(seed=1), lenet(seed=2)
    source.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    source.fit(np.zeros((2, 32, 32, 1)), np.zeros(2), verbose=0)
    source.save_weights(tmp_path / "source.weights.h5")
    zoo.load_weights(model, tmp_path / "source.weights.h5")
    assert_same(values(model), values(source))


def test_layouts_of_torch_and_a_safetensors_file(torch_names, tmp_path):
    state = torch_state()
    save_file(state, tmp_path / "state.safetensors")
    one, other = lenet(seed=1), lenet(seed=2)
    report = zoo.load_weights(one, state)
    assert report.format == "torch"
    assert sorted(name for name, *_ in report.loaded) == sorted(state)
    zoo.load_weights(other, tmp_path / "state.safetensors", format="torch")
    assert_same(values(one), values(other))
    np.testing.assert_array_equal(one.get_layer("c3").kernel, state["3.weight"].transpose(2, 3, 1, 0))
    # torch flattens (channels, height, width), Keras (height, width, channels)
    kernel = np.asarray(one.get_layer("c5").kernel).reshape(5, 5, 16, 120)
    np.testing.assert_array_equal(kernel, state["7.weight"].reshape(120, 16, 5, 5).transpose(2, 3, 1, 0))


def truncated(path: Path, content: bytes) -> Path:
    path.write_bytes(content[: len(content) // 2])
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """Files that must be refused."""
    folder = tmp_path_factory.mktemp("files")
    source = lenet()
    save_file(torch_state(), folder / "whole.safetensors")
    source.save_weights(folder / "whole.weights.h5")
    source.save(folder / "whole.keras")
    zoo.create("resnet20", overrides={"blocks_per_stage": 1}).save_weights(folder / "other.weights.h5")
    zoo.create("lenet5").save(folder / "other.keras")
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(folder / "stranger.keras")
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save_weights(folder / "stranger.weights.h5")
    with h5py.File(folder / "stranger.h5", "w") as file:
        file["data"] = [1.0]
    with h5py.File(folder / "no_layers.weights.h5", "w") as file:
        file["data"] = [1.0]
    found = {}
    for name in ("whole.safetensors", "whole.weights.h5", "whole.keras"):
        cut = folder / name.replace("whole", "cut")
        found[cut.name] = truncated(cut, (folder / name).read_bytes())
    for name in ("state.pt", "state.pth", "state.bin", "state.pkl", "state.ckpt", "text.safetensors", "text.h5", "text.weights.h5"):
        (folder / name).write_bytes(b"these are no weights")
    (folder / "weights.npz").write_bytes(b"PK")
    found |= {path.name: path for path in folder.iterdir() if not path.name.startswith("whole")}
    return found


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cut.safetensors", r"cut\.safetensors' is damaged"),
        ("cut.weights.h5", r"cut\.weights\.h5' is damaged"),
        ("cut.keras", r"cut\.keras' could not be loaded"),
        ("text.safetensors", r"damaged or no \.safetensors"),
        ("text.h5", "damaged or no HDF5"),
        ("text.weights.h5", r"damaged or no \.weights\.h5"),
        ("stranger.h5", "no Keras weight file: it lists no layers"),
        ("no_layers.weights.h5", r"no \.weights\.h5 file: it lists no layers"),
        ("weights.npz", "no weight file that can be read"),
        *((f"state.{kind}", "is a pickle, which can run code when opened") for kind in ("pt", "pth", "bin", "pkl", "ckpt")),
        ("other.keras", "Weights of 'lenet5' are not weights of 'lenet5_modern'"),
        ("other.weights.h5", "Weights of 'resnet20' are not weights of 'lenet5_modern'"),
        ("stranger.keras", "'lenet5_modern' cannot take weights in the format 'keras_applications'"),
    ],
)
def test_bad_files_are_refused_and_nothing_changes(name, message, strict, files):
    model = lenet()
    before, record = values(model), model.record
    with pytest.raises(zoo.CanonError, match=message) as caught:
        zoo.load_weights(model, files[name], strict=strict)
    assert "\n" not in str(caught.value)
    assert_same(values(model), before)
    assert model.record == record


def test_foreign_weights_file_of_keras_is_named(files):
    with pytest.raises(zoo.CanonError, match=r"do not fit 'lenet5_modern': .*is missing"):
        zoo.load_weights(lenet(), files["stranger.weights.h5"])


@pytest.mark.parametrize(
    ("source", "arguments", "message"),
    [
        ("nowhere.safetensors", {}, r"no weight file 'nowhere\.safetensors'"),
        ({"a": np.zeros(3)}, {}, r"names of the weights \(a, \.\.\.\) are those of no format known for 'lenet5_modern'"),
        ({}, {"format": "canon"}, "is missing"),
        ({"c1/kernel": "text"}, {}, "'c1/kernel' is no array of numbers, but str"),
        ({"c1/kernel": np.array(["x"])}, {}, "'c1/kernel' is no array of numbers, but ndarray of <U1"),
        ({"c1/kernel": np.zeros(3)}, {"format": "onnx"}, "format must be one of auto, canon"),
        ({"c1/kernel": np.zeros(3)}, {"format": "torchvision"}, "cannot take weights in the format 'torchvision'"),
    ],
)
def test_other_bad_sources(source, arguments, message):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.load_weights(lenet(), source, **arguments)


def spoiled(change: str) -> dict[str, np.ndarray]:
    arrays = values(lenet(seed=5))
    if change == "missing":
        del arrays["c3/kernel"]
    elif change == "unused":
        arrays["c4/kernel"] = np.zeros(3, "float32")
    else:
        arrays["f6/kernel"] = np.zeros((120, 85), "float32")
    return arrays


FAULTS = {
    "missing": r"c3/kernel \(5, 5, 6, 16\) is missing",
    "unused": "c4/kernel is not used",
    "mismatch": r"f6/kernel is \(120, 84\) and the source has \(120, 85\)",
}


@pytest.mark.parametrize("change", FAULTS)
def test_strict_names_the_difference_and_changes_nothing(change):
    model = lenet(seed=1)
    before = values(model)
    with pytest.raises(zoo.CanonError, match=FAULTS[change]):
        zoo.load_weights(model, spoiled(change))
    assert_same(values(model), before)


@pytest.mark.parametrize("change", FAULTS)
def test_without_strict_the_rest_is_loaded_and_the_difference_reported(change):
    model = lenet(seed=1)
    before = values(model)
    report = zoo.load_weights(model, spoiled(change), strict=False)
    left = {"missing": "c3/kernel", "unused": "", "mismatch": "f6/kernel"}[change]
    expected = {path: before[path] if path == left else value for path, value in values(lenet(seed=5)).items()}
    assert_same(values(model), expected)
    assert report.missing == ((("c3/kernel", (5, 5, 6, 16)),) if change == "missing" else ())
    assert report.unused == (("c4/kernel",) if change == "unused" else ())
    assert report.skipped == ((("f6/kernel", (120, 85), (120, 84)),) if change == "mismatch" else ())
    assert len(str(report).splitlines()) == 2


def test_more_than_three_differences_are_counted():
    with pytest.raises(zoo.CanonError, match="and 7 more"):
        zoo.load_weights(lenet(), {}, format="canon")


def test_two_arrays_for_one_variable(monkeypatch):
    rules = (Rule(r"\w+\.c1\.", "c1/"),)
    monkeypatch.setattr(loading, "conversions", lambda family: (Conversion("torch", ("lenet5_modern",), rules),))
    array = np.zeros((6, 1, 5, 5), "float32")
    with pytest.raises(zoo.CanonError, match=r"Two arrays lead to c1/kernel, the second is b\.c1\.weight"):
        zoo.load_weights(lenet(), {"a.c1.weight": array, "b.c1.weight": array}, format="torch")


# ---- the first kernel for other channels


@pytest.mark.parametrize("given", [1, 3, 4])
@pytest.mark.parametrize("wanted", [1, 3, 4, 6])
def test_stem_adaptation_follows_its_rule(given, wanted, torch_names):
    """To one channel: the sum over the channels. To more: the given ones in turn, scaled by given / wanted."""
    state = torch_state(channels=given)
    model = lenet(channels=wanted)
    report = zoo.load_weights(model, state, format="torch")
    kernel = state["0.weight"].transpose(2, 3, 1, 0)
    found = np.asarray(model.get_layer("c1").kernel)
    if given == wanted:
        assert not report.adapted
        np.testing.assert_array_equal(found, kernel)
        return
    assert report.adapted == (("c1/kernel", (6, given, 5, 5), (5, 5, wanted, 6)),)
    if wanted == 1:
        np.testing.assert_allclose(found, kernel.sum(2, keepdims=True), rtol=1e-5)
    else:
        for channel in range(wanted):
            np.testing.assert_allclose(found[:, :, channel], kernel[:, :, channel % given] * given / wanted, rtol=1e-6)
    if wanted == 1 or wanted % given == 0:
        # an image whose channels are all equal gives the same response
        np.testing.assert_allclose(found.sum(2), kernel.sum(2), atol=1e-5)


@pytest.mark.parametrize("kind", [".keras", ".weights.h5"])
def test_stem_of_our_own_files_is_adapted_too(kind, tmp_path):
    source, model = lenet(channels=3), lenet(channels=4, seed=2)
    path = tmp_path / f"source{kind}"
    source.save(path) if kind == ".keras" else source.save_weights(path)
    report = zoo.load_weights(model, path)
    assert [path for path, *_ in report.adapted] == ["c1/kernel"]
    np.testing.assert_array_equal(model.get_layer("c1").kernel, adapt_input_channels(np.asarray(source.get_layer("c1").kernel), 4))


def test_only_the_first_kernel_is_adapted(torch_names):
    state = torch_state()
    state["3.weight"] = state["3.weight"][:, :3]
    with pytest.raises(zoo.CanonError, match=r"c3/kernel is \(5, 5, 6, 16\) and the source has \(16, 3, 5, 5\)"):
        zoo.load_weights(lenet(), state, format="torch")


# ---- B15: batch normalisation


def batch_norm_model(epsilon: float, momentum: float = 0.9) -> zoo.Model:
    images = keras.Input((1, 1, 1), name="images")
    norm = keras.layers.BatchNormalization(epsilon=epsilon, momentum=momentum, name="bn")
    record = zoo.ModelRecord("resnet20", input_shape=(1, 1, 1))
    return zoo.Model(images, norm(images), record=record)


def batch_norm_state(**changes) -> dict[str, np.ndarray]:
    state = {"bn.weight": 1.0, "bn.bias": 0.0, "bn.running_mean": 0.0, "bn.running_var": 1e-4, "bn.num_batches_tracked": 7}
    return {name: np.array([value], "float32") for name, value in {**state, **changes}.items()}


@pytest.mark.parametrize("epsilon", [1e-5, 1e-3, 1.001e-5])
def test_b15_epsilon_and_momentum_of_an_imported_batch_norm(epsilon, monkeypatch):
    """Whatever our own epsilon is, the output is that of the source's; torch's momentum 0.1 is Keras's 0.9."""
    conversion = Conversion("torch", ("resnet20",), (Rule(r"bn\.", "bn/"),), epsilon=1e-5)
    monkeypatch.setattr(loading, "conversions", lambda family: (conversion,))
    model = batch_norm_model(epsilon)
    zoo.load_weights(model, batch_norm_state(), format="torch")
    assert float(model(np.ones((1, 1, 1, 1), "float32"))[0, 0, 0, 0]) == pytest.approx(95.3463, abs=2e-3)
    model(np.full((1, 1, 1, 1), 10.0, "float32"), training=True)
    assert float(model.get_layer("bn").moving_mean[0]) == pytest.approx(1.0, abs=1e-6)


def test_b15_an_absorbed_bias_is_exact_and_never_half_done(monkeypatch):
    rules = (Rule(r"conv\.bias", "bn/moving_mean", "absorb_bias"), Rule(r"bn\.", "bn/"))
    monkeypatch.setattr(loading, "conversions", lambda family: (Conversion("torch", ("resnet20",), rules),))
    model = batch_norm_model(1e-5)
    zoo.load_weights(model, {**batch_norm_state(), "conv.bias": np.array([0.25], "float32")}, format="torch")
    assert float(model.get_layer("bn").moving_mean[0]) == -0.25
    state = batch_norm_state()
    del state["bn.running_mean"]
    with pytest.raises(zoo.CanonError, match=r"bn/moving_mean \(1,\) is missing; conv.bias is not used"):
        zoo.load_weights(model, {**state, "conv.bias": np.array([0.5], "float32")}, format="torch")
    assert float(model.get_layer("bn").moving_mean[0]) == -0.25


# epsilon and Keras's momentum of torchvision's networks; the others have 1e-5 and 0.9
TORCHVISION = {
    "googlenet": (1e-3, 0.9),
    "inception_v3": (1e-3, 0.9),
    "mobilenet_v3": (1e-3, 0.99),
    "efficientnet_b5": (1e-3, 0.99),
    "efficientnet_b6": (1e-3, 0.99),
    "efficientnet_b7": (1e-3, 0.99),
}


def variants_of(form: str) -> list[str]:
    from keras_canon.zoo.families import conversions

    families = dict.fromkeys(zoo.info(name).family for name in zoo.list_models())
    return [name for family in families for one in conversions(family) if one.format == form for name in one.variants]


def small_cases() -> dict[str, ModelCase]:
    """The small cases of the model sweep, by name."""
    cases = []
    for path in sorted((Path(__file__).parent / "vision").glob("cases_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    return {case.name: case for case in cases}


@pytest.mark.parametrize("full_size", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["small", "full_size"])
@pytest.mark.parametrize("name", variants_of("torchvision"))
def test_b15_torchvision_variants_have_its_batch_norm(name, full_size):
    case = small_cases()[name]
    # what decides is the variant, not how large it is built; the cases of Inception set a momentum that is good for few steps
    overrides = {key: value for key, value in case.overrides.items() if key != "momentum"}
    sizes = {} if full_size else {"input_shape": case.shape, "overrides": overrides}
    with keras.StatelessScope(initialize_variables=False):
        model = zoo.create(name, **sizes)
        norms = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
        expected = next((value for start, value in TORCHVISION.items() if name.startswith(start)), (1e-5, 0.9))
        assert {(layer.epsilon, layer.momentum) for layer in norms} <= {expected}


# ---- B21: another head


def test_b21_another_class_count_plain_is_refused_by_name():
    model = lenet(classes=5, seed=2)
    before = values(model)
    with pytest.raises(ValueError, match=r"logits/kernel is \(84, 5\) and the source has \(84, 10\)"):
        zoo.load_weights(model, lenet(classes=10))
    assert_same(values(model), before)


@pytest.mark.parametrize("skip_head", [True, None])
@pytest.mark.parametrize("kind", ["model", ".keras", ".weights.h5"])
def test_b21_with_the_option_the_body_is_bit_equal_and_one_layer_is_skipped(kind, skip_head, tmp_path):
    source, model = lenet(classes=10, seed=1), lenet(classes=5, seed=2)
    source.update_record(labels=[str(n) for n in range(10)])
    head = values(model)["logits/kernel"]
    given = source
    if kind != "model":
        given = tmp_path / f"source{kind}"
        source.save(given) if kind == ".keras" else source.save_weights(given)
    report = zoo.load_weights(model, given, skip_head=skip_head)
    assert report.skipped_layers == ("logits",)
    body = {path: value for path, value in values(source).items() if not path.startswith("logits/")}
    assert_same({path: value for path, value in values(model).items() if path in body}, body)
    np.testing.assert_array_equal(values(model)["logits/kernel"], head)
    assert model.record.labels == ()


def test_b21_a_renamed_layer_is_noticed():
    source, model = lenet(classes=10), lenet(classes=5, seed=2)
    arrays = {path.replace("f6/", "hidden/"): value for path, value in values(source).items()}
    before = values(model)
    with pytest.raises(zoo.CanonError, match=r"f6/kernel \(120, 84\) is missing.*hidden/kernel is not used"):
        zoo.load_weights(model, arrays, skip_head=True)
    assert_same(values(model), before)
    report = zoo.load_weights(model, arrays, skip_head=True, strict=False)
    assert report.skipped_layers == ("logits", "f6")
    assert report.unused == ("hidden/kernel", "hidden/bias")


def test_b21_the_same_class_count_is_loaded_unless_the_head_is_skipped():
    source = lenet(seed=1)
    assert not zoo.load_weights(lenet(seed=2), source, skip_head=None).skipped
    assert zoo.load_weights(lenet(seed=2), source, skip_head=True).skipped_layers == ("logits",)


def test_b21_weights_with_and_without_a_head(torch_names):
    source, backbone = lenet(seed=1), lenet(classes=0, seed=2)
    with pytest.raises(zoo.CanonError, match="logits/kernel is not used"):
        zoo.load_weights(backbone, source)
    report = zoo.load_weights(backbone, source, skip_head=None)
    assert report.unused == ("logits/kernel", "logits/bias")
    zoo.load_weights(backbone, torch_state(), format="torch", skip_head=None)
    again = lenet(seed=3)
    report = zoo.load_weights(again, backbone, skip_head=None)
    assert report.skipped_layers == ("logits",)
    np.testing.assert_array_equal(again.get_layer("c1").kernel, backbone.get_layer("c1").kernel)


# ---- B22: two classes of one registered name


def test_b22_a_later_class_of_our_name_is_not_taken(tmp_path, monkeypatch):
    images = keras.Input((3, 2))
    model = keras.Model(images, layers.ClassToken(initializer="ones", name="token")(images))
    model.save(tmp_path / "model.keras")
    registry = keras.saving.get_custom_objects()
    monkeypatch.setitem(registry, "keras_canon>ClassToken", layers.ClassToken)  # so that it is put back

    @keras.saving.register_keras_serializable(package="keras_canon", name="ClassToken")
    class Impostor(keras.layers.Layer):
        def __init__(self, initializer="zeros", **kwargs):
            super().__init__(**kwargs)

        def call(self, inputs):
            return inputs + 2.0

    loaded = zoo.load_model(tmp_path / "model.keras")
    inputs = np.zeros((1, 3, 2), "float32")
    np.testing.assert_array_equal(np.asarray(loaded(inputs)), np.asarray(model(inputs)))
    assert type(loaded.get_layer("token")) is layers.ClassToken


def test_b22_all_our_classes_are_registered_under_our_package():
    ours = [getattr(layers, name) for name in layers.__all__]
    classes = [item for item in ours if isinstance(item, type) and issubclass(item, keras.layers.Layer | keras.initializers.Initializer)]
    assert classes
    assert {keras.saving.get_registered_name(item) for item in classes} == {f"keras_canon>{item.__name__}" for item in classes}


def test_b22_one_name_in_two_packages(tmp_path, monkeypatch):
    registry = keras.saving.get_custom_objects()

    def adding(package: str, amount: float):
        class Block(keras.layers.Layer):
            def call(self, inputs):
                return inputs + amount

        monkeypatch.setitem(registry, f"{package}>Block", Block)
        return keras.saving.register_keras_serializable(package=package)(Block)

    first, second = adding("one_package", 1.0), adding("another_package", 2.0)
    keras.Sequential([keras.Input((1,)), first(), second()]).save(tmp_path / "model.keras")
    assert float(zoo.load_model(tmp_path / "model.keras")(np.zeros((1, 1), "float32"))[0, 0]) == 3.0


# ---- B24: the state of the optimizer


def test_b24_optimizer_and_schedule_go_on_in_a_fresh_process(tmp_path):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, optimizer_state.__file__, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert found.returncode == 0, found.stderr[-2000:]
    state, difference, weights_only = found.stdout.splitlines()
    iterations, rate = state.split()
    assert int(iterations) == 5
    assert float(rate) == pytest.approx(0.0993844, abs=1e-7)
    assert float(difference) == 0.0
    assert weights_only == "0 the optimizer was left as it is, because weights hold no optimizer state"


# ---- B25: loading across classes and versions


def recurrent(layer) -> zoo.Model:
    inputs = keras.Input((4, 3), name="inputs")
    outputs = keras.layers.Dense(2, name="logits")(layer(inputs))
    return zoo.Model(inputs, outputs, name="recurrent", record=zoo.ModelRecord("resnet20", input_shape=(4, 3)))


@pytest.mark.parametrize("kind", ["model", ".weights.h5"])
def test_b25_a_cell_and_the_plain_layer_exchange_weights(kind, tmp_path):
    cell = recurrent(keras.layers.RNN(layers.LSTMCell(5, name="lstm_cell"), name="memory"))
    plain = recurrent(layers.LSTM(5, name="memory"))
    inputs = np.random.RandomState(0).standard_normal((2, 4, 3)).astype("float32")
    for source, model in ((cell, plain), (plain, cell)):
        given = source
        if kind != "model":
            given = tmp_path / f"{id(source)}{kind}"
            source.save_weights(given)
        assert zoo.load_weights(model, given).skipped == ()
        np.testing.assert_allclose(np.asarray(model(inputs)), np.asarray(source(inputs)), atol=1e-6)
        for one, other in zip(source.weights, model.weights, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_b25_an_unknown_key_in_a_saved_config_is_named_with_its_layer(tmp_path):
    lenet().save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as archive, zipfile.ZipFile(tmp_path / "odd.keras", "w") as changed:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "config.json":
                config = json.loads(content)
                config["config"]["layers"][1]["config"]["swirl"] = 3
                content = json.dumps(config).encode()
            changed.writestr(name, content)
    with pytest.raises(zoo.CanonError, match=r"odd\.keras' could not be loaded.*'c1'.*swirl") as caught:
        zoo.load_model(tmp_path / "odd.keras")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


class Nested(keras.layers.Layer):
    """Sublayers in a list, a dict and a tuple, and one of them twice."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.listed = [keras.layers.Dense(3, name="list_0"), keras.layers.Dense(3, name="list_1")]
        self.named = {"only": keras.layers.Dense(3, name="dict_only")}
        self.pair = (keras.layers.Dense(3, name="tuple_0"), self.listed[0])

    def build(self, input_shape):
        for layer in (*self.listed, *self.named.values(), self.pair[0]):
            layer.build(input_shape)

    def call(self, inputs):
        for layer in (*self.listed, *self.named.values(), *self.pair):
            inputs = layer(inputs)
        return inputs


@pytest.mark.parametrize("kind", [".keras", ".weights.h5"])
def test_b25_names_like_each_other_and_nested_sublayers_go_round_unchanged(kind, tmp_path):
    def build(seed):
        keras.utils.set_random_seed(seed)
        inputs = keras.Input((3,), name="inputs")
        x = keras.layers.Dense(3, name="fire5")(inputs)
        x = keras.layers.BatchNormalization(name="fire5_bn")(x)
        x = Nested(name="nested")(x)
        return zoo.Model(inputs, keras.layers.Dense(2, name="logits")(x), record=zoo.ModelRecord("resnet20", input_shape=(3,)))

    source, model = build(1), build(2)
    path = tmp_path / f"source{kind}"
    if kind == ".keras":
        source.save(path)
        with keras.saving.custom_object_scope({"Nested": Nested}):
            zoo.load_weights(model, path)
    else:
        source.save_weights(path)
        zoo.load_weights(model, path)
    assert_same(values(model), values(source))


# ---- weights at creation


def test_create_with_a_weight_file(tmp_path):
    source = lenet(classes=3, seed=1)
    source.update_record(labels=("a", "b", "c"))
    source.save(tmp_path / "model.keras")
    model = zoo.create("lenet5_modern", weights=tmp_path / "model.keras", num_classes=3)
    assert_same(values(model), values(source))
    assert model.record.labels == ("a", "b", "c")
    assert model.record.weights == str(tmp_path / "model.keras")
    other = zoo.create("lenet5_modern", weights=str(tmp_path / "model.keras"), num_classes=7, input_shape=(32, 32, 3))
    assert other.record.labels == ()
    assert other.record.preprocessing.channels == 3
    np.testing.assert_array_equal(other.get_layer("f6").kernel, source.get_layer("f6").kernel)
    with pytest.raises(zoo.CanonError, match=r"logits/kernel is \(84, 10\) and the source has \(84, 3\)"):
        zoo.create("lenet5_modern", weights=tmp_path / "model.keras")
    with pytest.raises(zoo.CanonError, match=r"no weight file 'missing\.keras'"):
        zoo.create("lenet5_modern", weights="missing.keras")
