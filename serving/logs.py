"""The server's log: one JSON object a line, without payloads, tokens or query strings."""

import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO


class Log:
    """Writes lines to a stream; safe from many threads.

    Args:
        stream: where to; None writes nothing.
    """

    def __init__(self, stream: TextIO | None):
        self._stream = stream
        self._lock = threading.Lock()

    @property
    def silent(self) -> bool:
        """Whether it writes nothing."""
        return self._stream is None

    def write(self, event: str, fields: Mapping[str, Any]) -> None:
        """Write one line: time, event and the fields.

        JSON escapes line ends and control characters, so nothing that a client sends can start a line of its own.
        """
        if self._stream is None:
            return
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **fields})
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()
