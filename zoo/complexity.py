"""Sizes of a model; multiply-adds are counted on the TensorFlow graph, so that every layer counts without a rule of its own."""

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from .registry import create

_PRODUCTS = {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"}
_CONVOLUTIONS = {"Conv2D", "Conv3D", "DepthwiseConv2dNative"}


@dataclass(frozen=True)
class Complexity:
    """Sizes of a network: trainable parameters, and multiply-adds of one forward pass over one example."""

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
        name, num_classes, input_shape, overrides: as for `zoo.create`; None for the paper's.
    """

    def count() -> Complexity:
        with keras.StatelessScope(initialize_variables=False):
            model = create(name, num_classes=num_classes, input_shape=input_shape, overrides=overrides)
            trainable = sum(math.prod(weight.shape) for weight in model.trainable_weights)
            return Complexity(trainable, multiply_adds(model))

    # Keras keeps a list of variables without values by thread, and would give them all values at the thread's next symbolic call
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(count).result()


def multiply_adds(model: keras.Model, input_shape: tuple[int, ...] | None = None) -> int:
    """Count the multiply-adds of convolutions and matrix products in one forward pass over one example.

    Additions of biases, normalisation, activations and pooling are left out, as papers leave them out.

    Args:
        model: a model with one input.
        input_shape: shape without the batch axis; needed when the model's own has unknown axes.

    Returns:
        the number of multiply-adds.

    Raises:
        ValueError: when an axis of the input is unknown.
    """
    shape = tuple(model.input_shape[1:] if input_shape is None else input_shape)
    if None in shape:
        raise ValueError(f"input_shape must name every axis to count multiply-adds, got {shape}.")
    dtype = model.inputs[0].dtype
    function = tf.function(lambda inputs: model(inputs, training=False), autograph=False)
    graph = function.get_concrete_function(tf.TensorSpec((1, *shape), dtype)).graph
    return sum(_count(operation) for operation in _operations(graph))


def _operations(graph) -> Iterator[tf.Operation]:
    yield from graph.get_operations()
    # functions called inside, such as those of tf.custom_gradient
    for name in {op.get_attr("f").name for op in graph.get_operations() if op.type in ("PartitionedCall", "StatefulPartitionedCall")}:
        yield from _operations(graph._get_function(name).graph)


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
        left_axes, rest = operation.get_attr("equation").decode().split("->")[0].split(",")
        result = operation.get_attr("equation").decode().split("->")[1]
        sizes = dict(zip(left_axes, left, strict=True)) | dict(zip(rest, right, strict=True))
        return output * math.prod(size for axis, size in sizes.items() if axis not in result)
    transposed = operation.get_attr("transpose_a" if operation.type == "MatMul" else "adj_x")
    return output * (left[-2] if transposed else left[-1])
