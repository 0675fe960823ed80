import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_canon.layers import ctc_beam_decode, ctc_greedy_decode, ctc_loss


def text(labels):
    return tuple(int(label) for label in np.asarray(labels) if label >= 0)


def log_softmax(logits):
    logits = np.asarray(logits, "float64")
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def all_labels(logits, blank):
    """Equation 3 as written: label -> probability, by the sum over every path."""
    log_probabilities = log_softmax(logits)
    found = {}
    for path in itertools.product(range(logits.shape[1]), repeat=logits.shape[0]):
        label = tuple(k for k, _ in itertools.groupby(path) if k != blank)
        found[label] = found.get(label, 0.0) + np.exp(sum(log_probabilities[t, k] for t, k in enumerate(path)))
    return found


def frames_of(symbols, blank_last, sure=1.0):
    """Logits over (blank, a) of frames that say "a" or the blank."""
    logits = np.log([[[1 - sure, sure] if symbol == "a" else [sure, 1 - sure] for symbol in symbols]])
    return logits[..., ::-1] if blank_last else logits


@pytest.mark.parametrize("blank_last", [False, True])
def test_b41_best_label_is_not_the_best_path(blank_last):
    blank, a = (1, 0) if blank_last else (0, 1)
    logits = np.log([[[0.4, 0.6] if blank_last else [0.6, 0.4]] * 2])
    labels, log_probabilities = ctc_greedy_decode(logits, blank=blank)
    assert text(labels[0]) == ()
    assert float(log_probabilities[0]) == pytest.approx(np.log(0.36), abs=1e-6)
    beams = ctc_beam_decode(logits, blank=blank, top_paths=2)
    assert [text(label) for label in beams.labels[0]] == [(a,), ()]
    np.testing.assert_allclose(beams.log_probabilities[0], [-0.44629, -1.02165], atol=5e-6)
    # One sign for both: the empty label has one path only.
    assert float(log_probabilities[0]) == pytest.approx(beams.log_probabilities[0, 1], abs=1e-6)


