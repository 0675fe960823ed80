"""The kernels behind `LSTM` and `GRU`: which one runs, bounded compilation, what an export holds, cuDNN's data layout."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.recurrent import MASK, randomise, sequence
from tensorflow.core.protobuf import saved_model_pb2

from keras_canon.layers import GRU, LSTM, gru_kernel, lstm_kernel, recurrent_kernel
from keras_canon.layers.recurrent_kernel import bucket, choose, compact, pad, spread

BOTH = pytest.mark.parametrize("cls", [LSTM, GRU])

# Plain operations of TensorFlow's core, as any build of TF Serving has them.
EXPORTED = """
    AddV2 All Any AssignVariableOp BiasAdd Cast Const DisableCopyOnRead ExpandDims Fill Identity Less LogicalAnd MatMul Maximum
    MergeV2Checkpoints Mul NoOp NotEqual Pack PartitionedCall Placeholder Range ReadVariableOp RestoreV2 ReverseV2 SaveV2 Select SelectV2
    Shape ShardedFilename Sigmoid Split Squeeze StatefulPartitionedCall StatelessWhile StaticRegexFullMatch StridedSlice StringJoin Sub Tanh
    TensorListFromTensor TensorListGetItem TensorListReserve TensorListSetItem TensorListStack Transpose VarHandleOp VarIsInitializedOp
    While ZerosLike
"""

COUNT_COMPILATIONS = """
import os, sys
os.environ["XLA_FLAGS"] = "--xla_dump_to=" + sys.argv[1] + " --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=none"
import tensorflow as tf
from keras_canon.layers import LSTM
layer = LSTM(2)
layer.build((None, None, 3))
def step(inputs):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(inputs, training=True))
    return tape.gradient(loss, [weight.value for weight in layer.trainable_weights])
run = tf.function(step, autograph=False, input_signature=[tf.TensorSpec((None, None, 3))])
for length in range(51, int(sys.argv[2])):
    run(tf.ones((2, length, 3)))
