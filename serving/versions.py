"""Version folders: NAME/1, NAME/2, ... as TF Serving watches them; a folder gets its number only when it is complete."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..zoo.errors import CanonError


def list_versions(directory: Path) -> dict[int, Path]:
    """Return the version folders in `directory`, oldest first; folders with other names are not versions."""
    if not directory.is_dir():
        return {}
    numbered = (path for path in directory.iterdir() if path.name.isascii() and path.name.isdigit() and path.is_dir())
    versions = {int(path.name): path for path in numbered if path.name == str(int(path.name))}
    return dict(sorted(versions.items()))


@dataclass(frozen=True)
class VersionFolder:
    """A version folder that is being written under a temporary name.

    Args:
        version: the number it will get.
        path: where its files are written to.
    """

    version: int
    path: Path


@contextmanager
def new_version(directory: Path, version: int | None = None) -> Iterator[VersionFolder]:
    """Write a version folder so that it appears whole or not at all.

    Args:
        directory: NAME/, which is created when it is not there.
        version: the number; None counts up from the newest, beginning with 1.

    Yields:
        the folder under its temporary name; when the block ends without an error it is renamed to its number.

    Raises:
        CanonError: when the version exists, is no positive integer, or the folder cannot be written.
    """
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 1):
        raise CanonError(f"version must be an integer of at least 1, got {version!r}.")
    versions = list_versions(directory)
    if version in versions:
        raise _taken(directory, version)
    number = max(versions, default=0) + 1 if version is None else version
    created = [path for path in (directory, *directory.parents) if not path.exists()]
    temporary = None
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # TF Serving and `list_versions` pass over names that are not numbers.
        temporary = Path(tempfile.mkdtemp(prefix=f".writing-{number}-", dir=directory))
        yield VersionFolder(number, temporary)
        temporary.chmod(0o755)
        _rename(temporary, directory / str(number))
        temporary = None
    except OSError as error:
        raise CanonError(f"{str(directory)!r} cannot be written: {error.strerror}; give another folder.") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
            _remove_empty(created)


def _rename(temporary: Path, final: Path) -> None:
    # A plain rename would replace an empty folder of that name.
    if final.exists():
        raise _taken(final.parent, int(final.name))
    temporary.rename(final)


def _taken(directory: Path, version: int) -> CanonError:
    newest = max(list_versions(directory), default=version)
    return CanonError(f"Version {version} of {str(directory)!r} exists: leave the version out, or give one above {newest}.")


def _remove_empty(folders: list[Path]) -> None:
    """Remove the folders that were created for an export that failed, innermost first."""
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
