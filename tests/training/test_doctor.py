"""Sanity checks: each finds its fault, and a sound recipe has none."""

import json
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
import typer
from typer.testing import CliRunner

from keras_canon import training
from keras_canon.cli import doctor as doctor_command
from keras_canon.training import doctor
from keras_canon.training.building import build
from keras_canon.training.gradient_norms import GradientNorms, layer_norms, probe
from keras_canon.training.loop import train
from keras_canon.training.pipeline import load_data
from keras_canon.zoo.errors import CanonError
from keras_canon.zoo.records import Preprocessing

FAST = "lenet5_modern_fashion_mnist"
SCALED = Preprocessing(size=(8, 8), channels=1, scale=1 / 255)


def split(labels, name="train"):
    return SimpleNamespace(name=name, labels=np.array(labels))


def test_labels_out_of_range_and_missing_classes():
    wrong = doctor.check_labels(split([0, 1, 2, 3]), 3)
    assert (wrong.verdict, wrong.sentence) == ("error", "Labels run from 0 to 3, but the 3 classes are 0 to 2: number them anew.")
    assert doctor.check_labels(split([0, 0, 2]), 3).verdict == "warning"
    assert doctor.check_labels(split([0, 0, 2], "test"), 3).verdict == "ok"
    with pytest.raises(CanonError, match="number them anew"):
        doctor.refuse_errors([wrong])


@pytest.mark.parametrize(
    ("pixels", "verdict"),
    [(np.linspace(0, 1, 64), "ok"), (np.linspace(0, 1 / 255, 64), "warning"), (np.linspace(0, 255, 64), "warning"), ([np.nan], "error")],
)
def test_inputs_that_the_model_does_not_expect(pixels, verdict):
    assert doctor.check_inputs(np.array(pixels), SCALED).verdict == verdict


def test_the_loss_of_a_guess():
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    assert doctor.check_first_loss(loss, [2.2, 2.4], 10).verdict == "ok"
    high = doctor.check_first_loss(loss, [9.0, 11.0], 10)
    assert high.verdict == "warning"
    assert "ln 10 = 2.303" in high.sentence
    assert doctor.check_first_loss(loss, [0.1, 0.2], 10).verdict == "warning"
    assert doctor.check_first_loss(loss, [np.nan], 10).verdict == "error"
    assert doctor.check_first_loss(keras.losses.MeanSquaredError(), [50.0], 10).verdict == "ok"


def network(*middle):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), *middle, keras.layers.Dense(3, name="logits")])
    model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


BATCH = np.random.default_rng(0).normal(size=(8, 4)).astype("float32"), np.arange(8) % 3


def test_gradients_that_do_not_reach_a_weight():
    dead = network(keras.layers.Dense(5, bias_initializer=keras.initializers.Constant(-100.0), activation="relu", name="dead"))
    finding = doctor.check_gradients(dead, probe(dead, *BATCH)[1])
    assert finding.verdict == "warning"
    assert "dead/kernel" in finding.sentence
    sound = network(keras.layers.Dense(5, name="alive"))
    assert doctor.check_gradients(sound, probe(sound, *BATCH)[1]).verdict == "ok"
    assert doctor.check_gradients(sound, [np.full(2, np.inf)] * 4).verdict == "error"


def test_looking_leaves_the_model_as_it_was():
    model = network(keras.layers.BatchNormalization(), keras.layers.Dropout(0.5))
    before = [variable.numpy() for variable in model.variables]
    probe(model, *BATCH)
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