print(run.experimental_get_tracing_count())
"""


def test_bucket_wastes_at_most_a_sixteenth_and_has_sixteen_sizes_a_doubling():
    for length in range(1, 3000):
        size = bucket(length)
        assert length <= size <= max(4, length + 3, length * 1.0625)
        assert bucket(size) == size
        assert int(bucket(tf.constant(length))) == size
    assert len({bucket(length) for length in range(129, 257)}) == len({bucket(length) for length in range(65, 129)}) == 16
    assert len({bucket(length) for length in range(1, 3000)}) < 112
    assert bucket(0) == int(bucket(tf.constant(0))) == 4


def test_pad_appends_zeros_and_leaves_whole_buckets_alone():
    whole = tf.ones((2, 8, 3))
    assert pad(whole) is whole
    assert pad(None) is None
    padded = pad(tf.ones((2, 6, 3)))
    assert padded.shape == (2, 8, 3)
    assert float(tf.reduce_sum(padded)) == 36
    flags = pad(tf.ones((2, 6, 1), tf.bool))
    np.testing.assert_array_equal(flags[0, :, 0], [True] * 6 + [False] * 2)


@pytest.mark.parametrize(
    ("cls", "batch"),
    [(GRU, None), *[pytest.param(*one, marks=pytest.mark.slow) for one in ((LSTM, 15), (LSTM, 17), (LSTM, None), (GRU, 15), (GRU, 17))]],
)
def test_two_halves_of_a_batch_are_the_whole(cls, batch):
    keras.utils.set_random_seed(0)
    fast, plain = cls(5, return_sequences=True, return_state=True), cls(5, return_sequences=True, return_state=True, implementation="loop")
    rows = batch or 17
    inputs, mask = tf.random.normal((rows, 7, 3)), tf.random.uniform((rows, 7)) > 0.3
    states = [tf.random.normal((rows, 5)) for _ in range(2 if cls is LSTM else 1)]
    for layer in (fast, plain):
        layer(inputs)
    plain.set_weights(fast.get_weights())

    def run(layer):
        def step(inputs, mask, *states):
            with tf.GradientTape() as tape:
                tape.watch([inputs, *states])
                results = layer(inputs, initial_state=list(states), sequences_mask=mask, training=True)
                loss = sum(tf.reduce_sum(tf.sin(result)) for result in results)
            return results, tape.gradient(loss, [inputs, *states, *(weight.value for weight in layer.trainable_weights)])

        specs = [tf.TensorSpec((batch, *item.shape[1:]), item.dtype) for item in (inputs, mask, *states)]
        return tf.nest.flatten(tf.function(step, autograph=False, input_signature=specs)(inputs, mask, *states))

    for found, expected in zip(run(fast), run(plain), strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-5)


# from 51 on buckets end at 52, 56, ..., 100; all fifty with `-m slow`
LENGTHS = pytest.mark.parametrize(("end", "buckets"), [(61, 3), pytest.param(101, 13, marks=pytest.mark.slow)])


@LENGTHS
def test_fifty_lengths_are_traced_a_bounded_number_of_times(end, buckets):
    keras.utils.set_random_seed(0)
    for cls, kernel in ((LSTM, lstm_kernel), (GRU, gru_kernel)):
        layer = cls(3 if end == 101 else 2)
        before = kernel._forward.experimental_get_tracing_count()
        for length in range(51, end):
            assert layer(np.ones((3, length, 2), "float32"), training=True).shape == (3, layer.cell.units)
        assert kernel._forward.experimental_get_tracing_count() - before == buckets


@pytest.mark.slow
@LENGTHS
def test_fifty_lengths_are_compiled_a_bounded_number_of_times(end, buckets, tmp_path):
    command = [sys.executable, "-c", COUNT_COMPILATIONS, tmp_path, str(end)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.split() == ["1"]
    compiled = {path.name.split(".")[0] for path in tmp_path.glob("module_*before_optimizations.txt")}
    assert 2 <= len(compiled) <= 2 * buckets


def test_choice_of_the_kernel(monkeypatch):
    assert choose("auto", True, True) == "xla"
    assert choose("auto", False, True) == choose("auto", None, True) == choose("auto", True, False) == "loop"
    assert choose("loop", True, True) == "loop"
    with pytest.raises(ValueError, match="got 'cudnn', which needs a GPU"):
        choose("cudnn", True, True)
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: ["gpu"])
    assert choose("auto", True, True) == choose("cudnn", False, True) == "cudnn"
    assert choose("auto", False, True) == choose("auto", True, False) == choose("loop", True, True) == "loop"
    with pytest.raises(ValueError, match="reset_after=True"):
        choose("cudnn", True, False)


def exported_functions(folder):
    """Return the bytes of a SavedModel and the names of all operations in its graph and function library."""
    content = (folder / "saved_model.pb").read_bytes()
    graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0].graph_def
    nodes = list(graph.node) + [node for function in graph.library.function for node in function.node_def]
    attributes = {name for node in nodes for name in node.attr} | {name for item in graph.library.function for name in item.attr}
    return content, {node.op for node in nodes}, attributes


@pytest.mark.parametrize(
    ("cls", "init"),
    [pytest.param(LSTM, {}, marks=pytest.mark.slow), (GRU, {}), pytest.param(GRU, {"reset_after": False}, marks=pytest.mark.slow)],
)
def test_an_export_after_training_holds_plain_operations_only(cls, init, tmp_path):
    inputs = keras.Input((None, 4))
    outputs = cls(5, return_sequences=True, dropout=0.1, **init)(keras.layers.Masking()(inputs))
    model = keras.Model(inputs, cls(3, go_backwards=True, **init)(outputs))
    model.compile(loss="mse", optimizer="sgd")
    model.fit(sequence(), np.zeros((6, 3)), verbose=0)
    model.export(tmp_path / "model", verbose=False)
    content, operations, attributes = exported_functions(tmp_path / "model")
    assert b"_XlaMustCompile" not in content
    assert not {name for name in attributes if "xla" in name.lower()}
    assert operations <= set(EXPORTED.split())
    loaded = tf.saved_model.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.serve(tf.constant(sequence(2, 7))), model(sequence(2, 7)), atol=1e-6)


def test_compact_and_spread_undo_each_other():
    inputs = sequence()
    moved, lengths = compact(tf.constant(inputs), tf.constant(MASK))
    np.testing.assert_array_equal(lengths, MASK.sum(axis=1))
    for row in range(len(MASK)):
        np.testing.assert_array_equal(moved[row, : lengths[row]], inputs[row][MASK[row]])
    back = spread(tf.zeros((6, 4)), moved, tf.constant(MASK)).numpy()
    np.testing.assert_array_equal(back[MASK], inputs[MASK])
    assert not back[2, :3].any()
    np.testing.assert_array_equal(back[3, 3:6], np.repeat(inputs[3, 2:3], 3, axis=0))


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


def documented_cudnn(input, input_h, input_c, params, sequence_lengths, rnn_mode, is_training, time_major):
    """What NVIDIA documents of the kernel: flat weights by gate, then biases; real steps first; zeros after a row's length."""
    assert is_training
    assert not time_major
    assert np.all(np.asarray(sequence_lengths) >= 1)
    batch, steps, features = input.shape
    units, gates = input_h.shape[-1], 4 if rnn_mode == "lstm" else 3
    flat, position = np.asarray(params), 0
    parts = []
    for shape in [(units, features)] * gates + [(units, units)] * gates + [(units,)] * (2 * gates):
        parts.append(flat[position : position + np.prod(shape)].reshape(shape))
        position += np.prod(shape)
    assert position == flat.size
    kernels, recurrent = parts[:gates], parts[gates : 2 * gates]
    biases, recurrent_biases = parts[2 * gates : 3 * gates], parts[3 * gates :]
    outputs, hidden = np.zeros((batch, steps, units), "float32"), np.array(input_h)[:, 0]
    cell = np.array(input_c)[:, 0] if rnn_mode == "lstm" else hidden
    for row in range(batch):
        for time in range(int(sequence_lengths[row])):
            from_input = [w @ np.asarray(input)[row, time] + b for w, b in zip(kernels, biases, strict=True)]
            from_state = [w @ hidden[row] + b for w, b in zip(recurrent, recurrent_biases, strict=True)]
            sums = [a + b for a, b in zip(from_input, from_state, strict=True)]
            if rnn_mode == "lstm":
                cell[row] = sigmoid(sums[1]) * cell[row] + sigmoid(sums[0]) * np.tanh(sums[2])
                hidden[row] = sigmoid(sums[3]) * np.tanh(cell[row])
            else:
                candidate = np.tanh(from_input[2] + sigmoid(sums[0]) * from_state[2])
                hidden[row] = sigmoid(sums[1]) * hidden[row] + (1 - sigmoid(sums[1])) * candidate
            outputs[row, time] = hidden[row]
    return tuple(map(tf.constant, (outputs, hidden[:, None], cell[:, None], 0, 0)))


