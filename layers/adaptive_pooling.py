"""Adaptive pooling: any input size to a given output size."""

import keras

from .arguments import input_rank, integers


def _window_values(inputs, bins: int, axis: int):
    """Return the values of each window along `axis`, repeating the last one where a window is short, and the window lengths.

    For axis 1 of (B, H, W, C): values (B, bins, widest window, W, C), lengths (bins,).
    """
    size = keras.ops.shape(inputs)[axis]
    index = keras.ops.arange(bins, dtype="int32")
    start, end = index * size // bins, ((index + 1) * size + bins - 1) // bins
    # No window is wider than size // bins + 2, so the copy below holds about size + 2 * bins positions.
    offset = keras.ops.arange(size // bins + 2, dtype="int32")
    position = keras.ops.minimum(start[:, None] + offset[None, :], end[:, None] - 1)
    return keras.ops.take(inputs, position, axis=axis), end - start


def _wide(inputs):
    """Return float32 or wider: TensorFlow's average pooling sums in the input's own type, where float16 overflows."""
    return keras.ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))


class _AdaptivePooling2D(keras.layers.Layer):
    """What average and max share; abstract: a subclass pools by one of three roads.

    - `_pool_even`: windows side by side, plain pooling, several times faster than the next.
    - `_pool_uneven`: Keras's kernel, for known sizes. Not where an axis has one position or one window: it then pools over more
      positions than there are, on which TensorFlow's max pooling ends the process.
    - `_pool_axis`: any windows along one axis, for what remains, sizes unknown until the layer runs above all.
    """

    def __init__(self, output_size, **kwargs):
        super().__init__(**kwargs)
        self.output_size = integers("output_size", output_size, 2)

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        self.built = True

    def call(self, inputs):
        sizes = inputs.shape[1:3]
        if None not in sizes and all(size and size % bins == 0 for size, bins in zip(sizes, self.output_size, strict=True)):
            return self._pool_even(inputs, tuple(size // bins for size, bins in zip(sizes, self.output_size, strict=True)))
        if None not in sizes and min(*sizes, *self.output_size) > 1:
            return self._pool_uneven(inputs)
        return self._pool_axis(self._pool_axis(inputs, self.output_size[0], 1), self.output_size[1], 2)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], *self.output_size, input_shape[-1])

    def get_config(self):
        return {**super().get_config(), "output_size": list(self.output_size)}


@keras.saving.register_keras_serializable(package="keras_canon")
class AdaptiveAveragePooling2D(_AdaptivePooling2D):
    """Average over a grid of windows whose number is given and whose size follows from the input.

    y_i = mean of x_j over floor(i n / m) <= j < ceil((i + 1) n / m),   i = 0 .. m - 1        (1)

    along each axis of n positions and m outputs. Windows overlap where m does not divide n and repeat positions where m
    exceeds n. Unlike keras.layers.AdaptiveAveragePooling2D it takes inputs of unknown height and width, and sums in
    float32 under a half-precision policy. Maps carry no mask, so none is taken.

    Args:
        output_size: height and width m of the output; one integer for both.

    Input shape:
        (batch, height, width, channels); height and width may be unknown.

    Output shape:
        (batch, output_size[0], output_size[1], channels)

    Raises:
        ValueError: an output size below 1, or an input that has not 4 axes.

    Reference:
        He, Zhang, Ren, Sun, 2014, "Spatial Pyramid Pooling in Deep Convolutional Networks", section 2.3, arXiv:1406.4729
        (a fixed number of bins for any input size).

    Example:
        >>> import keras
        >>> from keras_canon.layers import AdaptiveAveragePooling2D
        >>> print(tuple(AdaptiveAveragePooling2D((3, 2))(keras.ops.ones((1, 7, 5, 6))).shape))
        (1, 3, 2, 6)
    """

    def _pool_even(self, inputs, window):
        return keras.ops.cast(keras.ops.average_pool(_wide(inputs), window, data_format="channels_last"), inputs.dtype)

    def _pool_uneven(self, inputs):
        outputs = keras.ops.adaptive_average_pool(_wide(inputs), self.output_size, data_format="channels_last")
        return keras.ops.cast(outputs, inputs.dtype)

    def _pool_axis(self, inputs, bins, axis):
        values, length = _window_values(inputs, bins, axis)
        values = _wide(values)
        shape = [1] * len(values.shape)
        shape[axis : axis + 2] = [bins, -1]
        inside = keras.ops.arange(keras.ops.shape(values)[axis + 1], dtype="int32")[None, :] < length[:, None]
        total = keras.ops.sum(keras.ops.where(keras.ops.reshape(inside, shape), values, 0.0), axis=axis + 1)
        count = keras.ops.cast(keras.ops.reshape(length, [bins] + [1] * (len(inputs.shape) - axis - 1)), total.dtype)
        return keras.ops.cast(total / count, inputs.dtype)


@keras.saving.register_keras_serializable(package="keras_canon")
class AdaptiveMaxPooling2D(_AdaptivePooling2D):
    """Largest value over a grid of windows whose number is given and whose size follows from the input.

    y_i = max of x_j over floor(i n / m) <= j < ceil((i + 1) n / m),   i = 0 .. m - 1        (1)

    along each axis of n positions and m outputs; see `AdaptiveAveragePooling2D` for the windows. Unlike
    keras.layers.AdaptiveMaxPooling2D it takes inputs of unknown height and width. Maps carry no
    mask, so none is taken.

    Args:
        output_size: height and width m of the output; one integer for both.

    Input shape:
        (batch, height, width, channels); height and width may be unknown.

    Output shape:
        (batch, output_size[0], output_size[1], channels)

    Raises:
        ValueError: an output size below 1, or an input that has not 4 axes.

    Reference:
        He, Zhang, Ren, Sun, 2014, "Spatial Pyramid Pooling in Deep Convolutional Networks", section 2.3, arXiv:1406.4729.

    Example:
        >>> import keras
        >>> from keras_canon.layers import AdaptiveMaxPooling2D
        >>> print(tuple(AdaptiveMaxPooling2D(2)(keras.ops.ones((1, 7, 5, 6))).shape))
        (1, 2, 2, 6)
    """

    def _pool_even(self, inputs, window):
        return keras.ops.max_pool(inputs, window, data_format="channels_last")

    def _pool_uneven(self, inputs):
        return keras.ops.adaptive_max_pool(inputs, self.output_size, data_format="channels_last")

    def _pool_axis(self, inputs, bins, axis):
        values, _ = _window_values(inputs, bins, axis)
        # With an initial value Keras takes an empty batch too.
        return keras.ops.max(values, axis=axis + 1, initial=float("-inf"))
