"""Low-rank adaptation: a trained network stays as it is, and small matrices beside its attention projections are trained."""

from collections.abc import Iterator, Sequence

import keras
import numpy as np

from ..layers import MultiHeadAttention
from ..zoo.errors import CanonError
from ..zoo.model import Model
from .finetuning_phases import is_head
from .trainable_summary import TrainableSummary, summarise
from .transfer_section import RANK

PROJECTIONS = ("query", "key", "value", "output")
TARGETS = ("query", "value")


def add_lora(model: keras.Model, rank: int = RANK, alpha: float | None = None, targets: Sequence[str] = TARGETS) -> TrainableSummary:
    r"""Freeze a model but for its head, and add matrices of low rank to projections of its attention layers.

    $$h = W_0 x + \frac{\alpha}{r} B A x, \quad A \in R^{r \times d}, \; B \in R^{k \times r}, \; B = 0 \text{ at first} \tag{3}$$

    The outputs do not change until it is trained. Compile the model afterwards. What `merge_lora` returns is the plain model, with
    $W_0 + \frac{\alpha}{r} B A$ in the place of $W_0$; save and export that one.

    Args:
        model: built, with `MultiHeadAttention` layers; the layer `logits`, where there is one, stays trainable.
        rank: r.
        alpha: scale of the change; None is r, which scales by 1.
        targets: which projections: "query", "key", "value" and "output"; the paper's choice is query and value (section 7.1).

    Returns:
        a table of what is trainable now; print it.

    Raises:
        CanonError: for a model without attention, a rank below 1 or above a projection's width, another target, or one that has such
            matrices already.

    Reference:
        Hu et al., 2021, "LoRA: low-rank adaptation of large language models", section 4.1, equation 3, arXiv:2106.09685.

    Example:
        >>> from keras_canon import training, zoo
        >>> model = zoo.create("gpt2_tiny")
        >>> print(training.add_lora(model, rank=4).total)
        8,192 of 1,096,448 parameters are trainable
    """
    wrong = [target for target in targets if target not in PROJECTIONS]
    if wrong or not targets:
        raise CanonError(f"targets of LoRA must be some of {', '.join(PROJECTIONS)}, got {', '.join(map(repr, wrong)) or 'none'}.")
    found = [layer for layer in model._flatten_layers() if isinstance(layer, MultiHeadAttention) and layer.built]
    if not found:
        raise CanonError(f"Model {model.name!r} has no attention projections for LoRA: fine-tune it in another way.")
    projections = [getattr(layer, f"{target}_projection") for layer in found for target in targets]
    if any(projection.lora_enabled for projection in projections):
        raise CanonError(f"Model {model.name!r} has LoRA already: merge it first, with merge_lora.")
    limit = min(min(projection.kernel.shape) for projection in projections)
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= limit:
        raise CanonError(f"The rank of LoRA must be an integer from 1 to {limit}, the width of the narrowest projection, got {rank!r}.")
    _freeze_body(model, projections)
    for projection in projections:
        projection.enable_lora(rank, lora_alpha=rank if alpha is None else alpha)
        for weight in (projection.lora_kernel_a, projection.lora_kernel_b):
            weight.trainable = True
    return summarise(model)


def _freeze_body(model: keras.Model, projections: Sequence[keras.layers.Layer]) -> None:
    """Freeze all weights but the head's, one by one: the layers themselves are trainable, for the matrices that are added."""
    adapted = set(map(id, projections))
    for layer in model.layers:
        if not is_head(layer):
            if any(id(part) in adapted for part in layer._flatten_layers()):
                layer.trainable = True  # one that was frozen as a whole would hide them
            for weight in layer.trainable_weights:
                weight.trainable = False


def merge_lora(model: Model) -> Model:
    """Return a model without LoRA that answers the same: the changes are added to the kernels.

    Args:
        model: to which `add_lora` was applied.

    Raises:
        CanonError: for a model without LoRA.
    """
    merged = {layer._kernel.path: layer.kernel for layer in _adapted(model)}
    if not merged:
        raise CanonError(f"Model {model.name!r} has no LoRA to merge.")
    values = {weight.path: weight for weight in model.weights} | merged
    plain = type(model).from_config(model.get_config())
    for weight in plain.weights:
        weight.assign(np.asarray(values[weight.path]))
    return plain


def has_lora(model: keras.Model) -> bool:
    """Return whether `add_lora` was applied to a model."""
    return next(_adapted(model), None) is not None


def _adapted(model: keras.Model) -> Iterator[keras.layers.Dense]:
    return (layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.Dense) and layer.lora_enabled)
