"""The names of the data sets, known without TensorFlow or NumPy."""

import re
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ...zoo.errors import CanonError, unknown_name

DESCRIPTIONS = MappingProxyType(
    {
        "csv:PATH": "pictures listed in a CSV file with columns file, label and perhaps split, e.g. csv:photos.csv[label=species]",
        "digits": "1,797 handwritten digits of 8x8 pixels that come with scikit-learn; needs no network",
        "fashion_mnist": "70,000 grey pictures of clothing of 28x28 pixels in 10 classes (Xiao et al. 2017)",
        "folder:PATH": "a folder of pictures, one sub-folder per class, with or without train, validation and test above them",
        "parquet:PATH": "pictures listed in a Parquet file, with the columns of csv:PATH",
        "synthetic": "generated stripes in noise for smoke tests, e.g. synthetic:classes=4,size=16,channels=3,examples=400",
        "tfds:NAME": "a data set of TensorFlow Datasets with pictures and labels, e.g. tfds:cifar10",
    }
)

# Options in brackets behind a name: those of every data set, those of picture files, and those of a list of them.
SUBSET_OPTIONS = ("classes", "per_class")
FILE_OPTIONS = ("unreadable",)
COLUMN_OPTIONS = ("file", "label", "split")
_NEEDED = MappingProxyType(
    {
        "csv": "A list of pictures is named csv:PATH, for example csv:photos.csv.",
        "folder": "A folder of pictures is named folder:PATH, for example folder:photos.",
        "parquet": "A list of pictures is named parquet:PATH, for example parquet:photos.parquet.",
        "tfds": "A data set of TensorFlow Datasets is named tfds:NAME, for example tfds:cifar10.",
    }
)


class DataName(NamedTuple):
    """What a name says: `folder:photos[per_class=20]` is `("folder", "photos", {"per_class": "20"})`."""

    kind: str
    argument: str
    options: dict[str, str]


def list_datasets() -> list[str]:
    """Return the names that `load` accepts, sorted; `folder:PATH` stands for any folder of pictures, and so on."""
    return sorted(DESCRIPTIONS)


def parse_name(name: str) -> DataName:
    """Return the kind, the argument and the options of a name.

    Raises:
        CanonError: when no data set has this name, with the nearest names in the message, or an option that it does not take.
    """
    if not isinstance(name, str):
        raise CanonError(f"A data set is named by a string, one of {', '.join(list_datasets())}, got {name!r}.")
    plain, options = _without_options(name)
    kind, _, argument = plain.partition(":")
    if kind in _NEEDED and not argument:
        raise CanonError(_NEEDED[kind])
    if kind not in {*_NEEDED, "synthetic"} and plain not in DESCRIPTIONS:
        cure = f"a folder of pictures is named folder:{name}" if Path(name).is_dir() else ""
        raise unknown_name("data set", name, list_datasets(), cure)
    of_files = FILE_OPTIONS if kind in {"csv", "folder", "parquet"} else ()
    allowed = (*SUBSET_OPTIONS, *of_files, *(COLUMN_OPTIONS if kind in {"csv", "parquet"} else ()))
    for key, value in options.items():
        if key not in allowed or not value:
            raise CanonError(f"The data set {plain!r} takes {', '.join(allowed)} in brackets, as in [per_class=20], got {key}={value!r}.")
    if not re.fullmatch("[1-9][0-9]*", options.get("per_class", "1")):
        raise CanonError(f"per_class must be a whole number of at least 1, got {options['per_class']!r}.")
    return DataName(kind, argument, options)


def _without_options(name: str) -> tuple[str, dict[str, str]]:
    """Cut `[key=value,...]` off the end of a name, unless a folder is called like that."""
    found = re.fullmatch(r"(.+?)\[([^\[\]]*)\]", name)
    argument = name.partition(":")[2]
    if found is None or (argument and Path(argument).is_dir()):
        return name, {}
    pairs = [item.partition("=") for item in found[2].split(",") if item.strip()]
    return found[1], {key.strip(): value.strip() for key, _, value in pairs}
