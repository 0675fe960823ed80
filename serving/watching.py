"""The watcher: looks at the folder of models again and again, and lets the catalogue take up what changed."""

import threading
import time

from ..zoo.memory import trim_memory
from .catalogue import Catalogue
from .logs import Log

_TRIM_SECONDS = 30.0


class Watcher:
    """A thread that scans.

    Args:
        catalogue: what to keep up to date.
        every_s: seconds between two looks.
        log: told when the folder cannot be read.
    """

    def __init__(self, catalogue: Catalogue, every_s: float, log: Log):
        self._catalogue = catalogue
        self._every_s = every_s
        self._log = log
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="canon-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; a version that is just being loaded is finished first."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        trimmed = time.monotonic()
        while not self._stop.wait(self._every_s):
            if time.monotonic() - trimmed > _TRIM_SECONDS:
                trim_memory()
                trimmed = time.monotonic()
            try:
                self._catalogue.scan()
            except OSError as error:
                # files came or went while they were listed, or the folder is away for a moment: the next look will tell
                self._log.write("folder not readable", {"reason": f"{error.strerror}: {error.filename}"})
