"""Changes of colour, with a strength for each picture; pictures are float32 (B, H, W, C) with values 0 to 255."""

import tensorflow as tf

from .augmentation_random import Draws


def to_bytes(images: tf.Tensor) -> tf.Tensor:
    """Return float pictures as uint8, rounded and cut to 0 to 255."""
    return tf.cast(tf.round(tf.clip_by_value(images, 0.0, 255.0)), "uint8")


def grey(images: tf.Tensor) -> tf.Tensor:
    """Return luminance (B, H, W, 1); a picture of one channel as it is."""
    return tf.image.rgb_to_grayscale(images) if images.shape[-1] == 3 else tf.split(images, [1, -1], axis=-1)[0]


def blend(other: tf.Tensor, images: tf.Tensor, strength: tf.Tensor) -> tf.Tensor:
    """Return a mix of two pictures: the other one at strength 0, the picture at 1, and beyond it above 1.

    Args:
        other: broadcast to the pictures.
        images: (B, H, W, C).
        strength: of each picture, (B,).
    """
    strength = strength[:, None, None, None]
    return tf.clip_by_value(other + strength * (images - other), 0.0, 255.0)


def change_brightness(images: tf.Tensor, strength: tf.Tensor) -> tf.Tensor:
    """Black at strength 0, unchanged at 1."""
    return tf.clip_by_value(images * strength[:, None, None, None], 0.0, 255.0)


def change_contrast(images: tf.Tensor, strength: tf.Tensor) -> tf.Tensor:
    """The picture's mean grey at strength 0, unchanged at 1."""
    return blend(tf.reduce_mean(grey(images), axis=[1, 2], keepdims=True), images, strength)


def change_saturation(images: tf.Tensor, strength: tf.Tensor) -> tf.Tensor:
    """Grey at strength 0, unchanged at 1; a picture of one channel stays."""
    return blend(grey(images), images, strength)


def turn_hue(images: tf.Tensor, turns: tf.Tensor) -> tf.Tensor:
    """Turn the hue by a share of the full circle, (B,); a picture of one channel stays."""
    if images.shape[-1] != 3:
        return images
    hue, saturation, value = tf.split(tf.image.rgb_to_hsv(images / 255.0), 3, axis=-1)
    hue = tf.math.floormod(hue + turns[:, None, None, None], 1.0)
    return tf.image.hsv_to_rgb(tf.concat([hue, saturation, value], axis=-1)) * 255.0


def jitter(
    images: tf.Tensor,
    draws: Draws,
    stream: int,
    *,
    brightness: float | None,
    contrast: float | None,
    saturation: float | None,
    hue: float | None,
) -> tf.Tensor:
    """Change brightness, contrast and saturation by a random factor from 1 - x to 1 + x, and turn the hue by up to x.

    Args:
        images: float32 (B, H, W, C).
        draws: random numbers; four streams are used.
        stream: the first of them.
        brightness: x, or None to leave it; the same for contrast, saturation and hue.
        contrast: see brightness.
        saturation: see brightness.
        hue: see brightness.
    """
    changes = ((brightness, change_brightness), (contrast, change_contrast), (saturation, change_saturation))
    for number, (most, change) in enumerate(changes):
        if most is not None:
            images = change(images, draws.uniform(stream + number, 1.0 - most, 1.0 + most))
    return images if hue is None else turn_hue(images, draws.uniform(stream + 3, -hue, hue))


def auto_contrast(images: tf.Tensor) -> tf.Tensor:
    """Stretch each channel of each picture to 0 to 255; a channel of one value stays."""
    least = tf.reduce_min(images, axis=[1, 2], keepdims=True)
    most = tf.reduce_max(images, axis=[1, 2], keepdims=True)
    return tf.where(most > least, (images - least) * (255.0 / tf.maximum(most - least, 1.0)), images)


def equalize(images: tf.Tensor) -> tf.Tensor:
    """Give each channel of each picture an even histogram, by the integer rule of the Python Imaging Library."""
    shape = tf.shape(images)
    channels = tf.reshape(tf.transpose(tf.cast(images, "int32"), [0, 3, 1, 2]), (-1, shape[1] * shape[2]))  # (B C, pixels)
    rows = tf.shape(channels)[0]
    flat = tf.reshape(channels + 256 * tf.range(rows)[:, None], (-1,))
    counts = tf.reshape(tf.math.bincount(flat, minlength=256 * rows, maxlength=256 * rows), (rows, 256))
    values = tf.range(256)[None, :]
    last = tf.reduce_max(tf.where(counts > 0, values, 0), axis=1, keepdims=True)
    step = (shape[1] * shape[2] - tf.gather(counts, last, batch_dims=1)) // 255  # (B C, 1)
    table = (tf.cumsum(counts, axis=1, exclusive=True) + step // 2) // tf.maximum(step, 1)
    table = tf.where(step > 0, tf.minimum(table, 255), tf.broadcast_to(values, (rows, 256)))
    equal = tf.gather(table, channels, batch_dims=1)
    equal = tf.reshape(equal, (shape[0], shape[3], shape[1], shape[2]))
    return tf.ensure_shape(tf.cast(tf.transpose(equal, [0, 2, 3, 1]), "float32"), images.shape)


def solarize(images: tf.Tensor, thresholds: tf.Tensor) -> tf.Tensor:
    """Invert the pixels from a threshold on, (B,)."""
    return tf.where(images < thresholds[:, None, None, None], images, 255.0 - images)


def posterize(images: tf.Tensor, bits: tf.Tensor) -> tf.Tensor:
    """Keep the highest bits only, so many of 8, (B,)."""
    step = tf.pow(2.0, 8.0 - tf.cast(bits, "float32"))[:, None, None, None]
    return tf.floor(images / step) * step


def sharpen(images: tf.Tensor, strength: tf.Tensor) -> tf.Tensor:
    """A smoothed picture at strength 0, unchanged at 1; pixels at the border stay."""
    channels = images.shape[-1]
    kernel = tf.constant([[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]]) / 13.0
    kernel = tf.repeat(kernel[:, :, None, None], channels, axis=2)
    smooth = tf.nn.depthwise_conv2d(images, kernel, strides=[1, 1, 1, 1], padding="SAME")
    inside = tf.pad(tf.ones(tf.shape(images)[1:3] - 2, "bool"), [[1, 1], [1, 1]])[None, :, :, None]
    return blend(tf.where(inside, smooth, images), images, strength)
