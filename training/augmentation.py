"""Augmentation of a run: training pictures changed in the data pipeline, by random numbers that seed, epoch and example decide."""

from collections.abc import Callable

import tensorflow as tf

from .augment_section import AugmentSection
from .augmentation_colour import jitter, to_bytes
from .augmentation_erase import cut_out, erase
from .augmentation_geometry import flip_and_crop
from .augmentation_mix import mix
from .augmentation_rand import rand_augment
from .augmentation_random import Draws

# first stream of each kind of change: RandAugment may use any number, so it comes last
_GEOMETRY, _JITTER, _NOISE, _CUTOUT, _ERASING, _RANDAUGMENT = 0, 8, 16, 24, 32, 64
# batches are mixed with draws apart from those of their examples
_MIXING = 0x5A17


class Augmentation:
    """The changes that a recipe asks for.

    They keep no state: a picture of an epoch is changed in the same way whenever it is asked for, whatever batch or order it comes
    in, so that a resumed run repeats them bit for bit. Both methods are compiled once for all epochs.

    Args:
        section: the recipe's `[augment]`.
        seed: of the run.
        classes: number of classes, for mixed labels.

    Example:
        >>> import numpy as np
        >>> from keras_canon.training.augmentation import Augmentation
        >>> from keras_canon.training.sections import AugmentSection
        >>> change = Augmentation(AugmentSection(flip_horizontal=True, crop_padding=2), seed=0, classes=10)
        >>> change.pictures(np.zeros((4, 8, 8, 3), "uint8"), np.arange(4), epoch=0).shape
        TensorShape([4, 8, 8, 3])
    """

    def __init__(self, section: AugmentSection, seed: int, classes: int):
        self.section, self.seed, self.classes = section, seed, classes
        # by number of channels; any number of examples, so that a short last batch needs no second trace
        self._pictures: dict[int | None, Callable] = {}
        self._mix = tf.function(self._mixed, autograph=False, reduce_retracing=True)

    def pictures(self, images, indices, epoch) -> tf.Tensor:
        """Return changed pictures.

        Args:
            images: uint8 (B, H, W, C).
            indices: position of each in its split, integers (B,).
            epoch: number of the epoch from 0.

        Returns:
            uint8 (B, H, W, C).
        """
        images = tf.convert_to_tensor(images)
        if not self.section.changes_pictures:
            return images
        channels = images.shape[-1]
        if channels not in self._pictures:
            self._pictures[channels] = tf.function(self._changed, autograph=False, reduce_retracing=True)
        return self._pictures[channels](images, tf.cast(indices, "int64"), tf.cast(epoch, "int64"))

    def batch(self, images, labels, indices, epoch):
        """Return a mixed batch: float32 images (B, H, W, C), and labels as shares of each class (B, classes).

        A batch is known by its first example, which no other batch of the epoch has.

        Args:
            images: float32 (B, H, W, C), prepared for the model.
            labels: integers (B,).
            indices: position of each in its split, integers (B,).
            epoch: number of the epoch from 0.
        """
        if not self.section.mixes_labels:
            return images, labels
        return self._mix(tf.convert_to_tensor(images), tf.convert_to_tensor(labels), tf.cast(indices, "int64"), tf.cast(epoch, "int64"))

    def _changed(self, images, indices, epoch):
        section, draws = self.section, Draws(self.seed, epoch, indices)
        flips = (section.flip_horizontal, section.flip_vertical)
        if any(flips) or section.crop_padding:
            images = flip_and_crop(images, draws, _GEOMETRY, flips, section.crop_padding or 0, section.crop_fill or "zeros")
        if section.randaugment_ops is not None:
            images = rand_augment(images, draws, _RANDAUGMENT, section.randaugment_ops, section.randaugment_magnitude or 0.0)
        changes = {key: getattr(section, key) for key in ("brightness", "contrast", "saturation", "hue")}
        if section.noise is not None or any(change is not None for change in changes.values()):
            shades = jitter(tf.cast(images, "float32"), draws, _JITTER, **changes)
            if section.noise is not None:
                shades += section.noise * draws.normal(_NOISE, tf.shape(images))
            images = to_bytes(shades)
        if section.cutout is not None:
            images = cut_out(images, draws, _CUTOUT, section.cutout)
        return images if section.erasing is None else erase(images, draws, _ERASING, section.erasing)

    def _mixed(self, images, labels, indices, epoch):
        draws = Draws(self.seed ^ _MIXING, epoch, indices[:1])
        return mix(images, labels, draws, classes=self.classes, mixup=self.section.mixup, cutmix=self.section.cutmix)
