"""Pictures of a batch mixed in pairs, with their labels: mixup and CutMix."""

import tensorflow as tf

from .augmentation_erase import in_boxes
from .augmentation_random import Draws


def mix(images, labels, draws: Draws, *, classes: int, mixup: float | None, cutmix: float | None):
    """Mix each picture of a batch with another one, and its label by the same share.

    mixup:   x = lambda x_i + (1 - lambda) x_j          y = lambda y_i + (1 - lambda) y_j,    lambda from Beta(alpha, alpha)      (1)
    CutMix:  x = M x_i + (1 - M) x_j                    the same y, lambda being the share of pixels in which M is 1              (2)

    One lambda, and for CutMix one rectangle, is drawn for a whole batch, as in both papers' experiments. With both, one of the two
    is drawn for each batch.

    Args:
        images: float32 (B, H, W, C).
        labels: integers (B,).
        draws: random numbers of one example, which stands for the batch.
        classes: K.
        mixup: alpha of mixup; None to leave it.
        cutmix: alpha of CutMix; None to leave it.

    Returns:
        images (B, H, W, C) and labels (B, K), float32.

    Reference:
        Zhang et al., 2018, "mixup: Beyond Empirical Risk Minimization", equation in section 1, arXiv:1710.09412;
        Yun et al., 2019, "CutMix: Regularization Strategy to Train Strong Classifiers with Localizable Features", equations 1 and 2,
        arXiv:1905.04899.
    """
    labels = tf.one_hot(labels, classes)
    order = tf.argsort(draws.bits(0, tf.shape(images)[0])[0] // 2, stable=True)
    partners, partner_labels = tf.gather(images, order), tf.gather(labels, order)

    def blended():
        share = _beta(draws, 1, mixup or 1.0)
        return share * images + (1.0 - share) * partners, share

    def pasted():
        boxes = _box(images, draws, 1.0 - _beta(draws, 2, cutmix or 1.0))
        return tf.where(boxes, partners, images), 1.0 - tf.reduce_mean(tf.cast(boxes, "float32"))

    if mixup is not None and cutmix is not None:
        mixed, share = tf.cond(draws.chance(3)[0], blended, pasted)
    else:
        mixed, share = pasted() if mixup is None else blended()
    return tf.ensure_shape(mixed, images.shape), share * labels + (1.0 - share) * partner_labels


def _beta(draws: Draws, stream: int, alpha: float) -> tf.Tensor:
    """Return a draw from Beta(alpha, alpha) as the share of one of two gamma draws, a float32 scalar."""
    seed = tf.bitcast(draws.bits(stream, 2)[0], "int32")
    first, second = tf.unstack(tf.random.stateless_gamma([2], seed, alpha=tf.constant(alpha, "float64"), dtype="float64"))
    # for a very small alpha both may be 0
    return tf.cast(tf.where(first + second > 0.0, first / (first + second), 1.0), "float32")


def _box(images: tf.Tensor, draws: Draws, area: tf.Tensor) -> tf.Tensor:
    """Return which pixels come from the partner: a rectangle of the picture's shape around a random point, cut at the border."""
    height, width = tf.shape(images)[1], tf.shape(images)[2]

    def edges(stream: int, length: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        side = tf.cast(tf.cast(length, "float32") * tf.sqrt(area), "int32")
        begin = draws.integer(stream, length) - side // 2
        return begin, begin + side

    (top, bottom), (left, right) = edges(4, height), edges(5, width)
    return in_boxes(images, top, left, bottom, right)
