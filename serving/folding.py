"""Rewriting of a frozen graph: identities away, and batch norm (any per-channel scale and shift) into the convolution before it."""

from collections import defaultdict
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

_IDENTITIES = {"Identity", "IdentityN", "Snapshot", "StopGradient", "PreventGradient"}


@dataclass(frozen=True)
class _Linear:
    """An op that is linear in its weights.

    Args:
        rank: of its output; the channels are the last axis.
        weights: position of the weights among its inputs.
        channel_axes: axes of the weights whose product is the output's channels.
    """

    rank: int
    weights: int
    channel_axes: tuple[int, ...]


_LINEAR = {
    "Conv2D": _Linear(4, 1, (3,)),  # (height, width, in / groups, out)
    "Conv3D": _Linear(5, 1, (4,)),
    "DepthwiseConv2dNative": _Linear(4, 1, (2, 3)),  # (height, width, in, multiplier)
    "Conv2DBackpropInput": _Linear(4, 1, (2,)),  # (height, width, out, in)
    "MatMul": _Linear(2, 1, (1,)),
}


def remove_identities(graph: GraphDef, inputs: Set[str], outputs: Set[str]) -> GraphDef:
    """Connect around the nodes that pass tensors on, and drop control inputs and what no output needs.

    A node that passes on carries the mark of a custom gradient, and keeps the runtime from fusing its neighbours. What is computed
    has no side effects, so control inputs order nothing.
    """
    nodes = {node.name: node for node in graph.node}
    passed = {name: node for name, node in nodes.items() if node.op in _IDENTITIES and name not in outputs}

    def source(tensor: str) -> str:
        name, index = split(tensor)
        while name in passed:
            name, index = split(passed[name].input[index])
        return name if index == 0 else f"{name}:{index}"

    result = []
    for node in graph.node:
        if node.name not in passed:
            copy = NodeDef()
            copy.CopyFrom(node)
            copy.ClearField("input")
            copy.input.extend(source(tensor) for tensor in node.input if not tensor.startswith("^"))
            result.append(copy)
    return needed(result, graph, inputs | outputs)


def needed(nodes: list[NodeDef], graph: GraphDef, ends: Set[str]) -> GraphDef:
    """Return a graph of the nodes that the ends depend on, with the library and versions of `graph`."""
    by_name = {node.name: node for node in nodes}
    kept: set[str] = set()
    waiting = [name for name in ends if name in by_name]
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept.add(name)
            waiting.extend(split(tensor)[0] for tensor in by_name[name].input)
    return GraphDef(node=[node for node in nodes if node.name in kept], library=graph.library, versions=graph.versions)


def split(tensor: str) -> tuple[str, int]:
    """Return node and position of a tensor as a NodeDef names it: "node" is its first output, "node:1" its second."""
    name, _, index = tensor.lstrip("^").partition(":")
    return name, int(index or 0)


def fold_batch_norms(graph: GraphDef, inputs: Set[str], outputs: Set[str]) -> GraphDef:
    r"""Fold constant scales and shifts into the weights and one bias of the linear op before them.

    Batch norm at inference is, per channel $c$ of the output of a linear op with weights $W$,

    $$ s_c \, (W_c * x) + t_c, \quad s = \gamma / \sqrt{\sigma^2 + \epsilon}, \quad t = \beta - s \mu \tag{1} $$

    and $s_c (W_c * x) = (s_c W_c) * x$. Where something else reads the output of the linear op too, or batch norm comes first (its
    shift would meet the padding), nothing is changed.

    Args:
        graph: a frozen graph after constant folding, without identities.
        inputs: names of the nodes that are fed.
        outputs: names of the nodes that are fetched.

    Returns:
        the new graph.
    """
    folding = _Folding(graph, outputs)
    for node in graph.node:
        folding.fold(node)
    return needed(list(folding.nodes.values()), graph, inputs | outputs)


def _channels_last(node: NodeDef) -> bool:
    # asking a NodeDef for an attribute that it lacks would add it
    return "data_format" not in node.attr or node.attr["data_format"].s in (b"NHWC", b"NDHWC")


