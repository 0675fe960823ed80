"""The `[augment]` section of a recipe; reading it needs no TensorFlow."""

from dataclasses import dataclass
from typing import Literal

_AT_MOST_ONE = ("brightness", "contrast", "saturation", "erasing")


@dataclass(frozen=True)
class AugmentSection:
    """`[augment]`: how training pictures are changed before the model's preprocessing, anew in each epoch. Left out, they are not.

    Lengths are in pixels of the stored picture, sizes of changes in its units of 0 to 255. Changes are made in this order.

    Args:
        flip_horizontal: True to mirror every second picture, left to right.
        flip_vertical: True to mirror every second picture, top to bottom.
        crop_padding: pad by this much on each side and cut out the old size at random.
        crop_fill: what padding holds, "zeros" or "reflect" (mirrored).
        randaugment_ops: how many random operations each picture goes through (N of RandAugment).
        randaugment_magnitude: how strong these are, 0 to 10 (M of RandAugment).
        brightness: largest share by which brightness goes up or down, 0 to 1.
        contrast: the same of contrast.
        saturation: the same of saturation; for colour pictures.
        hue: largest turn of the hue, as a share of the full circle, 0 to 0.5; for colour pictures.
        noise: standard deviation of normal noise added to each pixel.
        cutout: side of a square of zeros around a random point.
        erasing: share of the pictures in which a random rectangle is filled with noise.
        mixup: alpha; pairs of pictures are blended, with their labels.
        cutmix: alpha; a rectangle comes from another picture, and the share of its label with it. With mixup as well, each batch
            is changed by one of the two.
    """

    flip_horizontal: bool = False
    flip_vertical: bool = False
    crop_padding: int | None = None
    crop_fill: Literal["zeros", "reflect"] | None = None
    randaugment_ops: int | None = None
    randaugment_magnitude: float | None = None
    brightness: float | None = None
    contrast: float | None = None
    saturation: float | None = None
    hue: float | None = None
    noise: float | None = None
    cutout: int | None = None
    erasing: float | None = None
    mixup: float | None = None
    cutmix: float | None = None

    def __post_init__(self):
        for key in ("crop_padding", "randaugment_ops", "cutout"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise ValueError(f"{key} must be at least 1, got {value}.")
        for key in ("brightness", "contrast", "saturation", "hue", "noise", "erasing", "mixup", "cutmix"):
            value, most = getattr(self, key), 1.0 if key in _AT_MOST_ONE else 0.5 if key == "hue" else float("inf")
            if value is not None and not 0.0 < value <= most:
                raise ValueError(f"{key} must be above 0" + (f" and at most {most:g}" if most < 2 else "") + f", got {value}.")
        if self.crop_fill is not None and self.crop_padding is None:
            raise ValueError("crop_fill does nothing without crop_padding: leave it out.")
        if (self.randaugment_ops is None) != (self.randaugment_magnitude is None):
            raise ValueError("randaugment_ops and randaugment_magnitude belong together: set both or none.")
        if self.randaugment_magnitude is not None and not 0.0 <= self.randaugment_magnitude <= 10.0:
            raise ValueError(f"randaugment_magnitude must be from 0 to 10, got {self.randaugment_magnitude}.")

    @property
    def changes_pictures(self) -> bool:
        """True where single pictures are changed."""
        values = (getattr(self, key) for key in self.__dataclass_fields__ if key not in ("mixup", "cutmix"))
        return any(value not in (None, False) for value in values)

    @property
    def mixes_labels(self) -> bool:
        """True where batches are mixed, so that a label is a share for each class."""
        return self.mixup is not None or self.cutmix is not None
