"""The input layer that image networks share, with its checks."""

import keras


def image_input(input_shape: tuple[int | None, ...], *, smallest: int = 1, known: bool = False):
    """Return the symbolic input `images` (B, height, width, channels).

    Args:
        input_shape: (height, width, channels).
        smallest: least height and width that the network is for.
        known: True when a dense layer sees a whole map, so that height and width cannot be None.

    Raises:
        ValueError: for another number of axes, an unknown channel count, a size below `smallest`, or an unknown one with `known`.
    """
    if len(input_shape) != 3 or not input_shape[2]:
        raise ValueError(f"input_shape must be (height, width, channels) with known channels, got {tuple(input_shape)}.")
    sizes = input_shape[:2]
    if known and None in sizes:
        raise ValueError(
            f"input_shape must name height and width, because a dense layer sees the whole last map, got {tuple(input_shape)}."
        )
    if any(size is not None and size < smallest for size in sizes):
        raise ValueError(
            f"input_shape must be at least {smallest} x {smallest} for the strides and the unpadded convolutions, got {tuple(input_shape)}."
        )
    return keras.Input(input_shape, name="images")
