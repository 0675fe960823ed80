"""The `.safetensors` files of this project: arrays by the path of the variable, and the variant that they are of."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .errors import CanonError

_VARIANT = "keras_canon_variant"


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray], variant: str) -> None:
    """Write arrays by name; equal ones give equal bytes.

    Raises:
        CanonError: when the file cannot be written.
    """
    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path, metadata={_VARIANT: variant})
    except (SafetensorError, OSError) as error:
        raise CanonError(f"The weights could not be written to {str(path)!r} ({error}).") from error


def read_safetensors(path: Path) -> tuple[Mapping[str, np.ndarray], str]:
    """Return the arrays of a file by name, and the variant that it says they are of; "" in a file from elsewhere.

    Raises:
        CanonError: for a damaged or foreign file.
    """
    try:
        with safe_open(path, "numpy") as file:
            metadata, names = file.metadata() or {}, file.keys()
            return {name: file.get_tensor(name) for name in names}, metadata.get(_VARIANT, "")
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CanonError(f"{str(path)!r} is damaged or no .safetensors file of NumPy types ({error}): fetch it again.") from error
