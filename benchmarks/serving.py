"""Speed and size of our bundles against `keras.Model.export` of the same model, as ratios measured in one run.

usage: python benchmarks/serving.py [--only TEXT] [--repeats N] [--batch N]

All candidates answer in turn, so that whatever else the machine does slows all of them. The ratio is the median over rounds of the
time of Keras's export over the candidate's (above 1: faster), with the middle half of the rounds beside it. ONNX Runtime, OpenVINO,
LiteRT and PyTorch (compiled) are measured beside them where they are installed. Without `--only`, the result is written to
benchmarks/results/serving.json and docs/serving-performance.md.
"""

import argparse
import gc
import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from report import Report, ratios

from keras_canon import serving, zoo
from keras_canon.serving.formats import open_format

MODELS = ("resnet50", "mobilenet_v2", "efficientnet_b0")
STOCK = "keras.Model.export"
# what is asked of batch 16; single images have to be faster in all
LEAST = {
    ("resnet50", "float32"): 1.1,
    ("resnet50", "bfloat16"): 1.9,
    ("mobilenet_v2", "float32"): 1.2,
    ("mobilenet_v2", "bfloat16"): 1.5,
    ("efficientnet_b0", "float32"): 1.2,
    ("efficientnet_b0", "bfloat16"): 1.9,
}
FORMATS = {"litert": "ai_edge_litert", "onnx": "tf2onnx", "openvino": "openvino"}

Predictor = Callable[[np.ndarray], np.ndarray]


def trained_model(name: str) -> keras.Model:
    """A model whose batch norm does something, as after training."""
    keras.utils.set_random_seed(0)
    model = zoo.create(name)
    rng = np.random.default_rng(0)
    for variable in model.variables:
        if variable.path.endswith(("moving_mean", "beta")):
            variable.assign(rng.normal(scale=0.1, size=variable.shape))
        if variable.path.endswith(("moving_variance", "gamma")):
            variable.assign(rng.uniform(0.8, 1.2, variable.shape))
    return model


def saved_model(folder: Path) -> Predictor:
    function = tf.saved_model.load(str(folder)).signatures["serving_default"]
    name = next(iter(function.structured_input_signature[1]))

    def predict(images: np.ndarray) -> np.ndarray:
        outputs = function(**{name: tf.constant(images)})
        return outputs["logits" if "logits" in outputs else next(iter(outputs))].numpy()

    return predict


def torch_compiled(name: str) -> Predictor:
    """torchvision's network of that name under `torch.compile`, with weights of its own: it is there for the speed."""
    import torch
    import torchvision

    network = torch.compile(getattr(torchvision.models, name)().eval())

    def predict(images: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return network(torch.from_numpy(images.transpose(0, 3, 1, 2).copy())).numpy()

    return predict


def export_all(name: str, folder: Path) -> tuple[dict[str, Predictor], dict[str, int]]:
    """Export the model in every way there is; return the predictors and the bytes on disk."""
    model = trained_model(name)
    available = [form for form, module in FORMATS.items() if importlib.util.find_spec(module)]
    float32 = serving.export(model, folder / "float32", formats=available)
    bfloat16 = serving.export(model, folder / "bfloat16", precision="bfloat16")
    model.export(str(folder / "stock"), verbose=False)
    predictors = {STOCK: saved_model(folder / "stock"), "float32": saved_model(float32.path), "bfloat16": saved_model(bfloat16.path)}
    other = {form: size_of((float32.path / form).rglob("*")) for form in available}
    sizes = {
        STOCK: size_of((folder / "stock").rglob("*")),
        "float32": size_of(float32.path.rglob("*")) - sum(other.values()),
        "bfloat16": size_of(bfloat16.path.rglob("*")),
        **other,
    }
    for form in available:
        answer = open_format(form, float32.path / float32.manifest.formats[form])
        predictors[form] = lambda images, answer=answer: answer({"images": images})["logits"]
    if importlib.util.find_spec("torchvision"):
        predictors["torch.compile"] = torch_compiled(name)
    return predictors, sizes


def size_of(files) -> int:
    return sum(path.stat().st_size for path in files if path.is_file())


def in_turn(predictors: dict[str, Predictor], images: np.ndarray, repeats: int) -> dict[str, list[float]]:
    for predict in predictors.values():
        predict(images)
        predict(images)
    taken: dict[str, list[float]] = {name: [] for name in predictors}
    names = list(predictors)
    for index in range(repeats):
        for name in names[index % len(names) :] + names[: index % len(names)]:
            start = time.perf_counter()
            predictors[name](images)
            taken[name].append(time.perf_counter() - start)
    return taken


def compare(name: str, batch: int, repeats: int) -> list[dict]:
    rows_found = []
    with tempfile.TemporaryDirectory() as folder:
        predictors, sizes = export_all(name, Path(folder))
        rng = np.random.default_rng(1)
        for rows in (batch, 1):
            images = rng.normal(size=(rows, 224, 224, 3)).astype("float32")
            expected = predictors[STOCK](images)
            taken = in_turn(predictors, images, repeats if rows > 1 else 4 * repeats)
            for kind, seconds in taken.items():
                gap = None  # the network of PyTorch has other weights
                if kind != "torch.compile":
                    gap = float(np.abs(predictors[kind](images) - expected).max() / np.abs(expected).max())
                rows_found.append(
                    {
                        "model": name,
                        "batch": rows,
                        "what": kind,
                        "ms": 1000 * statistics.median(seconds),
                        **ratios(seconds, taken[STOCK]),
                        "least": None if (name, kind) not in LEAST else LEAST[name, kind] if rows > 1 else 1.0,
                        "difference": gap,
                        "megabytes": sizes[kind] / 1e6 if kind in sizes else None,
                        "share": sizes[kind] / sizes[STOCK] if kind in sizes else None,
                    }
                )
                print(report(rows_found[-1:], repeats).table()[-1], flush=True)
    keras.backend.clear_session()
    gc.collect()
    return rows_found


def report(rows: list[dict], repeats: int) -> Report:
    return Report(
        name="serving",
        title="Speed and size of exported models",
        page="serving-performance.md",
        command="python benchmarks/serving.py",
        columns=[
            ["model", "`{model}`"],
            ["batch", "{batch}"],
            ["what", "{what}"],
            ["ms", "{ms:.1f}"],
            ["ratio", "{ratio:.2f}"],
            ["middle half", "{low:.2f} to {high:.2f}"],
            ["difference", "{difference:.1e}"],
            ["MB", "{megabytes:.1f}"],
            ["share", "{share:.2f}"],
        ],
        key=["model", "batch", "what"],
        text=[
            "Written by `{command}` on {date}, {machine},",
            f"224 x 224 images; {repeats} rounds ({4 * repeats} for batch 1), all candidates in turn. `float32` and `bfloat16` are the",
            f"SavedModels of `serving.export`; the ratio is the time of `{STOCK}` of the same model over theirs, the median over",
            "rounds with the middle half beside it: above 1, faster. The difference is the largest of a logit, as a share of the",
            "largest logit. Sizes are of all files, and as a share of Keras's.",
        ],
        rows=rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="measure the models whose name holds this text, and write nothing")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--batch", type=int, default=16)
    options = parser.parse_args()
    rows = [row for name in MODELS if options.only in name for row in compare(name, options.batch, options.repeats)]
    if not options.only:
        report(rows, options.repeats).save()


if __name__ == "__main__":
    main()
