"""What one request, and all requests together, may ask of a server."""

import dataclasses
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..zoo.errors import CanonError
from .bundle import IMAGES_BYTES
from .errors import RequestError, overloaded
from .picture_sizes import count_pixels


@dataclass(frozen=True)
class Limits:
    """Limits of a server; a request beyond one is refused in one sentence, and the server goes on.

    Args:
        max_body_mb: the largest request, in MiB (413, RESOURCE_EXHAUSTED).
        max_rows: most rows of one request.
        max_megapixels: most pixels of one encoded image, in millions, read from its header before anything is decoded.
        timeout_s: seconds from the whole request to the answer (504, DEADLINE_EXCEEDED), and for a client to send its request (408).
        max_pending: most requests under way at once (429, RESOURCE_EXHAUSTED).
        max_pending_mb: most MiB of request bodies held at once (429).
        max_batch: most rows that requests are combined into; 1 computes each request by itself.
        max_wait_ms: how long a batch waits for more requests, in milliseconds; a lone request never waits.

    Raises:
        CanonError: for a limit that is not above 0 (`max_wait_ms` may be 0).
    """

    max_body_mb: float = 32.0
    max_rows: int = 1024
    max_megapixels: float = 50.0
    timeout_s: float = 60.0
    max_pending: int = 256
    max_pending_mb: float = 512.0
    max_batch: int = 32
    max_wait_ms: float = 2.0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            whole = field.type is int
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise CanonError(f"{field.name} must be a {'whole number' if whole else 'number'}, got {value!r}.")
            if not value > 0 and not (field.name == "max_wait_ms" and value == 0):
                raise CanonError(f"{field.name} must be above 0, got {value!r}.")

    @property
    def max_body(self) -> int:
        """The largest request, in bytes."""
        return int(self.max_body_mb * 2**20)

    def check_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Raise the error of a request with too many rows, or with an image of too many pixels."""
        for name, array in arrays.items():
            if array.ndim:
                self.check_rows(name, len(array))
            if name == IMAGES_BYTES and array.dtype == object:
                self._check_pixels(array, name)

    def check_rows(self, name: str, rows: int) -> None:
        """Raise the error of an input with too many rows."""
        if rows > self.max_rows:
            raise RequestError(f"Input {name!r} has {rows} rows, and {self.max_rows} are allowed: send fewer rows at a time.")

    def _check_pixels(self, images: np.ndarray, name: str) -> None:
        for index, data in enumerate(images.ravel()):
            pixels = count_pixels(data)
            if pixels > self.max_megapixels * 1e6:
                raise RequestError(
                    f"Input {name!r} holds an image of {pixels / 1e6:.1f} million pixels as item {index}, and {self.max_megapixels:g} "
                    "million are allowed: send it smaller."
                )


class Ticket:
    """One request that was let in; it counts the bytes that the request holds.

    Args:
        intake: where it came in.
    """

    def __init__(self, intake: "Intake"):
        self._intake = intake
        self.held = 0

    def hold(self, size: int) -> None:
        """Count `size` more bytes.

        Raises:
            RequestError: status 429, when all requests together would hold too much.
        """
        self._intake.add_bytes(size)
        self.held += size


class Intake:
    """Lets requests in while there is room; safe from many threads.

    Args:
        limits: `max_pending` and `max_pending_mb` of these.
    """

    def __init__(self, limits: Limits):
        self._limits = limits
        self._lock = threading.Lock()
        self._requests = 0
        self._bytes = 0

    @property
    def requests(self) -> int:
        """How many requests are under way."""
        return self._requests

    @contextmanager
    def admit(self) -> Iterator[Ticket]:
        """Let a request in for the length of the block.

        Raises:
            RequestError: status 429, when there are too many already.
        """
        with self._lock:
            if self._requests >= self._limits.max_pending:
                raise overloaded(f"{self._limits.max_pending} requests are under way")
            self._requests += 1
        ticket = Ticket(self)
        try:
            yield ticket
        finally:
            with self._lock:
                self._requests -= 1
                self._bytes -= ticket.held

    def add_bytes(self, size: int) -> None:
        """Count bytes that a request holds, or raise the 429 error."""
        with self._lock:
            if self._bytes + size > self._limits.max_pending_mb * 2**20:
                raise overloaded(f"the requests under way hold {self._limits.max_pending_mb:g} MiB")
            self._bytes += size
