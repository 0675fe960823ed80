"""What an export holds, and what is refused before anything of it runs."""

import shutil
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.serving import small_classifier
from tensorflow.core.protobuf import saved_model_pb2

from keras_canon import serving
from keras_canon.serving.inspection import read_saved_model
from keras_canon.zoo import CanonError


def foreign(folder, body, example):
    """Write a SavedModel without a manifest around a function."""
    module = tf.Module()
    module.function = tf.function(body, input_signature=[example])
    tf.saved_model.save(module, str(folder), signatures=module.function.get_concrete_function())
    return folder


def test_inspect_reads_without_running(models):
    found = serving.inspect(models / "lenet5")
    assert found.path == models / "lenet5" / "2"
    assert sorted(found.content.signatures) == ["bytes", "features", "serving_default"]
    assert {"Conv2D", "DecodeImage", "Softmax"} <= set(found.content.ops)
    assert found.content.unsafe_ops == ()
    assert found.hashes == found.manifest.files
    assert found.sizes["saved_model.pb"] == (found.path / "saved_model.pb").stat().st_size


def test_a_model_from_elsewhere_is_loaded(tmp_path):
    folder = foreign(tmp_path / "double", lambda x: {"y": 2.0 * x}, tf.TensorSpec((None, 2), "float32", name="x"))
    servable = serving.load(folder)
    np.testing.assert_array_equal(servable.predict({"x": [[1.0, 2.0]]})["y"], [[2.0, 4.0]])
    assert serving.inspect(folder).manifest is None


UNSAFE = {
    "ReadFile": lambda x: {"y": tf.io.read_file(x)},
    "WriteFile": lambda x: (tf.io.write_file(x, "owned"), {"y": x})[1],
    "MatchingFiles": lambda x: {"y": tf.io.matching_files(x)},
    "EagerPyFunc": lambda x: {"y": tf.py_function(lambda value: value, [x], "string")},
    "PyFunc": lambda x: {"y": tf.numpy_function(lambda value: value, [x], "string")},
    "PrintV2": lambda x: (tf.print(x, output_stream="file:///tmp/owned"), {"y": x})[1],
    "SaveV2": lambda x: (tf.raw_ops.SaveV2(prefix=x, tensor_names=["a"], shape_and_slices=[""], tensors=[tf.zeros(1)]), {"y": x})[1],
    "TextLineDataset": lambda x: {"y": tf.data.TextLineDataset(x).reduce(tf.constant(""), lambda a, b: a + b)},
}


@pytest.mark.parametrize("op", UNSAFE)
def test_ops_that_reach_outside_are_refused_unless_allowed(op, tmp_path):
    folder = foreign(tmp_path / "unsafe", UNSAFE[op], tf.TensorSpec((), "string", name="x"))
    assert op in read_saved_model(folder).unsafe_ops
    with pytest.raises(CanonError, match=rf"ops that reach files, the network or Python \(.*{op}.*\)") as caught:
        serving.load(folder)
    assert "\n" not in str(caught.value)
    assert serving.load(folder, allow_unsafe_ops=True).signatures


def test_an_unsafe_op_in_a_branch_of_a_loop_is_found(tmp_path):
    def body(x):
        return {"y": tf.cond(tf.strings.length(x) > 3, lambda: tf.io.read_file(x), lambda: x)}

    assert read_saved_model(foreign(tmp_path / "hidden", body, tf.TensorSpec((), "string", name="x"))).unsafe_ops == ("ReadFile",)


