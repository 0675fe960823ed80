"""Lower precision inside a frozen graph."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, tensor_pb2, types_pb2

from ..zoo.errors import CanonError
from .folding import remove_identities
from .freezing import Core, fold_constants

_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
_GRAPH, _ENDS, _LOWERED = "graph.pb", "ends.json", "lowered.pb"


def to_bfloat16(core: Core, name: str) -> Core:
    """Compute in bfloat16 where that is safe: convolutions and products in it, sums over many values and softmax in float32.

    TensorFlow's own graph optimizer decides, once, at export (`auto_mixed_precision_onednn_bfloat16`); its casts are plain ops of
    the result, and the weights are stored in bfloat16, so no server needs an option. It belongs to oneDNN, which TensorFlow leaves off on
    processors without AVX-512; there another process, in which it is on, does the work. Such processors answer from the bundle too, but
    slower than from one in float32.

    Args:
        core: the float32 core; inputs and outputs keep their types.
        name: of the model, for the error.

    Raises:
        CanonError: when the optimizer changed nothing: this TensorFlow has no oneDNN, or the model no product to speed up.
    """
    lowered = fold_constants(core, bfloat16=True)
    if not _computes_in_bfloat16(lowered) and os.environ.get(_ONEDNN) != "1":
        lowered = _lowered_beside(core) or lowered
    if not _computes_in_bfloat16(lowered):
        raise CanonError(
            f"Model {name!r} cannot be exported in bfloat16 on this machine: it has no product that TensorFlow would lower, or TensorFlow "
            "has no oneDNN here, which it has on x86-64; export in float32."
        )
    ends = {tensor.split(":")[0] for tensor in core.inputs}, {tensor.split(":")[0] for tensor in core.outputs}
    for node in lowered.graph.node:
        if node.op == "Const" and node.attr["value"].tensor.half_val:
            _store_as_bytes(node.attr["value"].tensor)
    return Core(remove_identities(lowered.graph, *ends), core.inputs, core.outputs)


def _computes_in_bfloat16(core: Core) -> bool:
    return any(node.op == "Cast" and node.attr["DstT"].type == types_pb2.DT_BFLOAT16 for node in core.graph.node)


def _lowered_beside(core: Core) -> Core | None:
    """Return the core in bfloat16 from a process in which oneDNN is on; None when it fails."""
    with tempfile.TemporaryDirectory(prefix="canon-bfloat16-") as name:
        folder = Path(name)
        (folder / _GRAPH).write_bytes(core.graph.SerializeToString())
        (folder / _ENDS).write_text(json.dumps([core.inputs, core.outputs]), encoding="utf-8")
        command = [sys.executable, "-m", __name__, str(folder)]
        environment = {**os.environ, _ONEDNN: "1", "CUDA_VISIBLE_DEVICES": "-1"}
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        if done.returncode or not (folder / _LOWERED).is_file():
            return None
        return Core(graph_pb2.GraphDef.FromString((folder / _LOWERED).read_bytes()), core.inputs, core.outputs)


def _lower_in(folder: Path) -> None:
    """Do in this process what `_lowered_beside` asked for."""
    inputs, outputs = json.loads((folder / _ENDS).read_text(encoding="utf-8"))
    core = Core(graph_pb2.GraphDef.FromString((folder / _GRAPH).read_bytes()), tuple(inputs), tuple(outputs))
    (folder / _LOWERED).write_bytes(fold_constants(core, bfloat16=True).graph.SerializeToString())


def _store_as_bytes(tensor: tensor_pb2.TensorProto) -> None:
    """Store 16-bit numbers as two bytes each: the optimizer writes them as whole numbers of up to three."""
    content = tf.make_ndarray(tensor).tobytes()
    tensor.ClearField("half_val")
    tensor.tensor_content = content


if __name__ == "__main__":
    _lower_in(Path(sys.argv[1]))
