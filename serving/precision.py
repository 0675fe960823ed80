"""Lower precision inside a frozen graph."""

import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from ..zoo.errors import CanonError
from .folding import remove_identities
from .freezing import Core, fold_constants


def to_bfloat16(core: Core, name: str) -> Core:
    """Compute in bfloat16 where that is safe: convolutions and products in it, sums over many values and softmax in float32.

    TensorFlow's own graph optimizer decides, once, at export (`auto_mixed_precision_onednn_bfloat16`); its casts are plain ops of
    the result, and the weights are stored in bfloat16, so no server needs an option.

    Args:
        core: the float32 core; inputs and outputs keep their types.
        name: of the model, for the error.

    Raises:
        CanonError: when the optimizer changed nothing: this CPU has no bfloat16, or the model has no product to speed up.
    """
    lowered = fold_constants(core, bfloat16=True)
    if not any(node.op == "Cast" and node.attr["DstT"].type == types_pb2.DT_BFLOAT16 for node in lowered.graph.node):
        raise CanonError(
            f"Model {name!r} cannot be exported in bfloat16 on this machine: TensorFlow lowers products of float32 only on a CPU with "
            "AVX-512 and oneDNN switched on (TF_ENABLE_ONEDNN_OPTS=1)."
        )
    ends = {tensor.split(":")[0] for tensor in core.inputs}, {tensor.split(":")[0] for tensor in core.outputs}
    for node in lowered.graph.node:
        if node.op == "Const" and node.attr["value"].tensor.half_val:
            _store_as_bytes(node.attr["value"].tensor)
    return Core(remove_identities(lowered.graph, *ends), core.inputs, core.outputs)


def _store_as_bytes(tensor: tensor_pb2.TensorProto) -> None:
    """Store 16-bit numbers as two bytes each: the optimizer writes them as whole numbers of up to three."""
    content = tf.make_ndarray(tensor).tobytes()
    tensor.ClearField("half_val")
    tensor.tensor_content = content
