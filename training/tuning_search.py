"""The search itself: keras-tuner asks for trials, each of which is a run."""

import json
import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras
import keras_tuner

from ..zoo.errors import CanonError
from .recipe import change_recipe
from .running import run
from .sections import ExpectSection, Recipe
from .tune_section import TuneSection
from .tuning_oracle import trial_number
from .tuning_points import EPOCHS, point
from .tuning_trials import Trial, read_trial, trial_folder, write_trial
from .writing import write_text

_BETWEEN_QUESTIONS = 0.5


class Search(keras_tuner.engine.base_tuner.BaseTuner):
    """Run the trials that an oracle asks for, each in a folder of its own, until it asks for no more.

    Args:
        oracle: chooses the points.
        recipe: what is searched.
        objective: the figure that decides.
        folder: of the search.
        scratch: a folder for what keras-tuner writes, which nobody reads.
        tell: takes lines about what is going on.
    """

    def __init__(self, oracle: Any, recipe: Recipe, objective: str, folder: Path, scratch: str, tell: Callable[[str], None]):
        super().__init__(oracle, directory=scratch, project_name="search")
        self.recipe, self.objective, self.folder, self.tell = recipe, objective, folder, tell
        self._asked = 0.0

    def pre_create_trial(self):
        """Wait a little where the oracle has just been asked: it may have nothing to give before another trial ends."""
        pause = self._asked + _BETWEEN_QUESTIONS - time.monotonic()
        if self._asked and pause > 0.0:
            time.sleep(pause)
        self._asked = time.monotonic()

    def run_trial(self, trial):
        """Train at one point, unless that was done before the search was stopped."""
        # the time of a trial is no waiting
        self._asked = 0.0
        number, drawn = trial_number(trial), trial.hyperparameters.values
        done = read_trial(self.folder, number)
        if done is None:
            begun = Trial(number, point(self.recipe.tune.space, drawn))
            self.tell(f"trial {number} of {self.oracle.max_trials}: {in_words(begun.values)}")
            done = self._known(begun) if EPOCHS not in drawn else None
            if done is None:
                with _Noted(self.folder, begun) as noted:
                    noted.trial = self._train(begun, drawn.get(EPOCHS))
                done = noted.trial
            write_trial(self.folder, done)
            self.tell(f"trial {number}: {self._ending(done)}")
        # of a failed trial keras-tuner takes no score, but wants a figure
        worst = math.inf if self.objective.endswith("loss") else -math.inf
        return {self.objective: worst if done.objective is None else done.objective}

    def on_trial_end(self, trial):
        """Report how it ended."""
        done = read_trial(self.folder, trial_number(trial))
        assert done is not None  # run_trial has written it
        trial.status = "COMPLETED" if done.status == "finished" else "FAILED"
        trial.message = done.reason or None
        super().on_trial_end(trial)

    def _known(self, begun: Trial) -> Trial | None:
        """Return the result of an earlier trial at the same point, which training would only repeat; the Bayesian method may ask again."""
        if not self.recipe.train.deterministic:
            return None
        for number in range(1, begun.number):
            earlier = read_trial(self.folder, number)
            if earlier is not None and earlier.status == "finished" and earlier.values == begun.values:
                return replace(earlier, number=begun.number, seconds=0.0, reason=f"the same point as trial {number}, not trained again")
        return None

    def _train(self, begun: Trial, epochs: int | None) -> Trial:
        recipe = trial_recipe(self.recipe, begun.values, epochs)
        folder = trial_folder(self.folder, begun.number)
        figures = _figures(folder)
        if figures is None:
            # what earlier trials left in memory, which grows from model to model
            keras.utils.clear_session()
            run(recipe, folder, verbose=False)
            figures = _figures(folder)
        if figures is None:
            raise CanonError(f"{str(folder)!r} holds no metrics.json after the run.")
        value = float(figures["validation"][self.objective.removeprefix("val_")])
        if not math.isfinite(value):
            raise CanonError(f"{self.objective} is {value}.")
        facts = {key: figures.get(key) for key in ("epochs", "best_epoch", "parameters", "seconds")}
        return replace(begun, status="finished", objective=value, **facts)

    def _ending(self, done: Trial) -> str:
        if done.objective is None:
            return f"failed: {done.reason}"
        return f"{self.objective} {done.objective:.4f} after {done.seconds or 0.0:.0f} s"


def trial_recipe(recipe: Recipe, values: Any, epochs: int | None = None) -> Recipe:
    """Return the recipe of one point, which is no search and of which nothing is expected.

    Raises:
        CanonError: for a value that its key cannot have.
    """
    if epochs is not None:
        values = {**values, "train.epochs": int(epochs)}
    return replace(change_recipe(recipe, values), tune=TuneSection(), expect=ExpectSection())


def in_words(values: Any) -> str:
    """Return the values of a point as they are written with `--set`."""
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _figures(folder: Path) -> dict[str, Any] | None:
    """Return what a finished run says of itself."""
    path = folder / "metrics.json"
    figures = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return figures if figures.get("status") == "finished" else None


@dataclass
class _Noted:
    """A trial under way: whatever it dies of is its result, and no end of the search."""

    search: Path
    trial: Trial

    def __enter__(self) -> "_Noted":
        return self

    def __exit__(self, kind, error, trace) -> bool:
        if not isinstance(error, Exception):
            return False
        if isinstance(error, CanonError) and isinstance(error.__cause__, OSError):
            # a full disk, a folder in use: no fault of this point, and the next one would fare no better
            raise keras_tuner.errors.FatalRuntimeError(str(error)) from error
        self.trial = replace(self.trial, status="failed", reason=_reason(error))
        folder = trial_folder(self.search, self.trial.number)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "error.txt", "".join(traceback.format_exception(error)))
        return True


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    first = lines[0].strip() if lines else ""
    if isinstance(error, CanonError):
        return first
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
