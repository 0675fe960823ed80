"""Attention maps and next tokens of texts."""

import keras
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from keras_canon import zoo
from keras_canon.cli.explain import explain
from keras_canon.zoo import CanonError, CharacterTokenizer
from keras_canon.zoo.explain_text import token_names

WORDS = CharacterTokenizer("abcdefgh $\n")
SIZES = {"vocabulary_size": WORDS.vocabulary_size, "model_dim": 16, "num_heads": 2}
SMALL = {
    "gpt2_tiny": {"depth": 2, "max_length": 32},
    "transformer_tiny": {"depth": (1, 2), "feedforward_dim": 32},
    "transformer_tiny_pre_norm": {"depth": (1, 1), "feedforward_dim": 32},
    "bert_tiny": {"depth": 1, "max_length": 32},
}


def small(name):
    keras.utils.set_random_seed(4)
    return zoo.create(name, overrides={**SIZES, **SMALL[name]})


def inputs_of(name):
    ids = np.array([[5, 6, 7, 8, 9]], "int32")
    if name.startswith("transformer"):
        return {"source_ids": ids, "target_ids": ids[:, :4]}
    return {"token_ids": ids, "segment_ids": np.zeros_like(ids)} if name.startswith("bert") else ids


@pytest.mark.parametrize("name", SMALL)
def test_maps_are_weights_that_see_no_future(name):
    maps = zoo.text_attention(small(name), inputs_of(name))
    for key, weights in maps.items():
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=0, atol=1e-5)
        steps = 4 if key.startswith("decoder") and name.startswith("transformer") else 5
        assert weights.shape == (1, 2, steps, 5 if key.endswith("cross_attention") else steps)
        if key.startswith("decoder") and key.endswith("self_attention"):
            assert not np.triu(weights, 1).any()
    assert len(maps) == {"gpt2_tiny": 2, "transformer_tiny": 5, "transformer_tiny_pre_norm": 3, "bert_tiny": 1}[name]


@pytest.mark.parametrize("name", ["transformer_tiny", "transformer_tiny_pre_norm"])
def test_the_maps_lead_to_the_output_of_the_block(name):
    model, inputs = small(name), inputs_of(name)
    block = [layer for layer in model.layers if layer.name.startswith("decoder_block")][-1]
    weights = zoo.text_attention(model, inputs)[f"{block.name}/cross_attention"]
    hidden, memory = keras.Model(model.input, block.input)(inputs)
    value = np.asarray(block.memory_attention.value_projection(memory)).reshape(1, 5, 2, 8)
    context = np.einsum("bhts,bshd->bthd", weights, value).reshape(1, 4, 16)
    output = np.asarray(block.memory_attention.output_projection(context))
    seen = []
    call = block.memory_attention.call
    block.memory_attention.call = lambda *arguments, **options: seen.append(call(*arguments, **options)) or seen[-1]
    block(hidden, memory)
    np.testing.assert_allclose(output, np.asarray(seen[0]), rtol=0, atol=1e-5)


def test_probabilities_are_those_of_the_logits():
    model, ids = small("gpt2_tiny"), inputs_of("gpt2_tiny")
    found = zoo.next_token_probabilities(model, ids)
    logits = np.asarray(model(ids), "float64")
    expected = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_what_has_no_text_is_refused():
    with pytest.raises(CanonError, match="'lenet5' has no Transformer blocks"):
        zoo.text_attention(zoo.create("lenet5"), np.zeros((1, 32, 32, 1), "float32"))
    ids = np.array([[5, 0]], "int32")
    with pytest.raises(CanonError, match="source_ids holds the id 0, which is padding"):
        zoo.text_attention(small("transformer_tiny"), {"source_ids": ids, "target_ids": ids + 1})
    with pytest.raises(CanonError, match="gives no logits of a next token"):
        zoo.next_token_probabilities(small("bert_tiny"), inputs_of("bert_tiny"))


def test_names_of_tokens():
    assert token_names(WORDS, [2, 4, 12, 13, 14]) == ["<start>", "a", "\u2423", "$", "\\n"]


