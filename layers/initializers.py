"""Weight initialisers that papers of the canon ask for and Keras has not, and the rule for handing initialisers on."""

import math
from typing import Any

import keras

from .arguments import positive_integer


def fresh_initializer(initializer) -> Any:
    """Return an initialiser of one's own for a child layer.

    An unseeded Keras initialiser instance draws the same numbers each time it is called, so one instance handed to
    several sublayers would start query, key and value kernels equal. A layer therefore passes
    `fresh_initializer(self.kernel_initializer)` to each child: the clone of an unseeded instance has a new seed, drawn
    from Keras's global seed; that of a seeded instance keeps its seed, as asked for.

    Args:
        initializer: a Keras initialiser, its name, its config, or None.

    Returns:
        a new `keras.initializers.Initializer`, or None for None.
    """
    initializer = keras.initializers.get(initializer)
    return initializer.clone() if isinstance(initializer, keras.initializers.Initializer) else initializer


@keras.saving.register_keras_serializable(package="keras_canon")
class LeCunFanInUniform(keras.initializers.Initializer):
    """Draw uniformly from [-2.4 / F_i, 2.4 / F_i], the rule of LeNet-5.

    F_i is the fan-in: the number of inputs of the unit to which the connection belongs. The interval shrinks with F_i
    itself; `keras.initializers.LecunUniform` is the later rule, whose interval shrinks with its square root.

    Args:
        fan_in: F_i. None takes the product of all axes of the weight but the last, which is right for dense kernels
            (inputs, units) and convolution kernels (height, width, inputs, filters). Say it for a bias or for a
            coefficient per map, whose shape does not tell.
        seed: an integer, a `keras.random.SeedGenerator`, or None.

    Raises:
        ValueError: a `fan_in` below 1; a weight with fewer than two axes while `fan_in` is None.

    Reference:
        LeCun, Bottou, Bengio, Haffner, 1998, "Gradient-Based Learning Applied to Document Recognition", section III.A and
        appendix A, doi:10.1109/5.726791.

    Example:
        >>> from keras_canon.layers import LeCunFanInUniform
        >>> weight = LeCunFanInUniform(seed=1)((24, 10))
        >>> print(float(abs(weight.numpy()).max()) <= 0.1)
        True
    """

    def __init__(self, fan_in=None, seed=None):
        self.fan_in = None if fan_in is None else positive_integer("fan_in", fan_in)
        self._uniform = keras.initializers.RandomUniform(-1.0, 1.0, seed=seed)

    def __call__(self, shape, dtype=None):
        if self.fan_in is None and len(shape) < 2:
            raise ValueError(
                f"fan_in must be given for a weight of shape {tuple(shape)}, which does not tell the inputs of a unit, got None."
            )
        fan_in = self.fan_in or math.prod(shape[:-1])
        return self._uniform(shape, dtype=dtype) * (2.4 / fan_in)

    def get_config(self):
        return {"fan_in": self.fan_in, "seed": self._uniform.get_config()["seed"]}


@keras.saving.register_keras_serializable(package="keras_canon")
class RandomSigns(keras.initializers.Initializer):
    """Draw -1 or +1 with equal probability.

    The codes of radial basis function units "could have been chosen at random with equal probabilities for -1 and +1",
    or by an error-correcting code, says the paper of LeNet-5, which then takes drawn characters instead.

    Args:
        seed: an integer, a `keras.random.SeedGenerator`, or None.

    Reference:
        LeCun, Bottou, Bengio, Haffner, 1998, "Gradient-Based Learning Applied to Document Recognition", section II.B,
        doi:10.1109/5.726791.

    Example:
        >>> from keras_canon.layers import RandomSigns
        >>> print(sorted(set(RandomSigns(seed=1)((10, 84)).numpy().ravel().tolist())))
        [-1.0, 1.0]
    """

    def __init__(self, seed=None):
        self._uniform = keras.initializers.RandomUniform(-1.0, 1.0, seed=seed)

    def __call__(self, shape, dtype=None):
        draw = self._uniform(shape, dtype="float32")
        # `sign` would give 0 for a draw of exactly 0.
        return keras.ops.cast(keras.ops.where(draw < 0, -1.0, 1.0), dtype or keras.config.floatx())

    def get_config(self):
        return {"seed": self._uniform.get_config()["seed"]}


@keras.saving.register_keras_serializable(package="keras_canon")
class SinusoidalGrid(keras.initializers.Initializer):
    """Give each patch of an image the sines and cosines of its column and of its row.

    P_(r, c) = [sin(c w), cos(c w), sin(r w), cos(r w)], w_i = 10000^(-i / (D/4 - 1)) for i = 0 .. D/4 - 1

    Rows of the table before the patches, such as that of a class token, are zero.

    Args:
        height: rows of patches.
        width: columns of patches.

    Raises:
        ValueError: a height or width below 1; a table that is not (at least height * width, D), or a D that is no multiple of 4, or 4.

    Reference:
        Beyer, Zhai, Kolesnikov, 2022, "Better plain ViT baselines for ImageNet-1k", section 2, arXiv:2205.01580, after Chen, Xie, He,
        2021, "An Empirical Study of Training Self-Supervised Vision Transformers", section 4.3, arXiv:2104.02057.

    Example:
        >>> from keras_canon.layers import SinusoidalGrid
        >>> print(SinusoidalGrid(2, 2)((4, 8))[0].numpy().tolist())
        [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    """

    def __init__(self, height, width):
        self.height = positive_integer("height", height)
        self.width = positive_integer("width", width)

    def __call__(self, shape, dtype=None):
        patches = self.height * self.width
        if len(shape) != 2 or shape[0] < patches or shape[1] % 4 or shape[1] == 4:
            raise ValueError(f"shape must be (at least {patches}, a multiple of 4 above 4), got {tuple(shape)}.")
        frequencies = 10000.0 ** -(keras.ops.arange(shape[1] // 4, dtype="float32") / (shape[1] // 4 - 1))
        columns, rows = keras.ops.meshgrid(
            keras.ops.arange(self.width, dtype="float32"), keras.ops.arange(self.height, dtype="float32"), indexing="xy"
        )
        angles = [keras.ops.reshape(axis, (-1, 1)) * frequencies for axis in (columns, rows)]  # (patches, D / 4) each
        table = keras.ops.concatenate([wave(angle) for angle in angles for wave in (keras.ops.sin, keras.ops.cos)], axis=1)
        return keras.ops.cast(keras.ops.pad(table, ((shape[0] - patches, 0), (0, 0))), dtype or keras.config.floatx())

    def get_config(self):
        return {"height": self.height, "width": self.width}
