"""LiteRT, ONNX and OpenVINO: the same answers as the model, or one sentence why not."""

import gc
import importlib.util

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.serving import pair_model

from keras_canon import serving, zoo
from keras_canon.serving.formats import FORMATS, check_written, open_format
from keras_canon.serving.samples import Samples
from keras_canon.zoo import CanonError

MODULES = {"litert": "ai_edge_litert", "onnx": "tf2onnx", "openvino": "openvino"}
FAMILIES = ["resnet20", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "inception_v3", "xception", "resnet50"]
FAMILIES += ["vgg11", "squeezenet1_1", "googlenet", "convnext_tiny", "vit_tiny_16", "resnext50_32x4d", "alexnet", "lenet5"]

for _name in FAMILIES:
    zoo.info(_name)  # an unknown name is an error at once, also where the slow tests are left out


@pytest.fixture(params=FORMATS)
def form(request):
    if importlib.util.find_spec(MODULES[request.param]) is None:
        pytest.skip(f"the extra {request.param} is not installed")
    return request.param


def answers(bundle, form, inputs):
    return open_format(form, bundle.path / bundle.manifest.formats[form])(inputs)


def check_answers(model, forms, tmp_path, x):
    bundle = serving.export(model, tmp_path / "model", formats=forms)
    logits = model.predict(x, verbose=0)
    for form in forms:
        assert bundle.manifest.formats[form] in bundle.manifest.files
        for rows in (x, x[:1]):  # a batch of any size
            outputs = answers(bundle, form, {"images": rows})
            assert sorted(outputs) == ["logits", "probabilities"]
            np.testing.assert_allclose(outputs["logits"], logits[: len(rows)], rtol=0, atol=1e-3 * np.abs(logits).max(), err_msg=form)


@pytest.mark.slow
def test_a_classifier_answers_the_same(form, tmp_path, lenet5, images):
    check_answers(lenet5, [form], tmp_path, images)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_answers_the_same_at_its_own_size(name, tmp_path):
    keras.utils.set_random_seed(1)
    model = zoo.create(name)
    shape = (3, *(size or 96 for size in model.input_shape[1:]))
    forms = [form for form, module in MODULES.items() if importlib.util.find_spec(module)]
    check_answers(model, forms, tmp_path, np.random.default_rng(2).normal(size=shape).astype("float32"))
    del model  # some of these have half a gigabyte of weights, which each runtime holds once more
    keras.backend.clear_session()
    gc.collect()


def test_names_of_several_inputs_and_outputs_stay(form, tmp_path):
    model = pair_model()
    bundle = serving.export(model, tmp_path / "pair", formats=[form])
    inputs = {"signal": np.ones((2, 2), "float32"), "count": np.array([3, 4], "int32")}
    outputs, expected = answers(bundle, form, inputs), serving.load(bundle.path).predict(inputs)
    assert sorted(outputs) == ["next", "total"]
    for name, value in expected.items():
        np.testing.assert_allclose(outputs[name], value, rtol=0, atol=1e-5)


def test_a_wrong_answer_is_refused():
    samples = Samples({"x": np.ones((2, 1), "float32")})
    with pytest.raises(CanonError, match="'m' as onnx differs from the SavedModel by 1 of the largest output"):
        check_written("onnx", "m", lambda inputs: {"y": 2 * inputs["x"]}, lambda inputs: {"y": inputs["x"]}, samples)
    with pytest.raises(CanonError, match="cannot run it: no such op"):
        check_written(
            "onnx", "m", lambda inputs: 1 / 0 if not inputs else (_ for _ in ()).throw(RuntimeError("no such op")), lambda x: x, samples
        )


def test_a_guessed_size_that_the_network_does_not_take_asks_for_data():
    def reference(rows):
        raise tf.errors.InvalidArgumentError(None, None, "32 is not a multiple of 5")

    samples = Samples({"x": np.ones((2, 32), "float32")})
    with pytest.raises(CanonError, match=r"cannot compute with 'x' of shape \(2, 32\): give data= of a size the network takes"):
        check_written("onnx", "m", lambda rows: rows, reference, samples)


def test_a_missing_package_names_the_extra(monkeypatch, tmp_path, lenet5):
    import sys

    for module in ("tf2onnx", "onnxruntime"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CanonError, match=r"pip install 'keras-canon\[onnx\]'"):
        serving.export(lenet5, tmp_path / "x", formats=["onnx"])
    assert list(tmp_path.iterdir()) == []
