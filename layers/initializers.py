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
