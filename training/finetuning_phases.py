"""The phases of a fine-tuning: what is trained in which epochs, and how fast."""

from dataclasses import dataclass

import keras

from ..zoo import info
from ..zoo.errors import CanonError
from ..zoo.feature_maps import feature_layer
from ..zoo.model import Model
from .transfer_section import TransferSection

HEAD = "logits"


@dataclass(frozen=True)
class Phase:
    """A part of a fine-tuning.

    Args:
        name: of its folder and row in the report.
        epochs: at most.
        from_: first layer that is trained; "logits" for the head alone, None for all layers.
    """

    name: str
    epochs: int
    from_: str | None


def phases(section: TransferSection, epochs: int, features: list[str]) -> tuple[Phase, ...]:
    """Return the phases of a run.

    Args:
        section: `[transfer]` with nothing left out.
        epochs: of the run.
        features: names of the stages of the network, the lowest first.

    Raises:
        CanonError: when the epochs are too few for the head and one for each stage.
    """
    if section.method in ("full", "scratch"):
        return (Phase(section.method, epochs, None),)
    if section.method in ("probe", "lora"):  # what else "lora" trains was thawed when it was added
        return (Phase(section.method, epochs, HEAD),)
    head_epochs, stages = section.head_epochs or 1, min(section.stages or 1, max(len(features), 1))
    left = epochs - head_epochs
    if left < stages:
        raise CanonError(
            f"train.epochs is {epochs}, too few for {head_epochs} of the head and at least one for each of {stages} stages: raise it, or "
            "lower transfer.head_epochs or transfer.stages."
        )
    found = [Phase("head", head_epochs, HEAD)]
    for stage in range(1, stages + 1):
        share = left * stage // stages - left * (stage - 1) // stages
        # the last stage is all of it, with what lies below the lowest feature
        first = None if stage == stages else features[len(features) - round(len(features) * stage / stages)]
        found.append(Phase(f"from_{first}" if first else "all", share, first))
    return tuple(found)


def stage_names(model: Model) -> list[str]:
    """Return the stages of a network by the names of its feature maps, the lowest first."""
    return list(info(model.record.variant).features)


def backbone_rates(model: Model, section: TransferSection) -> dict[str, float]:
    """Return the factor of the learning rate of each layer of the backbone, as `with_layer_rates` takes them.

    f = backbone_rate layer_decay^d      (1)

    with d the number of stages between the layer's and the last one (Howard and Ruder, 2018, section 3.2, by stage instead of layer).

    Args:
        model: with a head.
        section: `[transfer]` with nothing left out.
    """
    if section.method == "scratch":
        return {}
    layers = model.layers
    ends = [layers.index(feature_layer(model, name)) for name in stage_names(model)]
    rates = {}
    for position, layer in enumerate(layers):
        if not layer.weights or is_head(layer):
            continue
        below = sum(position > end for end in ends[:-1]) if ends else 0
        distance = max(len(ends) - 1, 0) - below
        rates[f"/{layer.name}"] = (section.backbone_rate or 1.0) * (section.layer_decay or 1.0) ** distance
    return rates


def is_head(layer: keras.layers.Layer) -> bool:
    """Return whether a layer is the head, or an auxiliary one, which has a layer of that name inside."""
    return any(inner.name == HEAD for inner in layer._flatten_layers())
