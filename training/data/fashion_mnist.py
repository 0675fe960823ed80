"""Fashion-MNIST by the builder of TFDS, prepared from files on this machine where there are some, else from the network."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urljoin

import numpy as np
import tensorflow_datasets as tfds
from tensorflow_datasets.core.registered import skip_registration
from tensorflow_datasets.image_classification.mnist import FashionMNIST

from ...zoo.errors import CanonError
from .network import unreachable
from .prepare import prepare

ENVIRONMENT = "KERAS_CANON_FASHION_MNIST"
PACKAGED = Path("/usr/share/datasets/fashion-mnist")

# SHA-256 of the published files, unpacked: compression differs between distributors, the content does not.
PUBLISHED = MappingProxyType(
    {
        "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    }
)
IMAGE_HEADER, LABEL_HEADER = 16, 8  # bytes before the pixels and before the labels in the IDX format


with skip_registration():  # TFDS knows `fashion_mnist` already

    class LocalFashionMNIST(FashionMNIST):
        """Writes the records that the builder of TFDS writes, under its name and version, from a folder instead of the network."""

        name = "fashion_mnist"

        def __init__(self, *, folder: Path, data_dir: str | None):
            self._folder = folder
            super().__init__(data_dir=data_dir)

        def _split_generators(self, dl_manager: tfds.download.DownloadManager):
            return {"train": self._examples("train"), "test": self._examples("t10k")}

        def _examples(self, prefix: str) -> Iterator[tuple[int, dict]]:
            pixels = np.frombuffer(unpacked(self._folder, f"{prefix}-images-idx3-ubyte"), np.uint8, offset=IMAGE_HEADER)
            labels = np.frombuffer(unpacked(self._folder, f"{prefix}-labels-idx1-ubyte"), np.uint8, offset=LABEL_HEADER)
            for index, (image, label) in enumerate(zip(pixels.reshape(-1, 28, 28, 1), labels.tolist(), strict=True)):
                yield index, {"image": image, "label": label}


def unpacked(folder: Path, name: str) -> bytes:
    """Return the content of `NAME.gz` in `folder` after comparing it with the published one."""
    path = folder / f"{name}.gz"
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise CanonError(f"{path} cannot be unpacked: {error}.") from error
    if (got := hashlib.sha256(content).hexdigest()) != PUBLISHED[name]:
        raise CanonError(f"{path} is not the published file: its unpacked SHA-256 should be {PUBLISHED[name]} and is {got}.")
    return content


def local_folder() -> Path | None:
    """Return the folder with the four files, or None where no such folder is known.

    Raises:
        CanonError: the environment names a folder that lacks one.
    """
    chosen = os.environ.get(ENVIRONMENT)
    folder = Path(chosen).expanduser() if chosen else PACKAGED
    missing = [f"{name}.gz" for name in PUBLISHED if not (folder / f"{name}.gz").is_file()]
    if missing and chosen:
        raise CanonError(f"{ENVIRONMENT} names {folder}, which lacks {', '.join(missing)}.")
    return None if missing else folder


def fashion_mnist_builder(data_dir: str | None) -> tfds.core.DatasetBuilder:
    """Return the builder of TFDS with its data on disk."""

    def make() -> tfds.core.DatasetBuilder:
        # Prepared data are found by the plain builder; where the files lie matters only before.
        builder = FashionMNIST(data_dir=data_dir)
        folder = None if builder.is_prepared() else local_folder()
        return builder if folder is None else LocalFashionMNIST(folder=folder, data_dir=data_dir)

    def check() -> None:
        url = urljoin(FashionMNIST.URL, "t10k-labels-idx1-ubyte.gz")
        if local_folder() is None and (reason := unreachable(url)):
            where = make().data_dir
            raise CanonError(
                f"fashion_mnist is not prepared in {where} and {url} cannot be reached ({reason}): connect to the network, "
                f"install the Debian package dataset-fashion-mnist, or set {ENVIRONMENT} to a folder with the four .gz files."
            )

    return prepare(make, "fashion_mnist", data_dir, check)
