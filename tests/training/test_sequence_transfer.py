"""A run on sequences that starts from trained weights: what is loaded, what is new, and what is refused."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from checks.small_bible import small_bible

from keras_canon import training, zoo
from keras_canon.training.data import load_sequences
from keras_canon.training.data.sequences import Ragged, SequenceDataset, SequenceSplit
from keras_canon.training.data.vocabulary import SPECIALS
from keras_canon.training.recipe import load_recipe
from keras_canon.training.sequence_building import sequence_model
from keras_canon.training.sequence_transfer import load_encoder
from keras_canon.training.transfer_section import TransferSection
from keras_canon.zoo import CanonError

BOOKS = "books:labels=40,books=4"
SMALL = {"depth": 1, "model_dim": 16, "num_heads": 2, "max_length": 64}


@pytest.fixture(scope="module", autouse=True)
def prepared(tmp_path_factory):
    """The passages are those of a small text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("keras_canon.training.data.passages.numbered_verses", lambda name: small_bible())
        patch.setenv("KERAS_CANON_DATA", str(tmp_path_factory.mktemp("small_bible")))
        yield


def small(name, changes=None):
    return load_recipe(name, changes, smoke=True)


def on_books(weights, **changes):
    return small("bert_tiny_books", {"data.name": BOOKS, "transfer.weights": str(weights), **changes})


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrained") / "run"
    return training.run(small("bert_tiny_mlm"), folder, verbose=False)


def test_a_masked_model_is_trained_and_keeps_its_vocabulary(pretrained):
    assert set(pretrained.test_metrics) == {"accuracy", "cross_entropy", "perplexity", "examples"}
    assert pretrained.test_metrics["perplexity"] == pytest.approx(np.exp(pretrained.test_metrics["cross_entropy"]))
    words, data = zoo.load_tokenizer(pretrained.folder), load_sequences("passages")
    assert words.to_json() == data.tokenizer.to_json()
    assert json.loads((pretrained.folder / "vocabulary.json").read_text(encoding="utf-8"))["target"] == list(data.class_names)
    assert "[MASK]" in (pretrained.folder / "report.md").read_text(encoding="utf-8")
    assert training.evaluate(pretrained.folder).metrics() == pytest.approx(pretrained.test_metrics, abs=1e-6)
    assert all(layer.trainable for layer in pretrained.model.layers)


def test_heads_that_nothing_is_asked_of_stay_as_they_began(pretrained):
    recipe = small("bert_tiny_mlm")
    model = sequence_model(recipe, load_sequences("passages"))
    assert [layer.name for layer in model.layers if layer.weights and not layer.trainable] == ["pooled", "next_sentence_logits"]


@pytest.mark.parametrize("form", ["folder", "model.keras", "weights.weights.h5", "weights.safetensors"])
def test_the_encoder_is_loaded_exactly(form, pretrained, tmp_path):
    source = pretrained.folder if form == "folder" else tmp_path / form
    if form == "model.keras":
        shutil.copy(pretrained.folder / form, source)
    elif form != "folder":
        pretrained.model.save_weights(source)
    recipe, data = on_books(source), load_sequences(BOOKS)
    model = sequence_model(recipe, data)
    head = [np.array(weight) for weight in model.get_layer("logits").weights]
    report = load_encoder(model, recipe.transfer, data)
    theirs = {weight.path: np.array(weight) for weight in pretrained.model.weights}
    loaded = {path for _, path, _ in report.loaded}
    assert loaded == {
        weight.path for weight in model.weights if "seed_generator" not in weight.path and not weight.path.startswith("logits/")
    }
    for weight in model.weights:
        if weight.path in loaded:
            np.testing.assert_array_equal(weight, theirs[weight.path])
    for before, weight in zip(head, model.get_layer("logits").weights, strict=True):
        np.testing.assert_array_equal(before, weight)
    assert report.skipped_layers == ("logits",)
    assert {name.split("/")[0] for name in report.unused} == {"tokens", "token_transform", "token_transform_norm", "next_sentence_logits"}


def test_a_run_starts_from_a_run_and_says_so(pretrained, tmp_path, capsys):
    result = training.run(on_books(pretrained.folder), tmp_path / "run")
    assert result.test_metrics["examples"] == len(load_sequences(BOOKS).test)
    said = capsys.readouterr().out
    assert "arrays loaded from format 'canon'" in said
    assert "unused: next_sentence_logits/kernel" in said
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert "New: logits." in report
    assert result.model.record.weights.startswith(f"{pretrained.folder}, fine-tuned by recipe bert_tiny_books")
    assert zoo.load_tokenizer(tmp_path / "run").vocabulary_size == load_sequences(BOOKS).sizes["vocabulary_size"]


@pytest.mark.slow
def test_without_weights_a_run_starts_from_scratch(tmp_path):
    result = training.run(small("bert_tiny_books", {"data.name": BOOKS}), tmp_path / "run", verbose=False)
    assert result.test_metrics["examples"] > 50
    assert "Started from" not in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")


