"""The smallest image that a network takes whose image size is open: below it, TensorFlow's pooling ends the whole process."""

import dataclasses
from collections.abc import Callable, Sequence

import tensorflow as tf

from .freezing import Core
from .light_graph import without_weights

_LARGEST = 512  # rows or columns; a network that needs more is not looked into
_MAPS = 4  # dimensions of a batch of images or maps


def smallest_sizes(core: Core, specs: Sequence[tf.TensorSpec]) -> dict[str, tuple[int, int]]:
    """Return the least rows and columns of each image input, by TensorFlow's own inference of shapes.

    Args:
        core: a frozen network.
        specs: its inputs: (B, H, W, C) of images, with None where any length is taken.

    Returns:
        name -> rows and columns, where one is above 1. An axis of fixed length has 1, and so has one for which no size up to 512
        leaves elements in every map of the network.
    """
    found, core = {}, dataclasses.replace(core, graph=without_weights(core.graph))
    for place, spec in enumerate(specs):
        if spec.shape.rank != _MAPS or None not in spec.shape[1:3]:
            continue
        least = (_least(core, place, spec, 1), _least(core, place, spec, 2))
        if least != (1, 1):
            found[str(spec.name)] = least
    return found


def _least(core: Core, place: int, spec: tf.TensorSpec, axis: int) -> int:
    if spec.shape[axis] is not None:
        return 1
    sides = [1, *(size or _LARGEST for size in spec.shape[1:3]), spec.shape[3]]

    def fits(size: int) -> bool:
        return _has_elements(core, place, tf.TensorSpec([*sides[:axis], size, *sides[axis + 1 :]], spec.dtype))

    return 1 if fits(1) or not fits(_LARGEST) else _first(fits, 1, _LARGEST)


def _first(fits: Callable[[int], bool], no: int, yes: int) -> int:
    """Return the least size that fits, between one that does not and one that does."""
    while yes - no > 1:
        middle = (no + yes) // 2
        no, yes = (no, middle) if fits(middle) else (middle, yes)
    return yes


def _has_elements(core: Core, place: int, spec: tf.TensorSpec) -> bool:
    """Return whether no map of the network would be empty, or of negative size, for such an input."""
    with tf.Graph().as_default() as graph:
        given = tf.compat.v1.placeholder(spec.dtype, spec.shape)
        try:
            tf.graph_util.import_graph_def(core.graph, {core.inputs[place]: given}, name="")
        except ValueError:  # a size below 0
            return False
        maps = [tensor.shape for operation in graph.get_operations() if operation.type != "Const" for tensor in operation.outputs]
    return not any(shape.rank == _MAPS and 0 in shape.as_list() for shape in maps)
