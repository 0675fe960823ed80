"""The names of the data sets, known without TensorFlow or NumPy."""

from pathlib import Path
from types import MappingProxyType

from ...zoo.errors import CanonError, unknown_name

DESCRIPTIONS = MappingProxyType(
    {
        "digits": "1,797 handwritten digits of 8x8 pixels that come with scikit-learn; needs no network",
        "fashion_mnist": "70,000 grey pictures of clothing of 28x28 pixels in 10 classes (Xiao et al. 2017)",
        "folder:PATH": "a folder of pictures, one sub-folder per class, with or without train, validation and test above them",
        "synthetic": "generated stripes in noise for smoke tests, e.g. synthetic:classes=4,size=16,channels=3,examples=400",
    }
)


def list_datasets() -> list[str]:
    """Return the names that `load` accepts, sorted; `folder:PATH` stands for any folder of pictures."""
    return sorted(DESCRIPTIONS)


def parse_name(name: str) -> tuple[str, str]:
    """Return the kind and the argument of a name: `folder:photos` is `("folder", "photos")`.

    Raises:
        CanonError: when no data set has this name; the nearest names are in the message.
    """
    if not isinstance(name, str):
        raise CanonError(f"A data set is named by a string, one of {', '.join(list_datasets())}, got {name!r}.")
    kind, _, argument = name.partition(":")
    if kind == "folder" and not argument:
        raise CanonError("A folder of pictures is named folder:PATH, for example folder:photos.")
    if kind not in {"folder", "synthetic"} and name not in DESCRIPTIONS:
        cure = f"a folder of pictures is named folder:{name}" if Path(name).is_dir() else ""
        raise unknown_name("data set", name, list_datasets(), cure)
    return kind, argument
