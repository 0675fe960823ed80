"""Speed of the server, measured in one run: what HTTP adds to a call, and what batching gives many clients.

usage: python benchmarks/server.py [--requests N] [--clients N] [--rounds N]

1. `lenet5` over REST, one client, one 32 x 32 image a request as nested lists: median seconds over HTTP less the median of
   `Servable.predict` in the same process, by turns.
2. `resnet20`, many clients that each send one encoded image a request: answers a second with batching and without, by turns; over HTTP
   from client processes of their own, and in process through the batcher alone. Every answer is compared with the one that the image has.

Weights are drawn at random: the speed does not depend on them. The result goes to benchmarks/results/server.json and docs/serving.md.
"""

import argparse
import asyncio
import base64
import io
import json
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from report import Report

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

ADDED_MS_AT_MOST = 3.0
HTTP_AT_LEAST, IN_PROCESS_AT_LEAST = 1.4, 2.0
PICTURES = 16


def export(name, folder):
    import keras

    from keras_canon import serving, zoo

    keras.utils.set_random_seed(0)
    serving.export(zoo.create(name), folder / name)
    return folder / name


def overhead(folder, requests):
    """Median milliseconds of one image over REST, and of the same call in this process."""
    import http.client

    import numpy as np

    from keras_canon import serving

    image = np.random.default_rng(0).normal(size=(1, 32, 32, 1)).astype("float32")
    body = json.dumps({"instances": image.tolist()}).encode()
    servable = serving.load(folder)
    rest, direct = [], []
    with serving.Server(folder, port=0, quiet=True) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))

        def ask():
            connection.request("POST", "/v1/models/lenet5:predict", body, {"Content-Type": "application/json"})
            return connection.getresponse().read()

        for turn in range(requests + 20):
            for times, call in ((rest, ask), (direct, lambda: servable.predict(image))):
                started = time.perf_counter()
                call()
                if turn >= 20:
                    times.append(1e3 * (time.perf_counter() - started))
        connection.close()
    return statistics.median(rest), statistics.median(direct)


def make_pictures():
    import numpy as np
    from PIL import Image

    rng, pictures = np.random.default_rng(1), []
    for _ in range(PICTURES):
        buffer = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype="uint8")).save(buffer, "PNG")
        pictures.append(buffer.getvalue())
    return pictures


def client_process(port, bodies, clients, seconds, results):
    """Keep `clients` connections busy for some seconds; put the count of answers and the bodies' answers."""

    async def client(number, end, answers):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        turn = number
        while time.monotonic() < end:
            body = bodies[turn % len(bodies)]
            writer.write(b"POST /v1/models/resnet20:predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            reply = await reader.readexactly(length)
            answers.append((turn % len(bodies), head[9:12], reply))
            turn += 1
        writer.close()

    async def all_clients():
        answers = []
        end = time.monotonic() + seconds
        await asyncio.gather(*(client(number, end, answers) for number in range(clients)))
        return answers

    answers = asyncio.run(all_clients())
    results.put([(turn, status, json.loads(reply)["predictions"][0]["probabilities"]) for turn, status, reply in answers])


def over_http(folder, bodies, expected, clients, seconds, max_batch):
    """Answers a second over HTTP."""
    import numpy as np

    from keras_canon import serving

    context = multiprocessing.get_context("spawn")
    with serving.Server(folder, port=0, limits=serving.Limits(max_batch=max_batch), quiet=True) as server:
        port, results = int(server.url.rsplit(":", 1)[1]), context.Queue()
        process = context.Process(target=client_process, args=(port, bodies, clients, seconds, results))
        process.start()
        answers = results.get(timeout=seconds + 120)
        process.join()
    wrong = [turn for turn, status, got in answers if status != b"200" or np.abs(np.array(got) - expected[turn]).max() > 1e-5]
    assert not wrong, f"{len(wrong)} of {len(answers)} answers are wrong"
    return len(answers) / seconds


def in_process(servable, pictures, clients, seconds, max_batch):
    """Answers a second from threads that call the batcher."""
    import numpy as np

    from keras_canon.serving.batching import Batcher

    counts = []
    arrays = [{"images_bytes": np.array([picture], dtype=object)} for picture in pictures]
    signature = servable.signature("bytes")
    with ThreadPoolExecutor(8) as pool:
        batcher = Batcher(partial(servable.run, "bytes"), signature, pool, max_batch=max_batch, max_wait_s=0.002)
        batcher.submit(arrays[0]).result()
        end = time.monotonic() + seconds

        def client(number):
            count = 0
            while time.monotonic() < end:
                batcher.submit(arrays[(number + count) % len(arrays)]).result()
                count += 1
            counts.append(count)

        threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sum(counts) / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    from keras_canon import serving

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rest, direct = overhead(export("lenet5", folder), options.requests)
        what = f"`lenet5` over REST adds to the call in the process (medians of {options.requests})"
        measured = f"{rest:.2f} less {direct:.2f} ms: {rest - direct:.2f} ms"
        rows = [{"what": what, "measured": measured, "asked": f"at most {ADDED_MS_AT_MOST:g} ms"}]
        print(f"{what}: {measured}: {'ok' if rest - direct <= ADDED_MS_AT_MOST else 'MISSED'}")

        resnet = export("resnet20", folder)
        servable, pictures = serving.load(resnet), make_pictures()
        expected = servable.predict(pictures)["probabilities"]
        bodies = [
            json.dumps({"signature_name": "bytes", "instances": [{"b64": base64.b64encode(picture).decode()}]}).encode()
            for picture in pictures
        ]
        for words, least, measure in (
            ("in process", IN_PROCESS_AT_LEAST, partial(in_process, servable, pictures, options.clients, options.seconds)),
            ("over HTTP", HTTP_AT_LEAST, partial(over_http, resnet, bodies, expected, options.clients, options.seconds)),
        ):
            rates = {32: [], 1: []}
            for _ in range(options.rounds):
                for max_batch, found in rates.items():
                    found.append(measure(max_batch))
            batched, single = statistics.median(rates[32]), statistics.median(rates[1])
            found = [many / one for many, one in zip(rates[32], rates[1], strict=True)]
            row = {
                "what": f"`resnet20`, {options.clients} clients that each send one encoded image, {words}: batched over single",
                "measured": f"{batched:,.0f} over {single:,.0f} answers a second, {batched / single:.2f} times",
                "asked": f"at least {least:g} times",
                "ratio": batched / single,
                "least": least,
                "low": min(found),
                "high": max(found),
                "lowest": min(found),
                "highest": max(found),
            }
            rows.append(row)
            print(f"{row['what']}: {row['measured']}: {'ok' if batched / single >= least else 'MISSED'}", flush=True)
    report(rows).save()


def report(rows):
    return Report(
        name="server",
        title="The server",
        page="",
        command="python benchmarks/server.py",
        columns=[["what", "{what}"], ["measured", "{measured}"], ["aim", "{asked}"]],
        key=["what"],
        rows=rows,
    )


if __name__ == "__main__":
    main()
