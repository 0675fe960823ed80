"""What the families of residual networks share: the pooling after conv1, the places of the blocks, the head."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import keras

from ...layers import SpatialPooling2D
from ..initializers import FanInNormal


def first_pooling() -> keras.layers.Layer:
    """The 3 x 3 max pooling at stride 2 that opens conv2."""
    return SpatialPooling2D("max", 3, strides=2, padding="symmetric", name="conv2_pool")


@dataclass(frozen=True)
class Place:
    """Where a block stands: its stage and its number in it from 0, whether it is the last there, and its drop rate."""

    stage: int
    block: int
    last: bool
    stochastic_depth: float

    @property
    def name(self) -> str:
        """The paper's name of the stage and the number of the block from 1, such as `conv2_block1`."""
        return f"conv{self.stage + 2}_block{self.block + 1}"

    @property
    def first(self) -> bool:
        """Whether the block is the first of its stage."""
        return self.block == 0

    @property
    def strides(self) -> int:
        """2 in the first block of each stage but the first stage."""
        return 2 if self.first and self.stage > 0 else 1


def places(blocks_per_stage: Sequence[int], stochastic_depth: float) -> Iterator[Place]:
    """Yield the places of all blocks in order.

    Args:
        blocks_per_stage: number of blocks of each stage, at least 1.
        stochastic_depth: drop rate of the last block; the rates rise to it linearly.
    """
    if min(blocks_per_stage) < 1:
        raise ValueError(f"blocks_per_stage must be integers of at least 1, got {tuple(blocks_per_stage)}.")
    total, depth = sum(blocks_per_stage), 0
    for stage, blocks in enumerate(blocks_per_stage):
        for block in range(blocks):
            depth += 1
            yield Place(stage, block, block == blocks - 1, stochastic_depth * depth / total)


def check_stages(blocks_per_stage: Sequence[int], widths: Sequence[int]) -> None:
    """Raise unless there is one width for each stage."""
    if not widths or len(blocks_per_stage) != len(widths):
        raise ValueError(
            f"blocks_per_stage and widths must have one value for each stage, got {tuple(blocks_per_stage)} and {tuple(widths)}."
        )


def kernel_arguments(weight_decay: float) -> dict[str, Any]:
    """Return how all kernels start and are penalised.

    They start normal with variance 2 / fan-in and not cut off: He et al. 2015, "Delving deep into rectifiers", equation 10,
    arXiv:1502.01852.

    Args:
        weight_decay: factor of the L2 penalty; 0 for none.
    """
    return {
        "kernel_initializer": FanInNormal(),
        "kernel_regularizer": keras.regularizers.L2(weight_decay) if weight_decay else None,
    }


def head(x, num_classes: int, kernel: dict[str, Any], dropout: float = 0.0):
    """Average over the map, and end in `logits`; 0 classes end in the average, (B, channels)."""
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last", name="pool")(x)
    if not num_classes:
        return x
    if dropout:
        x = keras.layers.Dropout(dropout, name="head_dropout")(x)
    return keras.layers.Dense(num_classes, name="logits", **kernel)(x)
