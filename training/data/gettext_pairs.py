"""Translation pairs out of the message catalogues of installed programs."""

import hashlib
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...zoo.errors import CanonError
from .sequence_builder import SequenceSource

FOLDERS = (Path("/usr/share/locale"), Path("/usr/local/share/locale"))
LONGEST = 60  # characters of either side
_MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}
_LEFT_OUT = re.compile(r"[%<>{}\\\n\t|]|\$\w|--")  # formats, markup and options of commands


def gettext_source(pair: str, folders: Sequence[Path] = FOLDERS) -> SequenceSource:
    """Return the messages of `en-fr`: English as programs hold it, and French as their catalogues do.

    Args:
        pair: "en-" and a language as gettext names it, such as "fr" or "pt_BR".
        folders: where catalogues lie, as LANGUAGE/LC_MESSAGES/NAME.mo.

    Raises:
        CanonError: for a pair that does not start with "en-", or a language without catalogues here.
    """
    language = pair.removeprefix("en-")
    if not pair.startswith("en-") or not re.fullmatch(r"[a-z]{2,3}(_[A-Z]{2})?(@[a-z]+)?", language):
        raise CanonError(f"gettext takes English and one other language, as in gettext:en-fr, got {pair!r}.")
    files = [path for folder in folders for path in _files(folder, language)]
    if not files:
        there = languages(folders)
        raise CanonError(f"No installed program has a catalogue for {language!r}: there are {', '.join(there) or 'none at all'}.")
    state = hashlib.sha256("\n".join(f"{path.name} {path.stat().st_size}" for path in files).encode()).hexdigest()[:12]
    return SequenceSource(
        f"gettext_{language.replace('@', '_')}_{state}",
        f"Messages of installed programs, English and {language}, of at most {LONGEST} characters.",
        {"source": None, "target": None},
        lambda: _splits(files, pair),
        origin=f"{len(files)} message catalogues of installed programs",
    )


def read_catalogue(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the messages of a .mo file and their translations, without plurals and contexts; nothing of a file that is none.

    Args:
        path: a file as `msgfmt` writes it.
    """
    data = path.read_bytes()
    order = _MAGIC.get(data[:4])
    if order is None or len(data) < 20:
        return
    number, originals, translations = struct.unpack(f"{order}3I", data[8:20])
    try:
        for row in range(number):
            texts = []
            for table in (originals, translations):
                length, start = struct.unpack_from(f"{order}2I", data, table + 8 * row)
                if start + length > len(data):  # cut off
                    return
                texts.append(data[start : start + length].decode("utf-8"))
            if "\0" not in texts[0] and "\4" not in texts[0]:
                yield texts[0], texts[1]
    except (struct.error, UnicodeDecodeError):  # cut off, or of another encoding: what was read until here is good
        return


def _splits(files: Sequence[Path], pair: str) -> dict[str, list[dict[str, str]]]:
    found: dict[str, str] = {}
    for path in files:
        for source, target in read_catalogue(path):
            if _fits(source) and _fits(target) and source != target:
                found.setdefault(source, target)
    splits: dict[str, list[dict[str, str]]] = {"train": [], "test": []}
    for source, target in found.items():
        is_test = hashlib.sha256(source.lower().encode()).digest()[0] < 26  # a tenth, the same on every machine
        splits["test" if is_test else "train"].append({"source": source, "target": target})
    if not all(splits.values()):
        raise CanonError(f"The catalogues for gettext:{pair} hold {len(found)} short messages, which is too few: install more programs.")
    return splits


def _fits(text: str) -> bool:
    return 2 <= len(text) <= LONGEST and _LEFT_OUT.search(text) is None and any(map(str.isalpha, text))


def languages(folders: Sequence[Path] = FOLDERS) -> list[str]:
    """Return the languages that some installed program has a catalogue for, sorted."""
    return sorted({path.parent.parent.name for folder in folders for path in _files(folder, "*")})


def _files(folder: Path, language: str) -> list[Path]:
    """Return the catalogues of a language, or of a pattern of some; a link may dangle where a program is half removed."""
    return [path for path in sorted(folder.glob(f"{language}/LC_MESSAGES/*.mo")) if path.is_file()]
