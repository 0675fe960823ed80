"""The core of a bundle: the model's arithmetic as one graph in which every weight is a constant, so that all signatures share one set."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, tensor_shape_pb2
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow.python.grappler import tf_optimizer

from .folding import fold_batch_norms, remove_identities
from .grouped_convolutions import with_plain_biases

MAX_FROZEN_BYTES = 1_500_000_000  # a graph is one protocol buffer, which cannot pass 2 GB

_ON, _OFF = rewriter_config_pb2.RewriterConfig.ON, rewriter_config_pb2.RewriterConfig.OFF
# Everything but constant folding is left to the runtime that loads the bundle: it knows its machine.
_LEFT_OUT = (
    "arithmetic_optimization",
    "auto_mixed_precision",
    "common_subgraph_elimination",
    "debug_stripper",
    "dependency_optimization",
    "function_optimization",
    "implementation_selector",
    "layout_optimizer",
    "loop_optimization",
    "pin_to_host_optimization",
    "remapping",
    "scoped_allocator_optimization",
    "shape_optimization",
)
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_COMPILED = "_XlaMustCompile"


@dataclass(frozen=True)
class Core:
    """A frozen graph.

    Args:
        graph: nodes and library; no variable, no resource.
        inputs: names of the tensors that are fed, in the order of the model's inputs.
        outputs: names of the tensors that are fetched, in the order of the outputs.
    """

    graph: graph_pb2.GraphDef
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def to_function(self) -> Any:
        """Return a concrete function that takes the inputs one by one and returns the list of outputs."""

        graph = _with_renamed_functions(self.graph)

        def place() -> None:
            tf.graph_util.import_graph_def(graph, name="")

        whole = tf.compat.v1.wrap_function(place, [])
        element = whole.graph.as_graph_element
        return whole.prune([element(name) for name in self.inputs], [element(name) for name in self.outputs])


def can_freeze(function: Any) -> bool:
    """Return whether a concrete function reads nothing but variables, writes none, and is small enough for one graph."""
    if reads_tables(function):
        return False
    nodes = list(function.graph.as_graph_def().node)
    if any(node.op.startswith("Assign") for node in nodes):
        return False
    return sum(variable.shape.num_elements() * variable.dtype.size for variable in function.variables) <= MAX_FROZEN_BYTES


def reads_tables(function: Any) -> bool:
    """Return whether a concrete function reads something that is no variable, such as a table of words."""
    variables = {id(variable.handle) for variable in function.variables}
    return any(tensor.dtype == tf.resource and id(tensor) not in variables for tensor in function.captured_inputs)


def freeze(function: Any) -> Core:
    """Turn the variables of a concrete function into constants, compute what depends on constants alone, and fold batch norm.

    Args:
        function: a concrete function that takes tensors and returns a list of tensors.

    Returns:
        the core, without identities, control inputs and custom gradients.
    """
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False, aggressive_inlining=True)
    inputs = tuple(tensor.name for tensor in frozen.inputs)
    graph, outputs = _with_named_outputs(frozen.graph.as_graph_def(), [tensor.name for tensor in frozen.outputs])
    _let_go_of_xla(graph)
    core = Core(remove_identities(graph, _nodes(inputs), _nodes(outputs)), inputs, outputs)
    core = fold_constants(core)
    graph = remove_identities(core.graph, _nodes(inputs), _nodes(outputs))
    return Core(with_plain_biases(fold_batch_norms(graph, _nodes(inputs), _nodes(outputs))), inputs, outputs)


def fold_constants(core: Core, *, bfloat16: bool = False) -> Core:
    """Run TensorFlow's graph optimizer: constant folding and, on request, oneDNN's automatic mixed precision."""
    config = config_pb2.ConfigProto()
    rewrite = config.graph_options.rewrite_options
    for name in _LEFT_OUT:
        setattr(rewrite, name, _OFF)
    rewrite.constant_folding = _ON
    rewrite.memory_optimization = rewriter_config_pb2.RewriterConfig.NO_MEM_OPT
    rewrite.min_graph_nodes = -1
    rewrite.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.TWO
    if any(node.op in _CALLS for node in core.graph.node):
        rewrite.function_optimization = rewriter_config_pb2.RewriterConfig.AGGRESSIVE
    if bfloat16:
        rewrite.auto_mixed_precision_onednn_bfloat16 = _ON
    unknown = tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
    item = meta_graph_pb2.MetaGraphDef(graph_def=core.graph)
    signature = item.signature_def["core"]
    nodes = {node.name: node for node in core.graph.node}
    for names, infos, attribute in ((core.inputs, signature.inputs, "dtype"), (core.outputs, signature.outputs, "T")):
        for name in names:
            node = nodes[name.split(":")[0]]
            infos[name].name = name
            infos[name].dtype = node.attr[attribute].type
            # without its rank an input is taken for a scalar
            infos[name].tensor_shape.CopyFrom(node.attr["shape"].shape if node.op == "Placeholder" else unknown)
    return Core(tf_optimizer.OptimizeGraph(config, item, verbose=False, graph_id=b"core"), core.inputs, core.outputs)


def _with_named_outputs(graph: graph_pb2.GraphDef, outputs: Sequence[str]) -> tuple[graph_pb2.GraphDef, tuple[str, ...]]:
    """Give every output a node of its own, so that two outputs of one node, or an input that is an output, can be told apart."""
    types = _types(graph, outputs)
    names = []
    for position, (tensor, dtype) in enumerate(zip(outputs, types, strict=True)):
        node = graph.node.add(name=f"core_output_{position}", op="Identity", input=[tensor])
        node.attr["T"].type = dtype.as_datatype_enum
        names.append(f"{node.name}:0")
    return graph, tuple(names)


def _with_renamed_functions(graph: graph_pb2.GraphDef) -> graph_pb2.GraphDef:
    """Name the functions (bodies of loops) by their content: the process may know others under the names they had."""
    result = graph_pb2.GraphDef()
    result.CopyFrom(graph)
    digest = hashlib.sha256(graph.library.SerializeToString(deterministic=True)).hexdigest()[:12]
    names = {function.signature.name: f"{function.signature.name}_{digest}" for function in result.library.function}
    bodies = [node for function in result.library.function for node in function.node_def]
    for function in result.library.function:
        function.signature.name = names[function.signature.name]
    for node in [*result.node, *bodies]:
        for value in node.attr.values():
            for called in [value.func] if value.HasField("func") else value.list.func:
                called.name = names.get(called.name, called.name)
        node.op = names.get(node.op, node.op)
    return result


def _let_go_of_xla(graph: graph_pb2.GraphDef) -> None:
    """Let calls that were to be compiled be inlined: TF Serving and other runtimes have no XLA.

    Keras compiles grouped convolutions on a CPU, where TensorFlow's own kernel needs it no longer.
    """
    for node in graph.node:
        node.attr.pop(_COMPILED, None)
    for function in graph.library.function:
        function.attr.pop(_COMPILED, None)
        for node in function.node_def:
            node.attr.pop(_COMPILED, None)


def _types(graph: graph_pb2.GraphDef, tensors: Sequence[str]) -> list[tf.DType]:
    with tf.Graph().as_default() as placed:
        tf.graph_util.import_graph_def(graph, name="")
        return [placed.get_tensor_by_name(name).dtype for name in tensors]


def _nodes(tensors: Sequence[str]) -> set[str]:
    return {name.split(":")[0] for name in tensors}