class _Folding:
    """The graph while it is rewritten.

    Args:
        graph: the graph before.
        outputs: names of the nodes that must stay what they are.
    """

    def __init__(self, graph: GraphDef, outputs: Set[str]):
        self.nodes = {node.name: node for node in graph.node}
        self._readers: dict[str, list[NodeDef]] = defaultdict(list)
        self._outputs = outputs
        for node in graph.node:
            for tensor in node.input:
                self._readers[split(tensor)[0]].append(node)

    def fold(self, node: NodeDef) -> None:
        """Fold what follows a linear op into it."""
        linear = _LINEAR.get(node.op)
        if linear is None or not _channels_last(node) or ("transpose_b" in node.attr and node.attr["transpose_b"].b):
            return
        weights = self._constant(node.input[linear.weights])
        if weights is None or weights.dtype.kind != "f":
            return
        channels = int(np.prod([weights.shape[axis] for axis in linear.channel_axes]))
        scale, shift = np.ones(channels), np.zeros(channels)
        carrier = self._after_dilation(node)
        last, steps = carrier, []
        while (step := self._step(last, channels, linear.rank)) is not None:
            last, factor, offset = step
            scale, shift = scale * factor, shift * factor + offset
            steps.append(last.op)
        if not steps or steps == ["BiasAdd"]:
            return
        shape = [size if axis in linear.channel_axes else 1 for axis, size in enumerate(weights.shape)]
        self._replace_weights(node, linear, weights * scale.reshape(shape))
        self._replace_bias(node, carrier, last, shift)

    def _after_dilation(self, node: NodeDef) -> NodeDef:
        """Return the node that brings the output of a dilated convolution back into order (it moves values only), else the node."""
        readers = self._readers[node.name]
        moved = len(readers) == 1 and readers[0].op == "BatchToSpaceND" and node.name not in self._outputs
        return readers[0] if moved else node

    def _step(self, node: NodeDef, channels: int, rank: int) -> tuple[NodeDef, np.ndarray | float, np.ndarray | float] | None:
        """Return the one node that reads `node`, if it scales or shifts by channel, with its factor and offset."""
        readers = self._readers[node.name]
        if len(readers) != 1 or node.name in self._outputs:
            return None
        reader = readers[0]
        if reader.op not in ("Mul", "Add", "AddV2", "BiasAdd", "Sub") or not _channels_last(reader):
            return None
        position = 0 if split(reader.input[0])[0] == node.name else 1
        if position == 1 and reader.op in ("Sub", "BiasAdd"):
            return None
        value = self._constant(reader.input[1 - position])
        if value is None or value.ndim > rank or value.size not in (1, channels) or (value.size > 1 and value.shape[-1] != channels):
            return None
        value = value.reshape(-1).astype("float64")
        if reader.op == "Mul":
            return reader, value, 0.0
        return reader, 1.0, -value if reader.op == "Sub" else value

    def _constant(self, tensor: str) -> np.ndarray | None:
        node = self.nodes.get(split(tensor)[0])
        return tf.make_ndarray(node.attr["value"].tensor) if node is not None and node.op == "Const" else None

    def _replace_weights(self, node: NodeDef, linear: _Linear, weights: np.ndarray) -> None:
        changed = NodeDef()
        changed.CopyFrom(node)
        changed.input[linear.weights] = self._add_constant(f"{node.name}/folded_weights", weights, node.attr["T"].type)
        self.nodes[node.name] = changed

    def _replace_bias(self, node: NodeDef, carrier: NodeDef, last: NodeDef, shift: np.ndarray) -> None:
        """Write one bias under the name of the last node of the chain, so that its readers need no change."""
        dtype = node.attr["T"].type
        bias = NodeDef(name=last.name, op="BiasAdd", input=[carrier.name, self._add_constant(f"{node.name}/folded_bias", shift, dtype)])
        bias.attr["T"].type = dtype
        bias.attr["data_format"].s = b"NHWC"
        self.nodes[last.name] = bias

    def _add_constant(self, name: str, value: np.ndarray, dtype: Any) -> str:
        array = value.astype(tf.as_dtype(dtype).as_numpy_dtype)
        constant = NodeDef(name=name, op="Const")
        constant.attr["dtype"].type = dtype
        constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(array))
        self.nodes[name] = constant
        return name
