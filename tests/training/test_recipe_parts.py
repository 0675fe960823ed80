"""What a recipe asks for besides model and data: sections that fit together, and runs with all of it that go on bit for bit."""

import keras
import numpy as np
import pytest

from keras_canon import training
from keras_canon.training.averaging import ExponentialAverage, StochasticAverage
from keras_canon.training.building import build
from keras_canon.training.losses import ClassWeighted, CrossEntropy
from keras_canon.training.momentum import ScheduledSGD
from keras_canon.training.pipeline import load_data
from keras_canon.training.recipe import load_recipe, recipe_toml
from keras_canon.training.recipe_parts import recipe_augmentation, recipe_average, recipe_callbacks, recipe_rule
from keras_canon.zoo.errors import CanonError

FAST = "lenet5_modern_fashion_mnist"
RESTARTS = {"name": "cosine_restarts", "cycle_epochs": 1.0}
EVERYTHING = {
    "augment": {
        "flip_horizontal": True,
        "crop_padding": 2,
        "brightness": 0.2,
        "noise": 4.0,
        "cutout": 6,
        "erasing": 0.5,
        "mixup": 0.3,
        "cutmix": 1.0,
    },
    "average": {"name": "exponential", "momentum": 0.8},
    "optimizer": {"name": "sgd", "learning_rate": 0.05, "clip_global_norm": 1.0, "options": {"nesterov": True, "weight_decay": 1e-3}},
    "schedule": {"name": "one_cycle", "momentum": [0.85, 0.95]},
    "train.micro_batches": 2,
    "train.l2": 1e-4,
    "train.class_weights": {"0": 2.0},
    "train.loss_options": {"label_smoothing": 0.1},
    "train.epochs": 3,
}


def test_every_part_of_a_recipe_is_built():
    recipe = load_recipe(FAST, EVERYTHING, smoke=True)
    model = build(recipe, load_data(recipe.data))
    assert isinstance(model.optimizer, ScheduledSGD)
    assert isinstance(model.loss, ClassWeighted)
    assert isinstance(model.loss.loss, CrossEntropy)
    assert model.loss.weights == (2.0, *[1.0] * 9)
    assert len(model.losses) == sum(weight.path.endswith("kernel") for weight in model.trainable_variables)
    average = recipe_average(recipe, lambda model: None)
    assert isinstance(average, ExponentialAverage)
    rule = recipe_rule(recipe, average)
    assert (rule.clipping.global_norm, rule.micro_batches, rule.average) == (1.0, 2, average)
    assert recipe_augmentation(recipe, 10).section == recipe.augment


def test_what_a_recipe_does_not_ask_for_is_not_there(tmp_path):
    recipe = load_recipe(FAST, smoke=True)
    assert recipe_average(recipe, lambda model: None) is None
    assert recipe_rule(recipe, None).clipping.clip([None], 1.0) == [None]
    assert recipe_augmentation(recipe, 10) is None
    assert recipe_callbacks(recipe, tmp_path, writes=True) == []
    swa = load_recipe(FAST, {"average": {"name": "stochastic", "start_epoch": 1}}, smoke=True)
    assert isinstance(recipe_average(swa, lambda model: None), StochasticAverage)
    assert recipe_rule(swa, recipe_average(swa, lambda model: None)).average is None
    plateau = load_recipe(FAST, {"schedule": {"name": "plateau", "factor": 0.5, "patience": 1}}, smoke=True)
    assert [type(item) for item in recipe_callbacks(plateau, tmp_path, writes=False)] == [keras.callbacks.ReduceLROnPlateau]


