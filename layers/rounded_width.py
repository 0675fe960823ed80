"""Channel counts of scaled networks."""

from .arguments import positive_integer, real


def rounded_width(width: float, divisor: int = 8, minimum: int | None = None) -> int:
    """Return the multiple of `divisor` nearest to `width`, but not below `minimum` nor below 90 % of `width`.

    This is the rule of the authors' code for MobileNet v2 and v3 and EfficientNet, where a width multiplier scales every
    channel count: 32 x 1.4 = 44.8 gives 48, 24 x 0.75 = 18 gives 24 (16 would be under 90 %). Halves round up.

    Args:
        width: number of channels wanted, after scaling.
        divisor: what the result is a multiple of.
        minimum: smallest result; None takes `divisor`.

    Raises:
        ValueError: a negative `width`; a `divisor` or `minimum` below 1.

    Reference: M. Sandler et al. 2018, "MobileNetV2", section 4, arXiv:1801.04381 (the multiplier); the rounding is in the
    authors' published code only.

    Example:
        >>> from keras_canon.layers import rounded_width
        >>> print(rounded_width(32 * 1.4), rounded_width(24 * 0.75))
        48 24
    """
    width = real("width", width, 0.0)
    divisor = positive_integer("divisor", divisor)
    minimum = divisor if minimum is None else positive_integer("minimum", minimum)
    rounded = max(minimum, int(width + divisor / 2) // divisor * divisor)
    return rounded if rounded >= 0.9 * width else rounded + divisor
