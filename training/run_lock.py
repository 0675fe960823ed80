"""One run, one folder: a lock that a dead process cannot leave behind."""

import contextlib
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from ..zoo.errors import CanonError

try:
    import fcntl
except ImportError:  # Windows has none; there a file that is open cannot be removed, and that will do
    fcntl = None


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Own a run folder while the context lasts; `run.lock` in it names the process.

    The operating system holds the lock on the open file and lets it go with the process, however that ends: a file that a killed
    run left is no obstacle, and no process number is ever mistaken for another one.

    Raises:
        CanonError: when another live process owns the folder.
    """
    path = folder / "run.lock"
    descriptor = _acquire(path)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
        yield
    finally:
        # removed while still held, so that nobody's new lock is removed
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise CanonError(f"{str(path)!r} cannot be written ({error.strerror}): give another folder with --out.") from error
        if fcntl is None:
            return descriptor
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise CanonError(
                f"{str(path.parent)!r} belongs to a run that is still going ({_owner(path)}): wait for it, or give another "
                "folder with --out."
            ) from error
        # its owner may have removed the file between our opening and our locking it: then the lock is worth nothing
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        os.close(descriptor)


def _owner(path: Path) -> str:
    try:
        owner = json.loads(path.read_text(encoding="utf-8"))
        return f"process {owner['pid']} on {owner['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
