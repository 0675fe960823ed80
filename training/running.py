"""`run`: from a recipe to a run folder."""

import dataclasses
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from .. import zoo
from ..zoo.errors import CanonError
from ..zoo.model import Model
from .callbacks import BestWeights, Events
from .data import Dataset
from .environment import environment
from .evaluation import Evaluation, evaluate
from .loop import train
from .losses import build_loss
from .optimizers import build_optimizer
from .pipeline import epoch_order, load_data, reader
from .progress import EpochLines
from .recipe import load_recipe, toml_value
from .report import Outcome, write_report
from .run_folder import check_folder, prepare_folder, write_metrics
from .schedules import learning_rate
from .sections import Recipe


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run left behind.

    Args:
        folder: the run folder.
        model: with the best weights, labels and preprocessing; `model.keras` holds the same.
        history: figures by name, one for each epoch.
        best_epoch: number from 0 of the epoch whose weights were kept.
        test: the answers on the test split.
        seconds: how long training took.
    """

    folder: Path
    model: Model
    history: Mapping[str, list[float]]
    best_epoch: int
    test: Evaluation
    seconds: float

    @property
    def test_metrics(self) -> dict[str, float]:
        """Accuracy, cross-entropy, macro F1 and number of examples of the test split."""
        return self.test.metrics()


class RunInterrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C; the message says in one sentence what was kept."""


def run(
    recipe: str | Path | Recipe,
    out: str | Path | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    smoke: bool = False,
    seed: int | None = None,
    overwrite: bool = False,
    verbose: bool = True,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> RunResult:
    """Train the model of a recipe and write a run folder.

    The folder holds `recipe.toml` (resolved), `history.csv`, `events/` (TensorBoard), `checkpoints/`, `model.keras` (best
    weights), `report.md` with `curves.png`, `confusion.png` and `mistakes.png`, and `metrics.json`.

    Args:
        recipe: a name that `list_recipes` returns, the path of a TOML file, or a `Recipe`.
        out: the folder; None for `runs/NAME`.
        overrides: changes by dotted key, such as {"train.epochs": 3}; not together with a `Recipe`.
        smoke: True to shrink the run to seconds, as the recipe's `[smoke]` says.
        seed: short for the override "train.seed".
        overwrite: True to replace an earlier run in `out`.
        verbose: False to print nothing.
        callbacks: further Keras callbacks.

    Raises:
        CanonError: for a recipe that cannot be run as it stands, or a folder that would be lost.
        RunInterrupted: after Ctrl-C; the best weights so far are in `model.keras`.

    Example:
        >>> from keras_canon import training
        >>> result = training.run("lenet5_digits", smoke=True, verbose=False)  # doctest: +SKIP
        >>> result.test_metrics["accuracy"]  # doctest: +SKIP
    """
    changes = {**(overrides or {}), **({} if seed is None else {"train.seed": seed})}
    command = _command(recipe, out, changes, smoke)
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe, changes, smoke)
    elif changes or smoke:
        raise CanonError("A Recipe object is run as it stands: give overrides, seed and smoke to load_recipe instead.")
    out = Path("runs") / recipe.name if out is None else Path(out)
    check_folder(out, overwrite=overwrite)
    _start_random(recipe)
    data = load_data(recipe.data)
    model = _build(recipe, data)
    # only now is it known that the recipe can be run; until here nothing was touched
    folder = prepare_folder(out, recipe)
    best = BestWeights(folder / "checkpoints" / "best.weights.h5", recipe.train.monitor)
    started = time.perf_counter()
    try:
        history = _train(recipe, data, model, [*_callbacks(recipe, folder, best, verbose), *callbacks])
    except KeyboardInterrupt as interrupt:
        raise RunInterrupted(_keep_interrupted(recipe, model, folder, best)) from interrupt
    seconds = time.perf_counter() - started
    if best.best_epoch is None:
        raise CanonError(f"{recipe.train.monitor} was never a number in {len(history['loss'])} epochs: lower optimizer.learning_rate.")
    model = _save(recipe, model, folder)
    test = evaluate(model, data, "test")
    outcome = Outcome(recipe, command, data, history, best.best_epoch, test, _parameters(model), seconds, environment())
    write_report(folder, outcome)
    write_metrics(folder, _metrics(outcome))
    return RunResult(folder, model, history, best.best_epoch, test, seconds)


def _start_random(recipe: Recipe) -> None:
    """Seed everything. Deterministic operations, once switched on, stay on for the process: TensorFlow has no way back."""
    keras.utils.set_random_seed(recipe.train.seed)
    if recipe.train.deterministic:
        tf.config.experimental.enable_op_determinism()


