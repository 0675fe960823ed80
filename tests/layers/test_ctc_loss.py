import itertools
import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import ctc_feasible, ctc_loss

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "sequence" / "functions.json").read_text())


def log_softmax(logits):
    logits = np.asarray(logits, "float64")
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def sum_over_alignments(logits, label, blank):
    """Equation 3 as written: the probability of every path that collapses to the label."""
    frames, classes = logits.shape
    log_probabilities = log_softmax(logits)
    total = 0.0
    for path in itertools.product(range(classes), repeat=frames):
        if [k for k, _ in itertools.groupby(path) if k != blank] == list(label):
            total += np.exp(sum(log_probabilities[t, k] for t, k in enumerate(path)))
    return total


def by_recursion(logits, label, blank):
    """Equations 6 to 8 state by state in float64, for rows too long for the sum over alignments."""
    log_probabilities = log_softmax(logits)
    extended = [blank]
    for symbol in label:
        extended += [symbol, blank]
    alpha = np.full(len(extended), -np.inf)
    alpha[0] = 0.0
    for frame in log_probabilities:
        new = np.full(len(extended), -np.inf)
        for s, symbol in enumerate(extended):
            value = np.logaddexp(alpha[s], alpha[s - 1]) if s else alpha[s]
            if s > 1 and symbol not in (blank, extended[s - 2]):
                value = np.logaddexp(value, alpha[s - 2])
            new[s] = value + frame[symbol]
        alpha = new
    return -np.logaddexp.reduce(alpha[-2:])


def numerical_gradient(logits, label, blank, step=1e-4):
    gradient = np.zeros(logits.shape)
    for place in np.ndindex(*logits.shape):
        moved = np.zeros(logits.shape)
        moved[place] = step
        gradient[place] = (by_recursion(logits + moved, label, blank) - by_recursion(logits - moved, label, blank)) / (2 * step)
    return gradient