@pytest.mark.parametrize("way", ["object", "answer", "behind", "as an op"])
def test_a_file_that_calls_its_answer_the_saver_is_refused(way, tmp_path):
    folder = foreign(tmp_path / "posing", UNSAFE["SaveV2"], tf.TensorSpec((), "string", name="x"))
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    (graph,) = saved.meta_graphs
    functions = {function.signature.name: function for function in graph.graph_def.library.function}
    name = next(name for name in functions if "signature_wrapper" in name)
    wrapper = functions[name]
    call = next(node for node in graph.graph_def.node if any(value.func.name == name for value in node.attr.values()))
    body = next(function for key, function in functions.items() if key != name and any(n.op == "SaveV2" for n in function.node_def))
    wrapper.node_def.extend(body.node_def)
    del body.node_def[:]
    graph.saver_def.restore_op_name = call.name
    if way != "object":
        graph.object_graph_def.concrete_functions.clear()
    if way == "behind":
        for info in graph.signature_def["serving_default"].outputs.values():
            info.name = "answer:0"
        graph.graph_def.node.add(name="answer", op="Identity", input=[f"{call.name}:0"])
    if way == "as an op":
        graph.saver_def.restore_op_name = graph.graph_def.node.add(name="posing", op="NoOp").name
        graph.graph_def.node[-1].attr["f"].func.name = name
        call.attr.clear()
        call.op = name
    path.write_bytes(saved.SerializeToString())
    assert "SaveV2" in read_saved_model(folder).unsafe_ops


def test_what_is_no_saved_model_is_one_sentence(tmp_path, models):
    (tmp_path / "empty").mkdir()
    for name, content in (("random", b"\xff\x00" * 50), ("nothing", b"")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "saved_model.pb").write_bytes(content)
    for name, message in (("empty", "no exported model"), ("random", "not the graph of a SavedModel"), ("nothing", "holds no graph")):
        with pytest.raises(CanonError, match=message):
            serving.load(tmp_path / name)
        with pytest.raises(CanonError, match=message):
            serving.inspect(tmp_path / name)


def test_an_asset_outside_the_folder_is_refused(tmp_path, models):
    shutil.copytree(models / "lenet5" / "1", tmp_path / "copy")
    path = tmp_path / "copy" / "saved_model.pb"
    (tmp_path / "copy" / "manifest.json").unlink()
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    saved.meta_graphs[0].asset_file_def[0].filename = "../../../etc/passwd"
    path.write_bytes(saved.SerializeToString())
    with pytest.raises(CanonError, match="names an asset outside its folder"):
        serving.load(tmp_path / "copy")


# .keras archives


class Evil(keras.layers.Layer):
    def call(self, x):
        return x


def hostile_archives(folder):
    """Archives that are cut, that lead out of the folder, that hold code, or that name a class of another module."""
    small_classifier().save(folder / "good.keras")
    whole = (folder / "good.keras").read_bytes()
    (folder / "cut.keras").write_bytes(whole[: len(whole) // 2])
    (folder / "text.keras").write_text("not an archive")
    (folder / "nothing.keras").write_bytes(b"")
    with zipfile.ZipFile(folder / "empty.keras", "w"):
        pass
    image = keras.Input((2,))
    keras.Model(image, keras.layers.Lambda(lambda x: x * 2)(image)).save(folder / "lambda.keras")
    with zipfile.ZipFile(folder / "good.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = members["config.json"]
    for name, old, new in (
        ("module", b'"module": "keras.layers", "class_name": "Dense"', b'"module": "os", "class_name": "system"'),
        ("unknown", b'"module": "keras.layers", "class_name": "Dense"', b'"module": "nowhere", "class_name": "Thing"'),
        ("json", b"{", b"["),
    ):
        assert old in config
        write_archive(folder / f"{name}.keras", {**members, "config.json": config.replace(old, new)})
    write_archive(folder / "weights.keras", {**members, "model.weights.h5": b"\x89HDF\r\n\x1a\nbroken"})


def write_archive(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_damaged_and_hostile_archives_are_refused_without_a_trace(tmp_path):
    source, work = tmp_path / "source", tmp_path / "work"
    source.mkdir()
    work.mkdir()
    hostile_archives(source)
    before = sorted(source.rglob("*"))
    for path in before:
        if path.name != "good.keras":
            with pytest.raises(CanonError) as caught:
                serving.export(path, work / "x")
            assert "\n" not in str(caught.value), path.name
    assert sorted(source.rglob("*")) == before
    assert list(work.iterdir()) == []
    assert serving.export(source / "good.keras", work / "good").version == 1