def _build(recipe: Recipe, data: Dataset) -> Model:
    """Return the compiled model of a recipe."""
    section, train_section = recipe.model, recipe.train
    if train_section.batch_size > len(data.train):
        raise CanonError(
            f"train.batch_size is {train_section.batch_size}, but {data.name!r} has {len(data.train)} training examples: lower it."
        )
    if not len(data.validation) or not len(data.test):
        raise CanonError(f"{data.name!r} has an empty validation or test split: a run needs both, so give it more examples.")
    model = zoo.create(section.name, num_classes=data.num_classes, input_shape=section.input_shape, overrides=section.overrides)
    if model.record.preprocessing is None:
        raise CanonError(f"Model {section.name!r} takes no images, and recipes train on images.")
    model.update_record(labels=data.class_names)
    try:
        rate = learning_rate(recipe.optimizer, recipe.schedule, train_section, -(-len(data.train) // train_section.batch_size))
    except ValueError as error:
        raise CanonError(f"[schedule] of recipe {recipe.name!r}: {error}") from error
    loss = build_loss(train_section.loss, train_section.loss_options)
    model.compile(optimizer=build_optimizer(recipe.optimizer, rate, model), loss=loss, metrics=["accuracy"], jit_compile=False)
    return model


def _callbacks(recipe: Recipe, folder: Path, best: BestWeights, verbose: bool) -> list[keras.callbacks.Callback]:
    section = recipe.train
    callbacks: list[keras.callbacks.Callback] = [EpochLines()] if verbose else []
    callbacks += [keras.callbacks.CSVLogger(str(folder / "history.csv")), Events(folder / "events"), best]
    if section.patience is not None:
        mode = "min" if section.monitor.endswith("loss") else "max"
        callbacks.append(keras.callbacks.EarlyStopping(section.monitor, patience=section.patience, mode=mode))
    return callbacks


def _train(recipe: Recipe, data: Dataset, model: Model, callbacks: Sequence[keras.callbacks.Callback]) -> dict[str, list[float]]:
    section, preprocessing = recipe.train, model.record.preprocessing
    assert preprocessing is not None  # _build refuses models without

    read = reader(data.train, preprocessing, section.batch_size)
    validate = reader(data.validation, preprocessing, max(section.batch_size, 256))
    return train(
        model,
        lambda epoch: read(epoch_order(len(data.train), section.seed, epoch)),
        epochs=section.epochs,
        steps_per_epoch=-(-len(data.train) // section.batch_size),
        validation=validate(None),
        callbacks=callbacks,
    )


def _save(recipe: Recipe, model: Model, folder: Path) -> Model:
    """Save a copy that is not compiled: it loads where this sub-package, with its losses and schedules, was never imported."""
    copy = Model.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    copy.update_record(weights=f"recipe {recipe.name}, seed {recipe.train.seed}")
    part = folder / "part.model.keras"
    copy.save(part)
    part.replace(folder / "model.keras")
    return copy


def _keep_interrupted(recipe: Recipe, model: Model, folder: Path, best: BestWeights) -> str:
    if best.best_epoch is None:
        return f"Stopped before the end of the first epoch; there are no weights to keep, and {folder} holds the recipe only."
    _save(recipe, model, folder)
    write_metrics(
        folder, {"status": "interrupted", "recipe": recipe.name, "best_epoch": best.best_epoch + 1, recipe.train.monitor: best.best}
    )
    figure = f"epoch {best.best_epoch + 1}, {recipe.train.monitor} {best.best:.4f}"
    return f"Stopped; the best weights so far ({figure}) are in {folder / 'model.keras'}."


def _parameters(model: Model) -> int:
    return sum(weight.value.shape.num_elements() for weight in model.trainable_weights)


def _metrics(outcome: Outcome) -> dict[str, Any]:
    best = outcome.best_epoch
    names = ("loss", "accuracy")
    return {
        "status": "finished",
        "recipe": outcome.recipe.name,
        "seed": outcome.recipe.train.seed,
        "epochs": len(outcome.history["loss"]),
        "best_epoch": best + 1,
        "validation": {name: outcome.history[f"val_{name}"][best] for name in names},
        "test": outcome.test.metrics(),
        "classes": [dataclasses.asdict(row) for row in outcome.test.by_class()],
        "parameters": outcome.parameters,
        "seconds": outcome.seconds,
        "images_per_second": outcome.images_per_second,
        "environment": dict(outcome.environment),
    }


def _command(recipe: str | Path | Recipe, out: str | Path | None, changes: Mapping[str, Any], smoke: bool) -> str:
    """Return the command line that does what was asked for."""
    words = ["canon", "train", "recipe.toml" if isinstance(recipe, Recipe) else str(recipe)]
    words += ["--smoke"] if smoke else []
    words += [word for key, value in changes.items() for word in ("--set", f"{key}={toml_value(value)}")]
    words += ["--out", str(out)] if out is not None else []
    return shlex.join(words)
