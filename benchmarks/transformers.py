"""Speed of text generation with gpt2 (124M, random weights, float32) against KerasHub and Hugging Face transformers, measured in one run.

usage: python benchmarks/transformers.py [--only TEXT] [--rounds N] [--batch 1 8]
       python benchmarks/transformers.py --memory plain|XLA

A prompt of 32 tokens, 64 new ones, the likeliest each time. All candidates write in turn, so that whatever else the machine does slows
all of them; figures are medians over the rounds. Tokens per second count the whole call, reading of the prompt included; prefill is
the prompt's tokens over the time of a call that writes one token. KerasHub and transformers (with PyTorch) are measured where they are
installed. The limit is the memory bandwidth: every new token reads all weights once, whatever the batch. Without `--only` the result goes
to benchmarks/results/transformers.json and docs/generation-performance.md.
"""

import argparse
import importlib.util
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
import tensorflow as tf
from report import Report

from keras_canon import serving, zoo

VOCABULARY, WIDTH, DEPTH, HEADS, CONTEXT = 50257, 768, 12, 12, 1024
PROMPT, NEW = 32, 64
ASKED = {"KerasHub": 1.5, "Hugging Face transformers": 1.3}  # least ratio of our fastest to each
_SPECIAL = 4  # of a character tokenizer

REST = 0.3  # seconds; threads of the candidate before may spin for a while, which the first call after it would pay for
# ids of the prompts and number of new ids -> ids, or None where the ids stay inside
Writer = Callable[[np.ndarray, int], np.ndarray | None]


def ours(model: zoo.Model, *, jit_compile: bool) -> Writer:
    generators = {count: zoo.Generator(model, zoo.Generation(max_new_tokens=count), jit_compile=jit_compile) for count in (1, NEW)}
    return lambda ids, count: np.asarray(generators[count](ids))


def exported(model: zoo.Model, folder: Path) -> Writer:
    """The `generate` signature in a loaded SavedModel; its tokenizer is a table of as many characters as gpt2 has tokens."""
    words = zoo.CharacterTokenizer("".join(map(chr, range(0x20000, 0x20000 + VOCABULARY - _SPECIAL))))
    functions = {}
    for count in (1, NEW):
        settings = zoo.Generation(max_new_tokens=count)
        bundle = serving.export(model, folder / f"gpt2_{count}", text=serving.Text(words, settings))
        functions[count] = tf.saved_model.load(str(bundle.path)).signatures["generate"]

    def write(ids: np.ndarray, count: int) -> None:
        functions[count](tf.constant([words.decode(row) for row in ids]))["text"].numpy()

    return write


def keras_hub(model: zoo.Model) -> Writer:
    from keras_hub.models import GPT2Backbone, GPT2CausalLM

    backbone = GPT2Backbone(VOCABULARY, DEPTH, HEADS, WIDTH, 4 * WIDTH, dropout=0.0, max_sequence_length=CONTEXT)
    peer = GPT2CausalLM(backbone=backbone, preprocessor=None)
    peer.compile(sampler="greedy")

    def write(ids: np.ndarray, count: int) -> np.ndarray:
        inputs = {
            "token_ids": np.pad(ids, [[0, 0], [0, count]]),
            "padding_mask": np.pad(np.ones_like(ids), [[0, 0], [0, count]]),
        }
        return np.asarray(peer.generate(inputs, stop_token_ids=None)["token_ids"])[:, PROMPT:]

    return write


def hugging_face(model: zoo.Model) -> Writer:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    peer = GPT2LMHeadModel(GPT2Config()).eval()

    def write(ids: np.ndarray, count: int) -> np.ndarray:
        inputs = torch.from_numpy(ids.astype("int64"))
        options = {"max_new_tokens": count, "min_new_tokens": count, "do_sample": False, "use_cache": True, "pad_token_id": 0}
        with torch.inference_mode():
            return peer.generate(inputs, attention_mask=torch.ones_like(inputs), **options).numpy()[:, PROMPT:]

    return write


def writers(model: zoo.Model, folder: Path, only: str) -> dict[str, Writer]:
    makers = {
        "zoo.Generator, XLA": lambda: ours(model, jit_compile=True),
        "zoo.Generator": lambda: ours(model, jit_compile=False),
        "exported generate": lambda: exported(model, folder),
    }
    if importlib.util.find_spec("keras_hub"):
        makers["KerasHub"] = lambda: keras_hub(model)
    if importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"):
        makers["Hugging Face transformers"] = lambda: hugging_face(model)
    return {name: make() for name, make in makers.items() if only in name}


def bandwidth() -> float:
    """Bytes per second that NumPy's float32 matrix-vector product reads from a matrix of the size of gpt2's weights."""
    # ones, for memory that nothing was written to is one page
    matrix, vector = np.ones((30_000, 4096), "float32"), np.ones(4096, "float32")
    taken = []
    for _ in range(12):
        start = time.perf_counter()
        matrix @ vector
        taken.append(time.perf_counter() - start)
    return matrix.nbytes / min(taken)


def bytes_read(model: zoo.Model, batch: int) -> float:
    """Bytes that a new token needs: every weight but the rows of positions, and the keys and values of the steps so far."""
    weights = sum(weight.shape.num_elements() for weight in model.weights) - CONTEXT * WIDTH
    cache = 2 * DEPTH * WIDTH * (PROMPT + NEW / 2) * batch
    return 4.0 * (weights + cache)


