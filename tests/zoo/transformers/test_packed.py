"""Packed documents: each gives what it gives alone, and none sees another."""

import keras
import numpy as np
import pytest
from checks.transformers import small

from keras_canon import zoo
from keras_canon.training.data import pack
from keras_canon.training.sequence_losses import SequenceCrossEntropy

DOCUMENTS = [[5, 6, 7, 8], [9, 10, 11], [3, 4], [12, 13, 14, 15, 16], [20]]


@pytest.mark.parametrize("name", ["gpt1", "gpt2_tiny"])
def test_a_document_in_a_row_is_the_document_alone(name):
    model = small(name)
    rows = pack(DOCUMENTS, 8)
    found = np.asarray(zoo.packed_model(model)(rows.inputs, training=False))
    seen = 0
    for ids, numbers, logits in zip(rows.token_ids, rows.document_ids, found, strict=True):
        for number in range(1, numbers.max() + 1):
            alone = np.asarray(model(ids[numbers == number][None], training=False))[0]
            np.testing.assert_allclose(logits[numbers == number], alone, rtol=0, atol=1e-5)
            seen += 1
    assert seen == len(DOCUMENTS)


@pytest.mark.parametrize("length", [14, 15, 16, 24])
def test_the_rest_of_a_row_may_be_longer_than_the_context(length):
    model = zoo.create(
        "gpt2_tiny", overrides={"vocabulary_size": 23, "max_length": 8, "depth": 1, "model_dim": 16, "num_heads": 2, "feedforward_dim": 32}
    )
    packed, rows = zoo.packed_model(model), pack([[5, 6, 7], [4, 4, 4]], length, end_id=1)
    logits = np.asarray(packed(rows.inputs, training=False))
    assert np.isfinite(logits).all()
    alone = np.asarray(model(np.array([[5, 6, 7], [4, 4, 4]]), training=False))
    np.testing.assert_allclose(logits[0, :6], alone.reshape(6, -1), rtol=0, atol=1e-5)
    packed.compile("sgd", loss=SequenceCrossEntropy(ignored_label=-1))
    packed.fit(rows.inputs, rows.labels, verbose=0)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_id_0_is_learned_like_any_other():
    """It is "!" in the vocabulary of GPT-2."""
    keras.utils.set_random_seed(0)
    model = zoo.create("gpt2_tiny", overrides={"vocabulary_size": 23, "depth": 1, "model_dim": 16, "num_heads": 2, "max_length": 8})
    packed, rows = zoo.packed_model(model), pack([[5, 0, 6], [7, 8]] * 4, 6, end_id=1)
    packed.compile(keras.optimizers.Adam(0.02), loss=SequenceCrossEntropy(ignored_label=-1))
    packed.fit(rows.inputs, rows.labels, epochs=25, batch_size=4, verbose=0)
    assert zoo.generate(model, [[5], [7]], zoo.Generation(max_new_tokens=3, stop_ids=(1,))) == [[0, 6, 1], [8, 1]]


@pytest.mark.parametrize("name", ["gpt1", "gpt2_tiny"])
def test_no_document_sees_another(name):
    packed = zoo.packed_model(small(name))
    numbers = np.array([[1, 1, 1, 2, 2, 2, 3, 3]], "int32")
    ids = np.array([[5, 6, 7, 8, 9, 10, 11, 12]], "int32")
    before = np.asarray(packed({"token_ids": ids, "document_ids": numbers}, training=False))
    for number in (1, 2, 3):
        other = np.where(numbers == number, ids % 20 + 2, ids)
        after = np.asarray(packed({"token_ids": other, "document_ids": numbers}, training=False))
        difference = np.abs(after - before).max(axis=-1)
        assert difference[numbers != number].max() == 0.0
        assert difference[numbers == number].min() > 1e-3


@pytest.mark.slow
def test_training_the_packed_form_trains_the_model():
    keras.utils.set_random_seed(0)
    model = zoo.create("gpt2_tiny", overrides={"vocabulary_size": 23, "depth": 1, "model_dim": 16, "num_heads": 2, "max_length": 12})
    packed, rows = zoo.packed_model(model), pack(DOCUMENTS * 8, 12, end_id=1)
    packed.compile(keras.optimizers.Adam(0.02), loss=SequenceCrossEntropy(ignored_label=-1))
    packed.fit(rows.inputs, rows.labels, epochs=30, batch_size=4, verbose=0)
    (written,) = zoo.generate(model, [[12, 13]], zoo.Generation(max_new_tokens=6, stop_ids=(1,)))
    assert written == [14, 15, 16, 1]


def test_other_models_are_refused():
    for name in ("transformer_tiny", "bert_tiny"):
        with pytest.raises(zoo.CanonError, match="reads no packed documents: give one of the families gpt1 and gpt2"):
            zoo.packed_model(small(name))
