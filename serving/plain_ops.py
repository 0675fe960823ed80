"""Ops that other runtimes lack, written with ops that they have."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

from .freezing import Core


def in_plain_ops(core: Core, *, litert: bool) -> Core:
    """Return the core with new axes as `ExpandDims`, a reshape of a reshape as one and, but for LiteRT, erfc(x) as 1 - erf(x) and
    squares as powers.

    `x[:, None]` is a `StridedSlice`, which LiteRT lacks for booleans, so for masks. tf2onnx 1.17 joins two reshapes wrongly where the
    second keeps axes of the first. `Erfc` comes with GELU: LiteRT knows the pattern as an op of its own, and ONNX has only `Erf`. The
    bundle itself keeps `Erfc`, which is the more exact far from zero. tf2onnx makes a square the product of a tensor with itself
    and takes that for channels-last where it is not, which is wrong for maps of 1 x 1 pixels.

    Args:
        core: a frozen graph.
        litert: True for LiteRT.
    """
    result = GraphDef()
    result.CopyFrom(core.graph)
    nodes = {node.name: node for node in result.node}

    def value(tensor: str) -> np.ndarray | None:
        node = nodes[tensor.split(":")[0]]
        return tf.make_ndarray(node.attr["value"].tensor) if node.op == "Const" else None

    for node in list(result.node):
        if node.op == "Erfc" and not litert:
            _subtract_erf(node, result)
        elif node.op in ("Square", "SquaredDifference") and not litert:
            _square(node, result)
        elif node.op == "StridedSlice":
            _expand(node, result, value)
        elif node.op == "Reshape":
            while nodes[node.input[0].split(":")[0]].op == "Reshape":
                node.input[0] = nodes[node.input[0].split(":")[0]].input[0]
    return Core(result, core.inputs, core.outputs)


def _subtract_erf(node: NodeDef, graph: GraphDef) -> None:
    dtype = tf.as_dtype(node.attr["T"].type)
    one = _constant(graph, f"{node.name}/one", np.ones((), dtype.as_numpy_dtype))
    erf = graph.node.add(name=f"{node.name}/erf", op="Erf", input=node.input)
    erf.attr["T"].type = dtype.as_datatype_enum
    node.op, node.input[:] = "Sub", [one, erf.name]


def _square(node: NodeDef, graph: GraphDef) -> None:
    dtype = node.attr["T"].type
    two = _constant(graph, f"{node.name}/two", np.array(2, tf.as_dtype(dtype).as_numpy_dtype))
    base = node.input[0]
    if node.op == "SquaredDifference":
        difference = graph.node.add(name=f"{node.name}/difference", op="Sub", input=node.input)
        difference.attr["T"].type = dtype
        base = difference.name
    node.op, node.input[:] = "Pow", [base, two]


def _expand(node: NodeDef, graph: GraphDef, value: Callable[[str], np.ndarray | None]) -> None:
    """Turn a slice that takes everything and adds axes into `ExpandDims`, one for each."""
    strides = value(node.input[3])
    masks = {name: node.attr[f"{name}_mask"].i for name in ("begin", "end", "new_axis", "ellipsis", "shrink_axis")}
    taken = masks["begin"] & masks["end"] | masks["ellipsis"]
    if strides is None or masks["shrink_axis"]:
        return
    added = [position for position in range(len(strides)) if masks["new_axis"] >> position & 1]
    others = [position for position in range(len(strides)) if position not in added]
    if not added or any(strides[position] != 1 or not taken >> position & 1 for position in others):
        return
    if masks["ellipsis"] and masks["ellipsis"] < masks["new_axis"]:  # counted from the end then
        if len(added) > 1:
            return
        added = [added[0] - len(strides)]
    dtype, tensor = node.attr["T"].type, node.input[0]
    for axis in added[:-1]:
        one = graph.node.add(name=f"{node.name}/axis_{axis}", op="ExpandDims", input=[tensor, _axis(node, graph, axis)])
        one.attr["T"].type, one.attr["Tdim"].type = dtype, tf.int32.as_datatype_enum
        tensor = one.name
    node.op, node.input[:] = "ExpandDims", [tensor, _axis(node, graph, added[-1])]
    node.attr.clear()
    node.attr["T"].type, node.attr["Tdim"].type = dtype, tf.int32.as_datatype_enum


def _axis(node: NodeDef, graph: GraphDef, axis: int) -> str:
    return _constant(graph, f"{node.name}/place_{axis}".replace("-", "last_"), np.array(axis, "int32"))


def _constant(graph: GraphDef, name: str, array: np.ndarray) -> str:
    node = graph.node.add(name=name, op="Const")
    node.attr["dtype"].type = tf.as_dtype(array.dtype).as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(array))
    return node.name
