"""How near the models come to what the machine can do: GFLOP/s of inference and of a training step over the measured peaks.

usage: python benchmarks/roofline.py [--only TEXT] [--repeats N] [--batch N]

A peak is the best of several sizes of one operation alone: a matrix product, and a 3 x 3 convolution, in float32. A multiply-add counts
as two operations; a training step as three passes (forward, and the gradients of inputs and of weights). What keeps a model from 1.0 is
what moves memory and does not multiply: normalisation, activations, pooling, depthwise convolutions. The result goes to
benchmarks/results/roofline.json.
"""

import argparse
import gc
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from report import Report
from vision import inference, training_step

from keras_canon import zoo

MODELS = (
    "lenet5",
    "resnet20",
    "resnet18",
    "resnet50",
    "vgg16",
    "densenet121",
    "mobilenet_v2",
    "efficientnet_b0",
    "convnext_tiny",
    "vit_tiny_16",
)


def seconds(run, repeats: int) -> float:
    """Median time of a call."""
    for _ in range(2):
        run().numpy()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run().numpy()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def peaks(repeats: int) -> dict[str, float]:
    """The best GFLOP/s of a matrix product and of a convolution, over a few sizes."""
    rng = np.random.default_rng(0)

    def tensor(*shape: int) -> tf.Tensor:
        return tf.constant(rng.standard_normal(shape, dtype="float32"))

    products, convolutions = [], []
    for size in (1024, 2048, 3072):
        left, right = tensor(size, size), tensor(size, size)
        run = tf.function(lambda left=left, right=right: tf.linalg.matmul(left, right)[0, 0], autograph=False)
        products.append(2 * size**3 / seconds(run, repeats) / 1e9)
    for side, channels in ((56, 64), (28, 128), (28, 256), (14, 512)):
        images, kernel = tensor(16, side, side, channels), tensor(3, 3, channels, channels)
        run = tf.function(lambda images=images, kernel=kernel: tf.nn.conv2d(images, kernel, 1, "SAME")[0, 0, 0, 0], autograph=False)
        convolutions.append(2 * 16 * side * side * 9 * channels**2 / seconds(run, repeats) / 1e9)
    return {"matrix": max(products), "convolution": max(convolutions)}


def measure(name: str, batch: int, repeats: int, peak: dict[str, float]) -> dict:
    keras.utils.set_random_seed(0)
    row = zoo.info(name)
    model = zoo.create(name)
    inputs = tf.constant(np.random.default_rng(0).standard_normal((batch, *row.input_shape), dtype="float32"))
    targets = tf.constant(np.arange(batch) % row.num_classes)
    work = 2 * row.gmacs * batch
    answer = work / seconds(inference(model, inputs), repeats)
    step = 3 * work / seconds(training_step(model, inputs, targets), max(repeats // 2, 3))
    keras.backend.clear_session()
    gc.collect()
    best = max(peak.values())
    shares = {"inference_share": answer / best, "training_share": step / best}
    # what a check compares: how near inference comes to the peak
    spread = {"ratio": answer / best, "low": 0.9 * answer / best, "high": 1.1 * answer / best}
    return {"model": name, "gmacs": row.gmacs, "batch": batch, "inference": answer, "training": step, **shares, **spread}


def report(rows: list[dict], peak: dict[str, float]) -> Report:
    found = f"Measured peaks: {peak['matrix']:.0f} GFLOP/s for matrix products, {peak['convolution']:.0f} for 3 x 3 convolutions, float32."
    return Report(
        name="roofline",
        title="Distance from the limit",
        page="",
        command="python benchmarks/roofline.py",
        columns=[
            ["model", "`{model}`"],
            ["multiply-adds, G", "{gmacs:.3g}"],
            ["batch", "{batch}"],
            ["inference, GFLOP/s", "{inference:.0f}"],
            ["of the peak", "{inference_share:.2f}"],
            ["training step, GFLOP/s", "{training:.0f}"],
            ["of the peak", "{training_share:.2f}"],
        ],
        key=["model"],
        text=[found],
        rows=rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="measure the models whose name holds this text, and write nothing")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--batch", type=int, default=16)
    options = parser.parse_args()
    peak = peaks(options.repeats)
    print(report([], peak).text[0], flush=True)
    rows = []
    for name in MODELS:
        if options.only in name:
            rows.append(measure(name, options.batch, options.repeats, peak))
            print(report(rows[-1:], peak).table()[-1], flush=True)
    if not options.only:
        report(rows, peak).save()


if __name__ == "__main__":
    main()
