"""Preprocessing of images, in one function of TensorFlow ops that training, `predict` and the exported `bytes` signature share."""

import functools
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from .decoding import compiled_decoder, decode_image
from .errors import CanonError
from .model import Model
from .records import Preprocessing

__all__ = ["Preprocessing", "apply_preprocessing", "decode_image", "preprocess"]


def apply_preprocessing(images: tf.Tensor, preprocessing: Preprocessing) -> tf.Tensor:
    """Resize, convert and scale images.

    Args:
        images: (H, W, C) or (B, H, W, C) of any number type, values 0 to 255, C being 1, 3 (RGB) or 4 (RGBA).
        preprocessing: the record.

    Returns:
        float32 tensor (..., size[0], size[1], channels).
    """
    return _apply(images, preprocessing, _resize)


def preprocessing_for(shape: tuple[int, int, int], preprocessing: Preprocessing) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return `apply_preprocessing` for batches of pictures of one shape, which resizes them by two matrix products.

    A resize is linear in the pixels, and works on rows and columns one after the other. For small pictures the products are some
    twenty times as fast as TensorFlow's operation; their sums are rounded in another order, which moves values by 1e-6 of their range.
    A picture comes out the same, bit for bit, wherever it stands in whatever batch.

    Args:
        shape: (H, W, C) of the pictures.
        preprocessing: the record.

    Returns:
        a function from (B, H, W, C) to float32 (B, size[0], size[1], channels).
    """
    rows, columns = _resize_matrices(*shape[:2], preprocessing)
    unchanged = np.array_equal(rows, np.eye(shape[0])) and np.array_equal(columns, np.eye(shape[1]))

    def resize(images: tf.Tensor, preprocessing: Preprocessing) -> tf.Tensor:
        return images if unchanged else _resize_by_products(images, rows, columns)

    return lambda images: _apply(images, preprocessing, resize)


def _resize_by_products(images: tf.Tensor, rows: np.ndarray, columns: np.ndarray) -> tf.Tensor:
    """Return images (B, H, W, C) resized by the matrices of their rows and of their columns.

    With the matrix on the left, TensorFlow multiplies plane by plane. On the right it may take all planes for the rows of one product, in
    which the place of a row decides how its sums are rounded.
    """
    single = images.shape[-1] == 1
    planes = tf.squeeze(images, -1) if single else tf.reshape(tf.transpose(images, (0, 3, 1, 2)), (-1, rows.shape[1], columns.shape[1]))
    # a single plane is multiplied in another way than several: one more, which is cut off again, makes them alike
    planes = tf.pad(planes, ((0, 1), (0, 0), (0, 0)))
    turned = tf.matmul(columns[None], planes, transpose_b=True)  # (planes, size[1], H)
    resized = tf.matmul(rows[None], turned, transpose_b=True)[:-1]  # (planes, size[0], size[1])
    if single:
        return tf.expand_dims(resized, -1)
    return tf.transpose(tf.reshape(resized, (-1, images.shape[-1], len(rows), len(columns))), (0, 2, 3, 1))


@functools.lru_cache(maxsize=32)
def _resize_matrices(height: int, width: int, preprocessing: Preprocessing) -> tuple[np.ndarray, np.ndarray]:
    """Return what resizes rows, (size[0], height), and columns, (size[1], width)."""
    with tf.init_scope(), tf.device("CPU:0"):
        # pictures with ones in a single row (column) each, looked at in the middle, where no padding is
        rows = _resize(tf.eye(height)[:, :, None, None] * tf.ones((width, 1)), preprocessing)
        columns = _resize(tf.eye(width)[:, None, :, None] * tf.ones((height, 1, 1)), preprocessing)
    return rows.numpy()[:, :, preprocessing.size[1] // 2, 0].T, columns.numpy()[:, preprocessing.size[0] // 2, :, 0].T


def _apply(images: tf.Tensor, preprocessing: Preprocessing, resize: Callable[[tf.Tensor, Preprocessing], tf.Tensor]) -> tf.Tensor:
    images = _convert_channels(tf.cast(images, "float32"), preprocessing.channels)
    images = resize(images, preprocessing)
    if preprocessing.channel_order == "bgr":
        images = tf.reverse(images, axis=[-1])
    mean = np.asarray(preprocessing.mean, "float32")
    std = np.asarray(preprocessing.std, "float32")
    return (images * np.float32(preprocessing.scale) - mean) / std


def _convert_channels(images: tf.Tensor, channels: int) -> tf.Tensor:
    given = images.shape[-1]
    if given == channels:
        return images
    if given == 4 and channels in (1, 3):
        images, given = tf.split(images, [3, 1], axis=-1)[0], 3
    if given == 1 and channels == 3:
        return tf.repeat(images, 3, axis=-1)
    if given == 3 and channels == 1:
        return tf.image.rgb_to_grayscale(images)
    if given == channels:
        return images
    raise CanonError(f"Images with {given} channels cannot become input with {channels}: give images with 1, 3 or {channels} channels.")


def _resize(images: tf.Tensor, preprocessing: Preprocessing) -> tf.Tensor:
    height, width = preprocessing.size

    def to(shape):
        # a shape known while tracing lets TensorFlow leave out a resize that changes nothing
        return tf.image.resize(images, shape, method=preprocessing.interpolation, antialias=preprocessing.antialias)

    if preprocessing.resize == "squash":
        return to((height, width))
    target = np.array([round(height / preprocessing.fraction), round(width / preprocessing.fraction)], "float32")
    if preprocessing.resize == "pad":
        target = np.array([round(height * preprocessing.fraction), round(width * preprocessing.fraction)], "float32")
    shape = _scaled(images, target, cover=preprocessing.resize == "crop", window=(height, width))
    if preprocessing.resize == "crop":
        top, left = (shape[0] - height) // 2, (shape[1] - width) // 2
        return tf.image.crop_to_bounding_box(to(shape), top, left, height, width)
    top, left = (height - shape[0]) // 2, (width - shape[1]) // 2
    return tf.image.pad_to_bounding_box(to(shape), top, left, height, width)


def _scaled(images: tf.Tensor, target: np.ndarray, *, cover: bool, window: tuple[int, int]):
    """Return the height and width that keep the aspect ratio and cover (or fit into) the target, as integers where they are known."""
    static = images.shape[-3:-1].as_list()
    if None not in static:
        ratios = target / np.array(static, "float32")
        factor = ratios.max() if cover else ratios.min()
        sizes = [int(size) for size in np.round(np.array(static, "float32") * factor)]
        # never below the window, whatever the rounding
        return [max(size, least) for size, least in zip(sizes, window if cover else (1, 1), strict=True)]
    given = tf.cast(tf.shape(images)[-3:-1], "float32")
    factor = tf.reduce_max(target / given) if cover else tf.reduce_min(target / given)
    return tf.maximum(tf.cast(tf.round(given * factor), "int32"), window if cover else 1)


def preprocess(images, model: Model) -> tf.Tensor:
    """Prepare images for a model with the model's own preprocessing.

    Args:
        images: an array (H, W, C) or (B, H, W, C) with values 0 to 255; or an encoded image (bytes); or a path; or a list of any of these.
        model: a `zoo.Model`.

    Returns:
        float32 tensor (B, height, width, channels), ready for `model.predict`.

    Raises:
        CanonError: for a missing or unreadable file, or an array that is no image.
    """
    record = model.record.preprocessing
    if record is None:
        raise CanonError(f"Model {model.name!r} has no preprocessing in its record: its inputs are not images.")
    if isinstance(images, np.ndarray | tf.Tensor) and len(images.shape) == 4:
        _warn_when_scaled(images, record, model.name)
        return apply_preprocessing(tf.convert_to_tensor(images), record)
    items = images if isinstance(images, Sequence) and not isinstance(images, bytes | str) else [images]
    if not items:
        raise CanonError("There are no images to prepare: give at least one array, path or encoded image.")
    return tf.stack([_prepare_one(item, record, model.name) for item in items])


def read_image(path: str | Path) -> tf.Tensor:
    """Return the pixels of an image file, uint8 (H, W, 3).

    Raises:
        CanonError: for a missing or unreadable file.
    """
    path = Path(path)
    if not path.is_file():
        raise CanonError(f"There is no image file {str(path)!r}: give the path of a JPEG, PNG, GIF, BMP or WebP file.")
    return _decode(path.read_bytes(), repr(str(path)))


def _prepare_one(item, record: Preprocessing, name: str) -> tf.Tensor:
    if isinstance(item, str | Path):
        return apply_preprocessing(read_image(item), record)
    if isinstance(item, bytes):
        return apply_preprocessing(_decode(item, f"the {len(item)} bytes given"), record)
    if len(getattr(item, "shape", ())) != 3:
        raise CanonError(f"An image must be an array (height, width, channels), a path or encoded bytes, got {type(item).__name__}.")
    _warn_when_scaled(item, record, name)
    return apply_preprocessing(tf.convert_to_tensor(item), record)


def _decode(encoded: bytes, what: str) -> tf.Tensor:
    try:
        return compiled_decoder()(tf.constant(encoded))
    except tf.errors.InvalidArgumentError as error:
        raise CanonError(f"No JPEG, PNG, GIF, BMP or WebP image could be read from {what}.") from error


def _warn_when_scaled(images, record: Preprocessing, name: str) -> None:
    """Warn when values look divided by 255 already: they would be scaled twice, which costs accuracy and raises no error."""
    values = np.asarray(images)
    if values.size and values.dtype.kind == "f" and 0.0 < float(values.max()) <= 1.0:
        warnings.warn(
            f"The images for {name!r} have values up to {float(values.max()):.3g}; its preprocessing expects 0 to 255 "
            f"and scales by {record.scale:.4g} itself, so pass them unscaled.",
            stacklevel=4,
        )