@pytest.mark.slow
def test_a_first_look_does_not_change_the_run(tmp_path, monkeypatch):
    looked = training.run(FAST, tmp_path / "looked", smoke=True, verbose=False)
    monkeypatch.setattr("keras_canon.training.running.first_look", lambda model, data: [])
    plain = training.run(FAST, tmp_path / "plain", smoke=True, verbose=False)
    for one, other in zip(looked.model.get_weights(), plain.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_batch_that_cannot_be_learnt(monkeypatch):
    recipe = training.load_recipe(FAST, {"optimizer.learning_rate": 1e-12}, smoke=True)
    monkeypatch.setattr(doctor, "_OVERFIT_UPDATES", 5)
    data = load_data(recipe.data)
    finding = doctor.check_overfit(build(recipe, data), data)
    assert finding.verdict == "warning"
    assert finding.sentence.startswith("Only 16 examples reached")


def test_a_slow_input_pipeline_is_found():
    def slowly(inputs, labels):
        return tf.numpy_function(lambda value: (__import__("time").sleep(0.05), value)[1], [inputs], "float32"), labels

    data = tf.data.Dataset.from_tensor_slices(BATCH).batch(4).map(slowly)
    data = data.map(lambda inputs, labels: (tf.ensure_shape(inputs, (None, 4)), labels))
    finding = doctor.check_speed(network(), data)
    assert finding.verdict == "warning"
    assert finding.sentence.startswith("The input pipeline gives ")


@pytest.mark.parametrize(("machine", "has", "said"), [("x86_64", False, True), ("x86_64", True, False), ("aarch64", False, False)])
def test_kernels_that_are_switched_off_are_told(machine, has, said, monkeypatch):
    monkeypatch.setattr(doctor.platform, "machine", lambda: machine)
    monkeypatch.setattr(doctor, "has_onednn", lambda: has)
    finding = doctor.check_speed(network(), tf.data.Dataset.from_tensor_slices(BATCH).batch(4).cache())
    assert ("TF_ENABLE_ONEDNN_OPTS=1" in finding.sentence) == (said and finding.verdict == "ok")


def test_the_command_finds_nothing_wrong_with_a_sound_recipe():
    app = typer.Typer()
    app.command()(doctor_command.doctor)
    result = CliRunner().invoke(app, ["lenet5_digits", "--json"])
    findings = {finding["check"]: finding for finding in json.loads(result.output)}
    # what speed comes out is this machine's affair
    assert {name: finding["verdict"] for name, finding in findings.items() if name != "speed"} == {
        **dict.fromkeys(("labels of train", "labels of validation", "labels of test", "inputs"), "ok"),
        **dict.fromkeys(("loss at start", "gradients", "overfit"), "ok"),
    }


def test_norms_by_layer_warn_by_name(tmp_path):
    tiny = keras.initializers.RandomNormal(stddev=1e-9, seed=1)
    model = network(keras.layers.Dense(5, name="early"), keras.layers.Dense(5, kernel_initializer=tiny, name="choked"))
    norms = layer_norms(model, probe(model, *BATCH)[1])
    assert set(norms) == {"early", "choked", "logits"}
    model.optimizer.learning_rate = 0.0
    data = tf.data.Dataset.from_tensor_slices(BATCH).batch(8)
    callback = GradientNorms(*BATCH, path=tmp_path / "norms.csv")
    with pytest.warns(UserWarning, match=r"Epoch 1: the gradient of layer 'early' vanishes \(norm .*add normalisation"):
        train(model, lambda epoch: data, epochs=2, callbacks=[callback])
    assert callback.warned.count("early") == 1
    assert (tmp_path / "norms.csv").read_text(encoding="utf-8").splitlines()[0] == "epoch,early,choked,logits"
    assert len(callback.rows) == 2
    wild = network(keras.layers.Dense(5, kernel_initializer=keras.initializers.Constant(1e9), name="wild"))
    wild.optimizer.learning_rate = 0.0
    with pytest.warns(UserWarning, match="the gradient of layer 'logits' explodes"):
        train(wild, lambda epoch: data, epochs=1, callbacks=[GradientNorms(*BATCH)])
    with pytest.raises(ValueError, match="above 0"):
        GradientNorms(*BATCH, vanishing=0.0)
