"""What recipes of sequences, and of the Vision Transformer, learn in full: at least what they promise, run anew."""

import pytest

from keras_canon import training
from keras_canon.training.recipe import list_recipes, load_recipe

# figure of the test split, and the worst or best that is allowed
AT_MOST = {
    "adding_identity_rnn": ("mean_squared_error", 0.01),
    "adding_lstm": ("mean_squared_error", 0.01),
    "char_rnn_documentation": ("bits_per_character", 1.9),
    "crnn_ctc_lines": ("character_error_rate", 0.05),
}
AT_LEAST = {
    # the textbook contrast: it says about 1 each time, whose error is 0.167
    "adding_elman": ("mean_squared_error", 0.1),
    "copying_lstm": ("exact_match", 0.98),
    "lstm_classifier_fashion_mnist": ("accuracy", 0.885),
    "seq2seq_attention_dates": ("exact_match", 0.98),
    "transformer_tiny_dates": ("exact_match", 0.99),
    "vit_tiny_fashion_mnist": ("accuracy", 0.90),
}
MEASURED = [name for name in (*AT_MOST, *AT_LEAST) if load_recipe(name).expect.measured is not None]


def figure(name, values):
    key, limit = {**AT_MOST, **AT_LEAST}[name]
    return values[key], limit


def keeps(name, values):
    value, limit = figure(name, values)
    return value <= limit if name in AT_MOST else value >= limit


def test_recipes_are_listed_once():
    assert not set(AT_MOST) & set(AT_LEAST)
    assert set(AT_MOST) | set(AT_LEAST) <= set(list_recipes())


@pytest.mark.parametrize("name", MEASURED)
def test_what_was_measured_keeps_the_promise(name):
    measured = load_recipe(name).expect.measured
    assert keeps(name, {"accuracy": measured.test_accuracy, **measured.figures})


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED)
def test_a_full_run_keeps_the_promise(name, tmp_path):
    result = training.run(name, tmp_path / "run", verbose=False)
    assert keeps(name, result.test_metrics), result.test_metrics