@pytest.mark.parametrize("name", ["gpt2_tiny", pytest.param("transformer_tiny", marks=pytest.mark.slow)])
def test_the_command_draws_a_text(tmp_path, name):
    small(name).save(tmp_path / "model.keras")
    WORDS.save(tmp_path)
    app = typer.Typer()
    app.command()(explain)
    out = tmp_path / "pictures" / "text.png"
    result = CliRunner().invoke(app, [str(tmp_path), "--text", "bad $ cab", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_bytes()[:4] == b"\x89PNG"
    assert result.output.count("next") == 5
    assert ("translation" in result.output) == name.startswith("transformer")


def test_a_translator_with_a_short_table_writes_what_it_has_room_for(tmp_path):
    keras.utils.set_random_seed(4)
    zoo.create("transformer_tiny_learned", overrides={**SIZES, "depth": (1, 1), "feedforward_dim": 32, "positions": 12}).save(
        tmp_path / "model.keras"
    )
    WORDS.save(tmp_path)
    app = typer.Typer()
    app.command()(explain)
    result = CliRunner().invoke(app, [str(tmp_path), "--text", "bad $ cab", "--out", str(tmp_path / "text.png")])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "translation" in result.output


def test_the_command_wants_an_image_or_a_text(tmp_path):
    app = typer.Typer()
    app.command()(explain)
    for options in ([], [str(tmp_path / "a.png"), "--text", "x"]):
        result = CliRunner().invoke(app, [str(tmp_path), *options])
        assert isinstance(result.exception, CanonError)
        assert str(result.exception) == "Give an image file, or a text with --text."


FIXED = ["gpt2_tiny", "transformer_tiny", "bert_tiny"]


@pytest.mark.parametrize("name", [*FIXED, "seq2seq_attention"])
def test_a_model_with_fixed_steps_takes_a_shorter_text(name):
    sizes = {"source_vocabulary_size": 20, "target_vocabulary_size": 20} if name.startswith("seq") else {**SIZES, **SMALL[name]}
    keras.utils.set_random_seed(4)
    fixed, free = (zoo.create(name, input_shape=shape, overrides=sizes) for shape in ((8,), (None,)))
    free.set_weights(fixed.get_weights())
    inputs = inputs_of("transformer" if name.startswith("seq") else name)
    expected, found = zoo.text_attention(free, inputs), zoo.text_attention(fixed, inputs)
    assert list(found) == list(expected)
    for key, weights in found.items():
        np.testing.assert_allclose(weights, expected[key], rtol=0, atol=1e-6)
    if name != "bert_tiny":
        steps = [zoo.next_token_probabilities(model, inputs) for model in (fixed, free)]
        np.testing.assert_allclose(steps[0], steps[1], rtol=0, atol=1e-6)
    if name.startswith("seq"):
        with pytest.raises(CanonError, match="A source of 9 ids is more than 'seq2seq_attention' can read, 8: shorten it"):
            zoo.text_attention(fixed, {**inputs, "source_ids": [[5] * 9]})


def test_ids_may_be_lists_and_nothing_else():
    model = small("gpt2_tiny")
    expected = zoo.text_attention(model, np.array([[5, 6]], "int32"))
    for key, weights in zoo.text_attention(model, [[5, 6]]).items():
        np.testing.assert_array_equal(weights, expected[key])
    np.testing.assert_array_equal(zoo.next_token_probabilities(model, [[5, 6]]), zoo.next_token_probabilities(model, np.array([[5, 6]])))
    for wrong, message in (
        ([5, 6], "token_ids must be integer ids (B, T), got int64 of shape (2,)."),
        ([[5.0]], "token_ids must be integer ids (B, T), got float64 of shape (1, 1)."),
        ([[5, 6], [5]], "token_ids must be one array of integer ids (B, T): explain texts of different lengths one by one."),
    ):
        with pytest.raises(CanonError) as caught:
            zoo.text_attention(model, wrong)
        assert str(caught.value) == message
    with pytest.raises(CanonError, match="reads source_ids and target_ids: give a dict with ids"):
        zoo.text_attention(small("transformer_tiny"), [[5, 6]])
