"""The handwritten digits that come with scikit-learn, as a TFDS builder."""

import numpy as np
import tensorflow_datasets as tfds
from sklearn.datasets import load_digits

from .splits import cut, digests_of

TEST_EXAMPLES = 360
LARGEST_PIXEL = 16

DESCRIPTION = """1,797 digits of 43 people, 8x8 pixels with 17 levels of grey: the test half of the data for optical recognition of
handwritten digits (Alpaydin and Kaynak 1998, UCI Machine Learning Repository) as scikit-learn ships it, with the levels 0 to 16
stretched to 0 to 255. A fixed, stratified fifth is the test split; the writers are not recorded, so that both splits may hold digits
of one person."""


class CanonDigits(tfds.core.GeneratorBasedBuilder):
    """Prepares `digits` from scikit-learn, without a network: 1,437 training and 360 test pictures."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self) -> tfds.core.DatasetInfo:
        features = {
            "image": tfds.features.Image(shape=(8, 8, 1)),
            "label": tfds.features.ClassLabel(names=[str(digit) for digit in range(10)]),
        }
        return tfds.core.DatasetInfo(
            builder=self,
            description=DESCRIPTION,
            features=tfds.features.FeaturesDict(features),
            supervised_keys=("image", "label"),
            homepage="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager):
        bunch = load_digits()
        images = np.rint(bunch.images[..., np.newaxis] * (255 / LARGEST_PIXEL)).astype(np.uint8)
        train, test = cut(bunch.target, digests_of(images), TEST_EXAMPLES / len(images), salt="digits test")
        return {name: self._generate_examples(images, bunch.target, rows) for name, rows in (("train", train), ("test", test))}

    def _generate_examples(self, images: np.ndarray, labels: np.ndarray, rows: np.ndarray):
        for row in rows.tolist():
            yield row, {"image": images[row], "label": int(labels[row])}
