"""Max and average pooling with the padding and rounding rules that the papers and their ports differ in."""

import keras

from .arguments import input_rank, integers, one_of


@keras.saving.register_keras_serializable(package="keras_canon")
class SpatialPooling2D(keras.layers.Layer):
    """Pool over windows of size z placed s apart; z > s is the overlapping pooling of AlexNet.

    y_i = max or mean of x_j over i s - p <= j < i s - p + z        (1)

    The number of windows along an axis of n positions is floor((n + 2 p - z) / s) + 1 with p = 0 ("valid") or
    p = (z - 1) // 2 ("symmetric"), with ceil in place of floor in `ceil_mode` (a window that would start beyond the input
    is left out), and ceil(n / s) for "same", where the padding is split with the larger half at the end.
    keras.layers.MaxPooling2D and AveragePooling2D have neither the symmetric padding, nor the ceil mode, nor a mean that
    counts the padding. Maps carry no mask, so none is taken.

    Args:
        method: "max" or "average".
        pool_size: height and width z of the window; one integer for both.
        strides: s; None takes `pool_size`, which gives windows side by side.
        padding: "valid", "same" or "symmetric". A maximum never takes a padded position.
        ceil_mode: whether the last window may reach beyond the input, so that no position is left out (GoogLeNet,
            SqueezeNet). Not with "same", which already rounds up.
        count_padding: whether a mean divides by the whole window, padded zeros included (torchvision's Inception), or by
            the number of real positions in it. Only with "average" and "symmetric". What the ceil mode adds is never counted.

    Input shape:
        (batch, height, width, channels); height and width may be unknown.

    Output shape:
        (batch, windows, windows, channels), with the numbers of windows above.

    Raises:
        ValueError: an unknown `method` or `padding`, a size below 1, `ceil_mode` with "same", `count_padding` without
            "average" and "symmetric", an input that has not 4 axes or is smaller than one window.

    Reference:
        Krizhevsky, Sutskever, Hinton, 2012, "ImageNet Classification with Deep Convolutional Neural Networks",
        section 3.4 (s = 2, z = 3).

    Example:
        >>> import keras
        >>> from keras_canon.layers import SpatialPooling2D
        >>> print(tuple(SpatialPooling2D("max", 3, strides=2, ceil_mode=True)(keras.ops.ones((1, 112, 112, 64))).shape))
        (1, 56, 56, 64)
    """

    def __init__(self, method, pool_size, strides=None, padding="valid", ceil_mode=False, count_padding=False, **kwargs):
        super().__init__(**kwargs)
        self.method = one_of("method", method, ("max", "average"))
        self.pool_size = integers("pool_size", pool_size, 2)
        self.strides = None if strides is None else integers("strides", strides, 2)
        self.padding = one_of("padding", padding, ("valid", "same", "symmetric"))
        self.ceil_mode = one_of("ceil_mode", ceil_mode, (True, False))
        self.count_padding = one_of("count_padding", count_padding, (True, False))
        if ceil_mode and padding == "same":
            raise ValueError("ceil_mode must be False with padding 'same', which already rounds up, got True.")
        if count_padding and (method, padding) != ("average", "symmetric"):
            raise ValueError(
                f"count_padding must be False unless method is 'average' and padding 'symmetric', got True with {method!r} and {padding!r}."
            )

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        self._check_size(input_shape)
        self.built = True

    def call(self, inputs):
        self._check_size(inputs.shape)
        if self.method == "max":
            return self._max(inputs)
        # TensorFlow's average pooling sums in the input's own type: float16 overflows from two values of 60000.
        wide = keras.ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        return keras.ops.cast(self._average(wide), inputs.dtype)

    def compute_output_shape(self, input_shape) -> tuple:
        windows = [None if size is None else self._windows(size, axis) for axis, size in enumerate(input_shape[1:3])]
        return (input_shape[0], *windows, input_shape[-1])

    def get_config(self):
        return {
            **super().get_config(),
            "method": self.method,
            "pool_size": list(self.pool_size),
            "strides": None if self.strides is None else list(self.strides),
            "padding": self.padding,
            "ceil_mode": self.ceil_mode,
            "count_padding": self.count_padding,
        }

    def _check_size(self, shape):
        if any(count is not None and count < 1 for count in self.compute_output_shape(shape)[1:3]):
            raise ValueError(
                f"pool_size must be at most the height and width of the padded input, got {self.pool_size} for input {tuple(shape)}."
            )

    def _windows(self, size, axis: int):
        """Return the number of windows over `size` positions, a number or a scalar tensor."""
        pool, stride = self.pool_size[axis], (self.strides or self.pool_size)[axis]
        if self.padding == "same":
            return -(-size // stride)
        before = self._before(axis)
        reach = size + 2 * before - pool
        if not self.ceil_mode:
            return reach // stride + 1
        # A window must start inside the input or the padding before it: at most ceil((size + before) / stride) of them do.
        counts = -(-reach // stride) + 1, -(-(size + before) // stride)
        return min(counts) if isinstance(size, int) else keras.ops.minimum(*counts)

    def _before(self, axis: int) -> int:
        return (self.pool_size[axis] - 1) // 2 if self.padding == "symmetric" else 0

    def _pad(self, inputs, value: float):
        """Pad with `value` by the explicit padding of "symmetric"."""
        before = [self._before(axis) for axis in range(2)]
        if not any(before):
            return inputs
        return keras.ops.pad(inputs, [(0, 0), (before[0], before[0]), (before[1], before[1]), (0, 0)], constant_values=value)

    def _extend(self, inputs, value: float):
        """Pad at the end with `value` by what the last window of the ceil mode may need, at most stride - 1.

        Where the size is unknown, also up to one window: TensorFlow's max pooling ends the process where none fits.
        """
        extra = [stride - 1 if self.ceil_mode else 0 for stride in self.strides or self.pool_size]
        for axis, size in enumerate(keras.ops.shape(inputs)[1:3]):
            if not isinstance(size, int):
                extra[axis] = keras.ops.maximum(extra[axis], self.pool_size[axis] - size)
        if all(isinstance(amount, int) and amount == 0 for amount in extra):
            return inputs
        return keras.ops.pad(inputs, [(0, 0), (0, extra[0]), (0, extra[1]), (0, 0)], constant_values=value)

    def _trim(self, outputs, inputs):
        """Leave out the windows that only `_extend` made possible."""
        if not self.ceil_mode and None not in inputs.shape[1:3]:
            return outputs
        height, width = (self._windows(size, axis) for axis, size in enumerate(keras.ops.shape(inputs)[1:3]))
        return outputs[:, :height, :width]

    def _max(self, inputs):
        if self.padding == "same":
            return keras.ops.max_pool(inputs, self.pool_size, self.strides, "same", data_format="channels_last")
        lowest = float("-inf")
        padded = self._extend(self._pad(inputs, lowest), lowest)
        outputs = keras.ops.max_pool(padded, self.pool_size, self.strides, "valid", data_format="channels_last")
        return self._trim(outputs, inputs)

    def _average(self, inputs):
        if self.padding == "same":
            return keras.ops.average_pool(inputs, self.pool_size, self.strides, "same", data_format="channels_last")
        outputs = self._average_padded(inputs, 0.0)
        if self.ceil_mode or (self.padding == "symmetric" and not self.count_padding):
            # The share of counted positions in each window, (1, height, width, 1), turns the mean over z into that over them.
            height, width = keras.ops.shape(inputs)[1:3]
            counted = keras.ops.ones((1, height, width, 1), dtype=inputs.dtype)
            outputs = outputs / self._average_padded(counted, 1.0 if self.count_padding else 0.0)
        return outputs

    def _average_padded(self, inputs, value: float):
        padded = self._extend(self._pad(inputs, value), 0.0)
        return self._trim(keras.ops.average_pool(padded, self.pool_size, self.strides, "valid", data_format="channels_last"), inputs)
