"""Speed of our layers against Keras's own, as ratios measured in one run.

usage: python benchmarks/layers.py [--only TEXT] [--repeats N]

Each row is a `Comparison`. Both layers get the same weights and the same input, their outputs are compared, then both are called in
turn, so that whatever else the machine does slows both; the ratio is the peer's median time over ours (above 1: ours is faster).
Without `--only`, the result is written to benchmarks/results/layers.json and docs/layers-performance.md.

A row is measured twice: in a plain `tf.function`, and in one compiled by XLA as a whole, which is what `fit` and `predict` do by
default on a CPU. What is asked for concerns the first.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from report import Report, ratios

from keras_canon import layers


def same_weights(ours, peer):
    ours.set_weights(peer.get_weights())


def attention_weights(ours, peer):
    """Keras keeps an axis for the heads where we keep them side by side; shapes tell how to lay them out."""
    values = [item.reshape(weight.shape) for item, weight in zip(peer.get_weights(), ours.weights, strict=True)]
    ours.set_weights(values)


@dataclass(frozen=True)
class Comparison:
    """One row.

    Args:
        name: what the row says.
        ours: makes our layer.
        peer: makes the layer that ours is compared with.
        shape: shape of the input.
        training: whether forward and backward are timed (gradients at the input and all weights) or forward alone.
        at_least: the ratio that is asked for.
        inputs: how often the input is handed over (attention wants query and value).
        transfer: (ours, peer) -> None, gives ours the weights of the peer.
    """

    name: str
    ours: Callable
    peer: Callable
    shape: tuple
    training: bool
    at_least: float
    inputs: int = 1
    transfer: Callable = same_weights


@dataclass
class Result:
    comparison: Comparison
    difference: float
    milliseconds: dict = field(default_factory=dict)  # by compiler: those of ours, those of the peer

    def row(self) -> dict:
        found = {
            "layer": self.comparison.name,
            "input": " x ".join(map(str, self.comparison.shape)),
            "least": self.comparison.at_least,
            "difference": self.difference,
        }
        for compiler, prefix in (("none", ""), ("xla", "xla_")):
            ours, peer = self.milliseconds[compiler]
            medians = {"ours": statistics.median(ours), "peer": statistics.median(peer)}
            # of the medians, as the ratio has been given from the start; the spread is that of the pairs
            found |= {f"{prefix}{key}": value for key, value in {**ratios(ours, peer), **medians}.items()}
            found[f"{prefix}ratio"] = medians["peer"] / medians["ours"]
        return found


def both_directions(name, ours, peer, shape, at_least, **options):
    """Return the row for training and the row for inference, where 0.95 is asked for."""
    return [
        Comparison(f"{name}, forward and backward", ours, peer, shape, True, at_least, **options),
        Comparison(f"{name}, forward", ours, peer, shape, False, 0.95, **options),
    ]


def recurrent(ours, peer, units, at_least, **init):
    options = {"return_sequences": True, **init}
    title = f"{ours.__name__}, {units} units" + ("" if init.get("reset_after", True) else ", reset before the product")
    return both_directions(title, lambda: ours(units, **options), lambda: peer(units, **options), (32, 100, units), at_least)


COMPARISONS = [
    *recurrent(layers.LSTM, keras.layers.LSTM, 128, 1.4),
    *recurrent(layers.LSTM, keras.layers.LSTM, 256, 1.4),
    *recurrent(layers.GRU, keras.layers.GRU, 128, 1.1),
    *recurrent(layers.GRU, keras.layers.GRU, 256, 1.1),
    *recurrent(layers.GRU, keras.layers.GRU, 128, 0.95, reset_after=False),
    *both_directions(
        "MultiHeadAttention, 8 heads, width 512",
        lambda: layers.MultiHeadAttention(8, 512),
        lambda: keras.layers.MultiHeadAttention(8, 64),
        (8, 256, 512),
        1.0,
        inputs=2,
        transfer=attention_weights,
    ),
    *both_directions(
        "DepthwiseSeparableConv2D, 128 filters",
        lambda: layers.DepthwiseSeparableConv2D(128, order="xception", normalization=None, activation=None),
        lambda: keras.layers.SeparableConv2D(128, 3, padding="same"),
        (16, 32, 32, 64),
        0.95,
    ),
    *both_directions(
        "GroupNormalization, 32 groups",
        lambda: layers.GroupNormalization(32),
        lambda: keras.layers.GroupNormalization(32, epsilon=1e-5),
        (16, 32, 32, 128),
        0.95,
    ),
]


def step(layer, count: int, training: bool, factor, compiler: str):
    """Return a function of the input: outputs, and for training the gradients of outputs times factor."""

    def forward(inputs):
        return layer(*[inputs] * count, training=training)

    def backward(inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = forward(inputs)
            loss = tf.reduce_sum(outputs * factor)
        return outputs, tape.gradient(loss, [inputs, *(weight.value for weight in layer.trainable_weights)])

    return tf.function(backward if training else forward, autograph=False, jit_compile=compiler == "xla")


def finish(outputs) -> None:
    """Wait for the last of the outputs."""
    for item in tf.nest.flatten(outputs):
        item.numpy()


def measure(comparison: Comparison, repeats: int) -> Result:
    keras.utils.set_random_seed(0)
    inputs = tf.random.normal(comparison.shape, seed=1)
    ours, peer = comparison.ours(), comparison.peer()
    wanted, found = (layer(*[inputs] * comparison.inputs) for layer in (peer, ours))
    comparison.transfer(ours, peer)
    found = ours(*[inputs] * comparison.inputs)
    result = Result(comparison, float(np.max(np.abs(wanted - found))))
    factor = tf.random.normal(wanted.shape, seed=2)
    for compiler in ("none", "xla"):
        steps = [
            step(ours, comparison.inputs, comparison.training, factor, compiler),
            step(peer, comparison.inputs, comparison.training, factor, compiler),
        ]
        for _ in range(3):
            for run in steps:
                finish(run(inputs))
        times = [[], []]
        for _ in range(repeats):
            for run, taken in zip(steps, times, strict=True):
                start = time.perf_counter()
                finish(run(inputs))
                taken.append(1000 * (time.perf_counter() - start))
        result.milliseconds[compiler] = times
    return result


def report(results: list[Result], repeats: int) -> Report:
    return Report(
        name="layers",
        title="Speed of the layers",
        page="layers-performance.md",
        command="python benchmarks/layers.py",
        columns=[
            ["layer", "{layer}"],
            ["input", "{input}"],
            ["ours, ms", "{ours:.1f}"],
            ["Keras, ms", "{peer:.1f}"],
            ["ratio", "{ratio:.2f}"],
            ["aim", "{least:.2f}"],
            ["in XLA: ours, ms", "{xla_ours:.1f}"],
            ["Keras, ms", "{xla_peer:.1f}"],
            ["ratio", "{xla_ratio:.2f}"],
            ["largest difference", "{difference:.0e}"],
        ],
        key=["layer"],
        text=[
            f"Written by `{{command}}` on {{date}}, {{machine}}; medians of {repeats} calls, ours and",
            "Keras's in turn. The ratio is Keras's time over ours: above 1, ours is faster. The first figures are from a plain",
            "`tf.function`; those under XLA from a step that is compiled as a whole, as `fit` and `predict` do by default on a CPU.",
            "Backward means gradients at the input and at all weights. Both layers have the same weights; the last column compares their",
            "outputs.",
        ],
        notes=["Recurrent layers on a GPU run NVIDIA's cuDNN kernel in training; no figure is given, as none has been measured."],
        rows=[result.row() for result in results],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="measure the rows whose name holds this text, and write nothing")
    parser.add_argument("--repeats", type=int, default=31)
    options = parser.parse_args()
    results = []
    for comparison in COMPARISONS:
        if options.only in comparison.name:
            results.append(measure(comparison, options.repeats))
            print(report(results[-1:], options.repeats).table()[-1], flush=True)
    if not options.only:
        report(results, options.repeats).save()


if __name__ == "__main__":
    main()
