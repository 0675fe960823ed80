"""Prepare TFDS data once, and find it again: quietly, atomically, without a network, and with every byte checked."""

import contextlib
import hashlib
import io
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import tensorflow as tf
import tensorflow_datasets as tfds
from google.protobuf.json_format import ParseError
from rich.console import Console
from tensorflow_datasets.core.download.download_manager import NonMatchingChecksumError
from tensorflow_datasets.core.download.util import DownloadError
from tensorflow_datasets.core.utils import tqdm_utils

from ...zoo.errors import CanonError

SUMS = "SHA256SUMS"

# The features of some examples, each with a leading batch axis.
Batch = dict[str, tf.Tensor]


def directory(data_dir: str | os.PathLike | None) -> str | None:
    """Return where prepared data lie: the argument, else the environment's `KERAS_CANON_DATA`, else None, the default of TFDS."""
    chosen = data_dir or os.environ.get("KERAS_CANON_DATA")
    return os.fspath(Path(chosen).expanduser()) if chosen else None


def prepare(
    make: Callable[[], tfds.core.DatasetBuilder], what: str, data_dir: str | None, check: Callable[[], None] | None = None
) -> tfds.core.DatasetBuilder:
    """Return a builder whose data are on disk.

    Two processes may prepare the same data at once: each writes a folder of its own and renames it; the second finds the
    first one's finished and takes that.

    Args:
        make: makes the builder; called again after preparing, so that the builder knows the final files.
        what: what is prepared, for messages and the progress line.
        data_dir: where `make` looks, for messages.
        check: called before preparing; raises when that cannot succeed (no network).

    Raises:
        CanonError: the data could not be fetched or written, or have changed since they were prepared.
    """
    with _quiet():
        builder = _made(make, what, data_dir)
        if not builder.is_prepared():
            if check is not None:
                check()
            with _status(f"Preparing {what} (once)"):
                _write(builder, make, what)
            builder = _made(make, what, data_dir)
            if not builder.is_prepared():
                raise _damaged(builder.data_path, "its metadata are missing")
    _verify(builder.data_path)
    return builder


def read(
    builder: tfds.core.DatasetBuilder, split: str, batch_size: int = 2048, decoders: Mapping[str, Any] | None = None
) -> Iterator[Batch]:
    """Yield all examples of a split in batches, in the order in which they were prepared; `decoders` are those of TFDS."""
    config = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False, skip_prefetch=True)
    with _quiet():
        examples = cast(Any, builder).as_dataset(split=split, shuffle_files=False, read_config=config, decoders=decoders)
    try:
        yield from examples.batch(batch_size).prefetch(1)
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError, tf.errors.NotFoundError) as error:
        raise _damaged(builder.data_path, "it cannot be read") from error


def _made(make: Callable[[], tfds.core.DatasetBuilder], what: str, data_dir: str | None) -> tfds.core.DatasetBuilder:
    where = data_dir or tfds.core.constants.DATA_DIR
    try:
        return make()
    except CanonError:
        raise
    except OSError as error:
        raise CanonError(
            f"The data folder {where} cannot be used: {error}; set KERAS_CANON_DATA or data_dir to a folder of yours."
        ) from error
    except (ValueError, LookupError, ParseError) as error:  # what TFDS raises while it reads its own JSON files
        reason = " ".join(str(error).split())
        raise CanonError(
            f"The prepared data of {what} in {where} is damaged ({reason}); delete its folder there and load again."
        ) from error


def _write(builder: tfds.core.DatasetBuilder, make: Callable[[], tfds.core.DatasetBuilder], what: str) -> None:
    parent = Path(builder.data_path).parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        # Downloads live in a folder that goes away whatever happens, so that no partial or wrong file is found by the next try.
        with tempfile.TemporaryDirectory(prefix="incomplete_download_", dir=parent) as downloads:
            config = tfds.download.DownloadConfig(try_download_gcs=False)
            builder.download_and_prepare(download_dir=downloads, download_config=config)
    except NonMatchingChecksumError as error:
        message = " ".join(str(error).split("To debug")[0].split())
        raise CanonError(f"A file of {what} is not the published one and was removed: {message}") from error
    except DownloadError as error:
        raise CanonError(f"{what} could not be downloaded: {' '.join(str(error).split())}") from error
    except OSError as error:  # requests' network errors are OSErrors too
        if not make().is_prepared():
            raise CanonError(
                f"{what} could not be prepared in {parent}: {error}; set KERAS_CANON_DATA or data_dir to a folder with room."
            ) from error
        return
    _write_sums(builder.data_path)


def _sums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS and not path.name.startswith("."))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _write_sums(folder: os.PathLike) -> None:
    lines = "".join(f"{digest}  {name}\n" for name, digest in _sums(Path(folder)).items())
    handle, temporary = tempfile.mkstemp(prefix=".sums", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(lines)
    Path(temporary).replace(Path(folder) / SUMS)


def _verify(folder: os.PathLike) -> None:
    """Compare all files with the sums written when they were prepared; data that TFDS prepared without us have none."""
    path = Path(folder) / SUMS
    if not path.is_file():
        return
    got = _sums(Path(folder))
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        if got.get(name) != digest:
            raise _damaged(folder, f"the SHA-256 of {name} should be {digest} and is {got.get(name, 'that of no file')}")


def _damaged(folder: os.PathLike, reason: str) -> CanonError:
    return CanonError(f"The prepared data in {os.fspath(folder)} is damaged ({reason}); delete that folder and load again.")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence what TFDS prints, logs and draws; the progress line is ours."""
    logger = logging.getLogger("absl")
    bars, level = tqdm_utils._active, logger.level
    tfds.display_progress_bar(False)
    logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        tfds.display_progress_bar(bars)
        logger.setLevel(level)


def _status(text: str) -> contextlib.AbstractContextManager:
    console = Console(stderr=True)
    return console.status(text) if console.is_terminal else contextlib.nullcontext()
