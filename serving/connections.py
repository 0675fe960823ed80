"""Connections that stay silent: uvicorn keeps one that never sends a request for ever."""

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


def patient_protocol(seconds: float) -> type[Any]:
    """Return uvicorn's HTTP protocol with a limit on how long a new connection may go without a whole request head."""
    # uvicorn chooses between two classes when it is imported, so their attributes are not known before
    base: Any = AutoHTTPProtocol

    class PatientProtocol(base):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(seconds, self._close_if_silent)

        def _close_if_silent(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return PatientProtocol
