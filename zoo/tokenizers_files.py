"""Tokenizers out of files: `tokenizer.json` of a run or a bundle, and the files that GPT-2 and BERT were published with."""

import json
from pathlib import Path
from typing import Any

from .errors import CanonError
from .tokenizers import FILE, Tokenizer
from .tokenizers_plain import ByteTokenizer, CharacterTokenizer
from .tokenizers_subword import BERT_SPECIAL, GPT2_SPECIAL, SubwordTokenizer, subword_from_json


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """Return the tokenizer that `Tokenizer.save` wrote, or another one of Hugging Face's form.

    Args:
        folder: with a `tokenizer.json`, or the path of such a file.

    Raises:
        CanonError: when there is no such file, it is damaged, or holds a tokenizer of another kind.
    """
    path = Path(folder)
    if path.is_dir() or not path.suffix:
        path = path / FILE
    content = _json(path)
    if "kind" not in content:
        return subword_from_json(content, repr(str(path)))
    if content["kind"] not in ("bytes", "characters") or set(content) - {"kind", "special_tokens", "characters"}:
        raise CanonError(f"{str(path)!r} is a tokenizer of the unknown kind {content['kind']!r}: it may be of a newer version.")
    try:
        if content["kind"] == "bytes":
            return ByteTokenizer(content["special_tokens"])
        return CharacterTokenizer(content["characters"], content["special_tokens"])
    except (KeyError, TypeError) as error:
        raise CanonError(f"{str(path)!r} is damaged: it is not the file of a tokenizer ({type(error).__name__}: {error}).") from error


def read_gpt2(folder: str | Path) -> SubwordTokenizer:
    """Return GPT-2's byte-level BPE from the files that it was published with.

    Args:
        folder: with `vocab.json` and `merges.txt`.

    Raises:
        CanonError: when a file is missing, damaged, or of another vocabulary.
    """
    folder = Path(folder)
    merges = []
    for line in _text(folder / "merges.txt").replace("\r\n", "\n").split("\n"):
        if line.strip() and not line.startswith("#version"):
            merges.append(tuple(line.split(" ")))
    return SubwordTokenizer(_json(folder / "vocab.json"), merges, GPT2_SPECIAL)


def read_bert(folder: str | Path, *, lowercase: bool = True) -> SubwordTokenizer:
    """Return BERT's WordPiece from the file that it was published with.

    Args:
        folder: with `vocab.txt`, one piece a line.
        lowercase: False for the cased models.

    Raises:
        CanonError: when the file is missing, holds a piece twice, or lacks a special token.
    """
    path = Path(folder) / "vocab.txt"
    pieces = _text(path).removesuffix("\n").split("\n")
    vocabulary = {piece.removesuffix("\r"): number for number, piece in enumerate(pieces)}
    if len(vocabulary) != len(pieces):
        raise CanonError(f"{str(path)!r} holds {len(pieces) - len(vocabulary)} pieces twice: it is damaged.")
    return SubwordTokenizer(vocabulary, None, BERT_SPECIAL, lowercase=lowercase)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise CanonError(f"There is no {path.name} of a tokenizer in {str(path.parent)!r}: give the folder that holds it.") from error
    except UnicodeDecodeError as error:
        raise CanonError(f"{str(path)!r} is not UTF-8 at byte {error.start}: it is damaged.") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise CanonError(f"{str(path)!r} is damaged: it is no JSON at line {error.lineno}.") from error
    if not isinstance(content, dict):
        raise CanonError(f"{str(path)!r} is damaged: it is no table.")
    return content
