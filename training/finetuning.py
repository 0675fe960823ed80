"""`finetune`: from a trained model and a handful of examples to a run folder."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from ..zoo import info
from ..zoo.model import Model
from .data.names import parse_name
from .evaluation import load_trained
from .finetuning_weights import StartingPoint, default_weights, find_weights, record_of
from .pipeline import load_data
from .recipe import change_recipe
from .running import RunResult, run
from .schedule_section import ScheduleSection
from .sections import DataSection, ModelSection, OptimizerSection, Recipe, TrainSection
from .transfer_section import TransferSection
from .writing import save_whole

_BATCH, _DECAY, _PATIENCE = 32, 0.01, 5
# of the head, which is new and small, while the backbone's is a tenth at most: Adam moves a weight by about its rate with each update,
# and after a few dozen of 1e-3 a head has hardly left where it began
_RATE = 1e-2
_EPOCHS, _MOST_EPOCHS, _UPDATES = 20, 60, 300
_RANDOM = "random"
_DIGITS = 12


def finetune(
    model: Model | str | Path,
    data: str | Path,
    out: str | Path | None = None,
    *,
    weights: str | Path | None = None,
    compare: bool = False,
    overrides: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    verbose: bool = True,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> RunResult:
    """Fit a trained model to other classes, and write a run folder.

    At first the backbone is frozen and a new head is trained; then the backbone is thawed stage by stage from the top, with learning
    rates that go down from stage to stage. Each phase ends early when the validation split has nothing more to gain, and the best
    weights of all are kept. The folder is that of a run: its `recipe.toml`, with a section `[transfer]`, does it again with `canon
    train`, and a run that was killed goes on when it is started again in the same way. Twice the same gives the same numbers.

    Args:
        model: a name of the zoo; the folder of a run or a .keras file; or a `zoo.Model`, which is then written beside `out`.
        data: a folder with one sub-folder of pictures per class, or a data set as `training.data.load` takes it.
        out: the folder; None for `runs/MODEL_DATA`.
        weights: see `TransferSection`; None for the published ones, or those of `model` itself; "random" to start from scratch, which
            needs many more examples.
        compare: True to train a linear probe and from scratch as well, on the same split, for the report.
        overrides: changes of the recipe by dotted key, such as {"train.epochs": 40, "transfer.stages": 2, "augment.flip_horizontal":
            True}; the epochs, 20 unless changed or up to 60 where the examples are few, are those of all phases together.
        overwrite: True to replace an earlier run in `out`.
        verbose: False to print nothing.
        callbacks: further Keras callbacks, given to each phase.

    Returns:
        the `RunResult`.

    Raises:
        CanonError: (a ValueError) before training starts: without weights, for those of another architecture, for data without two
            classes with examples, or a folder that would be lost.
        RunInterrupted: after Ctrl-C; the best weights so far are in `model.keras`.

    Example:
        >>> from keras_canon import training
        >>> result = training.finetune("mobilenet_v2", "photos/", "runs/photos", compare=True)  # doctest: +SKIP
    """
    recipe = finetune_recipe(model, data, out=out, weights=weights, compare=compare, overrides=overrides)
    return run(recipe, out, overwrite=overwrite, verbose=verbose, callbacks=callbacks)


def finetune_recipe(
    model: Model | str | Path,
    data: str | Path,
    *,
    out: str | Path | None = None,
    weights: str | Path | None = None,
    compare: bool = False,
    overrides: Mapping[str, Any] | None = None,
) -> Recipe:
    """Return the recipe that `finetune` runs; arguments and errors are the same."""
    data_name = _data_name(data)
    parse_name(data_name)
    section, own = _model_section(model, out)
    source = None if weights == _RANDOM else str(weights or own or default_weights(section.name))
    digest = None
    if source is not None:
        found = find_weights(source, section.name)
        digest = None if found.published else found.sha256
        section = _with_size_of(section, found)
    data_section = DataSection(name=data_name)
    examples = len(load_data(data_section).train)
    batch_size = min(_BATCH, examples)
    epochs = min(max(_EPOCHS, -(-_UPDATES // -(-examples // batch_size))), _MOST_EPOCHS)
    transfer = TransferSection(weights=source, sha256=digest, method="staged" if source else "scratch").filled(epochs)
    recipe = Recipe(
        model=section,
        data=data_section,
        optimizer=OptimizerSection("adamw", _RATE, {"weight_decay": _DECAY}),
        train=TrainSection(epochs=epochs, batch_size=batch_size, patience=_PATIENCE),
        schedule=ScheduleSection("cosine", warmup_epochs=0.5),
        transfer=dataclasses.replace(transfer, compare=compare, head_epochs=None, stages=None),
        name=f"{section.name}_{_word(data_name)}",
        summary=f"{section.name} fitted to {data_name}.",
    )
    return change_recipe(recipe, overrides or {})


def _data_name(data: str | Path) -> str:
    """Return the name of a data set; a path that is a folder needs no prefix, with options in brackets or without."""
    text = str(data)
    folder = Path(text).is_dir() or Path(text.partition("[")[0]).is_dir()
    if isinstance(data, Path) or (":" not in text and ("/" in text or folder)):
        return f"folder:{text}"
    return text


def _model_section(model: Model | str | Path, out: str | Path | None) -> tuple[ModelSection, str | None]:
    """Return what is built, and the weights that came with it."""
    if isinstance(model, Model):
        # by what is in it: a second call means the same file, and another model takes nothing from a run that began with this one
        path = Path(f"{out or 'runs/' + model.record.variant}.start-{_digest(model)}.keras")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            save_whole(model, path)
        return ModelSection(model.record.variant), str(path)
    text = str(model)
    if isinstance(model, Path) or text.endswith(".keras") or Path(text).is_dir():
        return ModelSection(load_trained(text)[0].record.variant), text
    info(text)
    return ModelSection(text), None


def _digest(model: Model) -> str:
    """Return a word that tells models of other configuration or weights apart."""
    digest = hashlib.sha256(json.dumps(model.get_config(), sort_keys=True, default=str).encode())
    for weight in model.get_weights():
        digest.update(weight.tobytes())
    return digest.hexdigest()[:_DIGITS]


def _with_size_of(section: ModelSection, found: StartingPoint) -> ModelSection:
    """Return the section with the input shape and the overrides of weights that know them."""
    record = record_of(found, section.name)
    if record is None or record.variant != section.name:
        return section
    shape = tuple(size or 0 for size in record.input_shape)
    return dataclasses.replace(section, input_shape=shape, overrides=dict(record.overrides))


def _word(name: str) -> str:
    """Return a name of data as a word for folders."""
    kind, _, argument = name.partition(":")
    text = Path(argument).name if kind in ("folder", "csv", "parquet") else name
    return "".join(letter if letter.isalnum() else "_" for letter in text).strip("_")
