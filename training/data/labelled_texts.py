"""Texts and their classes, listed in a file of the user's own."""

import hashlib
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...zoo.errors import CanonError
from ...zoo.tokenizers import Tokenizer
from ...zoo.tokenizers_files import load_tokenizer
from ...zoo.tokenizers_subword import train_wordpiece
from .folder import SPLIT_FOLDERS, name_some
from .manifest import csv_rows, parquet_rows
from .names import DataName
from .sequences import Ragged, SequenceDataset, SequenceSplit
from .splits import cut

LENGTH = 64  # ids of a text at most, its first and last among them
PIECES = 4000
_TEST_SHARE = 0.1
_SHORTEST, _FEWEST = 4, 100
_BEFORE, _BEHIND = ("[CLS]", "<start>"), ("[SEP]", "<end>")  # of WordPiece and of characters
_READERS = {".csv": csv_rows, ".tsv": lambda path: csv_rows(path, "\t"), ".parquet": parquet_rows}

Rows = dict[str, tuple[list[str], list[str]]]


def texts_dataset(name: str, parsed: DataName, share: float, seed: int, data_dir: str | None) -> SequenceDataset:
    """Return the texts of a file as ids, each with its class.

    The file is UTF-8 with the columns `text`, `label` and, where it has splits of its own, `split`: CSV, with tabs where it is called
    .tsv, or Parquet. A tenth of a file without a test split becomes one, class by class, by a hash of the text.

    Args:
        name: as it was given.
        parsed: the same, read; its options name the columns, `length` how many ids a text has at most, and either `pieces`, how many
            pieces of words are learned from the training part, or `tokenizer`, the folder of one that was learned elsewhere.
        share: of the training part that becomes the validation split where the file has none.
        seed: of the validation split.
        data_dir: not used; the texts are read where they lie.

    Raises:
        CanonError: for a file that is missing or has no such columns, a row without text or label, fewer than two classes, a class that
            is not in the training part, or an option that is out of range.
    """
    path = Path(parsed.argument).expanduser()
    parts = _rows(path, parsed.options)
    classes = tuple(sorted({label for _, labels in parts.values() for label in labels}))
    if len(classes) < 2:
        raise CanonError(f"{path} has the one class {name_some(list(classes))}: texts of at least two are needed.")
    for part, portion, salt in (("test", _TEST_SHARE, "test"), ("validation", share, f"validation {seed}")):
        if part not in parts:
            parts["train"], parts[part] = _cut(parts["train"], classes, portion, salt)
    if empty := [part for part in ("train", "test", "validation") if not parts[part][0]]:
        raise CanonError(f"{path} has too few texts: none is left for {' and '.join(empty)}; three different ones a class will do.")
    if missing := sorted(set(classes) - set(parts["train"][1])):
        raise CanonError(f"{path} has no text to train with in {name_some(missing)}.")
    length = _number(parsed.options, "length", LENGTH, _SHORTEST)
    words = _tokenizer(parsed.options, parts["train"][0])

    def split_of(part: str) -> SequenceSplit:
        texts, labels = parts[part]
        ids = Ragged.of([_encode(words, text, length) for text in texts])
        numbers = np.array([classes.index(label) for label in labels], "int64")
        return SequenceSplit(part, {"token_ids": ids, "segment_ids": Ragged(np.zeros_like(ids.values), ids.starts)}, numbers, ids.lengths)

    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    facts = {"source": str(path), "version": f"SHA-256 {digest}", "seed": seed}
    sizes = {"vocabulary_size": words.vocabulary_size}
    splits = (split_of("train"), split_of("validation"), split_of("test"))
    return SequenceDataset(name, "classes", classes, (None,), *splits, facts, sizes=sizes, tokenizer=words)


def _rows(path: Path, options: Mapping[str, str]) -> Rows:
    """Return texts and labels of each split that the file has."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None or not path.is_file():
        raise CanonError(
            f"There is no list of texts {path}: texts:PATH needs a .csv, .tsv or .parquet file with the columns text and label."
        )
    names = {key: options.get(key, key) for key in ("text", "label", "split")}
    rows = reader(path)
    header = list(rows[0]) if rows else []
    for key in ("text", "label", *(["split"] if "split" in options else [])):
        if names[key] not in header:
            raise CanonError(
                f"{path} has no column {names[key]!r} but {', '.join(header) or 'no row'}: name it, as in texts:{path.name}[{key}=COLUMN]."
            )
    parts: Rows = {"train": ([], [])}
    for number, row in enumerate(rows, start=1 if path.suffix.lower() == ".parquet" else 2):
        text, label = ("" if row[names[key]] is None else str(row[names[key]]).strip() for key in ("text", "label"))
        if not text or not label:
            raise CanonError(f"Row {number} of {path} has no {'label' if text else 'text'}.")
        split = str(row.get(names["split"]) or "train").strip()
        if split not in SPLIT_FOLDERS:
            raise CanonError(f"Row {number} of {path} has the split {split!r}: allowed: {', '.join(SPLIT_FOLDERS)}.")
        texts, labels = parts.setdefault(SPLIT_FOLDERS[split], ([], []))
        texts.append(text)
        labels.append(unicodedata.normalize("NFC", label))
    return parts


def _cut(rows: tuple[list[str], list[str]], classes: Sequence[str], share: float, salt: str) -> list[tuple[list[str], list[str]]]:
    """Cut rows in two by a hash of their texts, so that equal ones stay on one side."""
    texts, labels = rows
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    sides = cut(np.array([classes.index(label) for label in labels], "int64"), digests, share, salt)
    return [([texts[place] for place in side], [labels[place] for place in side]) for side in sides]


def _tokenizer(options: Mapping[str, str], texts: Sequence[str]) -> Tokenizer:
    if "tokenizer" in options:
        if "pieces" in options:
            raise CanonError("texts:PATH takes either tokenizer, which has its pieces, or pieces, got both.")
        return load_tokenizer(options["tokenizer"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.txt"
        file.write_text("\n".join(texts), encoding="utf-8")
        return train_wordpiece(file, _number(options, "pieces", PIECES, _FEWEST))


def _encode(words: Tokenizer, text: str, length: int) -> list[int]:
    """Return the ids of a text between those of its start and its end, where the tokenizer has them."""
    before, behind = ([words.special_id(name) for name in names if name in words.special_tokens][:1] for names in (_BEFORE, _BEHIND))
    return [*before, *words.encode(text)[: length - len(before) - len(behind)], *behind]


def _number(options: Mapping[str, str], name: str, default: int, least: int) -> int:
    value = options.get(name, str(default))
    if not value.isdecimal() or int(value) < least:
        raise CanonError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)
