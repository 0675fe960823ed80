"""`canon demo`: from nothing to a served model, on real digits."""

import base64
import io
import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .console import bold, load_tensorflow, plain_console

RECIPE = "lenet5_digits"


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the run and the exported model.")] = Path("runs/demo"),
    image: Annotated[int | None, typer.Option(help="Number of the test image to send (default: one that changes by the day).")] = None,
) -> None:
    """Train LeNet-5 on real handwritten digits, export it, serve it, and ask it about an image: about a minute.

    Example: canon demo
    """
    console = plain_console(highlight=False, soft_wrap=True)
    console.print("Loading TensorFlow ...")
    load_tensorflow()
    from .. import serving, training

    started = time.perf_counter()
    console.rule(f"1  Train: recipe {RECIPE}")
    result = training.run(RECIPE, out / "run", overwrite=True)
    correct = round(result.test_metrics["accuracy"] * result.test_metrics["examples"])
    shares = f" ({correct} of {result.test_metrics['examples']} digits that training never saw), trained in {result.seconds:.0f} s."
    console.print("Test accuracy", bold(f"{result.test_metrics['accuracy']:.4f}", shares))

    console.rule("2  Export: a SavedModel that TF Serving could load")
    bundle = serving.export(result.model, out / "saved_models" / "lenet5")
    console.print(f"Version {bundle.version} is in {bundle.path}")

    console.rule("3  Serve, and send a test image over HTTP")
    data = training.data.load("digits")
    index = (int(time.time()) // 86_400 if image is None else image) % len(data.test)
    picture, truth = data.test.image(index), data.class_names[int(data.test.labels[index])]
    digit = out / "digit.png"
    digit.write_bytes(_png(picture))
    with serving.Server(out / "saved_models", port=0, quiet=True) as server:
        url = f"{server.url}/v1/models/lenet5:predict"
        _ask(url, _png(picture))  # the first request traces the graph; the second is what a client waits for
        probabilities, milliseconds = _ask(url, _png(picture))
    best = max(range(len(probabilities)), key=probabilities.__getitem__)
    _show(console, picture, data.class_names, probabilities)
    verdict = "right" if data.class_names[best] == truth else "wrong"
    answered = f": {verdict}. Answered in {milliseconds:.0f} ms by POST {url}; the server is stopped."
    predicted = bold(data.class_names[best], f" ({probabilities[best]:.1%}), true label ")
    console.print(f"Test image {index}: predicted", predicted.append_text(bold(truth, answered)))

    console.rule(f"Done in {time.perf_counter() - started:.0f} s")
    run = result.folder
    console.print(f"The test image: {digit}")
    console.print(f"Curves: {run / 'curves.png'}   mistakes: {run / 'mistakes.png'}   report: {run / 'report.md'}")
    console.print("Try next:")
    console.print(f"  canon serve {out / 'saved_models'}           and then: curl http://127.0.0.1:8501/v1/models/lenet5")
    console.print(f"  canon predict {run} {digit}       or a digit of your own, light on dark")
    console.print(f"  canon finetune {run} --data PHOTOS       on pictures of your own, one folder a class")
    console.print("  canon train lenet5_modern_fashion_mnist   70,000 pictures of clothes")
    console.print("  canon list                                every model of the zoo")


def _png(image) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image.squeeze(-1) if image.shape[-1] == 1 else image).save(buffer, "PNG")
    return buffer.getvalue()


def _ask(url: str, encoded: bytes) -> tuple[list[float], float]:
    """Send one encoded image as TF Serving's clients do, and return the probabilities and the round trip in ms."""
    body = {"signature_name": "bytes", "instances": [{"b64": base64.b64encode(encoded).decode()}]}
    import urllib.request  # here, because every `canon --help` would wait for it

    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    started = time.perf_counter()
    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.load(response)
    return answer["predictions"][0]["probabilities"], 1e3 * (time.perf_counter() - started)


def _show(console: Console, image, names, probabilities) -> None:
    from .picture import picture, shades

    bars = Table.grid(padding=(0, 1))
    for name, probability in zip(names, probabilities, strict=True):
        bars.add_row(name, "█" * round(30 * probability) or "·", f"{probability:.1%}")
    grid = Table.grid(padding=(0, 4))
    grid.add_row(picture(image) if console.color_system else shades(image), bars)
    console.print(grid)
