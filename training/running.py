"""`run`: from a recipe to a run folder."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from rich.console import Console

from ..zoo.errors import CanonError
from ..zoo.model import Model
from .auto_precision import resolve_precision
from .batch_statistics import refresh_batch_norm
from .building import build, updates_per_epoch
from .callbacks import BestWeights, Events, HistoryFile, LastGood
from .checkpoints import Checkpoints, has_checkpoint
from .cross_entropy import accuracy
from .data import Dataset
from .distribution import is_chief, make_strategy, told_when_lost
from .doctor import Finding, first_look, probe_batch, refuse_errors
from .environment import environment
from .evaluation import Evaluation, evaluate
from .forward import Forward
from .gradient_norms import GradientNorms
from .loop import train
from .pipeline import epoch_order, load_any, reader
from .progress import EpochLines
from .recipe import load_recipe
from .recipe_parts import recipe_augmentation, recipe_average, recipe_callbacks, recipe_rule
from .report import Outcome, write_report
from .run_command import command_line
from .run_folder import check_folder, open_folder, write_metrics
from .run_metrics import metrics_of
from .sections import Recipe
from .sequence_evaluation import SequenceEvaluation
from .starting import starting
from .steps import PerExample
from .writing import save_whole, told_when_full


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run left behind.

    Args:
        folder: the run folder.
        model: with the best weights, labels and preprocessing; `model.keras` holds the same.
        history: figures by name, one for each epoch.
        best_epoch: number from 0 of the epoch whose weights were kept.
        test: the answers on the test split; a `SequenceEvaluation` where there is no one class for each example.
        seconds: how long training took.
    """

    folder: Path
    model: Model
    history: Mapping[str, list[float]]
    best_epoch: int
    test: Evaluation | SequenceEvaluation
    seconds: float

    @property
    def test_metrics(self) -> dict[str, float]:
        """Accuracy, cross-entropy, macro F1 and number of examples of the test split; for sequences what suits their labels."""
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
    """Train the model of a recipe and write a run folder, or go on with an unfinished one.

    The folder holds `recipe.toml` (resolved), `history.csv`, `events/` (TensorBoard), `checkpoints/`, `model.keras` (best
    weights), `report.md` with `curves.png`, `confusion.png` and `mistakes.png`, and `metrics.json`.

    A run that was killed at any moment goes on when it is started again in the same way, and ends with the weights, bit for bit, of
    one that was never killed (on the same machine, with `train.deterministic`). In a cluster every worker makes this same call;
    only the chief writes and prints.

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
    command = command_line(recipe, out, changes, smoke)
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe, changes, smoke)
    elif changes or smoke:
        raise CanonError("A Recipe object is run as it stands: give overrides, seed and smoke to load_recipe instead.")
    out = Path("runs") / recipe.name if out is None else Path(out)
    # first of all: a cluster can only be formed before TensorFlow is used
    strategy = make_strategy(recipe.train.strategy)
    chief = is_chief(strategy)
    recipe = resolve_precision(recipe, out, alone=strategy.num_replicas_in_sync == 1)
    if chief:
        check_folder(out, recipe, overwrite=overwrite)
    data = load_any(recipe.data)
    # after the data, whose preparation (once a machine) draws random numbers too
    _start_random(recipe)
    with strategy.scope():
        model, kind = starting(recipe, data, build(recipe, data))
    # only now is it known that the recipe can be run; until here nothing was touched
    with open_folder(out, recipe, overwrite=overwrite) if chief else nullcontext(out) as folder, told_when_lost(), told_when_full(folder):
        return kind(recipe, data, model, folder, chief, verbose).run(callbacks, command)


@dataclass
class Running:
    """A run whose folder is its own."""

    recipe: Recipe
    data: Dataset
    model: Model
    folder: Path
    chief: bool
    verbose: bool

    def run(self, callbacks: Sequence[keras.callbacks.Callback], command: str) -> RunResult:
        """Train, keep the best weights, and report."""
        folder, section = self.folder, self.recipe.train
        best = BestWeights(folder / "checkpoints" / "best.weights.h5" if self.chief else None, section.monitor)
        checkpoints = Checkpoints(
            folder / "checkpoints", steps=section.checkpoint_steps, seconds=section.checkpoint_seconds, writes=self.chief
        )
        try:
            history = self._train([*self._callbacks(best), *callbacks], checkpoints)
        except KeyboardInterrupt as interrupt:
            raise RunInterrupted(self._keep_interrupted(best)) from interrupt
        if best.best_epoch is None:
            raise CanonError(f"{section.monitor} was never a number in {len(history['loss'])} epochs: lower optimizer.learning_rate.")
        result = self.finish(history, best.best_epoch, checkpoints.position.total_seconds, command)
        if self.chief:
            checkpoints.clear()
        return result

    def finish(self, history: Mapping[str, list[float]], best_epoch: int, seconds: float, command: str) -> RunResult:
        """Save the model, whose weights are the best ones, look at the test split, and write the report."""
        model = self._final_model()
        test = self.answers(model)
        if self.chief:
            save_whole(model, self.folder / "model.keras")
            outcome = Outcome(self.recipe, command, self.data, history, best_epoch, test, _parameters(model), seconds, environment())
            self.report(outcome)
            write_metrics(self.folder, metrics_of(outcome))
        return RunResult(self.folder, model, history, best_epoch, test, seconds)

    def answers(self, model: Model) -> Any:
        """Return what the model says about the test split."""
        return evaluate(model, self.data, "test")

    def report(self, outcome: Outcome) -> None:
        """Write the report."""
        write_report(self.folder, outcome)

    def _callbacks(self, best: BestWeights) -> list[keras.callbacks.Callback]:
        section, folder = self.recipe.train, self.folder
        callbacks: list[keras.callbacks.Callback] = [EpochLines()] if self.verbose and self.chief else []
        if self.chief:
            callbacks += [HistoryFile(folder / "history.csv"), Events(folder / "events"), LastGood(folder / "checkpoints")]
            if section.gradient_norms:
                callbacks.append(GradientNorms(*self.probe(), path=folder / "gradient_norms.csv"))
        callbacks.append(best)
        if section.patience is not None:
            mode = "min" if section.monitor.endswith("loss") else "max"
            callbacks.append(keras.callbacks.EarlyStopping(section.monitor, patience=section.patience, mode=mode))
        return [*callbacks, *recipe_callbacks(self.recipe, folder, writes=self.chief)]

    def _train(self, callbacks: Sequence[keras.callbacks.Callback], checkpoints: Checkpoints) -> dict[str, list[float]]:
        section, data = self.recipe.train, self.data
        read, validate = self.readers()

        def batches(epoch: int, step: int = 0) -> tf.data.Dataset:
            return read(self.order(epoch)[step * section.batch_size :], epoch)

        if self.chief and not has_checkpoint(checkpoints.folder):
            self._first_look()
        average = recipe_average(self.recipe, lambda model: refresh_batch_norm(model, batches(0)))

        return train(
            self.model,
            batches,
            epochs=section.epochs,
            steps_per_epoch=updates_per_epoch(section, len(data.train)),
            validation=validate(None),
            metrics=self.metrics(),
            # the average comes first: it is in place when the others keep weights
            callbacks=callbacks if average is None else [average, *callbacks],
            checkpoints=checkpoints,
            rule=replace(recipe_rule(self.recipe, average), forward=self.forward()),
        )

    def readers(self) -> tuple[Callable[..., tf.data.Dataset], Callable[..., tf.data.Dataset]]:
        """Return what gives the batches of the training and of the validation split for an order of positions."""
        section, data, preprocessing = self.recipe.train, self.data, self.model.record.preprocessing
        assert preprocessing is not None  # build refuses models without
        read = reader(data.train, preprocessing, section.batch_size, recipe_augmentation(self.recipe, data.num_classes))
        return read, reader(data.validation, preprocessing, max(section.batch_size, 256))

    def order(self, epoch: int) -> np.ndarray:
        """Return the order of an epoch's examples."""
        return epoch_order(len(self.data.train), self.recipe.train.seed, epoch)

    def forward(self) -> Forward | None:
        """Return what gives the outputs of a batch; None for the model itself."""
        return None

    def metrics(self) -> Mapping[str, PerExample]:
        """Return the figures of an epoch beside the loss."""
        return {"accuracy": accuracy}

    def probe(self) -> tuple[Any, Any]:
        """Return a batch of inputs and labels from all over the training split."""
        assert self.model.record.preprocessing is not None  # build refuses models without
        return probe_batch(self.data.train, self.model.record.preprocessing)

    def findings(self) -> list[Finding]:
        """Return what a first look at model and data finds."""
        return first_look(self.model, self.data)

    def _first_look(self) -> None:
        """Say what looks wrong before hours are spent on it."""
        findings = self.findings()
        refuse_errors(findings)
        if self.verbose:
            for finding in findings:
                if finding.verdict != "ok":
                    Console().print(f"{finding.check}: {finding.sentence}", markup=False, highlight=False, soft_wrap=True)

    def _final_model(self) -> Model:
        """Return a copy that is not compiled: it loads where this sub-package, with its losses and schedules, was never imported."""
        copy = Model.from_config(self.model.get_config())
        copy.set_weights(self.model.get_weights())
        copy.update_record(weights=f"recipe {self.recipe.name}, seed {self.recipe.train.seed}")
        return copy

    def _keep_interrupted(self, best: BestWeights) -> str:
        again = "start it again to go on"
        if best.best_epoch is None:
            return f"Stopped before the end of the first epoch; there are no weights to keep yet: {again}."
        if self.chief:
            save_whole(self._final_model(), self.folder / "model.keras")
            figures = {"status": "interrupted", "recipe": self.recipe.name, "best_epoch": best.best_epoch + 1, best.monitor: best.best}
            write_metrics(self.folder, figures)
        figure = f"epoch {best.best_epoch + 1}, {best.monitor} {best.best:.4f}"
        return f"Stopped; the best weights so far ({figure}) are in {self.folder / 'model.keras'}: {again}."


def _start_random(recipe: Recipe) -> None:
    """Seed everything. Deterministic operations, once switched on, stay on for the process: TensorFlow has no way back."""
    keras.utils.set_random_seed(recipe.train.seed)
    if recipe.train.deterministic:
        tf.config.experimental.enable_op_determinism()


def _parameters(model: Model) -> int:
    return sum(weight.value.shape.num_elements() for weight in model.trainable_weights)