def loss_and_gradient(labels, logits, *lengths, compiled="eager", **arguments):
    logits = tf.convert_to_tensor(np.asarray(logits, "float32"))

    def run(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = ctc_loss(labels, logits, *lengths, **arguments)
        return loss, tape.gradient(loss, logits)

    if compiled != "eager":
        run = tf.function(run, jit_compile=compiled == "xla", autograph=False)
    return [np.asarray(item) for item in run(logits)]


def test_golden_blank_0():
    inputs = GOLDEN["inputs"]
    logits = np.asarray(inputs["ctc_log_probs_time_batch_class"], "float32").transpose(1, 0, 2)
    arguments = (inputs["ctc_labels"], logits, inputs["ctc_label_lengths"], inputs["ctc_input_lengths"])
    expected = GOLDEN["outputs"]["ctc_loss_blank_0"]["values"]
    np.testing.assert_allclose(ctc_loss(*arguments), expected, rtol=0, atol=1e-5)
    # The same with the blank as the last class.
    labels, *lengths = [np.asarray(arguments[0]) - 1, *arguments[2:]]
    np.testing.assert_allclose(ctc_loss(labels, np.roll(logits, -1, axis=2), *lengths, blank=4), expected, rtol=0, atol=1e-5)


def test_200_random_rows_equal_the_sum_over_all_alignments():
    random = np.random.RandomState(0)
    for classes, frames, symbols in itertools.product((2, 3, 4), (1, 2, 4, 5), (0, 1, 2, 3)):
        rows = 5
        blank = random.randint(classes)
        logits = 2 * random.standard_normal((rows, frames, classes)).astype("float32")
        labels = random.choice([k for k in range(classes) if k != blank], size=(rows, symbols)).reshape(rows, symbols)
        found = np.asarray(ctc_loss(labels, logits, blank=blank))
        probabilities = np.asarray([sum_over_alignments(row, label, blank) for row, label in zip(logits, labels, strict=True)])
        feasible = np.asarray(ctc_feasible(labels, [symbols] * rows, [frames] * rows, classes, blank))
        np.testing.assert_array_equal(feasible, probabilities > 0)
        np.testing.assert_allclose(found[feasible], -np.log(probabilities[feasible]), atol=1e-5)
        np.testing.assert_array_equal(found[~feasible], 0.0)


@pytest.mark.parametrize("compiled", ["eager", "graph", "xla"])
def test_lengths_ignore_what_lies_behind_them(compiled):
    random = np.random.RandomState(1)
    logits = random.standard_normal((4, 7, 5)).astype("float32")
    labels = np.asarray([[1, 2, 2, 3], [4, 4, 99, -7], [3, 0, 0, 0], [1, 1, 1, 1]])
    label_lengths, logit_lengths = np.asarray([4, 2, 0, 1]), np.asarray([7, 3, 4, 5])
    loss, gradient = loss_and_gradient(labels, logits, label_lengths, logit_lengths, compiled=compiled)
    for row in range(4):
        label, frames = labels[row, : label_lengths[row]], logit_lengths[row]
        assert loss[row] == pytest.approx(by_recursion(logits[row, :frames], label, 0), abs=1e-5)
        expected = numerical_gradient(logits[row, :frames].astype("float64"), label, 0)
        np.testing.assert_allclose(gradient[row, :frames], expected, atol=1e-5)
        np.testing.assert_array_equal(gradient[row, frames:], 0.0)


@pytest.mark.parametrize("blank", [0, 2, 4])
def test_blank_anywhere(blank):
    random = np.random.RandomState(2)
    logits = random.standard_normal((1, 6, 5)).astype("float32")
    label = [k for k in range(5) if k != blank][:2] * 2
    loss, gradient = loss_and_gradient([label], logits, blank=blank)
    assert loss[0] == pytest.approx(by_recursion(logits[0], label, blank), abs=1e-5)
    np.testing.assert_allclose(gradient[0], numerical_gradient(logits[0].astype("float64"), label, blank), atol=1e-5)


def test_long_and_confidently_wrong_rows_keep_their_gradient():
    # The network says symbol 3 with all its weight at 12 frames; the label has 9 others before it. keras.ops.ctc_loss
    # finds the loss of 900 but a gradient below 1e-8, as its logarithm of zero is -707.
    label = [1, 2] * 4 + [1, 3]
    logits = np.zeros((1, 12, 4), "float32")
    logits[..., 3] = 100.0
    loss, gradient = loss_and_gradient([label], logits)
    assert loss[0] == pytest.approx(900.0, abs=1e-2)
    np.testing.assert_allclose(gradient[0], numerical_gradient(logits[0].astype("float64"), label, 0), atol=1e-4)
    assert np.max(np.abs(gradient)) > 0.5


def test_a_thousand_frames_stay_accurate():
    random = np.random.RandomState(3)
    logits = random.standard_normal((1, 1000, 12)).astype("float32")
    label = random.randint(1, 12, 200)
    loss, gradient = loss_and_gradient([label], logits, compiled="graph")
    assert loss[0] == pytest.approx(by_recursion(logits[0], label, 0), rel=1e-6)
    # Softmax minus the occupancy of each class: every frame sums to 0.
    np.testing.assert_allclose(gradient.sum(axis=-1), 0.0, atol=1e-5)


def test_equal_logits_have_the_gradient_of_counted_alignments():
    # All paths alike: of the 3 alignments of "a" with 2 frames (aa, a-, -a), 2 have "a" at each frame.
    loss, gradient = loss_and_gradient([[1]], np.zeros((1, 2, 2)))
    assert loss[0] == pytest.approx(-np.log(3 / 4), abs=1e-6)
    np.testing.assert_allclose(gradient[0], np.asarray([[0.5 - 1 / 3, 0.5 - 2 / 3]] * 2), atol=1e-6)


@pytest.mark.parametrize("compiled", ["eager", *(pytest.param(way, marks=pytest.mark.slow) for way in ("graph", "xla"))])
def test_infeasible_rows_are_zero_without_gradient(compiled):
    logits = np.random.RandomState(4).standard_normal((4, 3, 3)).astype("float32")
    labels, label_lengths = [[1, 1, 2], [1, 2, 1], [1, 1, 0], [2, 0, 0]], [3, 3, 2, 1]
    loss, gradient = loss_and_gradient(labels, logits, label_lengths, [3, 3, 2, 0], compiled=compiled)
    np.testing.assert_array_equal(loss == 0.0, [True, False, True, True])
    np.testing.assert_array_equal(np.any(gradient, axis=(1, 2)), [False, True, False, False])
    assert np.all(np.isfinite(gradient))
    assert loss[1] == pytest.approx(by_recursion(logits[1], labels[1], 0), abs=1e-5)


def test_infeasible_error_names_the_row():
    logits = np.zeros((2, 3, 3), "float32")
    message = r"labels in row 1 need at least 4 frames \(3 symbols, 1 repeated\), got logit_lengths 3"
    with pytest.raises(ValueError, match=message):
        ctc_loss([[1, 2, 1], [1, 1, 2]], logits, infeasible="error")
    assert np.all(np.asarray(ctc_loss([[1, 2, 1], [1, 2, 0]], logits, [3, 2], infeasible="error")) > 0)
    with pytest.raises(ValueError, match="infeasible='error' needs labels and lengths whose values are known"):
        tf.function(lambda labels: ctc_loss(labels, logits, infeasible="error"))(tf.constant([[1], [1]]))


@pytest.mark.parametrize("compiled", ["eager", *(pytest.param(way, marks=pytest.mark.slow) for way in ("graph", "xla"))])
def test_empty_labels_cost_the_blanks(compiled):
    logits = np.random.RandomState(5).standard_normal((3, 4, 3)).astype("float32")
    expected = [-log_softmax(row)[:frames, 1].sum() for row, frames in zip(logits, (4, 2, 0), strict=True)]
    for labels, lengths in ((np.zeros((3, 0), "int32"), None), (np.full((3, 2), 1), [0, 0, 0])):
        loss, gradient = loss_and_gradient(labels, logits, lengths, [4, 2, 0], compiled=compiled, blank=1)
        np.testing.assert_allclose(loss, expected, atol=1e-5)
        assert np.all(np.isfinite(gradient))
        assert np.any(gradient[0])
        assert not np.any(gradient[2])


def test_empty_batch_and_no_frames():
    assert ctc_loss(np.zeros((0, 3), "int32"), np.zeros((0, 5, 4), "float32")).shape == (0,)
    np.testing.assert_array_equal(ctc_loss([[1], [0]], np.zeros((2, 0, 3), "float32"), [1, 0]), [0.0, 0.0])


def test_labels_out_of_range_count_as_infeasible_where_values_are_unknown():
    logits = np.random.RandomState(6).standard_normal((4, 5, 3)).astype("float32")
    run = tf.function(lambda labels, lengths: ctc_loss(labels, logits, lengths))
    loss = np.asarray(run(tf.constant([[1, 0], [3, 1], [-1, 1], [1, 2]]), tf.constant([2, 2, 2, 2])))
    np.testing.assert_array_equal(loss == 0.0, [True, True, True, False])
    np.testing.assert_array_equal(np.asarray(run(tf.constant([[1, 2]] * 4), tf.constant([-1, 3, 2, 1]))) == 0.0, [True, True, False, False])


def test_dynamic_shapes_in_a_graph():
    spec = [tf.TensorSpec((None, None), "int32"), tf.TensorSpec((None, None, 4), "float32")]
    run = tf.function(lambda labels, logits: ctc_loss(labels, logits), input_signature=spec)
    random = np.random.RandomState(7)
    for rows, frames, symbols in ((2, 5, 2), (3, 7, 3), (1, 4, 0)):
        logits, labels = random.standard_normal((rows, frames, 4)).astype("float32"), random.randint(1, 4, (rows, symbols))
        expected = [by_recursion(row, label, 0) for row, label in zip(logits, labels, strict=True)]
        np.testing.assert_allclose(run(tf.constant(labels, "int32"), logits), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits_are_summed_in_float32(dtype):
    logits = keras.ops.cast(30 * np.random.RandomState(8).standard_normal((2, 200, 4)), dtype)
    loss = ctc_loss([[1, 2, 3]] * 2, logits)
    assert loss.dtype == "float32"
    expected = [by_recursion(np.asarray(keras.ops.cast(row, "float32")), [1, 2, 3], 0) for row in logits]
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_forbidden_classes_give_no_nan():
    logits = np.zeros((1, 3, 3), "float32")
    logits[0, :, 2] = -np.inf
    loss, gradient = loss_and_gradient([[1]], logits)
    assert loss[0] == pytest.approx(-np.log(6 / 8), abs=1e-6)
    assert np.all(np.isfinite(gradient))
    loss, gradient = loss_and_gradient([[2]], logits)
    assert loss[0] > 1e29
    assert np.all(np.isfinite(gradient))


@pytest.mark.slow
def test_learns_a_label():
    logits = keras.Variable(np.zeros((1, 8, 4), "float32"))
    for _ in range(25):
        _, gradient = loss_and_gradient([[1, 1, 2]], logits)
        logits.assign(logits - 4.0 * gradient)
    assert float(ctc_loss([[1, 1, 2]], logits)[0]) < 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"blank": 3}, "blank must be an integer from 0 to 2 for 3 classes, got 3"),
        ({"blank": -1}, "blank must be an integer from 0 to 2 for 3 classes, got -1"),
        ({"blank": 1.0}, "blank must be an integer from 0 to 2 for 3 classes, got 1.0"),
        ({"infeasible": "inf"}, "infeasible must be one of 'zero', 'error', got 'inf'"),
        ({"label_lengths": [1, -2]}, "label_lengths must be between 0 and 2, got -2 in row 1"),
        ({"label_lengths": [3, 1]}, "label_lengths must be between 0 and 2, got 3 in row 0"),
        ({"logit_lengths": [4, -1]}, "logit_lengths must be between 0 and 4, got -1 in row 1"),
        ({"logit_lengths": [4, 5]}, "logit_lengths must be between 0 and 4, got 5 in row 1"),
        ({"logit_lengths": [4]}, r"logit_lengths must have shape \(batch,\) = \(2,\), got \(1,\)"),
        ({"logit_lengths": [[4], [4]]}, r"logit_lengths must have shape \(batch,\) = \(2,\), got \(2, 1\)"),
        ({"logit_lengths": [4.0, 4.0]}, "logit_lengths must be integers, got dtype float64"),
        ({"labels": [[1, 3], [1, 1]]}, "labels must be classes from 0 to 2 other than the blank 0, got 3 at row 0, place 1"),
        ({"labels": [[1, 2], [0, 1]]}, "labels must be classes from 0 to 2 other than the blank 0, got 0 at row 1, place 0"),
        ({"labels": [1, 2]}, r"labels must have shape \(batch, symbols\) with batch 2, got \(2,\)"),
        ({"labels": [[1, 2]]}, r"labels must have shape \(batch, symbols\) with batch 2, got \(1, 2\)"),
        ({"logits": np.zeros((4, 3), "float32")}, r"ctc_loss expects logits of shape \(batch, frames, classes\).*got \(4, 3\)"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ctc_loss(**{"labels": [[1, 2], [1, 1]], "logits": np.zeros((2, 4, 3), "float32"), **arguments})


def test_lengths_beyond_the_frames_are_infeasible_in_a_compiled_function():
    logits = tf.Variable(tf.zeros((1, 3, 4)))

    @tf.function(autograph=False)
    def step(frames):
        with tf.GradientTape() as tape:
            loss = ctc_loss(tf.constant([[1, 2, 3, 1]]), logits, tf.constant([4]), frames)
        return loss, tape.gradient(loss, logits)

    for frames in (3, 9):
        loss, gradient = step(tf.constant([frames]))
        assert float(loss[0]) == 0.0
        assert float(tf.reduce_max(tf.abs(gradient))) == 0.0


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
def test_what_lies_behind_a_length_reaches_no_gradient(value):
    given = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    frames = [4, 5]
    clean = tf.Variable(given)
    given[0, 4] = value
    spoilt = tf.Variable(given)
    found = []
    for logits in (clean, spoilt):
        with tf.GradientTape() as tape:
            loss = ctc_loss([[1, 2], [1, 2]], logits, [2, 2], frames)
        found.append((loss.numpy(), tape.gradient(loss, logits).numpy()))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert not found[1][1][0, 4].any()
