"""Recipes of sequences: built, run small, evaluated again, gone on with; and what is refused."""

import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.data.vocabulary import Characters
from keras_canon.training.evaluation import Evaluation, evaluate
from keras_canon.training.recipe import list_recipes, load_recipe
from keras_canon.zoo import CanonError

FOLDER = Path(__file__).parents[2] / "training" / "recipes"
RECIPES = [name for name in list_recipes() if zoo.info(load_recipe(name).model.name).preprocessing is None]
DEFAULT = ("adding_lstm",)  # a classifier is stopped and goes on below
NEED_BIBLE = ("bert_tiny_books", "bert_tiny_mlm")  # test_sequence_transfer.py runs them on another text
FIGURES = {
    "adding_elman": "mean_squared_error",
    "adding_identity_rnn": "mean_squared_error",
    "adding_lstm": "mean_squared_error",
    "bert_tiny_books": "macro_f1",
    "bert_tiny_mlm": "perplexity",
    "char_rnn_documentation": "bits_per_character",
    "copying_lstm": "exact_match",
    "crnn_ctc_lines": "character_error_rate",
    "gpt2_tiny_text": "bits_per_character",
    "lstm_classifier_fashion_mnist": "macro_f1",
    "seq2seq_attention_dates": "exact_match",
    "transformer_tiny_dates": "exact_match",
    "transformer_tiny_gettext": "exact_match",
}


def marks(name):
    """Small runs of most recipes are slow; those on the Bible need Debian's package."""
    missing = name in NEED_BIBLE and shutil.which("bible") is None
    absent = [pytest.mark.skipif(missing, reason="Debian's package bible-kjv is not installed")]
    return absent if name in DEFAULT else [pytest.mark.slow, *absent]


def small(name, **changes):
    return load_recipe(name, {key.replace("__", "."): value for key, value in changes.items()}, smoke=True)


def test_every_recipe_of_sequences_is_tested():
    assert sorted(FIGURES) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_the_header_says_paper_command_hardware_and_time(name):
    head = (FOLDER / f"{name}.toml").read_text(encoding="utf-8").split("\nname =")[0]
    entries = {line[2:].partition(":")[0]: line.partition(":")[2].strip() for line in head.splitlines() if line[2:3].isalpha()}
    assert list(entries)[-4:] == ["Paper", "Command", "Hardware", "Time"]
    assert entries["Command"] == f"canon train {name}"
    assert any(place in head for place in ("arXiv:", "https://doi.org/"))
    assert "section" in head
    assert load_recipe(name).expect.measured is not None or entries["Time"].startswith("estimated ")


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in RECIPES])
def test_every_recipe_runs_small(name, tmp_path):
    result = training.run(small(name), tmp_path / "run", verbose=False)
    assert np.all(np.isfinite(result.history["loss"]))
    assert np.all(np.isfinite(result.history["val_loss"]))
    assert np.isfinite(result.test_metrics[FIGURES[name]])
    assert result.test_metrics["examples"] == len(result.test.truth)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["status"] == "finished"
    assert metrics["test"] == result.test_metrics
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    is_classes = isinstance(result.test, Evaluation)
    assert ("Confusion matrix" in report) == is_classes == (tmp_path / "run" / "confusion.png").is_file()
    assert "mistakes.png" not in report
    assert "training sequences a second" in report
    # the folder alone is enough to evaluate again
    assert evaluate(tmp_path / "run").metrics() == pytest.approx(result.test_metrics, abs=1e-6)


@pytest.mark.slow
def test_the_vocabulary_lies_beside_the_model(tmp_path):
    result = training.run(small("seq2seq_attention_dates"), tmp_path / "run", verbose=False)
    names = json.loads((tmp_path / "run" / "vocabulary.json").read_text(encoding="utf-8"))
    embedding = result.model.get_layer("source_embedding")
    assert len(names["source"]) == embedding.vocabulary_size
    assert len(names["target"]) == result.model.output.shape[-1]
    assert Characters(tuple(names["target"])).encode("2026-11-29").min() > 3


def test_a_character_model_writes_on_with_its_own_alphabet(tmp_path):
    lines = (f"Return the root of {number * number}: {number}\n" for number in range(300))
    (tmp_path / "text.txt").write_text("".join(lines), encoding="utf-8")
    changes = {"data__name": f"text:{tmp_path / 'text.txt'}[window=32]", "model__overrides": {"units": [8], "embedding_dim": 4}}
    result = training.run(small("char_rnn_documentation", **changes), tmp_path / "run", verbose=False)
    words = zoo.load_tokenizer(tmp_path / "run")
    names = json.loads((tmp_path / "run" / "vocabulary.json").read_text(encoding="utf-8"))["target"]
    assert words.encode("the") == Characters(tuple(names)).encode("the").tolist()
    written = zoo.generate(result.model, [words.encode("Return the")], zoo.Generation(max_new_tokens=5))
    assert len(words.decode(written[0])) <= 5


class Stop(keras.callbacks.Callback):
    """Ends a run as Ctrl-C does, in its second epoch."""

    def on_train_batch_end(self, batch, logs=None):
        if self.model.optimizer.iterations >= 5:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path):
    # batches of various lengths, in an order of their own in each epoch
    changes = {"data__name": "parity:length=30,examples=200", "train__epochs": 2, "train__batch_size": 32, "train__checkpoint_steps": 1}
    recipe = small("lstm_classifier_fashion_mnist", **changes, model__overrides={"units": [4]})
    whole = training.run(recipe, tmp_path / "whole", verbose=False)
    with pytest.raises(training.RunInterrupted):
        training.run(recipe, tmp_path / "stopped", verbose=False, callbacks=[Stop()])
    again = training.run(recipe, tmp_path / "stopped", verbose=False)
    assert again.history["loss"] == whole.history["loss"]
    for mine, other in zip(again.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("adding_lstm", {"data__name": "digits"}, "'lstm_classifier' reads sequences, and 'digits' holds pictures: try rows:digits"),
        ("adding_lstm", {"model__name": "lenet5", "model__overrides": {}}, "reads images"),
        ("adding_lstm", {"train__loss": "cross_entropy"}, "are numbers, whose loss is 'mean_squared_error'"),
        ("adding_lstm", {"augment__flip_horizontal": True}, r"\[augment\] changes pictures"),
        ("adding_lstm", {"data__name": "dates:examples=200"}, "holds pairs to be translated, and 'lstm_classifier' is for"),
        ("copying_lstm", {"model__overrides": {"embedding_dim": 4}}, "asks for one answer at each step: see the field 'output'"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(name, changes, message, tmp_path):
    with pytest.raises(CanonError, match=message):
        training.run(small(name, **changes), tmp_path / "run", verbose=False)
    assert not (tmp_path / "run").exists()
