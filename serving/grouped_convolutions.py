"""Biases of grouped convolutions, in the form in which TensorFlow computes them on every processor."""

from collections.abc import Iterator

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef

from .light_graph import without_weights


def with_plain_biases(graph: GraphDef) -> GraphDef:
    """Return the graph with AddV2 in the place of each BiasAdd behind a grouped convolution.

    Where it runs without oneDNN, as it does by itself on processors without AVX-512, TensorFlow fuses a convolution with the BiasAdd
    behind it into a kernel that refuses groups; it fuses an AddV2 with oneDNN alone, whose kernel takes them.

    Args:
        graph: a frozen graph, channels last.
    """
    biases = set(_biases_of_groups(graph))
    if not biases:
        return graph
    result = GraphDef()
    result.CopyFrom(graph)
    for node in result.node:
        if node.name in biases:
            node.op = "AddV2"
            del node.attr["data_format"]
    return result


def _biases_of_groups(graph: GraphDef) -> Iterator[str]:
    if not any(node.op == "Conv2D" for node in graph.node):
        return
    with tf.Graph().as_default() as placed:
        tf.graph_util.import_graph_def(without_weights(graph), name="")
    for operation in placed.get_operations():
        if operation.type != "Conv2D":
            continue
        given, weights = (tensor.shape for tensor in operation.inputs)  # (B, H, W, in), (height, width, in / groups, out)
        if given.rank == weights.rank == 4 and None not in (given[-1], weights[2]) and given[-1] != weights[2]:
            yield from (reader.name for tensor in _in_order(operation) for reader in tensor.consumers() if reader.type == "BiasAdd")


def _in_order(convolution: tf.Operation) -> list[tf.Tensor]:
    """Return the output of a convolution, and of what brings it back into order when it is dilated."""
    (found,) = convolution.outputs
    return [found, *(reader.outputs[0] for reader in found.consumers() if reader.type == "BatchToSpaceND")]
