"""Laws that hold for every Transformer of the zoo, at small sizes: causality, cached decoding, padding, permutations, single rows.

One row of each family and one with relative positions run by default; the others, which share their layers, run with `-m slow`.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from checks.transformers import inputs_of, outputs_of, small

from keras_canon import zoo
from keras_canon.zoo.transformers.decoder import Decoder

FAMILIES = ("transformer", "gpt1", "gpt2", "bert")
SHORT = zoo.Generation(max_new_tokens=3)
NAMES = [name for family in FAMILIES for name in zoo.list_models(family=family)]

DEFAULT = {"gpt2_tiny", "bert_tiny_tagger", "transformer_tiny", "transformer_tiny_rotary"}


def rows(*families: str, without: str = "no name") -> list:
    chosen = [name for name in NAMES if zoo.info(name).family in families and without not in name]
    return [pytest.param(name, marks=[] if name in DEFAULT else [pytest.mark.slow]) for name in chosen]


def target_of(given: dict[str, np.ndarray]) -> str:
    """Name of the input that the decoder reads."""
    return next(name for name in ("token_ids", "target_ids", "target") if name in given)


def changed(name: str, given: dict[str, np.ndarray], step: int) -> dict[str, np.ndarray]:
    array = given[name].copy()
    array[:, step] = array[:, step] % 22 + 1 if array.dtype == "int32" else array[:, step] + 5.0
    return {**given, name: array}


def padded(given: dict[str, np.ndarray], right: int, left: int = 0) -> dict[str, np.ndarray]:
    return {name: np.pad(array, [(0, 0), (left, right)] + [(0, 0)] * (array.ndim - 2)) for name, array in given.items()}


@pytest.mark.parametrize("way", ["eager", pytest.param("graph", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", rows("transformer", "gpt1", "gpt2"))
def test_b03_a_step_changes_nothing_before_it(name, way):
    model = small(name)
    given = inputs_of(model)
    run = model if way == "eager" else tf.function(lambda arrays: model(arrays, training=False), autograph=False)
    target = target_of(given)
    before, after = (np.asarray(run(arrays if len(arrays) > 1 else arrays[target])) for arrays in (given, changed(target, given, 3)))
    assert np.abs(after - before)[:, :3].max() == 0.0
    assert np.abs(after - before)[:, 3:].max() > 1e-3


@pytest.mark.parametrize("name", rows("transformer", "gpt1", "gpt2", without="_torch"))
def test_cached_decoding_is_the_whole_model(name):
    """Prompts of 2, 4 and 1 ids in one call, then one id for each row at a time."""
    model = small(name)
    decoder = Decoder(model)
    given = inputs_of(model, steps=8, rows=3)
    (whole,) = outputs_of(model, given)
    tokens, lengths = given[target_of(given)], np.array([2, 4, 1])
    mask = np.arange(4) < lengths[:, None]
    hidden, state = decoder.run(np.where(mask, tokens[:, :4], 7), decoder.start(3, 8, given.get("source_ids")), mask)
    prompt = np.asarray(decoder.logits(hidden))
    assert np.abs(prompt - whole[:, :4])[mask].max() <= 1e-5
    step = tf.function(decoder.run, autograph=False)
    for offset in range(4):
        places = lengths + offset
        hidden, state = step(tf.constant(tokens[[0, 1, 2], places][:, None]), state)
        assert np.abs(np.asarray(decoder.logits(hidden))[:, 0] - whole[[0, 1, 2], places]).max() <= 1e-5


@pytest.mark.parametrize("name", rows(*FAMILIES))
def test_b05_padding_at_the_right_changes_nothing(name):
    model = small(name)
    given = inputs_of(model)
    for whole, output in zip(outputs_of(model, padded(given, 3)), outputs_of(model, given), strict=True):
        shared = whole[:, :6] if output.ndim == 3 else whole  # pooled outputs have no steps
        assert np.abs(shared - output).max() <= 1e-5


@pytest.mark.parametrize("positions", ["rotary", "none"])
def test_padding_at_the_left_changes_nothing_where_positions_are_relative(positions):
    model = small("transformer_tiny", positions=positions)
    given = inputs_of(model)
    (whole,), (output,) = outputs_of(model, padded(given, 0, left=3)), outputs_of(model, given)
    assert np.abs(whole[:, 3:] - output).max() <= 1e-5


def test_without_positions_the_encoder_follows_a_permutation():
    model = small("transformer_tiny", positions="none")
    encoder = keras.Model(model.input["source_ids"], model.get_layer("encoder_block1").output)
    given, order = inputs_of(model), np.array([4, 1, 5, 0, 3, 2])
    mixed = {**given, "source_ids": given["source_ids"][:, order]}
    straight, permuted = (np.asarray(encoder(arrays["source_ids"])) for arrays in (given, mixed))
    assert np.abs(permuted - straight[:, order]).max() <= 1e-5
    assert np.abs(outputs_of(model, mixed)[0] - outputs_of(model, given)[0]).max() <= 1e-5
    sinusoidal = small("transformer_tiny")
    assert np.abs(outputs_of(sinusoidal, mixed)[0] - outputs_of(sinusoidal, given)[0]).max() > 1e-3


@pytest.mark.parametrize("name", rows(*FAMILIES))
def test_a_row_of_a_batch_is_the_row_alone(name):
    model = small(name)
    given = inputs_of(model, rows=3)
    alone = outputs_of(model, {key: array[1:2] for key, array in given.items()})
    for batch, row in zip(outputs_of(model, given), alone, strict=True):
        assert np.abs(batch[1:2] - row).max() <= 1e-5


@pytest.mark.parametrize("name", rows("transformer", "bert", without="_torch"))
def test_b01_rows_of_nothing_but_padding_in_half_precision(name):
    policy = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy("mixed_float16")
        model = small.__wrapped__(name)
    finally:
        keras.config.set_dtype_policy(policy)
    given = inputs_of(model)
    given = {key: np.where(np.arange(2)[:, None] == 1, 0, array).astype("int32") for key, array in given.items()}
    with tf.GradientTape() as tape:
        outputs = model(given, training=False)
        outputs = list(outputs.values()) if isinstance(outputs, dict) else [outputs]
        loss = tf.add_n([tf.reduce_mean(tf.cast(output, "float32") ** 2) for output in outputs])
    gradients = tape.gradient(loss, model.trainable_weights)
    assert all(np.isfinite(np.asarray(output)).all() for output in outputs)
    assert all(np.isfinite(np.asarray(tf.convert_to_tensor(gradient))).all() for gradient in gradients if gradient is not None)
    exact = small(name)
    exact.set_weights(model.get_weights())
    for output, expected in zip(outputs, outputs_of(exact, given), strict=True):
        assert np.abs(np.asarray(output)[0] - expected[0]).max() <= 2e-2 * np.abs(expected[0]).max()


@pytest.mark.parametrize(
    "name", ["transformer_tiny", pytest.param("transformer_tiny_pre_norm", marks=pytest.mark.slow), "bert_tiny_tagger"]
)
def test_b05_padded_steps_do_not_count_in_the_loss(name):
    model = small(name)
    given = inputs_of(model, rows=3)
    lengths = np.array([6, 2, 4])
    real = np.arange(6) < lengths[:, None]
    given = {key: np.where(real, array, 0).astype("int32") for key, array in given.items()}
    classes = model.output_shape[-1]
    wanted = np.random.RandomState(3).randint(0, classes, (3, 6))
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    found = model.evaluate(given, wanted, batch_size=3, verbose=0)
    (logits,) = outputs_of(model, given)
    exact = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = -np.take_along_axis(exact, wanted[..., None], axis=-1)[..., 0][real].mean()
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", rows(*FAMILIES))
def test_b11_no_two_kernels_start_equal(name):
    def build():
        keras.utils.set_random_seed(7)
        row = zoo.info(name)
        sizes = {"model_dim": 8, "num_heads": 2, "feedforward_dim": 16, "depth": [2, 2] if row.family == "transformer" else 2}
        return zoo.create(name, overrides=sizes if row.config.get("vocabulary_size") == 0 else {**sizes, "vocabulary_size": 23})

    model, again = build(), build()
    kernels = [np.asarray(weight) for weight in model.trainable_weights if len(weight.shape) > 1]
    for number, kernel in enumerate(kernels):
        assert not any(np.array_equal(kernel, other) for other in kernels[:number])
    for one, other in zip(model.trainable_weights, again.trainable_weights, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("gpt2_tiny", {"num_classes": 3}, r"num_classes must be 0, because the outputs are the tokens of vocabulary_size, got 3"),
        ("gpt1", {"num_classes": 3}, r"num_classes must be 0"),
        ("transformer_tiny", {"num_classes": 3}, r"num_classes must be 0"),
        ("bert_tiny", {"num_classes": 3}, r"num_classes must be 0"),
        ("bert_tiny_span", {"num_classes": 3}, r"num_classes must be 2, for the start and the end of a span, got 3"),
        ("gpt2_tiny", {"input_shape": (None, 4)}, r"input_shape must be \(steps,\) for token ids"),
        ("gpt2_tiny", {"input_shape": (257,)}, r"longer than the position table, max_length=256"),
        ("transformer_tiny_torch", {"input_shape": (None, 64)}, r"input_shape must be \(steps, 128\) without a vocabulary"),
        ("transformer_tiny", {"overrides": {"num_heads": 5}}, r"model_dim must be a multiple of num_heads"),
        ("transformer_tiny", {"overrides": {"positions": "relative"}}, r"positions in the overrides"),
        ("gpt2_tiny", {"overrides": {"vocabulary_size": 0}}, r"vocabulary_size in .* must be an integer of at least 1, got 0"),
    ],
)
def test_bad_arguments(name, arguments, message):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.create(name, **arguments)


def test_more_steps_than_the_context():
    model = small("gpt2_tiny")
    with pytest.raises(ValueError, match="A sequence that ends at step 13 is longer than the position table, max_length=12"):
        outputs_of(model, inputs_of(model, steps=13))


@pytest.mark.parametrize("name", ["gpt2_tiny", pytest.param("transformer_tiny_rotary", marks=pytest.mark.slow), "bert_tiny_pretraining"])
def test_saved_and_loaded(name, tmp_path):
    model = small(name)
    given = inputs_of(model)
    model.save(tmp_path / "model.keras")
    loaded = zoo.load_model(tmp_path / "model.keras")
    for one, other in zip(outputs_of(model, given), outputs_of(loaded, given), strict=True):
        np.testing.assert_array_equal(one, other)
    if name != "bert_tiny_pretraining":
        assert zoo.generate(loaded, _prompts(given), SHORT) == zoo.generate(model, _prompts(given), SHORT)


def _prompts(given):
    return given.get("token_ids", given)
