"""Beam search against all sequences written out."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_canon import zoo

END = 1


def random_problem(seed: int, classes: int, length: int):
    """Return a table of logits by prefix: entry (t, code of the last two symbols)."""
    return np.random.RandomState(seed).standard_normal((length, classes, classes, classes)).astype("float32") * 2


def step_of(table):
    """Return the step function whose state is the symbol before the last."""

    def step(ids, position, state):
        rows = tf.gather(tf.constant(table), position)
        return tf.gather_nd(rows, tf.stack([state["before"], ids], axis=1)), {"before": ids}

    return step


def penalty_of(kind: str, length: int, alpha: float) -> float:
    return {"none": 1.0, "length": float(length), "gnmt": ((5 + length) / 6) ** alpha}[kind]


def all_sequences(table, start: int, kind: str, alpha: float):
    """Return (score, ids) of every sequence that ends, or is of full length, best first."""
    length, classes = table.shape[0], table.shape[-1]
    log_probabilities = np.asarray(tf.nn.log_softmax(table.astype("float64")))
    found = []
    for size in range(1, length + 1):
        for ids in itertools.product(range(classes), repeat=size):
            if END in ids[:-1] or (ids[-1] != END and size < length):
                continue
            before = [0, start, *ids]
            total = sum(log_probabilities[t, before[t], before[t + 1], symbol] for t, symbol in enumerate(ids))
            found.append((total / penalty_of(kind, size, alpha), ids))
    return sorted(found, reverse=True)


def search(table, starts, width, **options):
    state = {"before": tf.zeros(len(starts) * width, tf.int32)}
    return zoo.beam_search(step_of(table), state, starts, width=width, max_length=table.shape[0], end_id=END, **options)


@pytest.mark.parametrize("kind", ["none", "length", "gnmt"])
def test_full_width_finds_the_best_sequences(kind):
    """200 random problems in all, 67 rows of them for each penalty."""
    classes, length = 3, 4
    width = classes**length
    for seed in range(23):
        table = random_problem(seed, classes, length)
        starts = [0, 1, 2]
        found = search(table, starts, width, length_penalty=kind, alpha=0.8)
        for row, start in enumerate(starts):
            expected = all_sequences(table, start, kind, 0.8)
            np.testing.assert_allclose(found.scores[row, : len(expected)], [score for score, _ in expected], atol=1e-4)
            assert np.all(np.isneginf(found.scores[row, len(expected) :]))
            best = expected[0][1]
            assert found.ids[row, 0].numpy().tolist() == [*best, *[0] * (length - len(best))]


def test_width_one_is_greedy():
    table = random_problem(5, 4, 5)
    found = search(table, [2], 1)
    ids, before = [], [0, 2]
    for t in range(5):
        ids.append(int(table[t, before[-2], before[-1]].argmax()))
        before.append(ids[-1])
        if ids[-1] == END:
            break
    # width 1 keeps the greedy path going beside a sequence that ended: the best of both is returned
    assert found.scores[0, 0] >= sum(float(tf.nn.log_softmax(table[t, before[t], before[t + 1]])[s]) for t, s in enumerate(ids)) - 1e-5


def test_eager_function_and_export_agree(tmp_path):
    table = random_problem(7, 5, 6)
    starts = tf.constant([0, 2, 4])

    def find(starts):
        state = {"before": tf.zeros_like(starts)}  # one row each: it is widened
        return zoo.beam_search(step_of(table), state, starts, width=4, max_length=6, end_id=END, length_penalty="gnmt")._asdict()

    module = tf.Module()
    module.find = tf.function(find, input_signature=[tf.TensorSpec((None,), tf.int32)])
    tf.saved_model.save(module, str(tmp_path))
    eager, graph, loaded = find(starts), module.find(starts), tf.saved_model.load(str(tmp_path)).find(starts)
    for other in (graph, loaded):
        np.testing.assert_array_equal(eager["ids"], other["ids"])
        np.testing.assert_allclose(eager["scores"], other["scores"], atol=1e-6)
    for row in range(3):
        alone = find(starts[row : row + 1])
        np.testing.assert_array_equal(alone["ids"][0], eager["ids"][row])


def test_coverage_prefers_what_reads_the_whole_source():
    """Symbol 2 looks at source step 0, symbol 3 at step 1; the likeliest sequence says 2 twice and never looks at step 1."""

    def step(ids, position, state):
        probabilities = tf.constant([[0.01, 0.01, 0.58, 0.40], [0.01, 0.01, 0.58, 0.40], [0.01, 0.97, 0.01, 0.01]])
        logits = tf.math.log(tf.repeat(tf.gather(probabilities, position)[None], tf.shape(ids)[0], axis=0))
        attention = tf.where(position % 2 == 0, [[0.9, 0.1, 0.0]], [[0.1, 0.9, 0.0]])
        said = tf.where(ids[:, None] == 3, [[0.05, 0.9, 0.0]], [[0.9, 0.05, 0.0]])
        return logits, state, tf.where(position > 0, said, tf.repeat(attention, tf.shape(ids)[0], axis=0))

    options = {"width": 4, "max_length": 3, "end_id": END}
    plain = zoo.beam_search(lambda *inputs: step(*inputs)[:2], tf.zeros((1, 1)), [0], **options)
    covered = zoo.beam_search(step, tf.zeros((1, 1)), [0], coverage=2.0, **options)
    assert plain.ids[0, 0].numpy().tolist() == [2, 2, 1]
    assert 3 in covered.ids[0, 0].numpy().tolist()
    assert np.all(np.isfinite(covered.scores[0, 0])), "the padded third source step counts for nothing"


def test_the_search_stops_when_nothing_better_can_come():
    steps = []

    def step(ids, position, state):
        steps.append(int(position))
        logits = np.full((ids.shape[0], 4), -20.0, "float32")
        logits[:, END] = 0.0
        return tf.constant(logits), state

    found = zoo.beam_search(step, tf.zeros((1, 1)), [0], width=1, max_length=50, end_id=END)
    assert found.ids[0, 0, 0] == END
    assert float(found.scores[0, 0]) == pytest.approx(0.0, abs=1e-6)
    assert len(steps) == 1


def test_without_an_end_all_sequences_are_of_full_length():
    table = random_problem(11, 4, 3)
    found = zoo.beam_search(step_of(table), {"before": tf.zeros(1, tf.int32)}, [0], width=64, max_length=3, end_id=-1)
    total = np.exp(found.scores[0].numpy().astype("float64")).sum()
    assert total == pytest.approx(1.0, abs=1e-5), "the 64 sequences of 4 symbols share all of the probability"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be"),
        ({"max_length": 0}, "max_length must be"),
        ({"length_penalty": "sum"}, "length_penalty must be one of"),
        ({"alpha": -1.0}, "at least 0"),
    ],
)
def test_errors(options, message):
    arguments = {"width": 2, "max_length": 3, "end_id": END, **options}
    with pytest.raises(zoo.CanonError, match=message):
        zoo.beam_search(lambda *inputs: inputs, (), [0], **arguments)
    with pytest.raises(zoo.CanonError, match="start_ids must have shape"):
        zoo.beam_search(lambda *inputs: inputs, (), [[0]], width=1, max_length=1, end_id=END)


def test_an_end_that_is_no_class():
    table = random_problem(11, 4, 3)
    with pytest.raises(zoo.CanonError, match="end_id must be below the 4 classes"):
        zoo.beam_search(step_of(table), {"before": tf.zeros(1, tf.int32)}, [0], width=2, max_length=3, end_id=9)