def test_all_sections_are_written_back_as_they_are(tmp_path):
    chain = {"name": "constant", "epochs": 1.0, "then": [{"name": "cosine", "floor": 0.01}]}
    for number, changes in enumerate((EVERYTHING, {"schedule": chain}, {"schedule": RESTARTS, "train.snapshots": True})):
        recipe = load_recipe(FAST, changes, smoke=True)
        path = tmp_path / f"{number}.toml"
        path.write_text(recipe_toml(recipe), encoding="utf-8")
        assert load_recipe(path) == recipe


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train.loss": "rbf_maximum_a_posteriori", "augment.mixup": 0.2}, ["augment.mixup", "'rbf_maximum_a_posteriori'"]),
        ({"train.snapshots": True}, ["train.snapshots", "cosine_restarts"]),
        ({"train.snapshots": True, "schedule": RESTARTS, "average.name": "exponential"}, ["train.snapshots", "[average]"]),
        ({"optimizer.name": "lion", "schedule": {"name": "one_cycle", "momentum": [0.8, 0.9]}}, ["schedule.momentum", "'lion'"]),
        (
            {
                "optimizer": {"name": "sgd", "learning_rate": 0.1, "options": {"momentum": 0.9}},
                "schedule": {"name": "one_cycle", "momentum": [0.8, 0.9]},
            },
            ["schedule.momentum", "optimizer.options.momentum"],
        ),
        ({"optimizer.clip_norm": 1.0, "optimizer.clip_value": 1.0}, ["clip_value and clip_norm", "one kind"]),
        ({"optimizer.clip_norm": 0.0}, ["clip_norm", "above 0"]),
        ({"average.momentum": 0.9}, ["momentum does nothing", "'none'"]),
        ({"average": {"name": "stochastic"}}, ["start_epoch"]),
        ({"train.micro_batches": 1000}, ["micro_batches", "batch_size"]),
        ({"train.l2": -1.0}, ["l2", "at least 0"]),
        ({"train.precision": "float16"}, ["precision", "'mixed_float16'"]),
        ({"augment.flips": True}, ["'flips'", "flip_horizontal"]),
        ({"schedule": {"name": "cosine", "floor": 0.1, "milestones": [1.0]}}, ["milestones", "does nothing"]),
    ],
)
def test_sections_that_do_not_fit_together_are_refused_in_one_sentence(changes, words):
    with pytest.raises(CanonError) as caught:
        load_recipe(FAST, changes)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_class_weights_of_unknown_classes_are_refused_before_the_first_epoch(tmp_path):
    with pytest.raises(CanonError, match="keys that are no class: 'cat'"):
        training.run(FAST, tmp_path / "run", smoke=True, overrides={"train.class_weights": {"cat": 2.0}}, verbose=False)
    assert not (tmp_path / "run").exists()


class Stop(keras.callbacks.Callback):
    """Presses Ctrl-C in the middle of an epoch."""

    def __init__(self, epoch, batch):
        super().__init__()
        self.at, self.epoch = (epoch, batch), 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if (self.epoch, batch) == self.at:
            raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize(
    "augment", [{"flip_horizontal": True, "mixup": 0.3}, pytest.param(EVERYTHING["augment"], marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_a_run_with_everything_goes_on_bit_for_bit(augment, tmp_path):
    changes = {**EVERYTHING, "augment": augment, "train.checkpoint_steps": 1}
    whole = training.run(FAST, tmp_path / "whole", smoke=True, overrides=changes, verbose=False)
    assert len(whole.history["loss"]) == 3
    with pytest.raises(KeyboardInterrupt):
        training.run(FAST, tmp_path / "parts", smoke=True, overrides=changes, verbose=False, callbacks=[Stop(1, 0)])
    parts = training.run(FAST, tmp_path / "parts", smoke=True, overrides=changes, verbose=False)
    for one, other in zip(whole.model.get_weights(), parts.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert parts.history["val_loss"] == whole.history["val_loss"]


@pytest.mark.parametrize("policy", ["mixed_float16", pytest.param("mixed_bfloat16", marks=pytest.mark.slow)])
def test_a_run_in_half_precision_with_a_stochastic_average(policy, tmp_path):
    changes = {"train.precision": policy, "average": {"name": "stochastic", "start_epoch": 2}, "train.epochs": 3}
    result = training.run(FAST, tmp_path / "run", smoke=True, overrides=changes, verbose=False)
    assert np.all(np.isfinite(result.history["loss"]))
    assert load_recipe(tmp_path / "run" / "recipe.toml").train.precision == policy


@pytest.mark.slow
def test_a_run_with_snapshots_keeps_one_for_each_cycle(tmp_path):
    changes = {"schedule": RESTARTS, "train.snapshots": True, "train.epochs": 3}
    training.run(FAST, tmp_path / "run", smoke=True, overrides=changes, verbose=False)
    names = sorted(path.name for path in (tmp_path / "run" / "snapshots").iterdir())
    assert names == ["snapshot_01.weights.h5", "snapshot_02.weights.h5", "snapshot_03.weights.h5"]


@pytest.mark.slow
def test_b37_a_plateau_lowers_the_rate_of_a_run(tmp_path):
    # with such a rate the validation loss never moves enough to count as better
    changes = {
        "schedule": {"name": "plateau", "factor": 0.5, "patience": 1},
        "optimizer": {"name": "sgd", "learning_rate": 1e-9},
        "train.epochs": 4,
    }
    result = training.run(FAST, tmp_path / "run", smoke=True, overrides=changes, verbose=False)
    np.testing.assert_allclose(result.history["learning_rate"], [1e-9, 1e-9, 5e-10, 2.5e-10], rtol=1e-5)
