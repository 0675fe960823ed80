"""Fine-tuning: phases, best weights, going on after a kill, the same numbers twice, comparison, sources of weights, bad input."""

import contextlib
import csv
import hashlib
import json
import re
import sys
import types
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from safetensors.numpy import save_file

from keras_canon import training, zoo
from keras_canon.training import finetuning_run
from keras_canon.training.finetuning import _data_name, finetune_recipe
from keras_canon.training.finetuning_phases import Phase, backbone_rates, phases
from keras_canon.training.finetuning_run import fine_tuning
from keras_canon.training.recipe import load_recipe, recipe_toml
from keras_canon.training.transfer_section import TransferSection
from keras_canon.zoo.errors import CanonError

DATA = "synthetic:classes=4,size=20,channels=1,examples=80"
SMALL = {"train.batch_size": 16, "transfer.stages": 2}


def tune(model, data, out, *, epochs=None, overrides=None, verbose=False, **options):
    overrides = {**(overrides or {}), **({} if epochs is None else {"train.epochs": epochs})}
    return training.finetune(model, data, out, overrides=overrides, verbose=verbose, **options)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A folder like that of a run of one's own: a network for other classes, with a statistic that is not the initial one."""
    keras.utils.set_random_seed(1)
    model = zoo.create("resnet20", num_classes=10, input_shape=(20, 20, 1), overrides={"blocks_per_stage": 1})
    model(np.random.default_rng(0).normal(size=(32, 20, 20, 1)), training=True)
    folder = tmp_path_factory.mktemp("base")
    model.save(folder / "model.keras")
    return folder


@pytest.fixture(scope="module")
def tuned(base, tmp_path_factory):
    out = tmp_path_factory.mktemp("tuned") / "run"
    return tune(base, DATA, out, epochs=4, overrides=SMALL, verbose=False)


