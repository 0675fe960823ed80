"""Sizes of a model; multiply-adds are counted on the TensorFlow graph, so that every layer counts without a rule of its own."""

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import keras
import tensorflow as tf

from .registry import create, info

_PRODUCTS = {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"}
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_LOOPS = {"While", "StatelessWhile"}
_CONVOLUTIONS = {"Conv2D", "Conv3D", "DepthwiseConv2dNative"}


@dataclass(frozen=True)
class Complexity:
    """Sizes of a network.

    Args:
        trainable_parameters: numbers that training moves.
        multiply_adds: of one forward pass over one example.
    """

    trainable_parameters: int
    multiply_adds: int


def measure(
    name: str,
    *,
    num_classes: int | None = None,
    input_shape: tuple[int, ...] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Complexity:
    """Count the sizes of a variant without allocating its weights, so that the largest costs no memory.

    Args:
        name, num_classes, input_shape, overrides: as for `zoo.create`; None for the paper's. Axes of any length have the length that
            the row names in `steps`.
    """

    def count() -> Complexity:
        with keras.StatelessScope(initialize_variables=False):
            model = create(name, num_classes=num_classes, input_shape=input_shape, overrides=overrides)
            trainable = sum(math.prod(weight.shape) for weight in model.trainable_weights)
            return Complexity(trainable, multiply_adds(model, steps=info(name).steps))

    # Keras keeps a list of variables without values by thread, and would give them all values at the thread's next symbolic call
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(count).result()


def multiply_adds(model: keras.Model, input_shape: tuple[int, ...] | None = None, *, steps: int = 0) -> int:
    """Count the multiply-adds of convolutions and matrix products in one forward pass over one example.

    Additions of biases, normalisation, activations and pooling are left out, as papers leave them out. Products inside a loop over
    the steps of a sequence count once for each step.

    Args:
        model: a model with one or several inputs.
        input_shape: shape without the batch axis of the one input; None for the model's own.
        steps: length for every input axis that may have any length; 0 when there is none.

    Returns:
        the number of multiply-adds.

    Raises:
        ValueError: when an axis of the input is unknown and `steps` does not name it, when `input_shape` is given for a model with
            several inputs, or when a loop runs a number of times that its graph does not tell and `steps` does not name.
    """
    if input_shape is not None and len(model.inputs) > 1:
        raise ValueError(f"input_shape is for a model with one input, and this one has {len(model.inputs)}: name steps instead.")
    shapes = [tuple(tensor.shape[1:]) for tensor in model.inputs] if input_shape is None else [tuple(input_shape)]
    shapes = [tuple(size or steps for size in shape) for shape in shapes]
    if any(0 in shape for shape in shapes):
        raise ValueError(f"input_shape must name every axis to count multiply-adds, got {shapes}: name it, or steps.")
    specs = [tf.TensorSpec((1, *shape), tensor.dtype) for shape, tensor in zip(shapes, model.inputs, strict=True)]

    def run(*tensors):
        return model(keras.tree.pack_sequence_as(model.input, list(tensors)), training=False)

    graph = tf.function(run, autograph=False).get_concrete_function(*specs).graph
    return _count_graph(graph, steps)


def _count_graph(graph, steps: int) -> int:
    """Count a graph, and the functions called inside it, such as those of tf.custom_gradient and the bodies of loops."""
    total = 0
    for operation in _needed(graph):
        total += _count(operation)
        if operation.type in _CALLS:
            total += _count_graph(_function(graph, operation.get_attr("f")), steps)
        elif operation.type in _LOOPS:
            products = _count_graph(_function(graph, operation.get_attr("body")), steps)
            total += products * _times(operation, steps) if products else 0
    return total


def _needed(graph) -> set[tf.Operation]:
    """Return the operations that the outputs of a graph depend on; the others are not run."""
    found, waiting = set(), [tensor.op for tensor in graph.outputs]
    while waiting:
        operation = waiting.pop()
        if operation not in found:
            found.add(operation)
            waiting += [tensor.op for tensor in operation.inputs]
    return found


def _function(graph, name):
    return graph._get_function(name.name).graph


def _times(loop: tf.Operation, steps: int) -> int:
    """Return how often a loop runs: at most as often as its second input says, which TensorFlow puts there, or else `steps`."""
    most = _static_value(loop.inputs[1])
    times = steps if most is None or most < 0 else int(most)
    if not times:
        raise ValueError(f"steps must say how often the loop {loop.name} runs to count its multiply-adds.")
    return times


def _static_value(scalar: tf.Tensor) -> int | None:
    """Return the value of a scalar that the graph computes from known shapes and constants, or None for any other."""
    try:
        with tf.compat.v1.Session(graph=scalar.graph) as session:
            return int(session.run(scalar))
    except tf.errors.InvalidArgumentError:  # it needs the value of an input
        return None


def _shape(tensor: tf.Tensor) -> list[int]:
    sizes = tensor.shape.as_list()
    if None in sizes:
        raise ValueError(f"every axis must be known to count multiply-adds, got {sizes} at {tensor.name}")
    return [size for size in sizes if size is not None]


def _count(operation: tf.Operation) -> int:
    if operation.type in _CONVOLUTIONS:
        kernel, output = _shape(operation.inputs[1]), _shape(operation.outputs[0])
        # every number of a kernel (height, width, in / groups, out) or (height, width, in, multiplier) is used once at each output position
        return math.prod(kernel) * math.prod(output[:-1])
    if operation.type in _PRODUCTS:
        return _count_product(operation)
    return 0


def _count_product(operation: tf.Operation) -> int:
    output = math.prod(_shape(operation.outputs[0]))
    left, right = (_shape(tensor) for tensor in operation.inputs[:2])
    if operation.type == "Einsum":
        terms, result = operation.get_attr("equation").decode().split("->")
        left_axes, rest = (_spelled(term, len(shape)) for term, shape in zip(terms.split(","), (left, right), strict=True))
        result = _spelled(result, len(operation.outputs[0].shape))
        sizes = dict(zip(left_axes, left, strict=True)) | dict(zip(rest, right, strict=True))
        return output * math.prod(size for axis, size in sizes.items() if axis not in result)
    transposed = operation.get_attr("transpose_a" if operation.type == "MatMul" else "adj_x")
    return output * (left[-2] if transposed else left[-1])


def _spelled(axes: str, rank: int) -> str:
    """Return the axes of one term of an equation with capital letters in place of an ellipsis, the last one Z; Keras writes small ones."""
    before, ellipsis, after = axes.partition("...")
    hidden = rank - len(before) - len(after) if ellipsis else 0
    return before + ascii_uppercase[len(ascii_uppercase) - hidden :] + after
