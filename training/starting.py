"""What runs a recipe, and the weights that it starts from."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ..zoo.model import Model
from .data import Dataset, SequenceDataset
from .sections import Recipe

if TYPE_CHECKING:
    from .running import Running


def starting(recipe: Recipe, data: Dataset | SequenceDataset, model: Model) -> tuple[Model, Callable[..., "Running"]]:
    """Return a model with the weights that its recipe names, and what runs it; called in the strategy's scope.

    Args:
        recipe: the recipe.
        data: what it is trained on.
        model: as the recipe builds it, compiled.

    Raises:
        CanonError: for weights that cannot be had or do not fit.
    """
    if isinstance(data, SequenceDataset):
        from .sequence_running import SequenceRunning
        from .sequence_transfer import load_encoder

        return model, partial(SequenceRunning, loaded=load_encoder(model, recipe.transfer, data) if recipe.transfer.active else None)
    if recipe.transfer.active:
        from .finetuning_run import fine_tuning

        return fine_tuning(recipe, model)
    from .running import Running

    return model, Running
