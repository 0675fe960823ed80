"""Attention maps of recurrent translators, as arrays and as pictures."""

import json

import keras
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from keras_canon import zoo
from keras_canon.cli.explain import explain
from keras_canon.zoo import CanonError

SPECIAL = ["<pad>", "<unk>", "<start>", "<end>"]
SOURCE, TARGET = [*SPECIAL, *"abc "], [*SPECIAL, *"xyz"]
SIZES = {"source_vocabulary_size": len(SOURCE), "target_vocabulary_size": len(TARGET), "embedding_dim": 6}
SMALL = {
    "seq2seq_attention": {"units": 6, "attention_units": 4, "readout_units": 4},
    "seq2seq_luong_general": {"units": (6,)},
    "seq2seq": {"units": (6,)},
}
IDS = {"source_ids": np.array([[4, 5, 6, 7, 3]], "int32"), "target_ids": np.array([[2, 4, 5]], "int32")}


def small(name):
    keras.utils.set_random_seed(4)
    return zoo.create(name, overrides={**SIZES, **SMALL[name]})


@pytest.mark.parametrize("name", ["seq2seq_attention", "seq2seq_luong_general"])
def test_the_map_is_the_attention_of_the_decoder(name):
    model = small(name)
    (weights,) = zoo.text_attention(model, IDS).values()
    assert weights.shape == (1, 1, 3, 5)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)
    if name == "seq2seq_attention":
        inside = keras.Model(model.input, model.get_layer("decoder").output[2])(IDS)
        np.testing.assert_allclose(weights[:, 0], inside, atol=1e-6)


def test_what_has_no_map_is_refused():
    with pytest.raises(CanonError, match="'seq2seq' has no attention that could be shown"):
        zoo.text_attention(small("seq2seq"), IDS)
    with pytest.raises(CanonError, match="source_ids holds the id 0"):
        zoo.text_attention(small("seq2seq_attention"), {**IDS, "source_ids": np.array([[4, 0]], "int32")})


def test_the_command_draws_a_translation_with_two_alphabets(tmp_path):
    small("seq2seq_attention").save(tmp_path / "model.keras")
    (tmp_path / "vocabulary.json").write_text(json.dumps({"source": SOURCE, "target": TARGET}), encoding="utf-8")
    app = typer.Typer()
    app.command()(explain)
    out = tmp_path / "map.png"
    result = CliRunner().invoke(app, [str(tmp_path), "--text", "cab a", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_bytes()[:4] == b"\x89PNG"
    assert "translation" in result.output
