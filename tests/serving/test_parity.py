"""One model, many roads: `model.predict`, `serving.load`, and a process that has no keras_canon; over families under `-m slow`."""

import subprocess
import sys

import keras
import numpy as np
import pytest
from checks.serving import small_classifier

from keras_canon import serving, zoo

# Runs with plain TensorFlow: any import of this package fails.
FRESH = """
import sys
from pathlib import Path
sys.modules["keras_canon"] = None
import numpy as np
import tensorflow as tf
for folder in map(Path, sys.argv[1:]):
    given = np.load(folder.parent / "inputs.npz")
    outputs = tf.saved_model.load(str(folder)).signatures["serving_default"](**{k: tf.constant(given[k]) for k in given.files})
    np.savez(folder.parent / "outputs.npz", **{k: v.numpy() for k, v in outputs.items()})
"""


def smallest_of_each_family() -> list[str]:
    smallest = {}
    for info in map(zoo.info, zoo.list_models(task="image-classification")):
        if info.family not in smallest or info.trainable_parameters < smallest[info.family].trainable_parameters:
            smallest[info.family] = info
    return sorted(info.name for info in smallest.values())


def check_parity(name: str, folder) -> None:
    keras.utils.set_random_seed(12)
    model = zoo.create(name)
    x = np.random.default_rng(13).normal(size=(5, *model.input_shape[1:])).astype("float32")
    bundle = serving.export(model, folder / name)
    np.savez(folder / name / "inputs.npz", images=x)
    subprocess.run([sys.executable, "-c", FRESH, str(bundle.path)], check=True, timeout=300, cwd=folder)
    fresh, loaded = np.load(folder / name / "outputs.npz"), serving.load(bundle.path)
    expected = model.predict(x, verbose=0)
    expected = expected if isinstance(expected, dict) else {"logits": expected}
    for outputs in (loaded.predict(x), fresh):
        for key, value in expected.items():
            np.testing.assert_allclose(outputs[key], value, rtol=0, atol=1e-5 * max(np.abs(value).max(), 1e-3))
        if "probabilities" in outputs:
            np.testing.assert_allclose(outputs["probabilities"], np.asarray(keras.ops.softmax(expected["logits"])), rtol=0, atol=1e-5)
    assert {len(value) for value in loaded.predict(x[:0]).values()} == {0}
    ops = set(bundle.manifest.ops)
    assert not {"VarHandleOp", "ReadVariableOp"} & ops
    assert not [op for op in ops if "Random" in op or "PyFunc" in op]
    assert b"_XlaMustCompile" not in (bundle.path / "saved_model.pb").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", smallest_of_each_family())
def test_every_family_answers_the_same_in_every_process(name, tmp_path):
    check_parity(name, tmp_path)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
def test_a_policy_leaves_float32_arithmetic(policy, tmp_path):
    model, exact = small_classifier(policy), small_classifier()
    exact.set_weights([np.asarray(value, "float32") for value in model.get_weights()])
    x = np.random.default_rng(14).normal(size=(3, 8, 8, 3)).astype("float32")
    bundle = serving.export(model, tmp_path / "small")
    np.testing.assert_allclose(serving.load(bundle.path).predict(x)["logits"], exact.predict(x, verbose=0), rtol=0, atol=1e-5)
    assert model.layers[-1].compute_dtype != "float32"  # the model itself is as it was
