"""Ray Serve: the bundles in replicas over a cluster, each with its own batches."""

from .emit_facts import Facts

_APP = '''\
"""Ray Serve over the bundles of a folder, with TensorFlow Serving's REST paths.

Run: pip install 'keras-canon[serve]' 'ray[serve]', then: serve run app:app, then:
curl http://127.0.0.1:8000/v1/models/@FIRST@
"""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ray import serve
from starlette.requests import Request
from starlette.responses import Response

from keras_canon.serving import Limits, load
from keras_canon.serving.errors import RequestError, timed_out
from keras_canon.serving.rest import describe, read_request, write_reply
from keras_canon.serving.served import Served

# every node of the cluster must see it, such as on a shared volume
DIRECTORY = Path(@DIRECTORY@)
MODELS = @MODELS@
LIMITS = Limits(max_batch=@MAX_BATCH@, max_wait_ms=@MAX_WAIT_MS@)
# what `canon serve` has and this has not: gRPC, older versions and labels, a token, new versions without a restart, streams, metrics


@serve.deployment(num_replicas=2, max_ongoing_requests=LIMITS.max_pending, ray_actor_options={"num_cpus": 1})
class Models:
    """One replica: every model, loaded once."""

    def __init__(self):
        pool = ThreadPoolExecutor(8)
        self.served = {name: Served(load(DIRECTORY / name), pool, LIMITS, lambda signature, rows: None) for name in MODELS}

    def check_health(self):
        """Ray replaces the replica when this raises."""
        if not self.served:
            raise RuntimeError("no model is loaded")

    async def __call__(self, request: Request) -> Response:
        """Answer /v1/models/NAME, /v1/models/NAME/metadata and /v1/models/NAME:predict."""
        try:
            return Response(await self.answer(request), media_type="application/json")
        except RequestError as error:
            return Response(json.dumps({"error": str(error)}), error.status, media_type="application/json")

    async def answer(self, request: Request) -> bytes:
        """Return the body of the reply."""
        name = request.url.path.removeprefix("/v1/models/")
        name, predict, _ = name.partition(":predict")
        name, metadata, _ = name.partition("/metadata")
        if name not in self.served:
            raise RequestError(f"There is no model {name[:100]!r}: allowed: {', '.join(MODELS)}.", 404)
        served = self.served[name]
        if not predict:
            about = describe(served.servable)
            return json.dumps(about if metadata else state(about["model_spec"]["version"])).encode()
        asked = read_request(served.servable, await read_body(request))
        try:
            outputs = await asyncio.wait_for(asyncio.wrap_future(served.submit(asked.signature, asked.arrays)), LIMITS.timeout_s)
        except TimeoutError as error:
            raise timed_out(LIMITS.timeout_s) from error
        return write_reply(outputs, asked.form)


async def read_body(request):
    """Read a body, at most the largest that is allowed."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LIMITS.max_body:
            raise RequestError(f"The request is larger than {LIMITS.max_body_mb:g} MiB, which is the most allowed.", 413)
    return bytes(body)


def state(version):
    """Return the reply to a status request: each replica serves the newest version that it found."""
    status = {"error_code": "OK", "error_message": ""}
    return {"model_version_status": [{"version": version, "state": "AVAILABLE", "status": status}]}


app = Models.bind()
'''


def ray_files(facts: Facts) -> dict[str, str]:
    """Return app.py, which `serve run app:app` starts."""
    values = {
        "@FIRST@": facts.models[0],
        "@DIRECTORY@": repr(str(facts.directory)),
        "@MODELS@": repr(facts.models),
        "@MAX_BATCH@": str(facts.max_batch),
        "@MAX_WAIT_MS@": str(facts.max_wait_ms),
    }
    text = _APP
    for mark, value in values.items():
        text = text.replace(mark, value)
    return {"app.py": text}
