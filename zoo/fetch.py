"""Weight files by address: kept in Keras's cache, whole or not at all, and compared with their hash.

`keras.utils.get_file` is not used: it waits without limit on a network that does not answer, and a process that is killed while it
fetches leaves half a file under the final name. The folder and the names are its own, so a file that either fetched serves both.
"""

import hashlib
import http.client
import importlib
import importlib.util
import os
import sys
import tempfile
import warnings
from pathlib import Path
from urllib.request import urlopen

from .errors import CanonError
from .records import WeightsRecord

HUB = "hf://"
PACKAGE = "package://"
TIMEOUT = 30.0
_CHUNK = 1 << 20


def cache_folder() -> Path:
    """Return the folder of fetched weight files: `models` under KERAS_HOME, or under ~/.keras."""
    return Path(os.environ.get("KERAS_HOME", "~/.keras")).expanduser() / "models"


def cached_path(url: str) -> Path:
    """Return where the file of an address is kept; a file that is put there by hand is found."""
    name = url.removeprefix(HUB).replace("/", "--") if url.startswith(HUB) else url.rstrip("/").split("/")[-1]
    return cache_folder() / name


def fetch(record: WeightsRecord, variant: str) -> Path:
    """Return the weight file of a record, out of the cache or from its address.

    A file that ships with this package is where it is. One on the Hugging Face hub comes through `huggingface_hub` and its cache
    where that is installed, else by plain download. A record without a hash is not taken silently: when its file first comes, a
    warning tells the sha256 that was found, which is written beside it (FILE.sha256), and a file that changes later is refused.
    Weight files hold arrays only, so a wrong one can give wrong answers but cannot run code.

    Args:
        record: what to fetch.
        variant: the model's name, for messages.

    Returns:
        the path of a file whose hash was compared.

    Raises:
        CanonError: when the file cannot be fetched, is cut short, or has another hash; what was fetched is then removed, so that
            trying again starts afresh. A file that was put there by hand stays until the right one has come.
    """
    if record.url.startswith(PACKAGE):
        return _shipped(record, variant)
    kept = cached_path(record.url)
    wrong = None
    if kept.is_file():
        wrong = _fault(kept, kept, record)
        if wrong is None:
            _note_unverified(kept, kept, record, variant)
            return kept
    try:
        path = _fetched(record, variant, kept)
    except CanonError as error:
        if wrong is None:
            raise
        raise CanonError(f"The file at {str(kept)!r} {wrong}, and no other could be fetched: {error}") from error
    _note_unverified(path, kept, record, variant)
    return path


def _fetched(record: WeightsRecord, variant: str, kept: Path) -> Path:
    """Return the file from its address, which takes the place of one that is kept and wrong."""
    if record.url.startswith(HUB) and importlib.util.find_spec("huggingface_hub") is not None:
        path = _from_hub(record, variant)
        fault = _fault(path, kept, record)
        if fault is not None:
            path.resolve().unlink()
            path.unlink(missing_ok=True)
    else:
        path, fault = kept, _download(record, variant, kept)
    if fault is not None:
        raise CanonError(f"The file of the weights {record.tag!r} of {variant!r} from {record.url} {fault}: it was removed, so try again.")
    return path


def _shipped(record: WeightsRecord, variant: str) -> Path:
    path = Path(__file__).parent / "weights" / record.url.removeprefix(PACKAGE)
    fault = _fault(path, path, record) if path.is_file() else "is missing"
    if fault is not None:
        raise CanonError(f"The file {path.name!r} of the weights {record.tag!r} of {variant!r} {fault}: install keras-canon again.")
    return path


def _from_hub(record: WeightsRecord, variant: str) -> Path:
    client = importlib.import_module("huggingface_hub")
    owner, repository, name = record.url.removeprefix(HUB).split("/", 2)
    try:
        return Path(client.hf_hub_download(repo_id=f"{owner}/{repository}", filename=name))
    except (OSError, ValueError) as error:  # the hub's errors are of both kinds
        raise _unreachable(record, variant, error) from error


def _download(record: WeightsRecord, variant: str, target: Path) -> str | None:
    """Fetch into a file beside the target, which takes its place when it is whole and right; return what is wrong else."""
    url = record.url
    if url.startswith(HUB):
        owner, repository, name = url.removeprefix(HUB).split("/", 2)
        url = f"https://huggingface.co/{owner}/{repository}/resolve/main/{name}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise CanonError(f"Weights cannot be kept in {str(target.parent)!r} ({error}): set KERAS_HOME to a folder of yours.") from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file, urlopen(url, timeout=TIMEOUT) as answer:
            length = answer.headers.get("Content-Length")
            written = _copy(answer, file, int(length) if length else None, target.name)
        if length and written != int(length):
            return f"was cut short after {written:,} of {int(length):,} bytes"
        fault = _fault(part, target, record)
        if fault is None:
            part.replace(target)
        return fault
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _unreachable(record, variant, error) from error
    finally:
        part.unlink(missing_ok=True)


def _copy(answer, file, total: int | None, name: str) -> int:
    """Copy in pieces, with a line of progress on a terminal."""
    written = 0
    shows = sys.stderr.isatty()
    while piece := answer.read(_CHUNK):
        file.write(piece)
        written += len(piece)
        if shows:
            share = f"{100 * written // total} % of {total >> 20} MB" if total else f"{written >> 20} MB"
            print(f"\rfetching {name}: {share}", end="", file=sys.stderr, flush=True)
    if shows:
        print(file=sys.stderr)
    return written


def _unreachable(record: WeightsRecord, variant: str, error: Exception) -> CanonError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return CanonError(
        f"The weights {record.tag!r} of {variant!r} could not be fetched from {record.url} ({reason}): "
        f"put the file at {str(cached_path(record.url))!r}, or give the path of your copy as weights."
    )


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _pin(kept: Path) -> Path:
    return kept.with_name(f"{kept.name}.sha256")


def _fault(path: Path, kept: Path, record: WeightsRecord) -> str | None:
    """Compare a file with the record's hash or, without one, with that of its first coming."""
    expected = record.hash
    if not expected and _pin(kept).is_file():
        expected = f"sha256:{_pin(kept).read_text(encoding='ascii').strip()}"
    if not expected:
        return None
    algorithm, digest = expected.split(":")
    found = _digest(path, algorithm)
    return None if found == digest else f"has {algorithm} {found}, expected {digest}"


def _note_unverified(path: Path, kept: Path, record: WeightsRecord, variant: str) -> None:
    if record.hash or _pin(kept).is_file():
        return
    digest = _digest(path, "sha256")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        _pin(kept).write_text(f"{digest}\n", encoding="ascii")
    except OSError as error:
        raise CanonError(f"Weights cannot be kept in {str(kept.parent)!r} ({error}): set KERAS_HOME to a folder of yours.") from error
    warnings.warn(
        f"No hash is published for the weights {record.tag!r} of {variant!r} from {record.url}: the file has sha256 {digest}, "
        "and is held to it from now on.",
        stacklevel=4,
    )
