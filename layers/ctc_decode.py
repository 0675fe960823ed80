"""Labels from the frame-wise outputs of a CTC model: the best path, and prefix beam search."""

from typing import NamedTuple

import keras
import numpy as np

from .arguments import positive_integer
from .ctc_arguments import checked_blank, checked_lengths, checked_logits, known


class CTCBeams(NamedTuple):
    """The labels that a beam search found, best first.

    Attributes:
        labels: int32 of shape (batch, top_paths, frames), filled up with -1.
        log_probabilities: float64 of shape (batch, top_paths), ln p(label | x); at most 0, and -inf where no label is left.
        scores: float64 of shape (batch, top_paths), what the labels are ordered by: `log_probabilities` plus the language score.
    """

    labels: np.ndarray
    log_probabilities: np.ndarray
    scores: np.ndarray


def ctc_greedy_decode(logits, logit_lengths=None, blank=0):
    """Decode the most probable path: the best class of each frame, repeats merged, then blanks removed.

    l = B(argmax over paths of p(path | x)),   p(path | x) = product over t of y_t(path_t)        (2)

    The best path need not give the best label, whose probability sums over many paths; `ctc_beam_decode` seeks that.
    Made of array operations, so that it can be compiled and exported.

    Args:
        logits: unnormalised log-probabilities of shape (batch, frames, classes).
        logit_lengths: integers of shape (batch,), the frames of each row; None takes all.
        blank: index of the blank, from 0 to classes - 1.

    Returns:
        labels, int32 of shape (batch, frames), filled up with -1; log-probabilities of the paths, float32 of shape
        (batch,), at most 0: the sign is that of `ctc_beam_decode`.

    Raises:
        ValueError: logits of another rank; a blank that is no class; lengths out of range.

    Reference:
        Graves, Fernandez, Gomez, Schmidhuber, 2006, "Connectionist Temporal Classification", ICML, section 3.2 (best path
        decoding), doi:10.1145/1143844.1143891.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ctc_greedy_decode
        >>> labels, log_probabilities = ctc_greedy_decode(keras.ops.log([[[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]]))
        >>> print(labels.numpy().tolist())
        [[1, 1, -1]]
    """
    logits = keras.ops.cast(keras.ops.convert_to_tensor(logits), "float32")
    batch, frames, classes = checked_logits("ctc_greedy_decode", logits)
    blank = checked_blank(blank, classes)
    steps = keras.ops.expand_dims(keras.ops.arange(keras.ops.shape(logits)[1], dtype="int32"), 0)
    best = keras.ops.cast(keras.ops.argmax(logits, axis=-1), "int32")
    active = keras.ops.ones_like(best, dtype="bool")
    if logit_lengths is not None:
        active = steps < keras.ops.expand_dims(checked_lengths("logit_lengths", logit_lengths, batch, frames), 1)
    log_probabilities = keras.ops.max(keras.ops.log_softmax(logits, axis=-1), axis=-1, initial=-np.inf)
    log_probabilities = keras.ops.sum(keras.ops.where(active, log_probabilities, 0.0), axis=1)

    previous = keras.ops.pad(best, [[0, 0], [1, 0]], constant_values=-1)[:, :-1]
    kept = active & (best != blank) & (best != previous)
    # Kept frames move to the front in their order; a stable sort is not needed, as all keys differ.
    order = keras.ops.argsort(keras.ops.where(kept, steps, steps + keras.ops.shape(logits)[1]), axis=1)
    count = keras.ops.sum(keras.ops.cast(kept, "int32"), axis=1, keepdims=True)
    labels = keras.ops.where(steps < count, keras.ops.take_along_axis(best, order, axis=1), -1)
    return labels, log_probabilities