def in_turn(candidates: dict[str, Writer], ids: np.ndarray, rounds: int) -> dict[str, dict[int, float]]:
    """Return median seconds by candidate and number of new tokens; in each round the candidates come in another order."""
    for write in candidates.values():
        for count in (1, NEW):
            write(ids, count)
    taken: dict[str, dict[int, list[float]]] = {name: {1: [], NEW: []} for name in candidates}
    order = random.Random(0)
    for _ in range(rounds):
        for name in order.sample(list(candidates), len(candidates)):
            time.sleep(REST)
            for count in (1, NEW):
                start = time.perf_counter()
                candidates[name](ids, count)
                taken[name][count].append(time.perf_counter() - start)
    return {name: {count: statistics.median(seconds) for count, seconds in counts.items()} for name, counts in taken.items()}


def compare(candidates: dict[str, Writer], model: zoo.Model, batch: int, rounds: int, speed: float) -> list[dict]:
    ids = np.random.default_rng(batch).integers(_SPECIAL, VOCABULARY, (batch, PROMPT)).astype("int32")
    limit = batch * speed / bytes_read(model, batch)
    rows = []
    first = None
    for name, seconds in in_turn(candidates, ids, rounds).items():
        tokens = batch * NEW / seconds[NEW]
        first = first or tokens
        row = {"batch": batch, "what": name, "tokens": tokens, "ratio": first / tokens, "prefill": batch * PROMPT / seconds[1]}
        asked = {"least": ASKED[name]} if name in ASKED else {}
        rows.append({**row, "share": tokens / limit, **asked})
        print(report(rows[-1:], rounds, speed, bytes_read(model, 1)).table()[-1], flush=True)
    print(f"batch {batch}: {bytes_read(model, batch) / 1e6:.0f} MB a step at {speed / 1e9:.1f} GB/s allow {limit:.1f} tokens a second")
    return rows


def memory(batch: int, *, jit_compile: bool) -> None:
    """Print what this process needs while gpt2 writes, compiled by then, over the bytes of its weights, the cache aside.

    Before, a gpt2_tiny has written: what TensorFlow and XLA need by themselves, much of it pages of their libraries, is printed apart. So
    is what making the model leaves behind: random weights are made of temporary ones, whose memory TensorFlow keeps for later tensors.
    """
    tf.zeros(1)
    start = _resident("VmRSS")
    ours(zoo.create("gpt2_tiny"), jit_compile=jit_compile)(np.ones((batch, PROMPT), "int32"), NEW)
    before = _resident("VmRSS")
    print(f"{(before - start) / 1e6:.0f} MB after a gpt2_tiny has written")
    model = zoo.create("gpt2")
    weights = 4.0 * sum(weight.shape.num_elements() for weight in model.weights)
    cache = 4.0 * 2 * DEPTH * WIDTH * (PROMPT + NEW) * batch
    made = _resident("VmRSS")
    left = made - before - weights
    print(f"{weights / 1e6:.0f} MB of weights, a cache of {cache / 1e6:.0f} MB for batch {batch}; making gpt2 leaves {left / 1e6:.0f} MB")
    ids = np.random.default_rng(batch).integers(_SPECIAL, VOCABULARY, (batch, PROMPT)).astype("int32")
    write = ours(model, jit_compile=jit_compile)
    write(ids, NEW)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the highest value so far
    write(ids, NEW)
    added = _resident("VmHWM") - made
    print(f"writing adds {added / 1e6:.0f} MB: {(weights + added - cache) / weights:.2f} times the weights and the cache")
    print(f"with what making leaves {(weights + left + added - cache) / weights:.2f} times", flush=True)


def _resident(name: str) -> float:
    """Bytes of this process in memory, by a name of `/proc/self/status`."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return 1024.0 * int(line.split()[1])


def report(rows: list[dict], rounds: int, speed: float, read: float) -> Report:
    return Report(
        name="transformers",
        title="Speed of text generation",
        page="generation-performance.md",
        command="python benchmarks/transformers.py",
        columns=[
            ["batch", "{batch}"],
            ["what", "{what}"],
            ["tokens per second", "{tokens:.1f}"],
            ["ratio", "{ratio:.2f}"],
            ["aim", "{least:.2f}"],
            ["prefill, tokens per second", "{prefill:.0f}"],
            ["of the limit", "{share:.2f}"],
        ],
        key=["batch", "what"],
        text=[
            "Written by `{command}` on {date}, {machine}.",
            f"`gpt2` (124M, random weights, float32), a prompt of {PROMPT} tokens and {NEW} new ones; medians of {rounds} rounds, all in",
            f"turn. NumPy's matrix-vector product reads {speed / 1e9:.1f} GB/s here and a step of batch 1 reads {read / 1e6:.0f} MB;",
            "`of the limit` is the share of the tokens per second that these allow. The ratio is the first line's tokens per second",
            "over the candidate's.",
        ],
        rows=rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="measure the candidates whose name holds this text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--memory", choices=["plain", "XLA"], help="measure memory alone, of the first batch size")
    options = parser.parse_args()
    # this file would be taken for the package of its name
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
    keras.utils.set_random_seed(0)
    if options.memory:
        memory(options.batch[0], jit_compile=options.memory == "XLA")
        return
    model = zoo.create("gpt2")
    speed = bandwidth()
    with tempfile.TemporaryDirectory() as folder:
        candidates = writers(model, Path(folder), options.only)
        rows = [row for batch in options.batch for row in compare(candidates, model, batch, options.rounds, speed)]
    if not options.only:
        report(rows, options.rounds, speed, bytes_read(model, 1)).save()


if __name__ == "__main__":
    main()
