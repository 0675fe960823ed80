import keras
import numpy as np
import pytest

from keras_canon.layers import TokenEmbedding

TOKENS = np.asarray([[3, 1, 0], [2, 0, 0]], "int32")


@pytest.mark.parametrize("scale", [False, True])
def test_look_up_and_reverse_share_one_table(scale):
    layer = TokenEmbedding(5, 4, scale=scale)
    hidden = layer(TOKENS)
    (table,) = layer.get_weights()
    np.testing.assert_allclose(hidden, table[TOKENS] * (2.0 if scale else 1.0), atol=1e-6)
    np.testing.assert_allclose(layer(hidden, reverse=True), hidden @ table.T, atol=1e-6)
    assert len(layer.weights) == 1


def test_functional_model_with_tied_output():
    embedding = TokenEmbedding(5, 4, mask_zero=True)
    tokens = keras.Input((None,), dtype="int32")
    model = keras.Model(tokens, embedding(embedding(tokens), reverse=True))
    assert model.output_shape == (None, None, 5)
    assert model.count_params() == 20
    (table,) = model.get_weights()
    np.testing.assert_allclose(model(TOKENS), table[TOKENS] @ table.T, atol=1e-6)


def test_b05_mask_starts_at_the_tokens_and_survives_the_reverse():
    layer = TokenEmbedding(5, 4, mask_zero=True)
    hidden = layer(TOKENS)
    np.testing.assert_array_equal(hidden._keras_mask, TOKENS != 0)
    np.testing.assert_array_equal(layer(hidden, reverse=True)._keras_mask, TOKENS != 0)
    assert getattr(TokenEmbedding(5, 4)(TOKENS), "_keras_mask", None) is None


def test_integers_of_any_width_under_half_precision():
    layer = TokenEmbedding(5000, 2, dtype="mixed_float16")
    for dtype in ("int64", "uint16", "int32"):
        found = layer(np.asarray([[2049, 4999]], dtype))
        np.testing.assert_allclose(found[0], layer.get_weights()[0][[2049, 4999]], atol=1e-4)


def test_bad_arguments():
    with pytest.raises(ValueError, match="vocabulary_size must be an integer of at least 1, got 0"):
        TokenEmbedding(0, 4)
    with pytest.raises(ValueError, match="model_dim must be an integer of at least 1, got '4'"):
        TokenEmbedding(5, "4")
    with pytest.raises(ValueError, match="Tokens must be integers, got float32"):
        TokenEmbedding(5, 4)(TOKENS.astype("float32"))
    with pytest.raises(ValueError, match="In reverse the input must have width model_dim=4, got 3"):
        TokenEmbedding(5, 4)(np.zeros((2, 3), "float32"), reverse=True)


def test_output_bias_counts_in_reverse_only():
    layer = TokenEmbedding(5, 4, use_output_bias=True)
    hidden = layer(TOKENS)
    table, bias = layer.get_weights()
    assert bias.tolist() == [0.0] * 5
    layer.set_weights([table, np.arange(5.0)])
    np.testing.assert_allclose(layer(TOKENS), table[TOKENS], atol=1e-6)
    np.testing.assert_allclose(layer(hidden, reverse=True), hidden @ table.T + np.arange(5.0), atol=1e-5)
