"""A frozen graph without its weights, for what its shapes alone say."""

import tensorflow as tf
from tensorflow.core.framework import graph_pb2

_SMALL = 64  # elements of a constant that may say a size


def without_weights(graph: graph_pb2.GraphDef) -> graph_pb2.GraphDef:
    """Return the graph with placeholders where large constants were: their shapes are enough, and copying them takes seconds."""
    light = graph_pb2.GraphDef(versions=graph.versions, library=graph.library)
    for node in graph.node:
        shape = tf.TensorShape(node.attr["value"].tensor.tensor_shape) if node.op == "Const" else tf.TensorShape(())
        if shape.num_elements() <= _SMALL:
            light.node.add().CopyFrom(node)
            continue
        stand_in = light.node.add(name=node.name, op="Placeholder")
        stand_in.attr["dtype"].CopyFrom(node.attr["dtype"])
        stand_in.attr["shape"].shape.CopyFrom(shape.as_proto())
    return light