@pytest.mark.parametrize("sure", [1.0, 0.99])
@pytest.mark.parametrize("blank_last", [False, True])
def test_b41_true_double_letters_stay(blank_last, sure):
    blank, a = (1, 0) if blank_last else (0, 1)
    with np.errstate(divide="ignore"):
        logits = frames_of("aa-aa", blank_last, sure)
    labels, log_probabilities = ctc_greedy_decode(logits, blank=blank)
    beams = ctc_beam_decode(logits, blank=blank)
    assert text(labels[0]) == text(beams.labels[0, 0]) == (a, a)
    assert float(log_probabilities[0]) <= 0
    assert beams.log_probabilities[0, 0] <= 0
    if sure == 1.0:
        assert float(log_probabilities[0]) == pytest.approx(0.0, abs=1e-6)
        assert beams.log_probabilities[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_200_random_rows_full_width_is_the_exact_best_labelling():
    random = np.random.RandomState(0)
    for number in range(200):
        classes, frames = 2 + number % 3, 1 + number % 5
        blank = random.randint(classes)
        logits = 2 * random.standard_normal((1, frames, classes))
        exact = sorted(all_labels(logits[0], blank).items(), key=lambda item: -item[1])
        top = min(3, len(exact))
        beams = ctc_beam_decode(logits, blank=blank, beam_width=10_000, top_paths=top)
        assert [text(label) for label in beams.labels[0]] == [label for label, _ in exact[:top]]
        np.testing.assert_allclose(beams.log_probabilities[0], np.log([p for _, p in exact[:top]]), atol=1e-9)
        np.testing.assert_array_equal(beams.scores, beams.log_probabilities)
        labels, log_probabilities = ctc_greedy_decode(logits, blank=blank)
        path = np.argmax(logits[0], axis=1)
        assert text(labels[0]) == tuple(k for k, _ in itertools.groupby(path) if k != blank)
        assert float(log_probabilities[0]) == pytest.approx(log_softmax(logits[0]).max(axis=1).sum(), abs=1e-5)
        assert float(log_probabilities[0]) <= beams.log_probabilities[0, 0] + 1e-5


def test_beam_probability_is_the_loss_of_its_label():
    logits = np.random.RandomState(1).standard_normal((3, 6, 4)).astype("float32")
    beams = ctc_beam_decode(logits, [6, 4, 5], beam_width=5000)
    lengths = np.sum(beams.labels[:, 0] >= 0, axis=1)
    labels = np.where(beams.labels[:, 0] >= 0, beams.labels[:, 0], 1)
    loss = ctc_loss(labels, logits, lengths, np.asarray([6, 4, 5]))
    np.testing.assert_allclose(-beams.log_probabilities[:, 0], loss, atol=1e-5)


def test_a_narrow_beam_gives_a_lower_bound_and_stays_ordered():
    logits = np.random.RandomState(2).standard_normal((2, 12, 6))
    wide = ctc_beam_decode(logits, beam_width=400, top_paths=4)
    for width in (4, 10, 50):
        beams = ctc_beam_decode(logits, beam_width=width, top_paths=4)
        assert np.all(beams.log_probabilities[:, 0] <= wide.log_probabilities[:, 0] + 1e-12)
        assert np.all(np.diff(beams.scores, axis=1) <= 0)
        assert all(len({text(label) for label in row}) == 4 for row in beams.labels)


def test_language_scores_decide_and_are_kept_apart():
    # Acoustically "a" (1) and "b" (2) are alike at both frames, with "a" ahead by a little.
    logits = np.log([[[0.1, 0.46, 0.44], [0.1, 0.46, 0.44]]])

    def bigram(prefix):
        return [0.0, np.log(0.1), np.log(0.9)] if not prefix else [0.0, np.log(0.5), np.log(0.5)]

    plain = ctc_beam_decode(logits, top_paths=20, beam_width=20)
    with_language = ctc_beam_decode(logits, top_paths=20, beam_width=20, score=bigram)
    acoustic = {text(label): p for label, p in zip(plain.labels[0], plain.log_probabilities[0], strict=True) if p > -np.inf}
    expected = {}
    for label, p in acoustic.items():
        expected[label] = p + sum(bigram(label[:place])[symbol] for place, symbol in enumerate(label))
    found = {text(label): s for label, s in zip(with_language.labels[0], with_language.scores[0], strict=True) if s > -np.inf}
    assert found == pytest.approx(expected)
    assert text(plain.labels[0, 0]) == (1,)
    assert text(with_language.labels[0, 0]) == max(expected, key=expected.get) == (2,)
    assert with_language.log_probabilities[0, 0] == pytest.approx(acoustic[2,])


def test_a_language_model_may_forbid_symbols():
    logits = np.random.RandomState(3).standard_normal((1, 5, 3))
    beams = ctc_beam_decode(logits, beam_width=50, top_paths=50, score=lambda prefix: [0.0, -np.inf, 0.0])
    assert {symbol for label in beams.labels[0] for symbol in text(label)} == {2}


def test_lengths_trim_and_empty_rows_decode_to_nothing():
    logits = np.random.RandomState(4).standard_normal((3, 6, 4))
    lengths = np.asarray([6, 3, 0])
    labels, log_probabilities = ctc_greedy_decode(logits, lengths)
    beams = ctc_beam_decode(logits, lengths)
    for row, length in enumerate(lengths[:2]):
        trimmed, expected = ctc_greedy_decode(logits[row : row + 1, :length])
        assert text(labels[row]) == text(trimmed[0])
        assert float(log_probabilities[row]) == pytest.approx(float(expected[0]), abs=1e-6)
        alone = ctc_beam_decode(logits[row : row + 1, :length])
        assert text(beams.labels[row, 0]) == text(alone.labels[0, 0])
        assert beams.log_probabilities[row, 0] == alone.log_probabilities[0, 0]
    assert text(labels[2]) == text(beams.labels[2, 0]) == ()
    assert float(log_probabilities[2]) == beams.log_probabilities[2, 0] == 0.0


def test_fewer_labels_than_asked_for_are_marked():
    beams = ctc_beam_decode(np.zeros((1, 1, 2)), top_paths=3)
    np.testing.assert_allclose(beams.log_probabilities[0], [np.log(0.5), np.log(0.5), -np.inf])
    np.testing.assert_array_equal(beams.labels[0], [[-1], [1], [-1]])


def test_dtypes_shapes_and_empty_batch():
    for rows, frames in ((2, 5), (0, 5), (2, 0)):
        logits = np.random.RandomState(5).standard_normal((rows, frames, 3)).astype("float32")
        labels, log_probabilities = ctc_greedy_decode(logits)
        beams = ctc_beam_decode(logits, top_paths=2)
        assert (tuple(labels.shape), labels.dtype, tuple(log_probabilities.shape)) == ((rows, frames), "int32", (rows,))
        assert (beams.labels.shape, beams.labels.dtype, beams.scores.shape) == ((rows, 2, frames), "int32", (rows, 2))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_greedy_compiles(jit_compile):
    logits = np.random.RandomState(6).standard_normal((3, 7, 4)).astype("float32")
    lengths = np.asarray([7, 2, 5])
    run = tf.function(lambda logits: ctc_greedy_decode(logits, lengths, blank=2), jit_compile=jit_compile)
    for found, expected in zip(run(logits), ctc_greedy_decode(logits, lengths, blank=2), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_greedy_takes_dynamic_shapes():
    run = tf.function(ctc_greedy_decode, input_signature=[tf.TensorSpec((None, None, 3), "float32")])
    for frames in (1, 4):
        logits = np.random.RandomState(frames).standard_normal((2, frames, 3)).astype("float32")
        np.testing.assert_array_equal(run(logits)[0], ctc_greedy_decode(logits)[0])


@pytest.mark.parametrize("decode", [ctc_greedy_decode, ctc_beam_decode])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"blank": 3}, "blank must be an integer from 0 to 2 for 3 classes, got 3"),
        ({"blank": -1}, "blank must be an integer from 0 to 2 for 3 classes, got -1"),
        ({"logit_lengths": [4, -1]}, "logit_lengths must be between 0 and 4, got -1 in row 1"),
        ({"logit_lengths": [5, 1]}, "logit_lengths must be between 0 and 4, got 5 in row 0"),
        ({"logit_lengths": [1]}, r"logit_lengths must have shape \(batch,\) = \(2,\), got \(1,\)"),
        ({"logits": np.zeros((4, 3))}, r"expects logits of shape \(batch, frames, classes\) with known classes, got \(4, 3\)"),
    ],
)
def test_bad_arguments(decode, arguments, message):
    with pytest.raises(ValueError, match=message):
        decode(**{"logits": np.zeros((2, 4, 3)), **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beam_width": 0}, "beam_width must be an integer of at least 1, got 0"),
        ({"top_paths": 0}, "top_paths must be an integer of at least 1, got 0"),
        ({"beam_width": 2, "top_paths": 3}, "top_paths must be at most beam_width, 2, got 3"),
        ({"logits": np.full((1, 2, 3), np.nan)}, "logits must be finite or -inf, got NaN or"),
        ({"logits": np.full((1, 2, 3), -np.inf)}, "logits must allow at least one class at each frame"),
        ({"score": lambda prefix: [0.0]}, r"score must return 3 numbers below \+inf, got .* for prefix \(\)"),
        ({"score": lambda prefix: [0.0, np.nan, 0.0]}, r"score must return 3 numbers below \+inf"),
    ],
)
def test_bad_beam_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ctc_beam_decode(**{"logits": np.zeros((2, 4, 3)), **arguments})


def test_beam_search_says_that_it_needs_values():
    with pytest.raises(ValueError, match="ctc_beam_decode needs logits whose values are known"):
        tf.function(lambda logits: ctc_beam_decode(logits))(tf.zeros((1, 2, 3)))
