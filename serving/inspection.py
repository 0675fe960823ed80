"""What a SavedModel holds, read from its file alone: nothing of it is run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from ..zoo.errors import CanonError
from .bundle import MANIFEST, Bundle, Manifest, Signature, TensorSpec, find_bundle, hash_files, read_bundle
from .versions import list_versions

GRAPH = "saved_model.pb"

# Ops that reach beyond the tensors they are given: files, processes, the network, or Python of the process.
_UNSAFE_NAMES = """
BigQueryReader CacheDataset CacheDatasetV2 CSVDataset CSVDatasetV2 CreateSummaryDbWriter CreateSummaryFileWriter DataServiceDataset
DataServiceDatasetV2 DataServiceDatasetV3 DataServiceDatasetV4 DatasetToTFRecord DebugIdentity DebugIdentityV2 DebugIdentityV3
DebugNanCount DebugNumericSummary DebugNumericSummaryV2 DistributedSave EagerPyFunc FileSystemSetConfiguration
FixedLengthRecordDataset FixedLengthRecordDatasetV2 FixedLengthRecordReader FixedLengthRecordReaderV2 GenerateVocabRemapping
IdentityReader IdentityReaderV2 ImportEvent InitializeTableFromTextFile InitializeTableFromTextFileV2 LMDBDataset LMDBReader
LoadAndRemapMatrix LoadDataset MatchingFiles MatchingFilesDataset MergeV2Checkpoints PrintV2 PyFunc PyFuncStateless ReadFile
RegisterDataset RegisterDatasetV2 RemoteCall RemoteFusedGraphExecute Restore RestoreSlice RestoreV2 Rpc RpcCall RpcClient RpcServer
RpcServerRegister RpcServerStart Save SaveDataset SaveDatasetV2 SaveSlices SaveV2 SnapshotDataset SnapshotDatasetReader
SnapshotDatasetV2 SnapshotNestedDatasetReader SqlDataset TFRecordDataset TFRecordDatasetV2 TFRecordReader TFRecordReaderV2
TextLineDataset TextLineReader TextLineReaderV2 TryRpc WholeFileReader WholeFileReaderV2 WriteFile
"""
_UNSAFE = frozenset(_UNSAFE_NAMES.split())
_EXPERIMENTAL = "Experimental"  # older names of the ops on data sets begin with it
# TensorFlow puts these into every SavedModel, for its own reading and writing of the variables.
_OF_THE_SAVER = frozenset({"MergeV2Checkpoints", "RestoreV2", "SaveV2"})


@dataclass(frozen=True)
class SavedModelContent:
    """What the graph file of a SavedModel says.

    Args:
        signatures: name -> inputs and outputs.
        ops: every kind of op, sorted.
        unsafe_ops: those of them that reach files, the network or Python, except where TensorFlow itself stores the variables.
    """

    signatures: dict[str, Signature]
    ops: tuple[str, ...]
    unsafe_ops: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """What `canon inspect` shows.

    Args:
        path: the version folder.
        manifest: what the bundle says about itself; None for a SavedModel from elsewhere.
        content: what its graph says.
        sizes: file -> bytes.
        hashes: file -> SHA-256.
    """

    path: Path
    manifest: Manifest | None
    content: SavedModelContent
    sizes: dict[str, int]
    hashes: dict[str, str]


def inspect(path: str | Path) -> Inspection:
    """Read what a bundle, or a SavedModel from elsewhere, holds; nothing of it is loaded or run.

    Args:
        path: NAME/VERSION, NAME/ for its newest version, or the folder of a SavedModel.

    Raises:
        CanonError: when there is none, or it is damaged.

    Example:
        >>> from keras_canon import serving
        >>> found = serving.inspect(folder / "lenet5")
        >>> found.content.unsafe_ops, "Conv2D" in found.content.ops
        ((), True)
    """
    folder = find_saved_model(Path(path))
    manifest = read_bundle(folder).manifest if (folder / MANIFEST).is_file() else None
    hashes = hash_files(folder)
    sizes = {name: (folder / name).stat().st_size for name in hashes}
    return Inspection(folder, manifest, read_saved_model(folder), sizes, hashes)


def find_saved_model(path: Path) -> Path:
    """Return the folder of the SavedModel that `path` means: itself, or the newest version in it."""
    if (path / GRAPH).is_file():
        return path
    versions = list_versions(path)
    newest = versions[max(versions)] if versions else None
    return newest if newest is not None and (newest / GRAPH).is_file() else find_bundle(path)


def foreign_bundle(folder: Path) -> Bundle:
    """Return a bundle for a SavedModel that came without a manifest: what its graph says takes the place of one."""
    content = read_saved_model(folder)
    if not content.signatures:
        raise CanonError(f"The SavedModel in {str(folder)!r} has no signatures, so it cannot be asked anything.")
    name = folder.resolve().parent.name if folder.name.isdigit() else folder.resolve().name
    manifest = Manifest(
        name=name,
        version=int(folder.name) if folder.name.isdigit() else 1,
        created="",
        model=name,
        parameters=0,
        record=None,
        preprocessing=None,
        signatures=content.signatures,
        ops=content.ops,
        files=hash_files(folder),
        versions={},
    )
    return Bundle(folder, manifest)


def check_safe(folder: Path) -> None:
    """Raise when a SavedModel has ops that reach files, the network or Python, or assets outside its folder."""
    unsafe = read_saved_model(folder).unsafe_ops
    if unsafe:
        raise CanonError(
            f"The SavedModel in {str(folder)!r} has ops that reach files, the network or Python ({', '.join(unsafe)}): "
            "if you trust where it comes from, serving.load takes it with allow_unsafe_ops=True; `canon serve` takes none such."
        )


def read_saved_model(folder: Path) -> SavedModelContent:
    """Read the graph file of a SavedModel.

    Raises:
        CanonError: when it is damaged, or its assets lie outside the folder.
    """
    path = folder / GRAPH
    try:
        saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    except (OSError, DecodeError) as error:
        raise CanonError(f"{str(path)!r} is not the graph of a SavedModel: copy it again or export the model again.") from error
    if not saved.meta_graphs:
        raise CanonError(f"{str(path)!r} holds no graph: copy it again or export the model again.")
    for graph in saved.meta_graphs:
        for asset in graph.asset_file_def:
            name = PurePosixPath(asset.filename.replace("\\", "/"))
            if name.is_absolute() or ".." in name.parts:
                raise CanonError(f"The SavedModel in {str(folder)!r} names an asset outside its folder, {asset.filename!r}: do not use it.")
    # TensorFlow adds a signature of its own for initialisation
    definitions = {key: value for key, value in saved.meta_graphs[0].signature_def.items() if not key.startswith("__")}
    return SavedModelContent(
        signatures={key: _signature(definitions[key]) for key in sorted(definitions)},
        ops=tuple(sorted({node.op for graph in saved.meta_graphs for node in _nodes(graph)})),
        unsafe_ops=tuple(sorted({op for graph in saved.meta_graphs for op in _unsafe_ops(graph)})),
    )


def _nodes(graph: meta_graph_pb2.MetaGraphDef) -> Iterable:
    yield from graph.graph_def.node
    for function in graph.graph_def.library.function:
        yield from function.node_def


def _unsafe_ops(graph: meta_graph_pb2.MetaGraphDef) -> set[str]:
    found = {node.op for node in graph.graph_def.node}
    saver = _saver_functions(graph)
    for function in graph.graph_def.library.function:
        ops = {node.op for node in function.node_def}
        found |= ops - _OF_THE_SAVER if function.signature.name in saver else ops
    return {op for op in found if op in _UNSAFE or (op.startswith(_EXPERIMENTAL) and op.removeprefix(_EXPERIMENTAL) in _UNSAFE)}


def _saver_functions(graph: meta_graph_pb2.MetaGraphDef) -> set[str]:
    """Return the functions that only the nodes of the saver call: TensorFlow runs them on the folder's own variables.

    Which nodes are the saver's is said by the file itself, so a node that an answer needs is none, whatever it is called, and
    neither is a function that a loaded object calls by name.
    """
    ends = {graph.saver_def.save_tensor_name.split(":")[0], graph.saver_def.restore_op_name} - _needed_by_answers(graph)
    callers: dict[str, set[str]] = {name: {"an object"} for name in graph.object_graph_def.concrete_functions}
    for function in graph.graph_def.library.function:
        for node in function.node_def:
            for name in _called(node):
                callers.setdefault(name, set()).add(f"function {function.signature.name}")
    for node in graph.graph_def.node:
        for name in _called(node):
            callers.setdefault(name, set()).add(node.name)
    return {name for name, found in callers.items() if found <= ends}


def _needed_by_answers(graph: meta_graph_pb2.MetaGraphDef) -> set[str]:
    """Return the nodes that some output of a signature depends on."""
    inputs = {node.name: [_node_name(tensor) for tensor in node.input] for node in graph.graph_def.node}
    waiting = [_node_name(info.name) for signature in graph.signature_def.values() for info in signature.outputs.values()]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(inputs.get(name, ()))
    return found


def _node_name(tensor: str) -> str:
    return tensor.removeprefix("^").split(":")[0]


def _called(node) -> Iterable[str]:
    # a function may also be called as if it were an op
    yield node.op
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        elif value.HasField("list"):
            yield from (function.name for function in value.list.func)


def _signature(definition) -> Signature:
    return Signature(inputs=_tensor_specs(definition.inputs), outputs=_tensor_specs(definition.outputs))


def _tensor_specs(infos) -> dict[str, TensorSpec]:
    return {name: _tensor_spec(info) for name, info in sorted(infos.items())}


def _tensor_spec(info) -> TensorSpec:
    shape = tf.TensorShape(info.tensor_shape)
    return TensorSpec(
        dtype=tf.as_dtype(info.dtype).name,
        shape=None if shape.rank is None else tuple(shape.as_list()),
        tensor=info.name,
    )
