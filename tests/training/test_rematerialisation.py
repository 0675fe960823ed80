"""Gradient checkpointing: the same loss and gradients, with dropout and masks."""

from itertools import product

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_canon import layers, training, zoo
from keras_canon.zoo import CanonError

SIZES = {"vocabulary_size": 23, "model_dim": 16, "num_heads": 2, "dropout": 0.3}
SMALL = {"gpt2_tiny": {"depth": 2, "max_length": 12}, "transformer_tiny": {"depth": (1, 1), "feedforward_dim": 32}}


def small(name):
    keras.utils.set_random_seed(0)
    return zoo.create(name, overrides={**SIZES, **SMALL[name]})


def gradients(model, inputs, graph):
    """Loss, gradients and the states of the seeds after two updates' worth of dropout."""

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(inputs, training=True) - 1.0))
        return loss, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, model.trainable_variables)]

    run = tf.function(step, autograph=False) if graph else step
    found = [run() for _ in range(2)]
    seeds = [np.asarray(variable) for variable in model.variables if "seed" in variable.path]
    return [[np.asarray(loss), *map(np.asarray, values)] for loss, values in found], seeds


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("gpt2_tiny", False),
        *[pytest.param(*one, marks=pytest.mark.slow) for one in product(SMALL, (False, True)) if one != ("gpt2_tiny", False)],
    ],
)
def test_loss_gradients_and_seeds_are_the_same(name, graph):
    ids = np.array([[5, 6, 7, 8, 9, 10], [4, 3, 2, 0, 0, 0]], "int32")  # 0 is padding to the translator
    inputs = {"source_ids": ids, "target_ids": ids[:, :5]} if name.startswith("transformer") else ids
    plain, seeds = gradients(small(name), inputs, graph)
    model = small(name)
    assert training.rematerialise(model) == 2
    again, seeds_again = gradients(model, inputs, graph)
    for mine, other in zip(again, plain, strict=True):
        for value, expected in zip(mine, other, strict=True):
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-6)
    for mine, other in zip(seeds_again, seeds, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.slow
def test_writing_and_saving_are_as_they_were(tmp_path):
    model = small("gpt2_tiny")
    before = zoo.generate(model, [[5, 6]], zoo.Generation(max_new_tokens=4))
    training.rematerialise(model)
    assert zoo.generate(model, [[5, 6]], zoo.Generation(max_new_tokens=4)) == before
    model.save(tmp_path / "model.keras")
    assert zoo.generate(zoo.load_model(tmp_path / "model.keras"), [[5, 6]], zoo.Generation(max_new_tokens=4)) == before


def test_a_model_without_blocks_is_refused():
    with pytest.raises(CanonError, match="'lenet5' has no Transformer blocks to compute again"):
        training.rematerialise(zoo.create("lenet5"))


def test_a_bias_of_positions_keeps_its_gradient():
    def built():
        keras.utils.set_random_seed(1)
        inputs = keras.Input((6, 16))
        bias = layers.RelativePositionBias(2, name="relative")(inputs)
        return keras.Model(inputs, layers.TransformerEncoderBlock(2, 16, 16, dropout=0.0)(inputs, bias=bias))

    given, found = np.random.default_rng(0).normal(size=(2, 6, 16)).astype("float32"), []
    for model in (built(), built()):
        if found:
            training.rematerialise(model)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(given, training=True) ** 3)
        found.append(tape.gradient(loss, model.trainable_variables))
    for plain, again in zip(*found, strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(plain), tf.convert_to_tensor(again), rtol=1e-4, atol=1e-4)