def folder_of(model, folder, pretrained, vocabulary=None):
    folder.mkdir()
    model.save(folder / "model.keras")
    shutil.copy(pretrained.folder / "tokenizer.json", folder)
    if vocabulary is not None:
        content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        pieces = content["model"]["vocab"]
        pieces[vocabulary[0]], pieces[vocabulary[1]] = pieces[vocabulary[1]], pieces[vocabulary[0]]
        (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_bad_weights_are_refused_in_one_sentence(pretrained, tmp_path):
    size = load_sequences("passages").num_classes
    wide = zoo.create("bert_tiny_pretraining", overrides={**SMALL, "vocabulary_size": size, "model_dim": 32})
    shallow = zoo.create("bert_tiny_pretraining", overrides={**SMALL, "vocabulary_size": size})
    (tmp_path / "none").mkdir()
    cases = {
        tmp_path / "none": "There is no model.keras in",
        tmp_path / "missing.keras": "There are no weights .*: give a run's folder, a weight file or hf:OWNER/NAME",
        folder_of(wide, tmp_path / "wide", pretrained): "do not fit 'bert_tiny_classifier': tokens/embeddings is .* and the source has",
        folder_of(zoo.create("lenet5"), tmp_path / "lenet5", pretrained): "do not fit 'bert_tiny_classifier': none of its arrays is there",
        folder_of(
            pretrained.model, tmp_path / "other", pretrained, ("and", "so")
        ): "was trained with another vocabulary than that of 'books",
    }
    for weights, message in cases.items():
        with pytest.raises(CanonError, match=message):
            training.run(on_books(weights), tmp_path / "run", verbose=False)
        assert not (tmp_path / "run").exists()
    deep = on_books(folder_of(shallow, tmp_path / "shallow", pretrained), **{"model.overrides": {**SMALL, "depth": 2}})
    with pytest.raises(CanonError, match=r"encoder_block2/.* is missing"):
        training.run(deep, tmp_path / "run", verbose=False)


@pytest.mark.parametrize("file", ["model.keras", "weights.weights.h5"])
def test_a_file_of_a_run_with_another_vocabulary_is_refused(file, pretrained, tmp_path):
    folder = folder_of(pretrained.model, tmp_path / "other", pretrained, ("and", "so"))
    pretrained.model.save_weights(folder / "weights.weights.h5")
    with pytest.raises(CanonError, match=rf"{file}' was trained with another vocabulary than that of 'books"):
        training.run(on_books(folder / file), tmp_path / "run", verbose=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("form", ["", "model.keras"])
def test_an_alphabet_of_other_characters_is_refused(form, tmp_path):
    names = (*SPECIALS, *"abcdef")
    model = zoo.create("gpt2_tiny", overrides={**SMALL, "vocabulary_size": len(names)})
    model.save(tmp_path / "model.keras")
    zoo.CharacterTokenizer("abcdef").save(tmp_path)
    rows = Ragged.of([[4, 5, 6]])
    split = SequenceSplit("train", {"token_ids": rows}, rows, rows.lengths)
    data = SequenceDataset("letters", "tokens", names, (None,), split, split, split, {}, characters=True)
    section = TransferSection(weights=str(tmp_path / form))
    assert load_encoder(model, section, data).loaded
    with pytest.raises(CanonError, match="was trained with another vocabulary than that of 'letters'"):
        load_encoder(model, section, dataclasses.replace(data, class_names=(*SPECIALS, *"uvwxyz")))


def test_a_file_that_lies_anywhere_else_has_no_vocabulary(pretrained, tmp_path, monkeypatch):
    """A name that is no file has nothing beside it, whatever folder a program runs in."""
    folder_of(pretrained.model, tmp_path / "other", pretrained, ("and", "so"))
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(CanonError, match="There are no weights"):
        training.run(on_books("missing"), tmp_path / "run", verbose=False)


def test_keys_that_pictures_alone_have_are_refused(pretrained, tmp_path):
    for key, value in (("method", "full"), ("stages", 2), ("backbone_rate", 0.1)):
        with pytest.raises(CanonError, match=rf"takes weights and sha256, and trains all weights at one rate: leave out transfer\.{key}"):
            training.run(on_books(pretrained.folder, **{f"transfer.{key}": value}), tmp_path / "run", verbose=False)
    recipe = small("bert_tiny_books", {"data.name": BOOKS, "transfer.method": "scratch"})
    with pytest.raises(CanonError, match=r"leave out transfer\.method"):
        training.run(recipe, tmp_path / "run", verbose=False)
    with pytest.raises(CanonError, match="has changed since the recipe was written"):
        training.run(on_books(pretrained.folder, **{"transfer.sha256": "0" * 64}), tmp_path / "run", verbose=False)
    assert TransferSection(weights="a").filled(4).method == "staged"


def test_a_model_without_an_answer_is_refused(tmp_path):
    with pytest.raises(CanonError, match="'bert_tiny' gives pooled and sequence, none of which answers 'passages'"):
        training.run(small("bert_tiny_mlm", {"model.name": "bert_tiny"}), tmp_path / "run", verbose=False)
