"""A run with `[transfer]`: phases one after another, each of which can be killed and gone on with like a run."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from rich.console import Console

from ..zoo.errors import CanonError
from ..zoo.load_report import LoadReport
from ..zoo.model import Model
from .batch_statistics import refresh_batch_norm
from .building import change_preprocessing, updates_per_epoch
from .callbacks import BestWeights, Events, LastGood
from .checkpoints import Checkpoints, has_checkpoint
from .distribution import strategy_of
from .finetuning_history import PhaseHistory, PhaseRecord, joined, read_records, write_records
from .finetuning_phases import HEAD, Phase, backbone_rates, phases, stage_names
from .finetuning_report import add_to_report
from .finetuning_weights import start_from_weights
from .freezing import freeze, unfreeze
from .layer_rates import with_layer_rates
from .loop import train
from .lora import add_lora, merge_lora
from .optimizer_slots import carry_slots
from .optimizers import build_optimizer
from .penalties import add_penalties
from .pipeline import epoch_order, reader
from .progress import EpochLines
from .recipe import load_recipe
from .recipe_parts import recipe_augmentation, recipe_average, recipe_callbacks, recipe_rule
from .report import Outcome
from .running import RunInterrupted, Running, RunResult, run
from .schedules import learning_rate, momentum
from .sections import Recipe
from .transfer_section import RANK, Method, TransferSection

COMPARED: tuple[Method, ...] = ("probe", "scratch")
_BEST = "best.npz"


def fine_tuning(recipe: Recipe, model: Model) -> tuple[Model, Callable[..., Running]]:
    """Return the model of a recipe with the weights that it starts from, and what runs it; called in the strategy's scope.

    Raises:
        CanonError: for weights that cannot be had or do not fit, or a recipe that cannot be run in phases.
    """
    if recipe.train.snapshots:
        raise CanonError("train.snapshots belongs to one schedule over the whole run, and [transfer] has one in each phase: leave it out.")
    if recipe.transfer.compare and isinstance(strategy_of(model), tf.distribute.MultiWorkerMirroredStrategy):
        raise CanonError("transfer.compare reads what other runs wrote, which the workers of a cluster do not wait for: leave it out.")
    section = recipe.transfer.filled(recipe.train.epochs)
    plan = phases(section, recipe.train.epochs, stage_names(model))
    model, loaded = start_from_weights(model, section)
    change_preprocessing(model, recipe.model)  # the weights brought their own
    add_penalties(model, recipe.train.l1, recipe.train.l2)  # a head that was made anew has none yet
    if section.method == "lora":
        add_lora(model, section.lora_rank or RANK)
    return model, partial(FineTuning, section=section, phases=plan, loaded=loaded)


@dataclass
class FineTuning(Running):
    """A fine-tuning whose folder is its own.

    Args:
        section: `[transfer]` with nothing left out.
        phases: in order.
        loaded: what was loaded; None without weights.
    """

    section: TransferSection = field(default_factory=TransferSection)
    phases: tuple[Phase, ...] = ()
    loaded: LoadReport | None = None

    def run(self, callbacks: Sequence[keras.callbacks.Callback], command: str) -> RunResult:
        """Train phase by phase, keep the best weights of all, and report."""
        self.records = read_records(self._checkpoints)
        started = [number for number in range(len(self.phases)) if has_checkpoint(self._phase_folder(number))]
        first = max(started, default=0)
        self.records = self.records[:first]
        self.best: float | None = None
        self.best_weights: list[np.ndarray] = []
        if self.records:
            self._recall_best()
        elif self.chief and not started:
            self._first_look()
            if self.verbose and self.loaded is not None:
                self._print(f"weights: {str(self.loaded).splitlines()[0]} of {self.section.weights}; the head is new")
        if self.section.method not in ("scratch", "lora"):  # to which what is frozen belongs
            freeze(self.model)
        for number in range(first, len(self.phases)):
            self._phase(number, callbacks)
        self.compared = self._compare() if self.section.compare else {}
        history, best_epoch = joined(self.records, self._sign)
        result = self.finish(history, best_epoch, sum(record.seconds for record in self.records), command)
        if self.chief:
            for number in range(len(self.phases)):
                Checkpoints(self._phase_folder(number)).clear()
        return result

    def report(self, outcome: Outcome) -> None:
        """Write the report, with what each phase did."""
        super().report(outcome)
        add_to_report(self.folder, outcome, self.section, self.loaded, self.records, self.compared)

    @property
    def _checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def _phase_folder(self, number: int) -> Path:
        return self._checkpoints / f"phase-{number + 1}"

    def _print(self, text: str) -> None:
        Console().print(text, markup=False, highlight=False, soft_wrap=True)

    def _recall_best(self) -> None:
        self.best = min(self.records, key=lambda record: self._sign * record.best).best
        with np.load(self._checkpoints / _BEST, allow_pickle=False) as stored:
            self.best_weights = [stored[f"{number}"] for number in range(len(stored.files))]
        self.model.set_weights(self.best_weights)

    @property
    def _sign(self) -> float:
        return 1.0 if self.recipe.train.monitor.endswith("loss") else -1.0

    def _phase(self, number: int, callbacks: Sequence[keras.callbacks.Callback]) -> None:
        """Train one phase; after it the model has the best weights of this and all before."""
        phase = self.phases[number]
        parameters = self._thaw(phase)
        if not parameters:
            # the head's codes may be fixed, as those of LeNet-5 are
            if number + 1 == len(self.phases):
                raise CanonError(f"Nothing of {self.model.name!r} is trainable in the phase {phase.name!r}: choose another method.")
            self.records.append(PhaseRecord(phase.name, 0, math.inf * self._sign, 0, 0.0, {}))
            return
        if self.verbose and self.chief:
            self._print(f"phase {number + 1}/{len(self.phases)} {phase.name}: {parameters:,} parameters are trained")
        self._compile(phase, number)
        best = BestWeights(None, self.recipe.train.monitor)
        section = self.recipe.train
        checkpoints = Checkpoints(
            self._phase_folder(number), steps=section.checkpoint_steps, seconds=section.checkpoint_seconds, writes=self.chief
        )
        try:
            history = self._fit(phase, [*self._phase_callbacks(number, best), *callbacks], checkpoints)
        except KeyboardInterrupt as interrupt:
            raise RunInterrupted(self._interrupted(best)) from interrupt
        if best.best is None or best.best_epoch is None:
            raise CanonError(f"{section.monitor} was never a number in the phase {phase.name!r}: lower optimizer.learning_rate.")
        self._keep(best)
        record = PhaseRecord(phase.name, parameters, best.best, best.best_epoch, checkpoints.position.total_seconds, history)
        self.records.append(record)
        if self.chief:
            write_records(self._checkpoints, self.records)

    def _thaw(self, phase: Phase) -> int:
        """Set what the phase trains, and return how many parameters that are."""
        if self.section.method != "scratch" and phase.from_ != HEAD:
            keep = bool(self.section.keep_batch_norm_frozen)
            unfreeze(self.model, phase.from_, keep_batch_norm_frozen=keep)
        return sum(math.prod(weight.shape) for weight in self.model.trainable_weights)

    def _compile(self, phase: Phase, number: int) -> None:
        """Give the model an optimizer with the schedule and the rates of a phase, and what the one before knows of the weights."""
        recipe, model = self.recipe, self.model
        section = dataclasses.replace(recipe.train, epochs=phase.epochs)
        updates = updates_per_epoch(section, len(self.data.train))
        try:
            rate = learning_rate(recipe.optimizer, recipe.schedule, section, updates)
            follow = momentum(recipe.schedule, section, updates)
        except ValueError as error:
            raise CanonError(f"[schedule] in the phase {phase.name!r} of {phase.epochs} epochs: {error}") from error
        before = model.optimizer
        with strategy_of(model).scope():
            optimizer = build_optimizer(recipe.optimizer, rate, model, follow)
            if rates := backbone_rates(model, self.section):
                optimizer = with_layer_rates(optimizer, model, rates)
            if section.precision == "mixed_float16":
                optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
            optimizer.build(model.trainable_variables)
            model.compile(optimizer=optimizer, loss=model.loss, metrics=["accuracy"], jit_compile=False, auto_scale_loss=False)
        if number and type(before) is type(optimizer) and before.built:
            # the step count starts anew, since the schedule does
            carry_slots(before, optimizer, counters=False)

    def _phase_callbacks(self, number: int, best: BestWeights) -> list[keras.callbacks.Callback]:
        section, folder, name = self.recipe.train, self.folder, self.phases[number].name
        callbacks: list[keras.callbacks.Callback] = [EpochLines()] if self.verbose and self.chief else []
        if self.chief:
            done = Checkpoints(self._phase_folder(number - 1)).clear if number else None
            callbacks += [
                PhaseHistory(folder / "history.csv", self.records, name, done),
                Events(folder / "events" / f"{number + 1}_{name}"),
                LastGood(self._checkpoints),
            ]
        callbacks.append(best)
        if section.patience is not None:
            mode = "min" if section.monitor.endswith("loss") else "max"
            callbacks.append(keras.callbacks.EarlyStopping(section.monitor, patience=section.patience, mode=mode))
        return [*callbacks, *recipe_callbacks(self.recipe, folder, writes=self.chief)]

    def _fit(self, phase: Phase, callbacks: list, checkpoints: Checkpoints) -> dict[str, list[float]]:
        section, data, preprocessing = self.recipe.train, self.data, self.model.record.preprocessing
        assert preprocessing is not None  # build refuses models without
        read = reader(data.train, preprocessing, section.batch_size, recipe_augmentation(self.recipe, data.num_classes))
        validate = reader(data.validation, preprocessing, max(section.batch_size, 256))
        before = sum(earlier.epochs for earlier in self.phases[: self.phases.index(phase)])

        def batches(epoch: int, step: int = 0) -> tf.data.Dataset:
            # an order of its own for each epoch of the whole run
            order = epoch_order(len(data.train), section.seed, before + epoch)
            return read(order[step * section.batch_size :], before + epoch)

        average = recipe_average(self.recipe, lambda model: refresh_batch_norm(model, batches(0)))
        return train(
            self.model,
            batches,
            epochs=phase.epochs,
            steps_per_epoch=updates_per_epoch(section, len(data.train)),
            validation=validate(None),
            callbacks=callbacks if average is None else [average, *callbacks],
            checkpoints=checkpoints,
            rule=recipe_rule(self.recipe, average),
        )

    def _keep(self, best: BestWeights) -> None:
        """Take the weights of a phase, or put back those from before it where they are better."""
        assert best.best is not None
        if self.best is None or self._sign * best.best < self._sign * self.best:
            self.best, self.best_weights = best.best, self.model.get_weights()
            if self.chief:
                part = self._checkpoints / f"part.{_BEST}"
                # weights alone: a weight file of Keras holds the optimizer of the phase too
                save: Any = np.savez  # its annotation knows no table of arrays
                save(part, **{f"{number}": value for number, value in enumerate(self.best_weights)})
                part.replace(self._checkpoints / _BEST)
        else:
            self.model.set_weights(self.best_weights)

    def _interrupted(self, best: BestWeights) -> str:
        if best.best_epoch is None and self.best is None:
            return self._keep_interrupted(best)
        if best.best is None or (self.best is not None and self._sign * self.best <= self._sign * best.best):
            assert self.best is not None
            self.model.set_weights(self.best_weights)
            best.best, best.best_epoch = self.best, joined(self.records, self._sign)[1]
        elif best.best_epoch is not None:
            best.best_epoch += sum(record.epochs for record in self.records)
        return self._keep_interrupted(best)

    def _final_model(self) -> Model:
        if self.section.method == "lora":
            copy = merge_lora(self.model)
            copy.update_record(weights=f"recipe {self.recipe.name}, seed {self.recipe.train.seed}")
        else:
            copy = super()._final_model()
        unfreeze(copy, keep_batch_norm_frozen=False)
        if self.section.weights is not None:
            copy.update_record(weights=f"{self.section.weights}, fine-tuned by {copy.record.weights}")
        return copy

    def _compare(self) -> dict[str, Mapping[str, Any]]:
        """Train the same network on the same split in other ways, each in a run folder of its own, and return their figures."""
        found = {}
        for method in COMPARED:
            recipe, folder = _other_method(self.recipe, method), self.folder / "compare" / method
            if not _is_done(folder, recipe):
                if self.verbose and self.chief:
                    self._print(f"to compare with: {method}")
                run(recipe, folder, overwrite=True, verbose=self.verbose)
            found[method] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        return found


def _other_method(recipe: Recipe, method: Method) -> Recipe:
    given = recipe.transfer
    if method == "scratch":
        section = TransferSection(method="scratch", dropout=given.dropout)
    else:
        section = dataclasses.replace(given, method=method, head_epochs=None, stages=None, lora_rank=None, compare=None)
    return dataclasses.replace(recipe, transfer=section, name=f"{recipe.name}_{method}")


def _is_done(folder: Path, recipe: Recipe) -> bool:
    """Return whether a folder holds this very run, finished."""
    try:
        status = json.loads((folder / "metrics.json").read_text(encoding="utf-8")).get("status")
        return status == "finished" and load_recipe(folder / "recipe.toml") == recipe
    except (OSError, ValueError):
        return False