def ctc_beam_decode(logits, logit_lengths=None, blank=0, beam_width=100, top_paths=1, score=None):
    """Search the most probable labels with a beam over prefixes.

    For each prefix l and frame t, p_b and p_n are the probabilities of all paths that give l and end in the blank or not:

    p_b(l; t) = (p_b(l; t-1) + p_n(l; t-1)) y_t(blank)
    p_n(l; t) = p_n(l; t-1) y_t(l_end) + p(l without its end; t-1) y_t(l_end)

    where p(l; t) = p_b + p_n, and only p_b may be followed by the symbol that the prefix already ends in: a repeated symbol
    merges unless a blank stands between. With a `beam_width` that drops no prefix the probabilities are exact; otherwise
    they are lower bounds. Runs on the host, in float64.

    Args:
        logits: unnormalised log-probabilities of shape (batch, frames, classes); -inf forbids a class at a frame.
        logit_lengths: integers of shape (batch,), the frames of each row; None takes all.
        blank: index of the blank, from 0 to classes - 1.
        beam_width: prefixes kept after each frame.
        top_paths: labels returned for each row, at most `beam_width`.
        score: language model, or None. Called with a prefix (a tuple of classes), it returns for each class the log-score of
            that class as the next symbol, weighted as wished (an insertion bonus is a constant added); the blank's is ignored.
            Scores order the prefixes in the beam and in the result, and are kept apart from the probabilities.

    Returns:
        `CTCBeams`: labels, log_probabilities, scores.

    Raises:
        ValueError: logits of another rank, with NaN or +inf, or without values (in a compiled function); a blank that is no
            class; lengths out of range; `beam_width` or `top_paths` out of range; scores of another shape, NaN or +inf.

    Reference:
        Hannun, Maas, Jurafsky, Ng, 2014, "First-Pass Large Vocabulary Continuous Speech Recognition using Bi-Directional
        Recurrent DNNs", algorithm 1, arXiv:1408.2873; Graves et al., 2006, section 3.2 (prefix search).

    Example:
        >>> import numpy as np
        >>> from keras_canon.layers import ctc_beam_decode
        >>> found = ctc_beam_decode(np.log([[[0.6, 0.4], [0.6, 0.4]]]), top_paths=2)
        >>> print(found.labels.tolist(), found.log_probabilities.round(5).tolist())
        [[[1, -1], [-1, -1]]] [[-0.44629, -1.02165]]
    """
    values = known(logits)
    if values is None:
        raise ValueError("ctc_beam_decode needs logits whose values are known, which a compiled function has not: call it outside.")
    values = values.astype("float64")
    batch, frames, classes = checked_logits("ctc_beam_decode", values)
    blank = checked_blank(blank, classes)
    beam_width, top_paths = positive_integer("beam_width", beam_width), positive_integer("top_paths", top_paths)
    if top_paths > beam_width:
        raise ValueError(f"top_paths must be at most beam_width, {beam_width}, got {top_paths}.")
    lengths = np.asarray(
        known(checked_lengths("logit_lengths", logit_lengths, batch, frames)) if logit_lengths is not None else [frames] * batch
    )
    if np.any(np.isnan(values) | (values == np.inf)):
        raise ValueError("logits must be finite or -inf, got NaN or +inf.")

    labels = np.full((batch, top_paths, frames), -1, dtype="int32")
    log_probabilities, scores = np.full((2, batch, top_paths), -np.inf)
    for row in range(batch):
        found = _search(_log_softmax(values[row, : lengths[row]]), blank, beam_width, score)
        for rank, (label, log_probability, total) in enumerate(found[:top_paths]):
            labels[row, rank, : len(label)] = label
            log_probabilities[row, rank], scores[row, rank] = log_probability, total
    return CTCBeams(labels, log_probabilities, scores)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    largest = np.max(logits, axis=-1, keepdims=True)
    if np.any(largest == -np.inf):
        raise ValueError("logits must allow at least one class at each frame, got a frame of -inf.")
    shifted = logits - largest
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


