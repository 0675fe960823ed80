"""Pooling by the p-norm of each window."""

import keras

from .arguments import input_rank, integers, real


@keras.saving.register_keras_serializable(package="keras_canon")
class LpPooling2D(keras.layers.Layer):
    """Pool each window by its p-norm.

    y = (sum over the window of |x|^p)^(1/p)        (1)

    p = 1 sums magnitudes, p = 2 is energy pooling, large p approaches the maximum. The sum is not divided by the window
    size. Powers are taken in float32 under a half-precision policy; those of large p leave its range from
    |x| = 10^(38 / p) on. A window of zeros gives 0, with gradient 0 (that of equation 1 is undefined there). Maps carry no
    mask, so none is taken.

    Args:
        norm: p, at least 1.
        pool_size: height and width of the window; one integer for both.
        strides: step between windows; None takes `pool_size`.

    Input shape:
        (batch, height, width, channels); height and width may be unknown.

    Output shape:
        (batch, windows, windows, channels), as keras.layers.AveragePooling2D.

    Raises:
        ValueError: `norm` below 1, a size below 1, an input that has not 4 axes or is smaller than one window.

    Reference:
        Sermanet, Chintala, LeCun, 2012, "Convolutional Neural Networks Applied to House Numbers Digit Classification",
        section 2.2, arXiv:1204.3968.

    Example:
        >>> import keras
        >>> from keras_canon.layers import LpPooling2D
        >>> print(tuple(LpPooling2D(norm=2, pool_size=2)(keras.ops.ones((1, 7, 5, 6))).shape))
        (1, 3, 2, 6)
    """

    def __init__(self, norm=2.0, pool_size=2, strides=None, **kwargs):
        super().__init__(**kwargs)
        self.norm = real("norm", norm, 1.0)
        self.pool_size = integers("pool_size", pool_size, 2)
        self.strides = None if strides is None else integers("strides", strides, 2)

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        if any(count is not None and count < 1 for count in self.compute_output_shape(input_shape)[1:3]):
            raise ValueError(
                f"pool_size must be at most the height and width of the input, got {self.pool_size} for input {tuple(input_shape)}."
            )
        self.built = True

    def call(self, inputs):
        wide = keras.ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        powers = keras.ops.square(wide) if self.norm == 2.0 else keras.ops.power(keras.ops.abs(wide), self.norm)
        mean = keras.ops.average_pool(powers, self.pool_size, self.strides, "valid", data_format="channels_last")
        total = mean * (self.pool_size[0] * self.pool_size[1])
        # The root is taken of 1 where the sum is 0: a masked infinite slope would still turn the gradient into NaN.
        positive = total > 0.0
        root = keras.ops.power(keras.ops.where(positive, total, 1.0), 1.0 / self.norm)
        return keras.ops.cast(keras.ops.where(positive, root, 0.0), inputs.dtype)

    def compute_output_shape(self, input_shape):
        sizes = zip(input_shape[1:3], self.pool_size, self.strides or self.pool_size, strict=True)
        windows = [None if size is None else (size - pool) // stride + 1 for size, pool, stride in sizes]
        return (input_shape[0], *windows, input_shape[-1])

    def get_config(self):
        return {
            **super().get_config(),
            "norm": self.norm,
            "pool_size": list(self.pool_size),
            "strides": None if self.strides is None else list(self.strides),
        }
