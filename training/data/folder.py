"""What a folder of pictures holds: classes, splits and files, found without opening a file or importing TensorFlow."""

import hashlib
import os
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from ...zoo.errors import CanonError

SPLIT_FOLDERS = MappingProxyType({"train": "train", "validation": "validation", "valid": "validation", "val": "validation", "test": "test"})
SUFFIXES = frozenset({".bmp", ".gif", ".jfif", ".jpe", ".jpeg", ".jpg", ".png", ".webp"})
NAMED_AT_MOST = 20
FINGERPRINT_DIGITS = 20


@dataclass(frozen=True)
class Picture:
    """A file with its place: `path` is relative to the folder or absolute, with the split and class it lies in."""

    path: str
    split: str
    class_name: str


@dataclass(frozen=True)
class Listing:
    """What `scan` found.

    Args:
        source: the folder, or the file that lists the pictures, absolute.
        root: what the paths of pictures are relative to, absolute.
        class_names: sorted by code point.
        pictures: sorted by path.
        left_out: files that are no pictures by their suffix, or lie in no class, by relative path.
        fingerprint: changes when a picture is added, removed, renamed or written.
    """

    source: Path
    root: Path
    class_names: tuple[str, ...]
    pictures: tuple[Picture, ...]
    left_out: tuple[str, ...]
    fingerprint: str

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that the folder itself makes: only `train` where it has no split folders."""
        return tuple(split for split in ("train", "validation", "test") if any(picture.split == split for picture in self.pictures))


def scan(path: str | os.PathLike) -> Listing:
    """List a folder of pictures, one sub-folder per class, with or without `train`, `validation` and `test` above them, in any case.

    Everything whose name starts with a dot is passed over. A class is the first folder below the split; deeper folders
    belong to it. Class names are Unicode-normalised, since one name is spelled in two ways on two file systems.

    Raises:
        CanonError: no such folder, fewer than two classes, a class without pictures, a class that `train` lacks, or split folders
            without `train` or beside other folders.
    """
    root = _existing(Path(path).expanduser())
    folders = {entry.name: entry for entry in _visible(root) if entry.is_dir()}
    splits = {name: SPLIT_FOLDERS[name.casefold()] for name in folders if name.casefold() in SPLIT_FOLDERS}
    divided = "train" in splits.values() and len(splits) == len(folders)
    if len(splits) > 1 and len(splits) == len(folders) and not divided:
        raise CanonError(f"{root} holds the split folders {name_some(sorted(splits))}, but no folder train: add it, or rename them.")
    if "train" in splits.values() and len(splits) > 1 and not divided:
        others = name_some(sorted(folders.keys() - splits.keys()))
        raise CanonError(
            f"{root} holds split folders ({name_some(sorted(splits))}) beside others ({others}): move the others into the splits, or away."
        )
    tops = [(split, root / name) for name, split in splits.items()] if divided else [("train", root)]

    found, left_out, classes = [], [], {}
    for split, top in tops:
        for entry in _visible(top):
            if not entry.is_dir():
                left_out.append(Path(entry.path))
                continue
            class_name = unicodedata.normalize("NFC", entry.name)
            classes.setdefault(split, set()).add(class_name)
            for file in _files(Path(entry.path)):
                if file.suffix.lower() in SUFFIXES:
                    found.append((file, split, class_name))
                else:
                    left_out.append(file)
    if divided:
        left_out += [Path(entry.path) for entry in _visible(root) if not entry.is_dir()]

    pictures = [Picture(file.relative_to(root).as_posix(), split, name) for file, split, name in found]
    return listing(root, root, pictures, [file.relative_to(root).as_posix() for file in left_out], classes)


def listing(
    source: Path, root: Path, pictures: list[Picture], left_out: list[str], classes: Mapping[str, set[str]] | None = None
) -> Listing:
    """Return pictures as a `Listing`, sorted and checked.

    Args:
        source: what to call the place in messages.
        root: what the paths are relative to.
        pictures: in any order.
        left_out: other files.
        classes: of each split, where some may have no picture; None for those of the pictures.

    Raises:
        CanonError: fewer than two classes, a class without pictures, or a class that `train` lacks.
    """
    pictures = sorted(pictures, key=lambda picture: os.fsencode(picture.path))
    found = {picture.class_name for picture in pictures if picture.split == "train"} if classes is None else classes.get("train", ())
    names = tuple(sorted(found))
    _check_classes(source, names, pictures)
    return Listing(source, root, names, tuple(pictures), tuple(sorted(left_out)), fingerprint(root, pictures))


def name_some(names: list[str]) -> str:
    """Return names for a message: all of a few, the first of many."""
    shown = ", ".join(os.fsencode(name).decode("utf-8", "backslashreplace") for name in names[:NAMED_AT_MOST])
    return shown if len(names) <= NAMED_AT_MOST else f"{shown} and {len(names) - NAMED_AT_MOST} more"


def _existing(root: Path) -> Path:
    if root.is_dir():
        return root.resolve()
    if root.exists():
        raise CanonError(f"{root} is a file, and folder:PATH needs a folder with one sub-folder per class.")
    siblings = [entry.name for entry in _visible(root.parent) if entry.is_dir()] if root.parent.is_dir() else []
    near = get_close_matches(root.name, siblings)
    raise CanonError(f"There is no folder {root}{'; near it there are ' + ', '.join(near) if near else ''}.")


def _visible(folder: Path) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except PermissionError as error:
        raise CanonError(f"The folder {folder} may not be read: {error.strerror}.") from error


def _files(folder: Path, above: frozenset[str] = frozenset()) -> Iterator[Path]:
    above |= {os.path.realpath(folder)}
    for entry in _visible(folder):
        if entry.is_dir():
            if os.path.realpath(entry.path) not in above:  # a link to a folder above would never end
                yield from _files(Path(entry.path), above)
        elif entry.is_file() or entry.is_symlink():  # no pipes or devices; a broken link is kept and reported as unreadable
            yield Path(entry.path)


def _check_classes(source: Path, names: tuple[str, ...], pictures: list[Picture]) -> None:
    if len(names) < 2:
        found = f"only the class {names[0]!r}" if names else "no class"
        raise CanonError(
            f"{source} holds {found}, and a classifier needs at least two: put the pictures of each class into a folder of its own."
        )
    if odd := [name for name in names if not _is_text(name)]:
        raise CanonError(f"{source} has classes whose names are no valid UTF-8: {name_some(odd)}; rename them.")
    filled = {picture.class_name for picture in pictures if picture.split == "train"}
    if empty := [name for name in names if name not in filled]:
        raise CanonError(f"{source} has no training picture in {name_some(empty)}: add pictures or remove the folder.")
    if unknown := sorted({f"{picture.split}/{picture.class_name}" for picture in pictures if picture.class_name not in names}):
        raise CanonError(f"{source} has classes that train lacks: {name_some(unknown)}.")


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no text stand in names as lone surrogates
        return False
    return True


def picture_files(root: Path) -> Iterator[Path]:
    """Yield the pictures in a folder, by their suffix and at any depth."""
    return (file for file in _files(root) if file.suffix.lower() in SUFFIXES)


def fingerprint(root: Path, pictures: list[Picture]) -> str:
    """Return a text that changes when a picture is added, removed, renamed or written."""
    digest = hashlib.sha256()
    for picture in pictures:
        try:
            status = (root / picture.path).stat()
            facts = f"{status.st_size} {status.st_mtime_ns}"
        except OSError:
            facts = "unreadable"
        parts = (os.fsencode(picture.path), picture.split.encode(), os.fsencode(picture.class_name), facts.encode())
        digest.update(b"\0".join(parts) + b"\0")
    return digest.hexdigest()[:FINGERPRINT_DIGITS]
