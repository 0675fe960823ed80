"""`tune`: search the space of a recipe for its best point."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from ..zoo.errors import CanonError, unknown_name
from .cluster import cluster_workers
from .recipe import change_recipe, load_recipe
from .sections import Recipe
from .tune_section import METHODS
from .tuning_journal import open_search, read_journal
from .tuning_report import read_trials, write_search
from .tuning_trials import Trial


@dataclass(frozen=True)
class TuneResult:
    """What a search found.

    Args:
        folder: of the search; `best.toml` in it is a recipe that can be trained.
        objective: the figure that decided.
        trials: all of them, in the order in which they were started.
        best: the one with the best objective.
    """

    folder: Path
    objective: str
    trials: tuple[Trial, ...]
    best: Trial

    @property
    def failed(self) -> tuple[Trial, ...]:
        """The trials that failed, each with its reason."""
        return tuple(trial for trial in self.trials if trial.status == "failed")


class SearchFailed(CanonError, RuntimeError):
    """Not one trial of a search came to an end; the message has the reason of the last."""


class SearchInterrupted(KeyboardInterrupt):
    """A search was stopped by Ctrl-C; the message says in one sentence how to go on."""


def tune(
    recipe: str | Path | Recipe,
    out: str | Path | None = None,
    *,
    max_trials: int = 20,
    method: str = "random",
    overrides: Mapping[str, Any] | None = None,
    seed: int = 0,
    smoke: bool = False,
    restart: bool = False,
    verbose: bool = True,
) -> TuneResult:
    """Search the space in a recipe's `[tune]` section, or go on with a search that was stopped.

    Each trial is a `training.run` in `trials/NNN`, with that point's values. The folder further holds `trials.csv`, `tuning.md` with
    `tuning.png`, and `best.toml`, the recipe with the values of the best trial. The validation split decides; the test figures in
    the folders of the trials take no part.

    A search that was killed at any moment goes on when it is started again in the same way, with the trials that it would have run
    anyway; started again with more `max_trials`, a finished one goes on too. A trial that fails, or whose objective is not a number,
    is listed with the reason.

    With the environment variables of keras-tuner (`KERASTUNER_TUNER_ID`, `KERASTUNER_ORACLE_IP`, `KERASTUNER_ORACLE_PORT`) the same
    call makes this process the chief, which chooses the points, or a worker, which trains; they share the folder.

    Args:
        recipe: a name that `list_recipes` returns, the path of a TOML file, or a `Recipe`.
        out: the folder; None for `runs/NAME_tune`.
        max_trials: how many points, at most; those of earlier calls count.
        method: "random"; "hyperband", which trains many points for few epochs and the best of them for more, up to `train.epochs`
            (Li et al. 2018, arXiv:1603.06560); or "bayesian", which models the objective by a Gaussian process.
        overrides: changes by dotted key, such as {"train.epochs": 3}.
        seed: of the choice of points; the runs keep `train.seed`.
        smoke: True to shrink every run to seconds, as the recipe's `[smoke]` says.
        restart: True to drop what an earlier search left in `out`.
        verbose: False to print nothing.

    Raises:
        CanonError: for a space or a folder that cannot be searched, before the first trial.
        SearchFailed: a RuntimeError, when every trial failed.
        SearchInterrupted: after Ctrl-C.

    Example:
        >>> from keras_canon import training
        >>> space = {"tune.space": {"optimizer.learning_rate": {"floats": [1e-4, 1e-1], "sampling": "log"}}}
        >>> result = training.tune("lenet5_digits", overrides=space, max_trials=4, smoke=True)  # doctest: +SKIP
        >>> result.best.values  # doctest: +SKIP
    """
    require_tuner()
    found = recipe_to_search(recipe, overrides, smoke=smoke, method=method, max_trials=max_trials)
    folder = search_folder(found, out)
    say = Console().print

    def tell(line: str) -> None:
        if verbose:
            say(line, markup=False, highlight=False, soft_wrap=True)

    search = _Searching(found, folder, method, max_trials, seed)
    try:
        if is_worker():
            search.work(tell)
        else:
            search.lead(tell, restart=restart)
    except KeyboardInterrupt as interrupt:
        raise SearchInterrupted("Stopped; start the same command again to go on.") from interrupt
    return result_of(folder, write=not is_worker())


@dataclass
class _Searching:
    recipe: Recipe
    folder: Path
    method: str
    max_trials: int
    seed: int

    def lead(self, tell, *, restart: bool) -> None:
        """Own the folder, choose the points, and train at them or let workers do it."""
        from .tuning_oracle import replay

        with open_search(self.folder, self.recipe, self.method, self.seed, restart=restart) as journal:
            oracle = self._oracle(journal)
            with tempfile.TemporaryDirectory() as scratch:
                search = self._search(oracle, scratch, tell)
                replay(oracle, tuple(journal.events))
                search()

    def work(self, tell) -> None:
        """Train at the points that the chief chooses."""
        with tempfile.TemporaryDirectory() as scratch:
            self._search(self._oracle(None), scratch, tell)()

    def _oracle(self, journal):
        from .tuning_oracle import make_oracle
        from .tuning_space import tuner_space

        return make_oracle(
            self.method,
            tuner_space(self.recipe.tune.space),
            objective_of(self.recipe),
            max_trials=self.max_trials,
            max_epochs=self.recipe.train.epochs,
            seed=self.seed,
            journal=journal,
        )

    def _search(self, oracle, scratch: str, tell):
        import keras_tuner

        from .tuning_search import Search

        search = Search(oracle, self.recipe, objective_of(self.recipe), self.folder, scratch, tell)

        def go() -> None:
            try:
                search.search()
            except keras_tuner.errors.FatalError as error:
                raise CanonError(str(error)) from error

        return go


def objective_of(recipe: Recipe) -> str:
    """Return the figure that a search decides by."""
    return recipe.tune.objective or recipe.train.monitor


def search_folder(recipe: Recipe, out: str | Path | None) -> Path:
    """Return where a search is kept."""
    return Path("runs") / f"{recipe.name}_tune" if out is None else Path(out)


def require_tuner() -> None:
    """Say what is missing before the first trial, and not in each of them.

    Raises:
        CanonError: it says what to install.
    """
    for name, package in (("keras_tuner", "keras-tuner"), ("tensorboard", "tensorboard")):
        try:
            missing = find_spec(name) is None
        except ValueError:  # a module that was set to None
            missing = True
        if missing:
            raise CanonError(f"Tuning needs the package {package}, which is not installed: pip install 'keras-canon[tune]'.")


def recipe_to_search(
    recipe: str | Path | Recipe, overrides: Mapping[str, Any] | None, *, smoke: bool, method: str, max_trials: int
) -> Recipe:
    """Return a recipe whose space can be searched; needs no TensorFlow.

    Raises:
        CanonError: for a recipe without a space, or one whose values it cannot have.
    """
    if method not in METHODS:
        raise unknown_name("method of tuning", method, METHODS)
    if isinstance(max_trials, bool) or not isinstance(max_trials, int) or max_trials < 1:
        raise CanonError(f"max_trials must be an integer, at least 1, got {max_trials!r}.")
    if cluster_workers() > 1:
        raise CanonError("TF_CONFIG names several workers for one run, but each trial of a search is trained by one process: leave it out.")
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe, overrides, smoke)
    elif overrides or smoke:
        raise CanonError("A Recipe object is searched as it stands: give overrides and smoke to load_recipe instead.")
    if not recipe.tune.space:
        raise CanonError(
            f"Recipe {recipe.name!r} has no [tune.space] to search: add a line such as "
            '"optimizer.learning_rate" = { floats = [1e-4, 1e-1], sampling = "log" }.'
        )
    if method == "hyperband" and "train.epochs" in recipe.tune.space:
        raise CanonError("Hyperband itself sets train.epochs: take it out of tune.space, or search with another method.")
    for key, kind in recipe.tune.space.items():
        for value in kind.ends:
            _refuse_impossible(recipe, key, value)
    return recipe


def _refuse_impossible(recipe: Recipe, key: str, value: Any) -> None:
    """Refuse a value that fits to no value of any other key; what does not go together beyond that is found by its trial."""
    others = [{other: end} for other, kind in recipe.tune.space.items() if other != key for end in kind.ends]
    errors = []
    for other in ({}, *others):
        try:
            change_recipe(recipe, {key: value, **other})
            return
        except CanonError as error:
            errors.append(error)
    raise CanonError(f"{key} = {value!r} in tune.space of {recipe.name!r} is impossible: {errors[0]}") from errors[0]


def result_of(folder: Path, *, write: bool = True) -> TuneResult:
    """Return what a search has found so far, and write its reports.

    Raises:
        SearchFailed: when every trial failed.
    """
    journal = read_journal(folder)
    if journal is None:
        raise CanonError(f"{str(folder)!r} holds no search.")
    recipe = load_recipe(folder / "recipe.toml")
    trials, objective = read_trials(folder, journal, recipe), objective_of(recipe)
    best = write_search(folder, recipe, journal, trials, objective, write=write)
    if best is None:
        failed = [trial for trial in trials if trial.status == "failed"]
        reason = failed[-1].reason if failed else "none was started"
        raise SearchFailed(f"All {len(trials)} trials failed; {folder / 'tuning.md'} lists them, and the last one said: {reason}")
    return TuneResult(folder, objective, tuple(trials), best)


def is_worker() -> bool:
    """Say whether the variables of keras-tuner make this process a worker of a search.

    Raises:
        CanonError: when some of them are missing.
    """
    names = ("KERASTUNER_ORACLE_IP", "KERASTUNER_ORACLE_PORT", "KERASTUNER_TUNER_ID")
    given = [name for name in names if name in os.environ]
    if given and len(given) < len(names):
        raise CanonError(
            f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'} set, but a search of several processes needs {', '.join(names)}."
        )
    return bool(given) and "chief" not in os.environ["KERASTUNER_TUNER_ID"]
