"""`diagnose`: all sanity checks of a recipe, without writing anything."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from .auto_precision import resolve_precision
from .building import build
from .doctor import Finding, check_overfit, check_speed, first_look
from .pipeline import epoch_order, load_data, reader
from .recipe import load_recipe
from .recipe_parts import recipe_augmentation, refuse_others
from .schedule_section import ScheduleSection
from .sections import Recipe


def diagnose(recipe: str | Path | Recipe, overrides: Mapping[str, Any] | None = None, smoke: bool = False) -> list[Finding]:
    """Check a recipe before it is run: labels, inputs, loss at start, gradients, one batch learnt by heart, speed.

    Args:
        recipe: a name that `list_recipes` returns, the path of a TOML file, or a `Recipe`.
        overrides: changes by dotted key; not together with a `Recipe`.
        smoke: True for the recipe's small version.

    Returns:
        one finding for each check.

    Raises:
        CanonError: for a recipe that cannot be run as it stands, is on sequences, or has `[transfer]`.

    Example:
        >>> from keras_canon.training import diagnose
        >>> [finding.verdict for finding in diagnose("lenet5_digits", smoke=True)]  # doctest: +SKIP
    """
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe, overrides, smoke)
    refuse_others(recipe, "The check of a recipe")
    recipe = resolve_precision(recipe, None, alone=True)
    keras.utils.set_random_seed(recipe.train.seed)
    data = load_data(recipe.data)
    model = build(recipe, data)
    findings = first_look(model, data)
    if any(finding.verdict == "error" for finding in findings):
        return findings
    # a warm-up would keep the rate low for longer than the one batch is trained
    constant = dataclasses.replace(recipe, schedule=ScheduleSection(), train=dataclasses.replace(recipe.train, snapshots=False))
    findings.append(check_overfit(build(constant, data), data))
    preprocessing = model.record.preprocessing
    assert preprocessing is not None
    read = reader(data.train, preprocessing, recipe.train.batch_size, recipe_augmentation(recipe, data.num_classes))
    findings.append(check_speed(model, read(epoch_order(len(data.train), recipe.train.seed, 0), 0)))
    return findings
