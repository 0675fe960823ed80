"""The error that a request can cause."""

from collections.abc import Iterable

from ..zoo.errors import CanonError, unknown_name


class RequestError(CanonError):
    """A request that cannot be answered; the server replies with `status` and the message, which is one sentence.

    Args:
        message: what, where and what is allowed.
        status: HTTP status.
    """

    def __init__(self, message: str, status: int = 400):
        super().__init__(message)
        self.status = status


def not_found(kind: str, name: str, valid: Iterable[str]) -> RequestError:
    """Return the 404 error for a model, version or signature that does not exist, with the nearest valid names."""
    # cut short, for it came from outside: the search for near names takes long on a long one
    return RequestError(str(unknown_name(kind, str(name)[:100], valid)), status=404)


def overloaded(what: str) -> RequestError:
    """Return the 429 error: the queue is bounded, so a client that comes while it is full is sent away and may come again."""
    return RequestError(f"The server is busy: {what}; try again in a second.", status=429)


def timed_out(seconds: float) -> RequestError:
    """Return the 504 error of a request that was not answered in time."""
    return RequestError(f"The model did not answer within {seconds:g} s: send fewer rows, or try again.", status=504)
