"""Low-rank adaptation: nothing changes at first, nothing else moves in training, and the merged model is the plain one."""

import keras
import numpy as np
import pytest

from keras_canon import training, zoo
from keras_canon.zoo import CanonError

SMALL = {
    "gpt2_tiny": {"vocabulary_size": 40, "depth": 2, "model_dim": 16, "num_heads": 2, "max_length": 32, "dropout": 0.0},
    "vit_tiny_16": {"depth": 2, "model_dim": 16, "num_heads": 2, "feedforward_dim": 32, "patch_size": 4, "dropout": 0.0},
    "transformer_tiny": {"vocabulary_size": 40, "depth": (1, 1), "model_dim": 16, "num_heads": 2, "feedforward_dim": 32, "dropout": 0.0},
}


def small(name):
    keras.utils.set_random_seed(1)
    shape = {"input_shape": (8, 8, 1), "num_classes": 3} if name.startswith("vit") else {}
    return zoo.create(name, overrides=SMALL[name], **shape)


def batch(name):
    generator = np.random.default_rng(0)
    ids = generator.integers(1, 40, (6, 9)).astype("int32")
    if name.startswith("vit"):
        return generator.normal(size=(6, 8, 8, 1)).astype("float32"), generator.integers(0, 3, 6)
    return ({"source_ids": ids, "target_ids": ids} if name.startswith("transformer") else ids), ids


@pytest.mark.parametrize(
    "name", ["gpt2_tiny", *[pytest.param(name, marks=pytest.mark.slow) for name in ("vit_tiny_16", "transformer_tiny")]]
)
def test_only_the_added_matrices_and_the_head_move_and_merging_changes_nothing(name, tmp_path):
    model = small(name)
    inputs, labels = batch(name)
    before = np.asarray(model(inputs, training=False))
    weights = {weight.path: np.asarray(weight) for weight in model.weights}
    summary = training.add_lora(model, rank=2, alpha=4)
    np.testing.assert_array_equal(np.asarray(model(inputs, training=False)), before)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.05), loss=loss)
    model.fit(inputs, labels, epochs=3, verbose=0)
    moved = {weight.path for weight in model.weights if weight.path in weights and not np.array_equal(weights[weight.path], weight)}
    assert moved == ({"logits/kernel", "logits/bias"} if name.startswith("vit") else set())
    trained = [weight.path for weight in model.trainable_weights]
    assert all("lora_kernel" in path or path in moved for path in trained)
    assert any("query/lora_kernel_b" in path for path in trained)
    assert str(summary.total).startswith(f"{sum(int(np.prod(weight.shape)) for weight in model.trainable_weights):,} of")

    answers = np.asarray(model(inputs, training=False))
    assert np.abs(answers - before).max() > 1e-3
    merged = training.merge_lora(model)
    assert [weight.path for weight in merged.weights] == list(weights)
    np.testing.assert_allclose(np.asarray(merged(inputs, training=False)), answers, rtol=0, atol=1e-5)
    merged.save(tmp_path / "model.keras")
    loaded = zoo.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(np.asarray(loaded(inputs, training=False)), answers, rtol=0, atol=1e-5)


def test_the_scale_is_alpha_over_the_rank():
    model = small("gpt2_tiny")
    training.add_lora(model, rank=4, alpha=8, targets=("key",))
    projection = model.get_layer("decoder_block1").attention.key_projection
    plain = np.asarray(projection._kernel)
    projection.lora_kernel_b.assign(np.ones(projection.lora_kernel_b.shape, "float32"))
    change = 2.0 * np.asarray(projection.lora_kernel_a) @ np.ones((4, 16), "float32")
    merged = training.merge_lora(model).get_layer("decoder_block1").attention.key_projection
    np.testing.assert_allclose(np.asarray(merged.kernel), plain + change, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gpt2_tiny", {"rank": 0}, "must be an integer from 1 to 16, the width of the narrowest projection, got 0"),
        ("gpt2_tiny", {"rank": 17}, "got 17"),
        ("gpt2_tiny", {"targets": ("query", "hidden")}, "must be some of query, key, value, output, got 'hidden'"),
        ("gpt2_tiny", {"targets": ()}, "got none"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(name, options, message):
    with pytest.raises(CanonError, match=message):
        training.add_lora(small(name), **options)


def test_a_model_without_attention_or_with_lora_is_refused():
    with pytest.raises(CanonError, match="'lenet5' has no attention projections for LoRA"):
        training.add_lora(zoo.create("lenet5"))
    model = small("gpt2_tiny")
    with pytest.raises(CanonError, match="has no LoRA to merge"):
        training.merge_lora(model)
    training.add_lora(model, rank=2)
    with pytest.raises(CanonError, match="has LoRA already: merge it first"):
        training.add_lora(model, rank=2)


@pytest.mark.slow
def test_a_recipe_with_lora_ends_in_a_plain_model(tmp_path):
    overrides = {"model.overrides": {"patch_size": 7, "depth": 1, "model_dim": 16, "num_heads": 2, "feedforward_dim": 32}}
    overrides |= {"data.name": "synthetic:classes=3,size=28,channels=1,examples=60", "train.batch_size": 24}
    training.run("vit_tiny_fashion_mnist", tmp_path / "base", overrides=overrides, smoke=True, verbose=False)
    overrides |= {"transfer.weights": str(tmp_path / "base"), "transfer.method": "lora", "transfer.lora_rank": 2}
    result = training.run("vit_tiny_fashion_mnist", tmp_path / "lora", overrides=overrides, smoke=True, verbose=False)
    before = {weight.path: np.asarray(weight) for weight in zoo.load_model(tmp_path / "base" / "model.keras").weights}
    after = {weight.path: np.asarray(weight) for weight in zoo.load_model(tmp_path / "lora" / "model.keras").weights}
    assert list(before) == list(after)
    moved = {path.rsplit("/", 2)[-2] for path in before if not np.array_equal(before[path], after[path])}
    assert moved == {"query", "value", "logits"}
    assert training.evaluate(tmp_path / "lora").metrics() == pytest.approx(result.test_metrics, abs=1e-6)
    with pytest.raises(CanonError, match="lora_rank does nothing to the method 'staged'"):
        training.load_recipe("vit_tiny_fashion_mnist", {"transfer.weights": "w.keras", "transfer.lora_rank": 2})


def test_a_model_that_was_frozen_as_a_whole_shows_what_lora_trains():
    model = small("gpt2_tiny")
    training.freeze(model)
    found = training.add_lora(model, rank=2)
    added = [weight for weight in model.trainable_weights if "lora" in weight.path]
    assert len(added) == len(model.trainable_weights) > 0
    assert found.total.startswith(f"{sum(weight.shape.num_elements() for weight in added):,} of ")
