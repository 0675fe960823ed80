"""The `[transfer]` section of a recipe; reading it needs no TensorFlow."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

RANK = 8  # of "lora"
Method = Literal["staged", "full", "probe", "lora", "scratch"]


@dataclass(frozen=True)
class TransferSection:
    """`[transfer]`: a run that starts from trained weights and a new head. Left out, a run starts from random weights.

    The epochs of `[train]` are shared out to phases. `staged` trains the head alone at first, then the network from its last stage
    on, then from further and further down; `full` trains all of it at once; `probe` the head only; `lora` the head and matrices of
    low rank beside the attention projections of a Transformer, which are merged into it at the end (Hu et al. 2021). Each phase runs
    through the schedule once, ends early by `train.patience`, and hands the best weights so far to the next. The head has the rate
    of `[optimizer]`; the backbone's is lower and goes down stage by stage.

    A run on sequences takes `weights` and `sha256` alone: what the network shares with that of the weights is loaded by name, and all
    of it is trained at the rate of `[optimizer]`, in one phase.

    Args:
        weights: where the weights come from: a tag of published weights such as "imagenet", the folder of a run, a .keras,
            .weights.h5, .h5 or .safetensors file, or "hf:OWNER/NAME" (or "hf:OWNER/NAME/FILE") on the Hugging Face hub.
        sha256: of the file, which must not change; left out, any file will do.
        method: how; left out, "staged". "scratch" takes no weights, to compare with.
        head_epochs: epochs of the head alone in "staged"; left out, a quarter.
        stages: steps in which "staged" thaws the backbone from the top, the last of them all of it; left out, 3.
        lora_rank: rank of the matrices of "lora"; left out, 8.
        backbone_rate: factor of the learning rate for the last stage of the backbone; left out, 0.1, and 1 for "lora".
        layer_decay: factor from each stage to the one below; left out, 0.5, and 1 for "lora".
        keep_batch_norm_frozen: False to let batch normalisation of the backbone follow the new data; left out, True.
        dropout: rate of a dropout before the head; left out, none is added.
        compare: True to train the same network as a linear probe and from scratch too, on the same split, for the report.
    """

    weights: str | None = None
    sha256: str | None = None
    method: Method | None = None
    head_epochs: int | None = None
    stages: int | None = None
    lora_rank: int | None = None
    backbone_rate: float | None = None
    layer_decay: float | None = None
    keep_batch_norm_frozen: bool | None = None
    dropout: float | None = None
    compare: bool | None = None

    def __post_init__(self):
        if self.method == "scratch" and (self.weights or self.sha256):
            raise ValueError("the method 'scratch' takes no weights: leave them out, or choose another method.")
        if not self.active and any(getattr(self, field.name) is not None for field in dataclasses.fields(self)):
            raise ValueError("the key 'weights' is missing: say where the weights come from, such as weights = \"imagenet\".")
        for key in ("head_epochs", "stages"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise ValueError(f"{key} must be at least 1, got {value}.")
            if value is not None and self.method not in (None, "staged"):
                raise ValueError(f"{key} does nothing to the method {self.method!r}: leave it out.")
        if self.lora_rank is not None and self.lora_rank < 1:
            raise ValueError(f"lora_rank must be at least 1, got {self.lora_rank}.")
        if self.lora_rank is not None and self.method != "lora":
            raise ValueError(f'lora_rank does nothing to the method {self.method or "staged"!r}: leave it out, or set method = "lora".')
        for key in ("backbone_rate", "layer_decay"):
            value = getattr(self, key)
            if value is not None and not 0.0 < value <= 1.0:
                raise ValueError(f"{key} must be above 0 and at most 1, got {value}.")
        if self.dropout is not None and not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}.")

    @property
    def active(self) -> bool:
        """True where a recipe transfers, or compares with those that do."""
        return self.weights is not None or self.method == "scratch"

    def filled(self, epochs: int) -> "TransferSection":
        """Return the section with all that was left out as it will be, for a run of so many epochs."""
        staged, lora = self.method in (None, "staged"), self.method == "lora"
        return dataclasses.replace(
            self,
            method=self.method or "staged",
            head_epochs=_or(self.head_epochs, max(1, epochs // 4)) if staged else None,
            stages=_or(self.stages, 3) if staged else None,
            lora_rank=_or(self.lora_rank, RANK) if lora else None,
            backbone_rate=_or(self.backbone_rate, 1.0 if lora else 0.1),
            layer_decay=_or(self.layer_decay, 1.0 if lora else 0.5),
            keep_batch_norm_frozen=_or(self.keep_batch_norm_frozen, True),
            dropout=_or(self.dropout, 0.0),
            compare=_or(self.compare, False),
        )


def _or(value, default):
    return default if value is None else value
