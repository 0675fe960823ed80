"""The weight files of keras.applications, read through the network that they were written for."""

from pathlib import Path

import keras
import numpy as np

from .errors import CanonError
from .registry import info


def read_application_file(path: Path, variant: str, arrays: list[np.ndarray]) -> keras.Model | None:
    """Load an `.h5` file into keras.applications' own network, in the order of its layers, as keras.applications itself does.

    The names in such a file are those of the process that wrote it (conv2d_95, or a nested model's), so they are not relied on.

    Args:
        path: the file.
        variant: our variant, whose weights records say which network of keras.applications it is.
        arrays: the file's arrays in order; the last one is the bias of the head and tells the number of classes.

    Returns:
        the network with the weights, or None when the variant has no counterpart there.

    Raises:
        CanonError: when the file is not of that network.
    """
    records = [record for record in info(variant).weights if record.application]
    if not records or not arrays:
        return None
    builder = getattr(keras.applications, records[0].application)
    classes = arrays[-1].shape[-1] if arrays[-1].ndim else 1
    twin = builder(weights=None, classes=classes, classifier_activation=None, **records[0].application_arguments)
    try:
        twin.load_weights(path)
    except (ValueError, KeyError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        name = records[0].application
        raise CanonError(f"{str(path)!r} does not hold the weights of keras.applications.{name} with its head: {reason}") from error
    return twin
