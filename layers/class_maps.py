"""The classifying head of fully convolutional networks: one map a class, averaged."""

import keras

from .arguments import input_rank, positive_integer


@keras.saving.register_keras_serializable(package="keras_canon")
class ClassMaps2D(keras.layers.Layer):
    r"""One map for each class by a 1 x 1 convolution, then the average of each map as the logit of its class.

        (1)  f_{i,j,c} = g(w_c^T x_{i,j} + b_c)
        (2)  z_c = (1 / (H W)) sum_{i,j} f_{i,j,c}

    Without an activation this is a dense layer on the averaged input; the papers have a ReLU in (1), so the average comes
    after it. Averages are taken in float32 under a half-precision policy.

    Args:
        num_classes: number of maps, one a class.
        activation: g; None for none.
        kernel_initializer: of w.
        kernel_regularizer: of w.

    Input shape: (batch, height, width, channels); height and width may be unknown. Output shape: (batch, num_classes).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: `num_classes` below 1, an input without four axes.

    Reference: M. Lin, Q. Chen, S. Yan 2014, "Network In Network", section 3.2, arXiv:1312.4400.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ClassMaps2D
        >>> print(tuple(ClassMaps2D(10)(keras.ops.ones((2, 8, 8, 192))).shape))
        (2, 10)
    """

    def __init__(self, num_classes, activation="relu", kernel_initializer="he_normal", kernel_regularizer=None, **kwargs):
        super().__init__(**kwargs)
        self.num_classes = positive_integer("num_classes", num_classes)
        self.activation = keras.activations.get(activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)

    def build(self, input_shape):
        input_rank(type(self).__name__, input_shape, 4, "(batch, height, width, channels)")
        self.kernel = self.add_weight(
            name="kernel",
            shape=(1, 1, input_shape[-1], self.num_classes),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
        )
        self.bias = self.add_weight(name="bias", shape=(self.num_classes,), initializer="zeros")

    def call(self, inputs):
        maps = keras.ops.conv(inputs, self.kernel, padding="valid", data_format="channels_last") + self.bias
        maps = self.activation(maps)
        wide = keras.ops.cast(maps, keras.backend.result_type(maps.dtype, "float32"))
        return keras.ops.cast(keras.ops.mean(wide, axis=(1, 2)), maps.dtype)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.num_classes)

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "activation": keras.activations.serialize(self.activation),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
        }
