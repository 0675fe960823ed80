"""keras-tuner's oracles, which choose the points, made to survive a kill at any moment."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import keras_tuner
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..zoo.errors import CanonError
from .tuning_journal import Journal
from .tuning_points import EPOCHS

# a trial that a killed process was at waits under a name that starts like this
_WAITING = "waiting"
# keras-tuner gives up after a few failures in a row; a search of ours goes on
_NEVER = 10**9


def make_oracle(
    method: str,
    space: keras_tuner.HyperParameters,
    objective: str,
    *,
    max_trials: int,
    max_epochs: int,
    seed: int,
    journal: Journal | None,
) -> keras_tuner.Oracle:
    """Return an oracle that writes down what it does, in the state in which the journal leaves it.

    Args:
        method: "random", "hyperband" or "bayesian".
        space: what it chooses from.
        objective: "val_loss" or "val_accuracy".
        max_trials: how many points, at most.
        max_epochs: of Hyperband's longest trials.
        seed: of the choice.
        journal: of the search; None in a worker, whose oracle only stands for the chief's.

    Raises:
        CanonError: when the points of the journal are not those that this oracle would choose from.
    """
    kinds = {
        "random": keras_tuner.oracles.RandomSearchOracle,
        "hyperband": keras_tuner.oracles.HyperbandOracle,
        "bayesian": keras_tuner.oracles.BayesianOptimizationOracle,
    }
    arguments: dict[str, Any] = {
        "objective": keras_tuner.Objective(objective, "min" if objective.endswith("loss") else "max"),
        "hyperparameters": space,
        # keras-tuner takes 0 for none
        "seed": seed + 1,
        "max_consecutive_failed_trials": _NEVER,
        **({"max_epochs": max_epochs} if method == "hyperband" else {"max_trials": max_trials}),
    }
    oracle = _journaled(kinds[method])(**arguments)
    oracle.verbose = 0
    oracle.journal = journal
    started = 0 if journal is None else journal.started
    oracle.max_trials = max(max_trials, started)
    return oracle


def _journaled(kind: Any) -> Any:
    """Return a kind of oracle that keeps a journal."""

    class Journaled(kind):
        journal: Journal | None = None

        def create_trial(self, tuner_id):
            """Give a point: first those whose trials a killed process left behind."""
            if tuner_id not in self.ongoing_trials:
                waiting = next((key for key in self.ongoing_trials if key.startswith(_WAITING)), None)
                if waiting is not None:
                    self.ongoing_trials[tuner_id] = self.ongoing_trials.pop(waiting)
                    self.tuner_ids.add(tuner_id)
            known = len(self.trials)
            # the model's matrices are so small that threads cost five times what they do
            with _quiet(), threadpool_limits(1):
                trial = super().create_trial(tuner_id)
            if self.journal is not None and len(self.trials) > known:
                self.journal.add("start", trial_number(trial), {"values": _drawn(trial)})
            return trial

        def update_trial(self, trial_id, metrics, step=0):
            """Take a figure of a trial."""
            with _quiet():
                return super().update_trial(trial_id, metrics, step)

        def end_trial(self, trial):
            """Take the result of a trial."""
            with _quiet():
                super().end_trial(trial)
            ended = self.trials[trial.trial_id]
            if self.journal is not None:
                self.journal.add("end", trial_number(trial), {"status": ended.status, "score": ended.score})

    return Journaled


def trial_number(trial: Any) -> int:
    """Return the number, from 1, of a trial of keras-tuner."""
    return int(trial.trial_id) + 1


def _drawn(trial: Any) -> dict[str, Any]:
    values = trial.hyperparameters.values
    return {key: value for key, value in values.items() if key == EPOCHS or not key.startswith("tuner/")}


def replay(oracle: Any, events: Sequence[Mapping[str, Any]]) -> None:
    """Tell a new oracle, once it has its folder, what happened before: it then is as it was when the process was killed.

    Raises:
        CanonError: when it would not have chosen any point where the journal has one.
    """
    journal, oracle.journal = oracle.journal, None
    model = getattr(oracle, "gpr", None)
    if model is not None:
        # its answers are known, and each takes seconds; its generator moves on all the same
        oracle.gpr = _NoModel()
    running = {}
    for event in events:
        number = event["trial"]
        if event["event"] == "start":
            trial = oracle.create_trial(f"replay{number}")
            if trial.status != "RUNNING":
                raise CanonError(f"Trial {number} of the journal cannot be followed: start anew with --restart.")
            # what was trained is what counts, should another version of keras-tuner draw otherwise
            trial.hyperparameters.values.update(event["values"])
            running[number] = trial
        else:
            trial = running.pop(number)
            trial.status = event["status"]
            if event["score"] is not None:
                oracle.update_trial(trial.trial_id, {oracle.objective.name: event["score"]})
            oracle.end_trial(trial)
    oracle.ongoing_trials = {f"{_WAITING}{number}": trial for number, trial in running.items()}
    oracle.tuner_ids.clear()
    oracle.journal = journal
    if model is not None:
        oracle.gpr = model


class _NoModel:
    """In the place of the Gaussian process: knows nothing, in no time."""

    def fit(self, points, scores) -> None:
        """Take no notice; all that is asked for later is `predict`."""
        self.seen = len(scores)

    def predict(self, points, return_std: bool = False):
        """Say that all points are alike."""
        zeros = np.zeros(len(points))
        return (zeros, zeros) if return_std else zeros


@contextmanager
def _quiet():
    """Keep back what users can do nothing about."""
    with warnings.catch_warnings():
        # keras-tuner 1.4.8 asks for the thread in the way of Python 3.9
        warnings.filterwarnings("ignore", r"(currentThread|getName)\(\) is deprecated", DeprecationWarning)
        # of the Gaussian process that models the objective: a poor fit makes a poor next point, no wrong result
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
