"""Neighbours, analogies and the projector, on vectors whose answers are known."""

import numpy as np
import pytest
from tensorboard.plugins.projector import projector_config_pb2

from keras_canon import zoo
from keras_canon.zoo import word_vectors

# padding, man, woman, king, queen, apple: (royal, female, fruit)
VECTORS = np.array([[9, 9, 9], [0.1, 0.1, 0], [0.1, 1.1, 0], [2, 0.2, 0], [2, 1.8, 0], [0, 0, 3]], "float32")


def test_nearest_words():
    found = word_vectors.nearest_words(VECTORS, 3, count=2)
    assert [word for word, _ in found] == [4, 1]
    assert found[0][1] == pytest.approx((4 + 0.36) / (np.hypot(2, 0.2) * np.hypot(2, 1.8)), abs=1e-6)
    assert word_vectors.nearest_words(VECTORS, [0, 0, 1.0], count=1)[0][0] == 5


def test_analogy():
    vectors = np.eye(6)[[0, 1, 2, 3, 4, 5]] * 0.1
    man, woman, royal = np.eye(6)[1], np.eye(6)[2], np.eye(6)[3]
    vectors[1:5] = [man, woman, man + royal, woman + royal]
    assert word_vectors.analogy(vectors, word=1, is_to=3, as_word=2)[0][0] == 4


def test_a_model_gives_its_vectors():
    model = zoo.create("word2vec_skipgram", overrides={"vocabulary_size": 7, "embedding_dim": 3})
    np.testing.assert_array_equal(word_vectors.word_vectors(model), np.asarray(model.get_layer("embedding").embeddings))
    with pytest.raises(zoo.CanonError, match="no word vectors"):
        word_vectors.word_vectors(zoo.create("elman", overrides={"units": 2}))


def test_probabilities():
    np.testing.assert_allclose(word_vectors.negative_probabilities([5, 16, 1]), [0, 8 / 9, 1 / 9])
    np.testing.assert_allclose(word_vectors.kept_probabilities([0, 99, 1], threshold=0.01), [1, (0.01 / 0.99) ** 0.5, 1])
    with pytest.raises(zoo.CanonError, match="counts must be"):
        word_vectors.negative_probabilities([5, 0])


def test_projector_files(tmp_path):
    from google.protobuf import text_format

    folder = word_vectors.export_projector(VECTORS, ["", "man", "wo\tman", "king", "queen", "apple"], tmp_path / "words")
    config = text_format.Parse((folder / "projector_config.pbtxt").read_text(), projector_config_pb2.ProjectorConfig())
    entry = config.embeddings[0]
    np.testing.assert_allclose(np.loadtxt(folder / entry.tensor_path, delimiter="\t"), VECTORS[1:], atol=1e-5)
    assert (folder / entry.metadata_path).read_text().splitlines() == ["man", "wo man", "king", "queen", "apple"]
    with pytest.raises(zoo.CanonError, match="as many as"):
        word_vectors.export_projector(VECTORS, ["man"], tmp_path)


@pytest.mark.parametrize("query", [0, 6, True, [0.0, 0.0, 0.0], [1.0, 2.0]])
def test_errors(query):
    with pytest.raises(zoo.CanonError):
        word_vectors.nearest_words(VECTORS, query)
