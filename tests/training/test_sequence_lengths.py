"""Tables of positions: data that they are long enough for are read whole, and all else is refused in one sentence."""

import keras
import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.training.data.sequences import Ragged, SequenceDataset, SequenceSplit
from keras_canon.training.data.vocabulary import END, SPECIALS, START
from keras_canon.training.recipe import load_recipe
from keras_canon.training.sequence_evaluation import evaluate_sequences, translate
from keras_canon.training.sequence_lengths import refuse_longer, step_limit, translator
from keras_canon.training.sequence_losses import SequenceCrossEntropy
from keras_canon.training.sequence_pipeline import sequence_reader
from keras_canon.zoo import CanonError

LENGTHS = (4, 9, 30)
NAMES = (*SPECIALS, *"abcdef")
SMALL = {"vocabulary_size": len(NAMES), "depth": [1, 1], "model_dim": 16, "feedforward_dim": 32, "num_heads": 2}


def learned(positions):
    keras.utils.set_random_seed(0)
    return zoo.create("transformer_tiny_learned", overrides={**SMALL, "positions": positions})


def pairs():
    """Sources and targets of up to 30 ids, ends and starts included."""
    draw = np.random.default_rng(0)
    rows = [draw.integers(4, len(NAMES), length - 1) for length in LENGTHS]
    started, ended = Ragged.of([[START, *row] for row in rows]), Ragged.of([[*row, END] for row in rows])
    split = SequenceSplit("test", {"source_ids": ended, "target_ids": started}, ended, ended.lengths)
    return SequenceDataset("pairs", "tokens", NAMES, (None,), split, split, split, {}, start_id=START, end_id=END)


@pytest.mark.parametrize(("limit", "shapes"), [(None, [8, 16, 32]), (30, [8, 16, 30]), (16, [8, 16, 30]), (9, [8, 9, 30])])
def test_padding_keeps_to_the_table_and_cuts_nothing(limit, shapes):
    data = pairs()
    for inputs, labels in sequence_reader(data.train, 3, limit=limit)(None):
        assert {tuple(inputs["source_ids"].shape), tuple(inputs["target_ids"].shape), tuple(labels.shape)} == {(3, shapes[-1])}
    assert [labels.shape[1] for _, labels in sequence_reader(data.train, 1, limit=limit)(None)] == shapes


def test_stored_padding_keeps_to_the_table():
    values, lengths = np.ones((3, 40), "int32"), np.array([4, 9, 30])
    split = SequenceSplit("train", {"token_ids": values}, np.arange(3), lengths)
    assert [ids.shape[1] for ids, _ in sequence_reader(split, 1)(None)] == [8, 16, 32]
    assert [ids.shape[1] for ids, _ in sequence_reader(split, 1, limit=30)(None)] == [8, 16, 30]


def test_a_table_that_is_just_long_enough_is_trained_and_evaluated():
    data, model = pairs(), learned(30)
    model.compile("sgd", loss=SequenceCrossEntropy())
    history = model.fit(sequence_reader(data.train, 3, limit=step_limit(model))(None), shuffle=False, verbose=0).history
    assert np.isfinite(history["loss"][0])
    found = evaluate_sequences(model, data, "test")
    assert np.isfinite(found.figures["cross_entropy"])
    # one place of the table is that of the start
    assert max(map(len, translate(model, data, data.test))) <= 29


def test_translations_have_room_beyond_the_longest_where_the_table_has():
    assert translator(learned(64), zoo.Generation(max_new_tokens=38)).settings.max_new_tokens == 38
    assert translator(learned(32), zoo.Generation(max_new_tokens=38, stop_ids=(3,))).settings == zoo.Generation(31, stop_ids=(3,))
    endless = zoo.create("transformer_tiny", overrides=SMALL)
    assert translator(endless, zoo.Generation(max_new_tokens=38)).settings.max_new_tokens == 38


def test_the_limit_is_that_of_the_shortest_table():
    assert step_limit(learned(30)) == 30
    assert step_limit(zoo.create("transformer_tiny", overrides=SMALL)) is None
    assert step_limit(zoo.create("bert_tiny", overrides={"max_length": 40, "depth": 1})) == 40
    luong = {"source_vocabulary_size": 10, "target_vocabulary_size": 10}
    names = [name for name in zoo.list_models() if zoo.info(name).builder.endswith("seq2seq_luong")]
    place = zoo.create(names[0], overrides={**luong, "score": "location", "max_length": 12})
    assert step_limit(place) == 12
    with pytest.raises(CanonError, match=r"'pairs' holds source_ids of 30 steps, and .* has positions for 12: .* with max_length = 30 or"):
        refuse_longer(place, pairs(), [pairs().test])


def test_a_trained_model_is_not_evaluated_on_longer_rows():
    with pytest.raises(CanonError, match="'pairs' holds source_ids of 30 steps, and 'transformer_tiny_learned' has positions for 29"):
        evaluate_sequences(learned(29), pairs(), "test")


def small(name, changes):
    return load_recipe(name, changes, smoke=True)


def on_dates(positions):
    sizes = {"depth": [1, 1], "model_dim": 8, "feedforward_dim": 16, "num_heads": 2, "positions": positions}
    return small("transformer_tiny_gettext", {"model.name": "transformer_tiny_learned", "model.overrides": sizes})


def text(tmp_path, context):
    (tmp_path / "x.txt").write_text("\n".join(f"line {number} of a text, {number**2}" for number in range(600)), encoding="utf-8")
    sizes = {"depth": 1, "model_dim": 16, "num_heads": 2, "dropout": 0.0, "max_length": context}
    return small("gpt2_tiny_text", {"data.name": f"text:{tmp_path / 'x.txt'}[window=32]", "model.overrides": sizes})


def test_windows_longer_than_the_context_are_refused(tmp_path):
    with pytest.raises(CanonError, match=r"window=32\]' holds token_ids of 32 steps, and 'gpt2_tiny' has positions for 16: take shorter"):
        training.run(text(tmp_path, 16), tmp_path / "run", verbose=False)
    assert not (tmp_path / "run").exists()


def test_pairs_longer_than_the_table_are_refused(tmp_path):
    with pytest.raises(CanonError, match=r"holds source_ids of 28 steps, and .* has positions for 16: .* with positions = 28 or more"):
        training.run(on_dates(16), tmp_path / "run", verbose=False)
    assert not (tmp_path / "run").exists()


def test_a_run_whose_longest_row_fills_the_table(tmp_path):
    """Its batches are not padded beyond the table."""
    result = training.run(on_dates(28), tmp_path / "run", verbose=False)
    assert np.all(np.isfinite(result.history["loss"]))
    assert np.isfinite(result.test_metrics["exact_match"])
    assert training.evaluate(tmp_path / "run").metrics() == pytest.approx(result.test_metrics, abs=1e-6)
