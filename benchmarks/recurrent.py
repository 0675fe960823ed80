"""Speed of the character language models against the same models made of Keras's own layers, as ratios measured in one run.

usage: python benchmarks/recurrent.py [--only TEXT] [--repeats N] [--small]

Ours and the peer have the same weights, and are called in turn, so that whatever else the machine does slows both; the ratio is the
peer's median time over ours (above 1: ours is faster). Training is one update of a batch by this project's step; decoding reads one
character with its states and gives the logits of the next, batch 1. Without `--only`, the result is written to
benchmarks/results/recurrent.json and docs/recurrent-performance.md. `--small` tries the script out, and writes nothing.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from report import Report, ratios

from keras_canon import zoo
from keras_canon.training.sequence_losses import SequenceCrossEntropy
from keras_canon.training.steps import Totals, TrainStep

KINDS = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}
LIMIT = 2.0  # milliseconds for a character


@dataclass(frozen=True)
class Sizes:
    """What is measured: the rows of the zoo, on batches as the paper trains them."""

    units: tuple[int, ...] = (512, 512)
    vocabulary: int = 88
    batch: int = 32
    steps: int = 100


SMALL = Sizes(units=(8, 8), batch=2, steps=6)


def ours(kind: str, sizes: Sizes) -> zoo.Model:
    return zoo.create(f"char_rnn_{kind}", overrides={"units": sizes.units, "vocabulary_size": sizes.vocabulary})


def peer(kind: str, sizes: Sizes, like: zoo.Model) -> keras.Model:
    """The same model, with the same weights, of Keras's own layers."""
    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
    x = keras.layers.Embedding(sizes.vocabulary, 88, mask_zero=True)(token_ids)
    for units in sizes.units:
        x = KINDS[kind](units, return_sequences=True)(x)
    model = keras.Model(token_ids, keras.layers.Dense(sizes.vocabulary)(x), name="peer")
    model.set_weights(like.get_weights())
    return model


def peer_step(kind: str, model: keras.Model) -> keras.Model:
    """The peer with its states as inputs and outputs."""
    token_ids = keras.Input((1,), dtype="int32")
    inputs, outputs, x = [token_ids], [], model.layers[1](token_ids)
    for layer in model.layers[2:-1]:
        states = [keras.Input((layer.units,)) for _ in range(2 if kind == "lstm" else 1)]
        copy = KINDS[kind](layer.units, return_sequences=True, return_state=True)
        x, *found = copy(x, initial_state=states)
        copy.set_weights(layer.get_weights())
        inputs, outputs = [*inputs, *states], [*outputs, *found]
    return keras.Model(inputs, [model.layers[-1](x), *outputs])


def update(model: keras.Model, ids: np.ndarray) -> Callable[[], object]:
    """One update, as a run does it: gradients cut, Adam."""
    model.compile(optimizer=keras.optimizers.Adam(1e-4), loss=SequenceCrossEntropy(), jit_compile=False)
    inputs, labels = tf.constant(ids[:, :-1]), tf.constant(ids[:, 1:])
    step = TrainStep(model, {}, Totals(["loss"]), (tf.TensorSpec(inputs.shape, "int32"), tf.TensorSpec(labels.shape, "int32")))
    return lambda: float(step(inputs, labels))


def keras_update(model: keras.Model, ids: np.ndarray) -> Callable[[], object]:
    """One update as Keras does it by default: `train_on_batch`, compiled by XLA where that is possible."""
    model.compile(optimizer=keras.optimizers.Adam(1e-4), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    inputs, labels = ids[:, :-1], ids[:, 1:]
    return lambda: model.train_on_batch(inputs, labels)


def decode(stepper: keras.Model) -> Callable[[], object]:
    """Read one character and give the logits of the next; states go on from call to call."""
    named = isinstance(stepper.input, dict)
    tensors = stepper.input if named else dict(enumerate(stepper.input))
    state = {name: tf.zeros((1, *(size or 1 for size in tensor.shape[1:])), tensor.dtype) for name, tensor in tensors.items()}
    token = "token_ids" if named else 0
    state[token] = tf.ones((1, 1), "int32")
    run = tf.function(lambda values: stepper(values if named else list(values.values()), training=False), autograph=False)

    def call():
        found = run(dict(state))
        states = found if named else dict(enumerate(found))
        state.update({name: states[name] for name in state if name != token})
        return np.asarray(found["logits"] if named else found[0])

    return call


def in_turn(candidates: list[Callable[[], object]], repeats: int) -> list[list[float]]:
    """Return milliseconds of each call by candidate."""
    for call in candidates * 3:
        call()
    times: list[list[float]] = [[] for _ in candidates]
    for _ in range(repeats):
        for call, taken in zip(candidates, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(1000 * (time.perf_counter() - start))
    return times


def row(what: str, against: str, times: list[list[float]], least: float | None) -> dict:
    mine, others = times
    found = {"what": what, "against": against, "ours": statistics.median(mine), "peer": statistics.median(others)}
    return {**found, **ratios(mine, others), "least": least, "asked": "" if least is None else f"{least:.2f}"}


def measure(kind: str, sizes: Sizes, repeats: int) -> list[dict]:
    keras.utils.set_random_seed(0)
    mine = ours(kind, sizes)
    other = peer(kind, sizes, mine)
    ids = np.random.default_rng(0).integers(1, sizes.vocabulary, (sizes.batch, sizes.steps + 1)).astype("int32")
    np.testing.assert_allclose(mine(ids[:, :-1]), other(ids[:, :-1]), atol=1e-4)
    size = f"{kind.upper()}, {len(sizes.units)} x {sizes.units[0]}"
    streaming = in_turn([decode(zoo.step_model(mine)), decode(peer_step(kind, other))], 10 * repeats)
    training = in_turn([update(mine, ids), update(other, ids)], repeats)
    by_default = in_turn([update(mine, ids), keras_update(other, ids)], repeats)
    batch = f"update of {sizes.batch} x {sizes.steps} characters"
    return [
        row(f"{size}: {batch}", "Keras's layers in the same step", training, 1.3),
        row(f"{size}: {batch}", "Keras's layers in `train_on_batch`", by_default, None),
        row(f"{size}: one character, with its states", "Keras's layers in a `tf.function`", streaming, None),
    ]


def report(rows: list[dict], repeats: int) -> Report:
    return Report(
        name="recurrent",
        title="Speed of the character language models",
        page="recurrent-performance.md",
        command="python benchmarks/recurrent.py",
        columns=[
            ["what", "{what}"],
            ["against", "{against}"],
            ["ours, ms", "{ours:.2f}"],
            ["peer, ms", "{peer:.2f}"],
            ["ratio", "{ratio:.2f}"],
            ["aim", "{asked}"],
        ],
        key=["what", "against"],
        text=[
            f"Written by `{{command}}` on {{date}}, {{machine}}; medians of {repeats} updates and",
            f"{10 * repeats} characters, ours and the peer's in turn. The ratio is the peer's time over ours: above 1, ours is faster.",
            f"A character has to take less than {LIMIT:g} ms. `train_on_batch` is compiled by XLA, as Keras does by default.",
        ],
        rows=rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="lstm or gru; writes nothing")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--small", action="store_true", help="tiny sizes, to try the script out; writes nothing")
    options = parser.parse_args()
    rows = []
    for kind in KINDS:
        if options.only in kind:
            found = measure(kind, SMALL if options.small else Sizes(), options.repeats)
            print("\n".join(report(found, options.repeats).table()[-len(found) :]), flush=True)
            rows += found
    if not options.only and not options.small:
        report(rows, options.repeats).save()


if __name__ == "__main__":
    main()
