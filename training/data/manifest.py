"""A list of pictures in a CSV or Parquet file: which file has which label, and perhaps in which split."""

import csv
import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from ...zoo.errors import CanonError
from .folder import SPLIT_FOLDERS, Listing, Picture, listing, name_some


def scan_manifest(kind: str, path: str | os.PathLike, columns: Mapping[str, str]) -> Listing:
    """List the pictures that a CSV or Parquet file names.

    Relative files lie beside the list. A row without a split belongs to `train`, from which the missing splits are cut.

    Args:
        kind: "csv" (UTF-8, with a header) or "parquet".
        path: the list.
        columns: names of the columns `file`, `label` and `split` where they are called otherwise.

    Raises:
        CanonError: no such file, no rows, no such column, a row without a file or label, a file with two labels, or an unknown split.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise CanonError(f"There is no file {path}: {kind}:PATH needs a list of pictures with the columns file and label.")
    rows = (csv_rows if kind == "csv" else parquet_rows)(path)
    names = {key: columns.get(key, key) for key in ("file", "label", "split")}
    if not rows:
        raise CanonError(f"{path} lists no picture: it needs the columns file and label, and a row for each.")
    header = list(rows[0])
    for key in ("file", "label", *(["split"] if "split" in columns else [])):
        if names[key] not in header:
            raise CanonError(
                f"{path} has no column {names[key]!r} but {', '.join(header)}: name it, as in {kind}:{path.name}[{key}=COLUMN]."
            )
    pictures: dict[str, Picture] = {}
    for number, row in enumerate(rows, start=2 if kind == "csv" else 1):
        picture = _picture(row, names, f"Row {number} of {path}")
        known = pictures.setdefault(picture.path, picture)
        if known != picture:
            raise CanonError(f"{path} lists {name_some([picture.path])} twice with different labels or splits: keep one row.")
    return listing(path.resolve(), path.resolve().parent, list(pictures.values()), [])


def _picture(row: Mapping[str, str], names: Mapping[str, str], where: str) -> Picture:
    file, label = (str(row[names[key]] if row[names[key]] is not None else "").strip() for key in ("file", "label"))
    if not file or not label:
        raise CanonError(f"{where} has no {'label' if file else 'file'}.")
    split = str(row.get(names["split"]) or "train").strip()
    if split not in SPLIT_FOLDERS:
        raise CanonError(f"{where} has the split {split!r}: allowed: {', '.join(SPLIT_FOLDERS)}.")
    return Picture(Path(file).as_posix(), SPLIT_FOLDERS[split], unicodedata.normalize("NFC", label))


def csv_rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    """Return the rows of a UTF-8 file with a header, by column.

    Raises:
        CanonError: for a file that is none, or a row with more or fewer values than the header.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True, delimiter=delimiter))
    except (UnicodeDecodeError, csv.Error) as error:
        raise CanonError(f"{path} cannot be read as CSV in UTF-8: {error}.") from error
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise CanonError(f"Row {number} of {path} has not as many values as the header.")
    return rows


def parquet_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a Parquet file, by column; a CanonError says why it cannot be read."""
    import pyarrow  # TensorFlow Datasets brings it
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise CanonError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())}.") from error
