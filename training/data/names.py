"""The names of the data sets, known without TensorFlow or NumPy."""

import re
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ...zoo.errors import CanonError, unknown_name

DESCRIPTIONS = MappingProxyType(
    {
        "adding": "the sum of two marked numbers of many (Hochreiter and Schmidhuber 1997), e.g. adding:length=100,examples=20000",
        "bible": "the King James Bible of Debian's package bible-kjv-text as windows of characters, e.g. bible[window=200,state=carried]",
        "books": "passages of the Bible as pieces of words, to be told which book they are from, e.g. books:labels=200,books=10",
        "copying": "symbols to be repeated after a delay (Arjovsky, Shah, Bengio 2016), e.g. copying:delay=20,symbols=10",
        "csv:PATH": "pictures listed in a CSV file with columns file, label and perhaps split, e.g. csv:photos.csv[label=species]",
        "dates": "dates in twelve forms to be translated to ISO 8601, e.g. dates:examples=12000[alphabet=shared]",
        "digits": "1,797 handwritten digits of 8x8 pixels that come with scikit-learn; needs no network",
        "fashion_mnist": "70,000 grey pictures of clothing of 28x28 pixels in 10 classes (Xiao et al. 2017)",
        "folder:PATH": "a folder of pictures, one sub-folder per class, with or without train, validation and test above them",
        "gettext:PAIR": "messages of installed programs and their translations, e.g. gettext:en-fr",
        "lines": "lines of one to three words, drawn with thirteen fonts, to be read, e.g. lines:examples=10000,width=160",
        "parity": "whether a sequence of -1 and 1 has an odd number of ones, e.g. parity:length=20",
        "parquet:PATH": "pictures listed in a Parquet file, with the columns of csv:PATH",
        "passages": "passages of the Bible as pieces of words, to be filled in where they are masked (Devlin et al. 2019)",
        "rows:NAME": "a data set of pictures read row by row, e.g. rows:fashion_mnist",
        "speech": "one to three digits spoken by espeak-ng, to be written down, e.g. speech:examples=1000",
        "synthetic": "generated stripes in noise for smoke tests, e.g. synthetic:classes=4,size=16,channels=3,examples=400",
        "text": "the documentation strings of Python's standard library as windows of characters, e.g. text[window=200,state=carried]",
        "text:PATH": "any UTF-8 text as windows of characters, e.g. text:book.txt[window=200]",
        "texts:PATH": "texts listed in a CSV, TSV or Parquet file with columns text and label, e.g. texts:reviews.csv[label=stars]",
        "tfds:NAME": "a data set of TensorFlow Datasets with pictures and labels, e.g. tfds:cifar10",
    }
)

# Options in brackets behind a name: those of every data set, those of picture files, and those of a list of them.
SUBSET_OPTIONS = ("classes", "per_class")
FILE_OPTIONS = ("unreadable",)
COLUMN_OPTIONS = ("file", "label", "split")
TEXT_OPTIONS = ("window", "state")
PAIR_OPTIONS = ("alphabet",)
LABELLED_OPTIONS = ("text", "label", "split", "length", "pieces", "tokenizer")
SEQUENCES = ("adding", "bible", "books", "copying", "dates", "gettext", "lines", "parity", "passages", "rows", "speech", "text", "texts")
_NEEDED = MappingProxyType(
    {
        "csv": "A list of pictures is named csv:PATH, for example csv:photos.csv.",
        "gettext": "Pairs of messages are named gettext:PAIR, for example gettext:en-fr.",
        "rows": "Pictures read row by row are named rows:NAME, for example rows:fashion_mnist.",
        "folder": "A folder of pictures is named folder:PATH, for example folder:photos.",
        "parquet": "A list of pictures is named parquet:PATH, for example parquet:photos.parquet.",
        "texts": "A list of texts is named texts:PATH, for example texts:reviews.csv.",
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
    if kind not in {*_NEEDED, "synthetic", *SEQUENCES} and plain not in DESCRIPTIONS:
        cure = f"a folder of pictures is named folder:{name}" if Path(name).is_dir() else ""
        raise unknown_name("data set", name, list_datasets(), cure)
    allowed = _options_of(kind)
    if kind == "rows":
        _check_rows(argument)
    for key, value in options.items():
        if not allowed:
            raise CanonError(f"The data set {plain!r} takes no options in brackets, got {key}={value!r}.")
        if key not in allowed or not value:
            raise CanonError(f"The data set {plain!r} takes {', '.join(allowed)} in brackets, as in [per_class=20], got {key}={value!r}.")
    if not re.fullmatch("[1-9][0-9]*", options.get("per_class", "1")):
        raise CanonError(f"per_class must be a whole number of at least 1, got {options['per_class']!r}.")
    return DataName(kind, argument, options)


def is_sequence(name: str) -> bool:
    """Return whether a name is that of sequences, which `load_sequences` loads, and not of pictures."""
    return _without_options(name)[0].partition(":")[0] in SEQUENCES


def _options_of(kind: str) -> tuple[str, ...]:
    if kind in SEQUENCES:
        pairs, running = dict.fromkeys(("dates", "gettext"), PAIR_OPTIONS), dict.fromkeys(("bible", "text"), TEXT_OPTIONS)
        return {**pairs, **running, "texts": LABELLED_OPTIONS}.get(kind, ())
    of_files = FILE_OPTIONS if kind in {"csv", "folder", "parquet"} else ()
    return (*SUBSET_OPTIONS, *of_files, *(COLUMN_OPTIONS if kind in {"csv", "parquet"} else ()))


def _check_rows(argument: str) -> None:
    if is_sequence(argument):
        raise CanonError(f"rows:NAME reads a data set of pictures row by row, and {argument!r} holds sequences: name pictures.")
    parse_name(argument)


def _without_options(name: str) -> tuple[str, dict[str, str]]:
    """Cut `[key=value,...]` off the end of a name, unless a folder is called like that."""
    if name.startswith("rows:"):  # they belong to the pictures
        return name, {}
    found = re.fullmatch(r"(.+?)\[([^\[\]]*)\]", name)
    argument = name.partition(":")[2]
    if found is None or (argument and Path(argument).is_dir()):
        return name, {}
    pairs = [item.partition("=") for item in found[2].split(",") if item.strip()]
    return found[1], {key.strip(): value.strip() for key, _, value in pairs}