class _Prefixes:
    """A tree of prefixes: one node each, so that a prefix that is met again is the same number."""

    def __init__(self, score, classes: int):
        self.labels: list[tuple[int, ...]] = [()]
        self.parents, self.ends, self.language = [-1], [-1], [0.0]
        self._children, self._next_scores = {}, {}
        self._score, self._zeros = score, np.zeros(classes)

    def child(self, node: int, label: int) -> int:
        if (node, label) not in self._children:
            self._children[node, label] = len(self.labels)
            self.labels.append((*self.labels[node], label))
            self.parents.append(node)
            self.ends.append(label)
            self.language.append(self.language[node] + float(self.next_scores(node)[label]))
        return self._children[node, label]

    def next_scores(self, node: int) -> np.ndarray:
        if self._score is None:
            return self._zeros
        if node not in self._next_scores:
            found = np.asarray(self._score(self.labels[node]), dtype="float64")
            if found.shape != self._zeros.shape or np.any(np.isnan(found) | (found == np.inf)):
                raise ValueError(f"score must return {len(self._zeros)} numbers below +inf, got {found!r} for prefix {self.labels[node]}.")
            self._next_scores[node] = found
        return self._next_scores[node]


def _search(frames: np.ndarray, blank: int, beam_width: int, score) -> list[tuple[tuple[int, ...], float, float]]:
    """Return (label, ln p, ln p + language score) of the prefixes left after the last frame, best first."""
    tree = _Prefixes(score, frames.shape[-1])
    nodes, ends_blank, ends_label = [0], np.zeros(1), np.full(1, -np.inf)
    for frame in frames:
        stay_blank, stay_label, extended = _spread(tree, nodes, ends_blank, ends_label, frame, blank)
        language = np.asarray([tree.language[node] for node in nodes])
        following = np.stack([tree.next_scores(node) for node in nodes]) + language[:, None]
        ranks = np.concatenate([np.logaddexp(stay_blank, stay_label) + language, (extended + following).ravel()])
        chosen = _best(ranks, beam_width)
        if not chosen.size:
            return []
        rows, columns = np.divmod(chosen - len(nodes), frames.shape[-1])
        stays = chosen < len(nodes)
        kept = np.where(stays, chosen, 0)
        ends_blank = np.where(stays, stay_blank[kept], -np.inf)
        ends_label = np.where(stays, stay_label[kept], extended[np.where(stays, 0, rows), columns])
        nodes = [
            nodes[index] if stay else tree.child(nodes[row], int(column))
            for index, stay, row, column in zip(kept, stays, rows, columns, strict=True)
        ]
    totals = np.logaddexp(ends_blank, ends_label)
    scores = totals + np.asarray([tree.language[node] for node in nodes])
    return [(tree.labels[nodes[index]], float(totals[index]), float(scores[index])) for index in _best(scores, len(nodes))]


def _spread(tree, nodes, ends_blank, ends_label, frame, blank):
    """Return ln p_b and ln p_n of the prefixes that stay (prefixes,), and ln p_n of all their extensions (prefixes, classes)."""
    totals = np.logaddexp(ends_blank, ends_label)
    extended = totals[:, None] + frame
    extended[:, blank] = -np.inf
    stay_blank, stay_label = totals + frame[blank], np.full(len(nodes), -np.inf)
    for index, node in enumerate(nodes):
        end = tree.ends[node]
        if end >= 0:
            stay_label[index] = ends_label[index] + frame[end]
            extended[index, end] = ends_blank[index] + frame[end]
    # An extension that is itself in the beam adds to it instead of standing beside it.
    places = {node: index for index, node in enumerate(nodes)}
    for index, node in enumerate(nodes):
        parent = places.get(tree.parents[node])
        if parent is not None:
            end = tree.ends[node]
            stay_label[index] = np.logaddexp(stay_label[index], extended[parent, end])
            extended[parent, end] = -np.inf
    return stay_blank, stay_label, extended


def _best(ranks: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the `count` largest possible ranks, largest first, equal ones in their order."""
    places = np.argpartition(-ranks, count - 1)[:count] if count < len(ranks) else np.arange(len(ranks))
    places = np.sort(places[ranks[places] > -np.inf])
    return places[np.argsort(-ranks[places], kind="stable")]
