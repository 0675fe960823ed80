"""The freeze contract, case B20 and its kind: a frozen weight or statistic never moves, and a flag is never ignored."""

import importlib.util
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import layers, training, zoo
from keras_canon.training.distribution import make_strategy
from keras_canon.training.loop import train
from keras_canon.training.optimizers import optimizer_classes
from keras_canon.training.precision import precision_policy
from keras_canon.zoo.errors import CanonError

ZOO = Path(__file__).parents[1] / "zoo"


def gather():
    """The small cases of the model sweep, by name."""
    cases = []
    for path in sorted(ZOO.rglob("cases_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cases += module.CASES
    return {case.name: case for case in cases}


def one_of_each_family():
    smallest = {}
    for info in map(zoo.info, zoo.list_models(task="image-classification")):
        if info.family not in smallest or info.trainable_parameters < smallest[info.family].trainable_parameters:
            smallest[info.family] = info
    return sorted(info.name for info in smallest.values())


def one_weight():
    """The model M1: w = 0, and one step of SGD with rate 0.1 towards the target 1 adds 0.2 times the error."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros", name="only")])
    model.compile(keras.optimizers.SGD(0.1), loss="mse")
    return model


def step(model):
    model.fit(np.ones((1, 1), "float32"), np.ones((1, 1), "float32"), verbose=0)
    return float(model.get_weights()[0].squeeze())


@pytest.mark.filterwarnings("ignore:The model does not have any trainable weights:UserWarning")
def test_b20_freezing_after_the_first_fit():
    model = one_weight()
    assert step(model) == pytest.approx(0.2)
    assert training.freeze(model, "only").trainable == 0
    assert step(model) == pytest.approx(0.2)
    assert training.unfreeze(model).trainable == 1
    assert step(model) == pytest.approx(0.36)


def test_b20_thawing_after_the_first_fit():
    model = two_parts()
    training.freeze(model)
    before = snapshot(model, "first")
    model.fit(*batch(), verbose=0)
    assert_equal(before, snapshot(model, "first"))
    training.unfreeze(model)
    model.fit(*batch(), verbose=0)
    assert not np.array_equal(before["first/kernel"], snapshot(model, "first")["first/kernel"])


def test_b20_freezing_between_the_epochs_of_one_fit():
    model = two_parts()
    seen = []

    class Freeze(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(snapshot(self.model, "first"))
            if epoch == 0:
                training.freeze(self.model)

    model.fit(*batch(), epochs=3, verbose=0, callbacks=[Freeze()])
    assert_equal(seen[0], seen[2])


class FreezeInside(keras.callbacks.Callback):
    """Freezes while our loop trains, at the end of an epoch or of a batch."""

    def __init__(self, method):
        super().__init__()
        setattr(self, method, lambda number, logs=None: training.freeze(self.model) if number == 0 else None)


@pytest.mark.parametrize("method", ["on_epoch_end", "on_train_batch_end"])
def test_b20_freezing_inside_our_loop_is_refused(method):
    model = two_parts()
    data = tf.data.Dataset.from_tensor_slices(batch()).batch(4)
    with pytest.raises(CanonError, match=r"what is trainable in it, changed .* between two calls"):
        train(model, lambda epoch: data, epochs=2, callbacks=[FreezeInside(method)])
    # and between two calls it is obeyed
    before = snapshot(model, "first")
    train(model, lambda epoch: data, epochs=1)
    assert_equal(before, snapshot(model, "first"))


def two_parts(optimizer=None):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((4,))
    x = keras.layers.Dense(5, activation="tanh", name="first")(inputs)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.Dense(5, activation="tanh", name="second")(x)
    model = keras.Model(inputs, keras.layers.Dense(3, name="logits")(x))
    model.compile(optimizer or keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def batch(shape=(4,), examples=8, classes=3):
    random = np.random.default_rng(0)
    return random.normal(size=(examples, *shape)).astype("float32"), np.arange(examples) % classes


def snapshot(model, prefix=""):
    return {weight.path: np.array(weight.value) for weight in model.weights if weight.path.startswith(prefix)}


def assert_equal(before, after):
    assert before
    for path, value in before.items():
        np.testing.assert_array_equal(value, after[path], err_msg=path)


def frozen_of(model):
    """Every value that must not move: of weights that are not trainable, and of statistics of frozen batch normalisation."""
    moving = {
        id(variable)
        for layer in model._flatten_layers()
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
        for variable in layer.non_trainable_weights
    }
    return {weight.path: np.array(weight.value) for weight in model.non_trainable_weights if id(weight) not in moving}


def compiled(model):
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
    if model.compute_dtype == "float16":
        # the usual scale starts so high that the first updates overflow and are skipped
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=16.0)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    return model


def fit_both_ways(model, inputs, targets):
    """Some updates by Keras's `fit` and some by our loop."""
    data = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(len(inputs))
    model.fit(data, verbose=0, shuffle=False)
    # replicas with parts of different sizes, whose shares no float holds exactly: Keras's `fit` refuses them
    odd = [np.concatenate([array, array[:1]]) if len(array) % 2 == 0 else array for array in (inputs, targets)]
    data = tf.data.Dataset.from_tensor_slices(tuple(odd)).batch(len(odd[0]))
    train(model, lambda epoch: data, epochs=1)


def main_output(model):
    """Auxiliary classifiers are trained too, by losses of their own; one output is enough here."""
    if len(model.outputs) == 1:
        return model
    return zoo.Model(model.input, model.get_layer("logits").output, record=model.record)


def statistics(layer):
    return np.array([layer.moving_mean.value, layer.moving_variance.value])


def check_contract(case, policy="float32", strategy=None):
    with strategy.scope() if strategy else tf.device(None), precision_policy(policy):
        model = compiled(main_output(case.build()))
    inputs, targets = case.inputs(), case.targets()
    features = list(zoo.info(case.name).features)
    summary = training.freeze(model)
    if not model.trainable_weights:  # LeNet-5's output has fixed codes
        summary = training.unfreeze(model, model.layers[-2].name)
    assert 0 < summary.trainable < summary.trainable + summary.frozen
    before = frozen_of(model)
    head = [np.array(weight.value) for weight in model.trainable_weights]
    fit_both_ways(model, inputs, targets)
    assert_equal(before, snapshot(model))
    assert any(not np.array_equal(one, weight.value) for one, weight in zip(head, model.trainable_weights, strict=True))

    top = features[-1]
    assert training.unfreeze(model, top).trainable >= summary.trainable
    before = frozen_of(model)
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
    assert not any(layer.trainable for layer in norms)
    fit_both_ways(model, inputs, targets)
    assert_equal(before, snapshot(model))

    training.unfreeze(model, keep_batch_norm_frozen=False)
    # the mean of what a deep network has in half precision may be 0 as before, but its variance is not 1
    before = {layer.path: statistics(layer) for layer in norms}
    model.fit(inputs, targets, verbose=0, batch_size=len(inputs))
    assert [path for path, layer in zip(before, norms, strict=True) if np.array_equal(before[path], statistics(layer))] == []
    keras.backend.clear_session()


@pytest.mark.parametrize("name", ["resnet20", "lenet5"])
def test_the_freeze_contract(name):
    check_contract(gather()[name])


def test_nothing_frozen_moves_on_two_replicas_with_odd_batches():
    with make_strategy("mirrored").scope():
        stack = [keras.layers.Dense(64, name="body"), keras.layers.BatchNormalization(), keras.layers.Dense(2, name="logits")]
        model = compiled(keras.Sequential([keras.Input((3,)), *stack]))
    random = np.random.default_rng(0)
    for layer in model.layers[:2]:
        layer.set_weights([random.uniform(0.1, 1.0, weight.shape) for weight in layer.weights])
    training.freeze(model)
    before = frozen_of(model)
    data = tf.data.Dataset.from_tensor_slices((random.normal(size=(7, 3)).astype("float32"), np.arange(7) % 2)).batch(7)
    train(model, lambda epoch: data, epochs=1)
    assert_equal(before, snapshot(model))


@pytest.mark.slow
def test_the_freeze_contract_in_half_precision_on_two_replicas():
    check_contract(gather()["resnet20"], "mixed_float16", make_strategy("mirrored"))


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("name", one_of_each_family())
def test_the_freeze_contract_of_every_family(name, policy, replicas):
    check_contract(gather()[name], policy, make_strategy("mirrored") if replicas == 2 else None)


def test_frozen_batch_norm_ignores_the_training_flag():
    model = gather()["resnet20"].build()
    inputs = gather()["resnet20"].inputs()
    training.freeze(model)
    training.unfreeze(model, "stage3")
    before = frozen_of(model)
    expected = model(inputs, training=False)
    np.testing.assert_array_equal(model(inputs, training=True), expected)
    assert_equal(before, snapshot(model))


def test_models_and_composite_layers_inside():
    inner = zoo.create("resnet20", num_classes=0, input_shape=(16, 16, 3), overrides={})
    model = keras.Sequential([keras.Input((16, 16, 3)), inner, keras.layers.BatchNormalization(), keras.layers.Dense(3, name="logits")])
    compiled(model)
    summary = training.freeze(model)
    assert [row.layer for row in summary.rows if row.trainable] == ["logits"]
    assert {row.batch_norm for row in summary.rows} == {"", "frozen"}
    training.unfreeze(model, "stage3")  # a stage of the model inside
    trainable = [row.layer for row in training.unfreeze(model, "stage3").rows if row.trainable]
    assert trainable[0] == "resnet20/stage3_block1"
    assert trainable[-1] == "logits"
    before = frozen_of(model)
    assert any("stage1" in path for path in before)
    fit_both_ways(model, *batch((16, 16, 3)))
    assert_equal(before, snapshot(model))
    training.freeze(model, "stage2")
    assert next(row.layer for row in training.freeze(model, "stage2").rows if row.trainable) == "resnet20/stage3_block1"


def test_a_head_of_a_nested_model_stays_trainable():
    inner = zoo.create("lenet5_modern", num_classes=3)
    model = keras.Sequential([keras.Input(inner.input_shape[1:]), inner])
    assert [row.layer for row in training.freeze(model).rows if row.trainable] == ["lenet5_modern/logits"]


def test_norms_that_were_never_frozen_go_on():
    model = two_parts()
    training.unfreeze(model, "first")
    assert model.get_layer("norm").trainable
    training.freeze(model)
    training.unfreeze(model)
    assert not model.get_layer("norm").trainable
    training.unfreeze(model, keep_batch_norm_frozen=False)
    assert model.get_layer("norm").trainable


def test_what_lies_before_stays_as_it_is():
    model = two_parts()
    training.freeze(model, "first")
    training.unfreeze(model, "second")
    assert [layer.trainable for layer in model.layers[1:]] == [False, True, True, True]
    training.freeze(model)
    training.unfreeze(model, "norm", keep_batch_norm_frozen=False)
    assert [layer.trainable for layer in model.layers[1:]] == [False, True, True, True]


NO_SLOTS = ("_variables", "_trainable_variables")


def slots_by_path(model):
    optimizer = model.optimizer
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    found = {}
    for name, value in vars(optimizer).items():
        if isinstance(value, list) and any(isinstance(item, keras.Variable) for item in value) and name not in NO_SLOTS:
            for weight, slot in zip(optimizer._trainable_variables, value, strict=True):
                if slot is not None:
                    found[f"{name} of {weight.path}"] = np.array(slot.value)
    return found


def quick(names, some):
    """All names, with all but some of them left to `-m slow`."""
    return [pytest.param(name, marks=[] if name in some else [pytest.mark.slow]) for name in names]


@pytest.mark.parametrize("name", quick(sorted(optimizer_classes()), {"adam", "muon"}))
def test_slots_of_weights_that_stay_are_kept(name):
    model = two_parts(optimizer_classes()[name](learning_rate=0.01))
    model.fit(*batch(), epochs=3, verbose=0)
    before = slots_by_path(model)
    training.freeze(model, "norm")
    after = slots_by_path(model)
    assert all(" of second/" in key or " of logits/" in key for key in after)
    assert_equal({"iterations": np.array(3)} | after, {"iterations": np.array(model.optimizer.iterations)} | before)
    model.fit(*batch(), verbose=0)
    kept = slots_by_path(model)
    training.unfreeze(model)
    everything = slots_by_path(model)
    if kept:
        assert_equal(kept, everything)
    assert int(model.optimizer.iterations) == 4


def test_loss_scale_average_and_exclusions_go_along():
    inner = keras.optimizers.SGD(0.1, momentum=0.9, weight_decay=0.1, use_ema=True)
    model = two_parts(keras.optimizers.LossScaleOptimizer(inner, initial_scale=64.0, dynamic_growth_steps=2))
    inner.exclude_from_weight_decay(var_names=["bias"])
    model.fit(*batch(), epochs=5, verbose=0)
    scale = float(model.optimizer.dynamic_scale)
    training.freeze(model, "second")
    assert float(model.optimizer.dynamic_scale) == scale > 64.0
    new = model.optimizer.inner_optimizer
    assert not new._use_weight_decay(model.get_layer("logits").bias)
    assert new._use_weight_decay(model.get_layer("logits").kernel)
    training.unfreeze(model)
    averages = slots_by_path(model)
    # averages of weights that come back start from the weights, not from zero
    np.testing.assert_array_equal(averages["_model_variables_moving_average of first/kernel"], model.get_layer("first").kernel)


def test_a_frozen_weight_is_not_overwritten_by_an_average():
    model = two_parts(keras.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=2))
    model.fit(*batch(), epochs=3, verbose=0)
    training.freeze(model, "second")
    before = frozen_of(model)
    model.fit(*batch(), epochs=5, verbose=0)
    assert_equal(before, snapshot(model))


def test_the_learning_rate_goes_along():
    model = two_parts(keras.optimizers.Adam(0.01))
    model.fit(*batch(), verbose=0)
    model.optimizer.learning_rate = 0.003
    training.freeze(model)
    assert float(model.optimizer.learning_rate) == pytest.approx(0.003)
    model = two_parts(keras.optimizers.Adam(keras.optimizers.schedules.PiecewiseConstantDecay([2], [0.1, 0.01])))
    model.fit(*batch(), epochs=4, verbose=0)
    training.freeze(model)
    assert float(model.optimizer.learning_rate) == pytest.approx(0.01)


def test_metrics_and_weights_of_losses_stay():
    model = two_parts()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"], loss_weights=0.5)
    first = model.fit(*batch(), verbose=0).history
    training.freeze(model)
    assert set(model.fit(*batch(), verbose=0).history) == set(first) == {"loss", "accuracy"}


def test_a_model_that_is_not_compiled():
    model = gather()["lenet5_modern"].build()
    assert training.freeze(model).frozen > 0
    assert not model.compiled


def test_layers_of_ours_that_hold_norms():
    model = keras.Sequential([keras.Input((8, 8, 3)), layers.ConvNormActivation(4, 3, name="stem"), keras.layers.GlobalAveragePooling2D()])
    training.freeze(model, "stem")
    inputs = batch((8, 8, 3))[0]
    before = snapshot(model)
    model(inputs, training=True)
    assert_equal(before, snapshot(model))


def test_the_table():
    model = two_parts()
    text = str(training.freeze(model, "norm")).splitlines()
    assert text[0].split() == ["layer", "trainable", "frozen", "batch", "norm"]
    assert [line.split() for line in text[1:5]] == [
        ["first", "0", "25"],
        ["norm", "0", "20", "frozen"],
        ["second", "30", "0"],
        ["logits", "18", "0"],
    ]
    assert text[-1] == "48 of 93 parameters are trainable"


def test_bad_input():
    with pytest.raises(CanonError, match=r"'secnd': .*'second'"):
        training.freeze(two_parts(), "secnd")
    with pytest.raises(CanonError, match="has no layer 'logits' to leave trainable"):
        training.freeze(one_weight())
    with pytest.raises(CanonError, match="has no weights yet"):
        training.freeze(keras.Sequential([keras.layers.Dense(2)]))
    restless = keras.Sequential([keras.Input((3,)), keras.layers.SpectralNormalization(keras.layers.Dense(2), name="restless")])
    with pytest.raises(CanonError, match="'restless' changes its kernel"):
        training.freeze(restless, "restless")
    assert restless.trainable_weights


class Nameless(keras.optimizers.SGD):
    """An optimizer that its config does not describe."""

    def __init__(self, extra):
        super().__init__(0.1)
        self.extra = extra


def test_an_optimizer_that_cannot_be_made_again_is_refused():
    model = two_parts(Nameless(3))
    model.fit(*batch(), verbose=0)
    with pytest.raises(CanonError, match=r"Nameless cannot be made again.*compile the model anew"):
        training.freeze(model)
