"""What word vectors are for: neighbours, analogies, pictures in TensorBoard; and how their negative examples are drawn."""

from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np

from .errors import CanonError


def word_vectors(model: keras.Model) -> np.ndarray:
    """Return the vectors of all words (vocabulary, width), out of the layer `embedding`.

    Raises:
        CanonError: for a model without such a layer.
    """
    layer = next((layer for layer in model.layers if layer.name == "embedding"), None)
    if layer is None:
        raise CanonError(f"Model {model.name!r} has no word vectors: it lacks a layer called 'embedding'.")
    return np.asarray(layer.embeddings)


def nearest_words(vectors: np.ndarray, query, count: int = 10, exclude: Sequence[int] = ()) -> list[tuple[int, float]]:
    """Return the words whose vectors point most nearly the way of the query.

    Args:
        vectors: (vocabulary, width); word 0 is padding and never found.
        query: the id of a word, which is not found itself, or a vector.
        count: number of words.
        exclude: ids that are not to be found.

    Returns:
        (id, cosine) of each, nearest first.

    Raises:
        CanonError: for an id out of range, or a query of another width or without a direction.
    """
    excluded = {0, *exclude}
    if np.ndim(query) == 0:
        excluded.add(_word(vectors, query))
        query = vectors[int(query)]
    query = np.asarray(query, "float64")
    if query.shape != vectors.shape[1:] or not np.any(query) or not np.all(np.isfinite(query)):
        raise CanonError(f"query must be a vector of width {vectors.shape[1]} that is not zero, got shape {query.shape}.")
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
    cosines = vectors @ query / (lengths * np.linalg.norm(query))
    order = [word for word in np.argsort(-cosines, kind="stable").tolist() if word not in excluded]
    return [(word, float(cosines[word])) for word in order[:count]]


def analogy(vectors: np.ndarray, word: int, is_to: int, as_word: int, count: int = 1) -> list[tuple[int, float]]:
    """Return what `as_word` is to, as `word` is to `is_to`: the words nearest to v(is_to) - v(word) + v(as_word).

    Vectors are taken at length 1, and the three given words are not found.

    Args:
        vectors: (vocabulary, width).
        word, is_to, as_word: ids, such as those of man, king and woman.
        count: number of words.

    Returns:
        (id, cosine) of each, nearest first.

    Raises:
        CanonError: for an id out of range.

    Reference:
        Mikolov, Yih, Zweig, 2013, "Linguistic regularities in continuous space word representations", section 5, NAACL 2013.
    """
    given = [_word(vectors, item) for item in (word, is_to, as_word)]
    units = vectors[given] / np.maximum(np.linalg.norm(vectors[given], axis=1, keepdims=True), 1e-12)
    return nearest_words(vectors, units[1] - units[0] + units[2], count, exclude=given)


def negative_probabilities(counts, power: float = 0.75) -> np.ndarray:
    """Return with which probability each word is drawn as a negative example, by how often it occurs: U(w)^(3/4) / Z.

    Args:
        counts: (vocabulary,), of which word 0 is padding and never drawn.
        power: exponent; 0 draws all alike.

    Raises:
        CanonError: when no word but padding occurs.

    Reference:
        Mikolov, Sutskever, Chen, Corrado, Dean, 2013, section 2.2, arXiv:1310.4546.
    """
    counts = np.asarray(counts, "float64").copy()
    counts[0] = 0.0
    weights = np.where(counts > 0.0, counts**power, 0.0)
    if not np.any(weights):
        raise CanonError("counts must be above 0 for at least one word besides padding.")
    return weights / weights.sum()


def kept_probabilities(counts, threshold: float = 1e-5) -> np.ndarray:
    """Return with which probability each occurrence of a word is kept, so that frequent words do not drown the others: sqrt(t / f(w)).

    Args:
        counts: (vocabulary,).
        threshold: t, the share of the text above which a word is thinned out.

    Reference:
        Mikolov, Sutskever, Chen, Corrado, Dean, 2013, section 2.3, equation 5, arXiv:1310.4546.
    """
    counts = np.asarray(counts, "float64")
    shares = counts / max(counts.sum(), 1.0)
    return np.minimum(1.0, np.sqrt(threshold / np.maximum(shares, 1e-300)))


def export_projector(vectors: np.ndarray, words: Sequence[str], folder: str | Path) -> Path:
    """Write the vectors in the form that TensorBoard's projector reads (`tensorboard --logdir FOLDER`).

    Args:
        vectors: (vocabulary, width); word 0, padding, is left out.
        words: text of each word.
        folder: where `vectors.tsv`, `metadata.tsv` and `projector_config.pbtxt` go.

    Returns:
        the folder.

    Raises:
        CanonError: when there are not as many words as vectors.
    """
    if len(words) != len(vectors):
        raise CanonError(f"words must be as many as vectors, {len(vectors)}, got {len(words)}.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    np.savetxt(folder / "vectors.tsv", vectors[1:], fmt="%.6g", delimiter="\t")
    lines = (word.replace("\t", " ").replace("\n", " ") or " " for word in words[1:])
    (folder / "metadata.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = 'embeddings {\n  tensor_name: "words"\n  tensor_path: "vectors.tsv"\n  metadata_path: "metadata.tsv"\n}\n'
    (folder / "projector_config.pbtxt").write_text(config, encoding="utf-8")
    return folder


def _word(vectors: np.ndarray, word) -> int:
    if isinstance(word, bool) or not isinstance(word, int | np.integer) or not 0 < word < len(vectors):
        raise CanonError(f"a word must be an id from 1 to {len(vectors) - 1}, got {word!r}.")
    return int(word)