@BOTH
@pytest.mark.parametrize("mask", [None, MASK], ids=["no_mask", "mask"])
def test_what_goes_to_cudnn_and_comes_back(cls, mask, monkeypatch):
    """Only the kernel call is replaced, by its documentation: the call itself needs a GPU."""
    layer = cls(5, return_sequences=True, return_state=True)
    layer(sequence())
    randomise(layer)
    start = [sequence(6, 1, 5, seed=index)[:, 0] for index in range(len(layer.cell.state_sizes))]
    wanted = layer(sequence(), initial_state=start, mask=mask)
    monkeypatch.setattr(recurrent_kernel.tf.config, "list_logical_devices", lambda kind: ["gpu"])
    monkeypatch.setattr(recurrent_kernel.tf.raw_ops, "CudnnRNNV3", documented_cudnn)
    for one, other in zip(layer(sequence(), initial_state=start, mask=mask, training=True), wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("layer", [LSTM, GRU])
def test_no_step_at_all_gives_no_output_and_the_states_as_they_were(layer):
    recurrent = layer(3, return_sequences=True, return_state=True)
    recurrent.build((None, None, 4))
    states = [tf.ones((2, 3))] * (2 if layer is LSTM else 1)
    run = tf.function(lambda x, *states: recurrent(x, initial_state=list(states)), autograph=False)
    run = run.get_concrete_function(tf.TensorSpec((None, None, 4)), *[tf.TensorSpec((None, 3))] * len(states))
    outputs, *after = run(tf.zeros((2, 0, 4)), *states)
    assert outputs.shape == (2, 0, 3)
    for before, state in zip(states, after, strict=True):
        np.testing.assert_array_equal(before, state)
    given = tf.random.stateless_normal((2, 5, 4), (0, 1))
    np.testing.assert_allclose(run(given, *states)[0], recurrent(given, initial_state=states)[0], atol=1e-6)
