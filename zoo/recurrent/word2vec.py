"""Word vectors by prediction of nearby words, trained against drawn words (negative sampling)."""

from dataclasses import dataclass

import keras

from ...layers import GlobalPooling, TokenEmbedding
from ..token_input import refuse_classes
from .sequences import embedded_tokens


@dataclass(frozen=True)
class Word2VecConfig:
    """Word vectors.

    Args:
        vocabulary_size: number of words, of which 0 is padding.
        embedding_dim: width of the vectors.
    """

    vocabulary_size: int = 692_001
    embedding_dim: int = 300


def word2vec_skipgram(config: Word2VecConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the skip-gram model: a word scores the words that may stand near it.

    Paper: Mikolov, Sutskever, Chen, Corrado, Dean, Distributed representations of words and phrases and their compositionality, 2013,
    sections 2 and 2.2. https://arxiv.org/abs/1310.4546

    **Differs from the paper:** nothing. The vectors are the layer `embedding`, those that score are `candidates`. Equation 4 is a
    logistic loss on the logits, with label 1 for a true candidate and 0 for a drawn one; whoever trains it draws the candidates.

    Shape walk:
        token_ids     (B, 1)
        candidate_ids (B, N)
        logits        (B, N), the products v'_candidate . v_word

    Args:
        config: the sizes.
        input_shape: (1,), the one word.
        num_classes: 0, the classes are the vocabulary.

    Raises:
        ValueError: another input shape, any number of classes but 0, or a size of the config out of range.
    """
    if tuple(input_shape) != (1,):
        raise ValueError(f"input_shape must be (1,) for skip-gram, whose input is one word, got {tuple(input_shape)}.")
    return _word2vec(config, input_shape, num_classes, "word2vec_skipgram")


def word2vec_cbow(config: Word2VecConfig, *, input_shape: tuple[int | None, ...], num_classes: int) -> keras.Model:
    """Build the continuous bag of words: the words around a gap score the word that may stand in it.

    Paper: Mikolov, Chen, Corrado, Dean, Efficient estimation of word representations in vector space, 2013, section 3.1.
    https://arxiv.org/abs/1301.3781

    **Differs from the paper:** negative sampling (arXiv:1310.4546, section 2.2) in place of the hierarchical softmax.

    Shape walk:
        token_ids     (B, C), the words around the gap
        pool          (B, embedding_dim), the average of their vectors
        candidate_ids (B, N)
        logits        (B, N), the products v'_candidate . average

    Args:
        config: the sizes.
        input_shape: (words,); None for any number.
        num_classes: 0, the classes are the vocabulary.

    Raises:
        ValueError: another rank of input, any number of classes but 0, or a size of the config out of range.
    """
    return _word2vec(config, input_shape, num_classes, "word2vec_cbow")


def _word2vec(config: Word2VecConfig, input_shape: tuple[int | None, ...], num_classes: int, name: str) -> keras.Model:
    refuse_classes(num_classes)
    token_ids, vectors = embedded_tokens("token_ids", input_shape, config.vocabulary_size, config.embedding_dim, "embedding")
    average = GlobalPooling("average", keepdims=True, name="pool")(vectors)  # (B, 1, embedding_dim)
    candidate_ids = keras.Input((None,), dtype="int32", name="candidate_ids")
    candidates = TokenEmbedding(config.vocabulary_size, config.embedding_dim, name="candidates")(candidate_ids)
    logits = keras.layers.Dot(axes=2, name="products")([candidates, average])  # (B, N, 1)
    logits = keras.layers.Reshape((-1,), name="logits")(logits)
    return keras.Model({"token_ids": token_ids, "candidate_ids": candidate_ids}, logits, name=name)
