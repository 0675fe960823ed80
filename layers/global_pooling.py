"""Pooling of a whole map or sequence to one vector."""

import keras

from .arguments import one_of, real
from .moments import full_mask

METHODS = ("average", "max", "generalized_mean")


@keras.saving.register_keras_serializable(package="keras_canon")
class GlobalPooling(keras.layers.Layer):
    """Pool all positions between the batch and the channel axis, of a sequence, a map or a volume.

    average:            y = (1/N) sum_j x_j                              (1)
    max:                y = max_j x_j                                    (2)
    generalized_mean:   y = ((1/N) sum_j max(x_j, epsilon)^p)^(1/p)      (3)

    In (3) the exponent p is one trainable number: 1 gives the average, large values approach the maximum. With a mask, j
    runs over the real positions and N counts them; a row without any gives 0. Sums are taken in float32 under a
    half-precision policy. The output carries no mask.

    Args:
        method: "average", "max" or "generalized_mean".
        exponent: value of p at the start; used by the generalised mean only.
        epsilon: smallest value that enters (3), so that the power is defined.
        keepdims: whether the pooled axes stay, with size 1.

    Input shape:
        (batch, ..., channels) with at least one axis between; mask (batch, ...), or its first axes.

    Output shape:
        (batch, channels), or (batch, 1, ..., channels) with `keepdims`.

    Raises:
        ValueError: an unknown `method`, an `exponent` below 1, an `epsilon` not above 0, or an input with under 3 axes.

    Reference:
        (1) Lin, Chen, Yan, 2014, "Network In Network", section 3.2, arXiv:1312.4400;
        (3) Radenović, Tolias, Chum, 2018, "Fine-tuning CNN Image Retrieval with No Human Annotation", equation 3,
        arXiv:1711.02512.

    Example:
        >>> import keras
        >>> from keras_canon.layers import GlobalPooling
        >>> print(tuple(GlobalPooling("generalized_mean")(keras.ops.ones((2, 7, 7, 512))).shape))
        (2, 512)
    """

    def __init__(self, method="average", exponent=3.0, epsilon=1e-6, keepdims=False, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.method = one_of("method", method, METHODS)
        self.exponent = real("exponent", exponent, 1.0)
        self.epsilon = real("epsilon", epsilon, 0.0)
        if not self.epsilon:
            raise ValueError(f"epsilon must be above 0, got {epsilon!r}.")
        self.keepdims = one_of("keepdims", keepdims, (True, False))
        self.power = None

    def build(self, input_shape):
        if len(input_shape) < 3:
            raise ValueError(f"GlobalPooling expects input of shape (batch, ..., channels) with at least 3 axes, got {tuple(input_shape)}.")
        if self.method == "generalized_mean":
            self.power = self.add_weight(name="exponent", shape=(), initializer=keras.initializers.Constant(self.exponent))
        self.built = True

    def call(self, inputs, mask=None):
        axes = tuple(range(1, len(inputs.shape) - 1))
        mask = None if mask is None else full_mask(mask, inputs)
        if self.method == "max":
            return self._max(inputs, axes, mask)
        values = keras.ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        if self.method == "average":
            return keras.ops.cast(self._mean(values, axes, mask), inputs.dtype)
        return keras.ops.cast(self._generalized_mean(values, axes, mask), inputs.dtype)

    def compute_output_shape(self, input_shape):
        pooled = (1,) * (len(input_shape) - 2) if self.keepdims else ()
        return (input_shape[0], *pooled, input_shape[-1])

    def compute_mask(self, inputs, mask=None):
        return None

    def get_config(self):
        return {
            **super().get_config(),
            "method": self.method,
            "exponent": self.exponent,
            "epsilon": self.epsilon,
            "keepdims": self.keepdims,
        }

    def _mean(self, values, axes, mask):
        if mask is None:
            return keras.ops.mean(values, axis=axes, keepdims=self.keepdims)
        total = keras.ops.sum(keras.ops.where(mask, values, 0.0), axis=axes, keepdims=self.keepdims)
        count = keras.ops.sum(keras.ops.cast(mask, values.dtype), axis=axes, keepdims=self.keepdims)
        return total / keras.ops.maximum(count, 1.0)

    def _generalized_mean(self, values, axes, mask):
        power = keras.ops.cast(self.power, values.dtype)
        values = keras.ops.maximum(values, self.epsilon)
        # (3) does not change when x is divided by a number and y multiplied by it; the largest x keeps powers within range.
        real = values if mask is None else keras.ops.where(mask, values, self.epsilon)
        largest = keras.ops.stop_gradient(keras.ops.max(real, axis=axes, keepdims=True, initial=self.epsilon))
        mean = self._mean(keras.ops.power(real / largest, power), axes, mask)
        # A row without real positions has mean 0, where the root has no finite slope.
        positive = mean > 0.0
        root = keras.ops.power(keras.ops.where(positive, mean, 1.0), 1.0 / power)
        return keras.ops.where(positive, root, 0.0) * (largest if self.keepdims else keras.ops.squeeze(largest, axis=axes))

    def _max(self, inputs, axes, mask):
        lowest = float("-inf")  # as initial value too: without one, Keras refuses an empty batch
        if mask is None:
            return keras.ops.max(inputs, axis=axes, keepdims=self.keepdims, initial=lowest)
        largest = keras.ops.max(keras.ops.where(mask, inputs, lowest), axis=axes, keepdims=self.keepdims, initial=lowest)
        return keras.ops.where(keras.ops.any(mask, axis=axes, keepdims=self.keepdims), largest, 0.0)
