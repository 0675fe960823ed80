"""Text while it is written: server-sent events from a bundle that was exported with `Text(stream=True)`.

`POST NAME:stream` with {"prompt": "...", "seed": 0} answers with events `data: {"text": "..."}`, whose texts together are that of
`generate`, and at the end an event `end`.

Reference: WHATWG, "HTML", section 9.2, server-sent events
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ..zoo.errors import CanonError
from ..zoo.tokenizers import TextStream
from .errors import RequestError, timed_out
from .servable import Servable, check_names
from .tensors import from_json
from .text_signatures import ENDED, LOOP, SEED, TOKEN

Arrays = dict[str, np.ndarray]


class Stream:
    """One text that is being written.

    Args:
        servable: the bundle.
        body: of the request.
        timeout_s: seconds that the whole text may take.

    Raises:
        RequestError: when the request cannot be answered; nothing was sent then.
    """

    def __init__(self, servable: Servable, body: bytes, timeout_s: float):
        if not {"begin", "next"} <= set(servable.signatures):
            raise RequestError(f"Model {servable.bundle.name!r} was not exported for streaming: export it with Text(stream=True).", 404)
        self._servable, self._until, self._timeout_s = servable, time.monotonic() + timeout_s, timeout_s
        self._words = servable.tokenizer
        (door,) = servable.signatures["begin"].inputs
        following = servable.signatures["next"].inputs
        specs = {**servable.signatures["begin"].inputs, **{name: spec for name, spec in following.items() if not name.startswith(LOOP)}}
        given = _parse(body)
        check_names(given, specs, "begin")
        arrays = {name: from_json([given[name]], spec, name) for name, spec in specs.items()}
        self._seed = {SEED: arrays[SEED]} if SEED in arrays else {}
        self._loop = servable.run("begin", {door: arrays[door]})

    def events(self) -> Iterator[str]:
        """Write the text, and give an event for each piece of it."""
        text = TextStream(self._words)
        try:
            ended = False
            while not ended:
                if time.monotonic() > self._until:
                    raise timed_out(self._timeout_s)
                found = self._servable.run("next", {**self._loop, **self._seed})
                self._loop = {name: array for name, array in found.items() if name.startswith(LOOP)}
                piece = text.add(int(found[TOKEN][0]))
                if piece:
                    yield _event({"text": piece})
                ended = bool(found[ENDED].all())
            rest = text.end()
            if rest:
                yield _event({"text": rest})
        except CanonError as error:
            yield f"event: error\n{_event({'error': str(error)})}"
        else:
            yield "event: end\ndata: {}\n\n"


class EventResponse(StreamingResponse):
    """A reply of events that lets go of what the request holds when it ends, also by the client's leaving.

    Args:
        stream: the text.
        held: what to close at the end.
    """

    def __init__(self, stream: Stream, held: ExitStack):
        super().__init__(stream.events(), media_type="text/event-stream")
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        with self._held:
            await super().__call__(scope, receive, send)


def _event(content: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(content, ensure_ascii=False)}\n\n"


def _parse(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError("The request is not valid JSON in UTF-8.") from error
    if not isinstance(given, dict):
        raise RequestError('The request must be a JSON object such as {"prompt": "..."}.')
    return given