def test_phases_one_after_another(tuned):
    rows = list(csv.DictReader((tuned.folder / "history.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["phase"] for row in rows] == ["head", "from_stage2", "all", "all"]
    assert [row["epoch"] for row in rows] == ["0", "1", "2", "3"]
    assert len(tuned.history["loss"]) == 4
    assert tuned.best_epoch == int(np.argmin(tuned.history["val_loss"]))


def test_the_best_weights_of_all_phases_are_kept(tuned):
    found = training.evaluate(tuned.folder, split="validation")
    assert found.cross_entropy == pytest.approx(min(tuned.history["val_loss"]), rel=1e-5)
    model = zoo.load_model(tuned.folder / "model.keras")
    assert all(layer.trainable for layer in model._flatten_layers())
    assert model.record.labels == found.class_names
    assert "fine-tuned by recipe" in model.record.weights
    for one, other in zip(model.get_weights(), tuned.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_statistics_of_the_backbone_are_those_of_the_start(base, tuned):
    before = {weight.path: np.array(weight.value) for weight in zoo.load_model(base / "model.keras").weights}
    after = {weight.path: np.array(weight.value) for weight in tuned.model.weights}
    moving = [path for path in before if "moving_" in path]
    assert moving
    for path in moving:
        np.testing.assert_array_equal(before[path], after[path], err_msg=path)
    assert any(not np.array_equal(before[path], after[path]) for path in before if path.endswith("conv/kernel") or "kernel" in path)


def test_the_report_says_which_phase_did_what(tuned):
    report = (tuned.folder / "report.md").read_text(encoding="utf-8")
    assert "## Fine-tuning\n" in report
    assert re.search(r"\| 2 \| from_stage2 \| [\d,]+ \| 1 \|", report)
    assert "arrays were loaded in the format canon, the head is new" in report
    assert "from_stage2" in (tuned.folder / "report.html").read_text(encoding="utf-8")
    assert json.loads((tuned.folder / "metrics.json").read_text(encoding="utf-8"))["status"] == "finished"
    assert [path.name for path in (tuned.folder / "checkpoints").rglob("*.npz")] == ["best.npz"]


@pytest.mark.slow
def test_the_recipe_in_the_folder_gives_the_same_numbers(tuned, tmp_path):
    again = training.run(tuned.folder / "recipe.toml", tmp_path / "again", verbose=False)
    for one, other in zip(again.model.get_weights(), tuned.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert {name: values for name, values in again.history.items() if name != "seconds"} == {
        name: values for name, values in tuned.history.items() if name != "seconds"
    }


class Stop(keras.callbacks.Callback):
    """Stop at the beginning of an epoch, counted through all phases."""

    def __init__(self, epoch, error=KeyboardInterrupt):
        super().__init__()
        self.left, self.error = epoch, error

    def on_epoch_begin(self, epoch, logs=None):
        if self.left == 0:
            raise self.error
        self.left -= 1


class Killed(BaseException):
    """Like a signal that nothing catches."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epoch", "error"),
    [(3, Killed), *(pytest.param(epoch, Killed, marks=pytest.mark.slow) for epoch in range(3))],
)
def test_a_fine_tuning_that_was_killed_goes_on(base, tuned, tmp_path, epoch, error):
    out = tmp_path / "run"
    with pytest.raises(error):
        tune(base, DATA, out, epochs=4, overrides=SMALL, verbose=False, callbacks=[Stop(epoch, error)])
    resumed = tune(base, DATA, out, epochs=4, overrides=SMALL, verbose=False)
    for one, other in zip(resumed.model.get_weights(), tuned.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [name for name in tuned.history if resumed.history[name] != tuned.history[name]] == ["seconds"]
    rows = (out / "history.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 5


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_weights_so_far(base, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(training.RunInterrupted, match=r"are in .*model\.keras"):
        tune(base, DATA, out, epochs=4, overrides=SMALL, verbose=False, callbacks=[Stop(2)])
    assert zoo.load_model(out / "model.keras").record.labels
    resumed = tune(base, DATA, out, epochs=4, overrides=SMALL, verbose=False)
    assert len(resumed.history["loss"]) == 4


@pytest.mark.slow
def test_a_phase_that_spoils_the_weights_is_undone(base, tmp_path):
    class Spoil(keras.callbacks.Callback):
        """Break the weights in every epoch after the first."""

        def __init__(self):
            super().__init__()
            self.epochs = 0

        def on_epoch_begin(self, epoch, logs=None):
            if self.epochs:
                self.model.set_weights([3.0 * weight for weight in self.model.get_weights()])
            self.epochs += 1

    result = tune(base, DATA, tmp_path / "run", epochs=4, overrides=SMALL, verbose=False, callbacks=[Spoil()])
    assert result.best_epoch == 0
    loss = training.evaluate(result.folder, split="validation").cross_entropy
    assert loss == pytest.approx(result.history["val_loss"][0], rel=1e-5)


@pytest.mark.slow
def test_comparison_on_the_same_split(base, tmp_path):
    result = tune(base, DATA, tmp_path / "run", epochs=3, overrides=SMALL, compare=True, verbose=False)
    report = (result.folder / "report.md").read_text(encoding="utf-8")
    assert "## Comparison\n" in report
    for method in ("probe", "scratch"):
        folder = result.folder / "compare" / method
        recipe = load_recipe(folder / "recipe.toml")
        assert recipe.transfer.method == method
        assert recipe.data == load_recipe(result.folder / "recipe.toml").data
        assert f"{json.loads((folder / 'metrics.json').read_text(encoding='utf-8'))['test']['accuracy']:.4f}" in report
    probe = zoo.load_model(result.folder / "compare" / "probe" / "model.keras")
    before = {weight.path: np.array(weight.value) for weight in zoo.load_model(base / "model.keras").weights}
    for weight in probe.weights:
        if not weight.path.startswith("logits/"):
            np.testing.assert_array_equal(before[weight.path], weight.value, err_msg=weight.path)
    assert load_recipe(result.folder / "recipe.toml").transfer.compare is True


def test_without_weights_it_refuses_and_says_what_to_do(tmp_path):
    with pytest.raises(CanonError, match=r"No weights are published for 'resnet32'.*--weights.*--from-scratch") as caught:
        tune("resnet32", DATA, tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_model_in_memory_is_written_once_and_means_the_same_file_again(tmp_path):
    model = zoo.create("lenet5_modern", num_classes=4)
    [one, two] = [finetune_recipe(model, DATA.replace("20", "28"), out=tmp_path / "run") for _ in range(2)]
    [path] = tmp_path.glob("run.start-*.keras")
    assert one == two
    assert one.transfer.weights == str(path)
    model.set_weights([weight + 1.0 for weight in model.get_weights()])
    kept = path.read_bytes()
    assert finetune_recipe(model, DATA.replace("20", "28"), out=tmp_path / "run").transfer.weights != str(path)
    assert path.read_bytes() == kept


def test_a_cluster_does_not_compare(base, monkeypatch):
    recipe = finetune_recipe(base, DATA, compare=True, overrides=SMALL)
    monkeypatch.setattr(finetuning_run.tf.distribute, "MultiWorkerMirroredStrategy", tf.distribute.Strategy)
    with pytest.raises(CanonError, match="leave it out"):
        fine_tuning(recipe, zoo.create("lenet5_modern"))


@pytest.mark.slow
def test_from_scratch(tmp_path):
    overrides = {"model.input_shape": [20, 20, 1], "model.overrides": {"blocks_per_stage": 1}, "train.batch_size": 16}
    result = tune("resnet20", DATA, tmp_path / "run", epochs=1, weights="random", overrides=overrides, verbose=False)
    assert "started from random weights" in (result.folder / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_network_whose_head_has_fixed_codes(tmp_path):
    data = "synthetic:classes=4,size=32,channels=1,examples=60"
    model = zoo.create("lenet5", num_classes=4)
    overrides = {"train.batch_size": 16, "train.loss": "rbf_maximum_a_posteriori", "transfer.stages": 1}
    result = tune(model, data, tmp_path / "run", epochs=2, overrides=overrides, verbose=False)
    assert len(list(tmp_path.glob("run.start-*.keras"))) == 1
    assert len(result.history["loss"]) == 1


@pytest.mark.slow
def test_half_precision_dropout_averages_and_micro_batches(base, tmp_path):
    overrides = {
        **SMALL,
        "train.precision": "mixed_float16",
        "transfer.dropout": 0.2,
        "average.name": "exponential",
        "average.momentum": 0.5,
        "train.micro_batches": 2,
        "optimizer.clip_global_norm": 1.0,
        "transfer.keep_batch_norm_frozen": False,
        "augment.mixup": 0.2,
        "augment.cutmix": 1.0,
    }
    result = tune(base, DATA, tmp_path / "run", epochs=3, overrides=overrides, verbose=False)
    assert np.all(np.isfinite(result.history["loss"]))
    assert "head_dropout" in [layer.name for layer in result.model.layers]


# sources of weights


def test_every_kind_of_file_and_a_run_give_the_same_start(base, tmp_path):
    model = zoo.load_model(base / "model.keras")
    model.save_weights(tmp_path / "x.weights.h5")
    save_file({weight.path: np.asarray(weight) for weight in model.weights}, tmp_path / "x.safetensors")
    for source in (base, base / "model.keras", tmp_path / "x.weights.h5", tmp_path / "x.safetensors"):
        section = TransferSection(weights=str(source)).filled(4)
        other = zoo.create("resnet20", num_classes=4, input_shape=(20, 20, 1), overrides={"blocks_per_stage": 1})
        from keras_canon.training.finetuning_weights import start_from_weights

        other, report = start_from_weights(other, section)
        assert len(report.loaded) + len(report.skipped) == len(model.weights)
        for one, mine in zip(model.weights, other.weights, strict=True):
            if not one.path.startswith("logits/"):
                np.testing.assert_array_equal(np.asarray(one), np.asarray(mine), err_msg=one.path)
        assert other.get_layer("logits").kernel.shape[-1] == 4


def test_the_size_of_a_network_comes_with_its_weights(base):
    recipe = finetune_recipe(base, DATA)
    assert finetune_recipe(base, DATA, overrides={"transfer.method": "probe"}).transfer.method == "probe"
    assert recipe.model.input_shape == (20, 20, 1)
    file = base / "model.keras"
    assert recipe.transfer.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert finetune_recipe("resnet20", DATA, weights=file).model == recipe.model
    assert load_recipe_text(recipe) == recipe


def test_few_examples_get_more_epochs_and_a_new_head_a_rate_of_its_own(base):
    few, many = (finetune_recipe(base, f"synthetic:classes=4,size=20,channels=1,examples={examples}") for examples in (80, 2000))
    assert (few.train.epochs, many.train.epochs) == (60, 20)
    assert few.optimizer.learning_rate == many.optimizer.learning_rate == 1e-2
    updates = -(-len(training.data.load(few.data.name).train) // few.train.batch_size) * few.train.epochs
    assert updates > 100


def load_recipe_text(recipe):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipe.toml"
        path.write_text(recipe_toml(recipe), encoding="utf-8")
        return load_recipe(path)


def test_a_file_that_changed_is_refused(base, tmp_path):
    recipe = finetune_recipe(base, DATA, overrides={"transfer.sha256": "0" * 64})
    with pytest.raises(CanonError, match="has changed since the recipe was written"):
        training.run(recipe, tmp_path / "run", verbose=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.filterwarnings("ignore:Skipping invalid path during archive extraction:UserWarning")
def test_an_archive_writes_nothing_outside_its_folder(base, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary" / "deep"
    temporary.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with zipfile.ZipFile(base / "model.keras") as good, zipfile.ZipFile(tmp_path / "bad.keras", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name))
        for name in ("../climb.txt", "assets/../../climb.txt", f"{tmp_path}/climb.txt"):
            bad.writestr(name, "outside")
    with contextlib.suppress(CanonError):
        zoo.load_model(tmp_path / "bad.keras")
    assert list(tmp_path.rglob("climb*")) == []


def test_weights_on_the_hub(base, tmp_path, monkeypatch):
    asked = []

    def download(repo_id, filename):
        asked.append((repo_id, filename))
        path = tmp_path / filename
        save_file({weight.path: np.asarray(weight) for weight in zoo.load_model(base / "model.keras").weights}, path)
        return str(path)

    client = types.ModuleType("huggingface_hub")
    client.hf_hub_download = download
    client.__spec__ = types.SimpleNamespace(name="huggingface_hub")
    monkeypatch.setitem(sys.modules, "huggingface_hub", client)
    recipe = finetune_recipe("resnet20", DATA, weights="hf:someone/resnet")
    assert recipe.transfer.weights == "hf:someone/resnet"
    assert len(recipe.transfer.sha256) == 64
    assert asked == [("someone/resnet", "model.safetensors")]
    for weights, match in (("hf:someone", "must be hf:OWNER/NAME"), ("hf:someone/resnet/pytorch_model.bin", "is a pickle")):
        with pytest.raises(CanonError, match=match):
            finetune_recipe("resnet20", DATA, weights=weights)

    def fail(repo_id, filename):
        raise OSError("no network")

    client.hf_hub_download = fail
    with pytest.raises(CanonError, match="could not be fetched from the Hugging Face hub: no network"):
        finetune_recipe("resnet20", DATA, weights="hf:someone/resnet")


def test_the_hub_without_its_package(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CanonError, match=r"pip install 'keras-canon\[hub\]'"):
        finetune_recipe("resnet20", DATA, weights="hf:someone/resnet")


# bad input: one sentence before training starts


def photographs(folder, classes=("cat", "dog"), each=4, empty=()):
    random = np.random.default_rng(0)
    for name in classes:
        (folder / name).mkdir(parents=True)
        for number in range(each):
            Image.fromarray(random.integers(0, 255, (24, 24, 3), dtype="uint8")).save(folder / name / f"{number}.png")
    for name in empty:
        (folder / name).mkdir(parents=True)
    return folder


def test_a_folder_needs_no_prefix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    names = ["photos", "photos[unreadable=skip]", "photos/", "csv:photos/x.csv", "digits[per_class=3]", Path("digits")]
    assert [_data_name(name) for name in names] == [
        *(f"folder:{name}" for name in names[:3]),
        "csv:photos/x.csv",
        "digits[per_class=3]",
        "folder:digits",
    ]


@pytest.mark.slow
def test_a_folder_of_photographs(tmp_path):
    folder = photographs(tmp_path / "photos", each=8)
    model = zoo.create("resnet20", num_classes=3, input_shape=(20, 20, 3), overrides={"blocks_per_stage": 1})
    overrides = {"transfer.stages": 1, "train.batch_size": 4}
    result = tune(model, folder, tmp_path / "run", epochs=2, overrides=overrides, verbose=False)
    assert result.test.class_names == ("cat", "dog")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda path: path / "photos", "There is no folder"),
        (lambda path: photographs(path / "photos", classes=()), "There is no folder|holds no class"),
        (lambda path: photographs(path / "photos", classes=("cat",)), "only the class 'cat'"),
        (lambda path: photographs(path / "photos", empty=("emu",)), "has no training picture in emu"),
    ],
)
def test_bad_folders(base, tmp_path, make, match):
    folder = make(tmp_path)
    with pytest.raises(CanonError, match=match) as caught:
        tune(base, folder, tmp_path / "run", verbose=False)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_other_bad_input(base, tmp_path):
    (tmp_path / "x.pt").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "model.keras").write_bytes(b"x")
    cases = [
        (("lenet5_modern", DATA), {"weights": base}, "Weights of 'resnet20' are not weights of 'lenet5_modern'"),
        (("resnet2", DATA), {}, "'resnet20'"),
        (("resnet20", DATA), {"weights": tmp_path / "x.pt"}, "is a pickle"),
        (("resnet20", DATA), {"weights": tmp_path / "absent.keras"}, "There are no weights"),
        (("resnet20", DATA), {"weights": "imagenett"}, "There are no weights 'imagenett'"),
        (("resnet20", DATA), {"weights": tmp_path / "empty"}, "There is no model.keras"),
        (("resnet20", DATA), {"weights": tmp_path}, "such as '.*inner'"),
        (
            (base, DATA),
            {"epochs": 3, "overrides": {"transfer.stages": 3}},
            "too few for 1 of the head and at least one for each of 3 stages",
        ),
        ((base, DATA), {"overrides": {"transfer.stagse": 3}}, "stages"),
        ((base, "digitss"), {}, "'digits'"),
    ]
    for arguments, options, match in cases:
        with pytest.raises(CanonError, match=match) as caught:
            tune(*arguments, tmp_path / "run", verbose=False, **options)
        assert "\n" not in str(caught.value), match
        assert not (tmp_path / "run").exists()


# the plan


def test_epochs_are_shared_out():
    names = ["stage1", "stage2", "stage3"]
    assert phases(TransferSection(weights="x").filled(20), 20, names) == (
        Phase("head", 5, "logits"),
        Phase("from_stage3", 5, "stage3"),
        Phase("from_stage2", 5, "stage2"),
        Phase("all", 5, None),
    )
    assert sum(phase.epochs for phase in phases(TransferSection(weights="x", head_epochs=2, stages=3).filled(10), 10, names)) == 10
    assert phases(TransferSection(weights="x", method="probe").filled(7), 7, names) == (Phase("probe", 7, "logits"),)
    assert phases(TransferSection(weights="x", method="full").filled(7), 7, names) == (Phase("full", 7, None),)
    assert len(phases(TransferSection(weights="x", stages=9).filled(20), 20, names)) == 4
    assert [phase.from_ for phase in phases(TransferSection(weights="x", stages=2).filled(9), 9, [f"c{n}" for n in range(5)])] == [
        "logits",
        "c3",
        None,
    ]


def test_rates_go_down_stage_by_stage():
    model = zoo.create("resnet20", num_classes=3, input_shape=(16, 16, 3))
    rates = backbone_rates(model, TransferSection(weights="x", backbone_rate=0.2, layer_decay=0.5).filled(4))
    assert "/logits" not in rates
    assert rates["/stage3_block3"] == rates["/stage3_block1"] == pytest.approx(0.2)
    assert rates["/stage2_block2"] == pytest.approx(0.1)
    assert rates["/stage1_block1"] == pytest.approx(0.05)
    assert min(rates.values()) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"stages": 2}, "'weights' is missing"),
        ({"weights": "x", "method": "scratch"}, "takes no weights"),
        ({"weights": "x", "stages": 0}, "stages must be at least 1"),
        ({"weights": "x", "method": "probe", "stages": 2}, "stages does nothing to the method 'probe'"),
        ({"weights": "x", "layer_decay": 1.5}, "layer_decay must be above 0 and at most 1"),
        ({"weights": "x", "dropout": 1.0}, "dropout must be at least 0 and below 1"),
    ],
)
def test_bad_sections(options, match):
    with pytest.raises(ValueError, match=match):
        TransferSection(**options)


def test_snapshots_are_refused(base):
    overrides = {"schedule.name": "cosine_restarts", "schedule.cycle_epochs": 1.0, "train.snapshots": True}
    recipe = finetune_recipe(base, DATA, overrides=overrides)
    with pytest.raises(CanonError, match=r"train\.snapshots belongs to one schedule"):
        fine_tuning(recipe, None)
