"""Convolution in groups of channels without XLA."""

import keras


@keras.saving.register_keras_serializable(package="keras_canon")
class GroupedConv2D(keras.layers.Conv2D):
    r"""`keras.layers.Conv2D` whose groups are computed one by one, with the same arguments and the same weights.

    For group g of G, over its own share of the channels:

        (1)  y_g = x_g * W_g + b_g,    y = [y_1, ..., y_G]

    On TensorFlow, Keras compiles a convolution in groups with XLA. The gradient of that is some hundred times slower on a CPU
    (7.7 s against 31 ms for 128 channels in 32 groups on 56 x 56, batch 8), every new input shape compiles again, and an
    exported model holds an operation that ONNX and TF Serving refuse. With one channel a group this is a depthwise convolution.

    Args:
        filters: number of output channels over all groups together.
        kernel_size: one or two integers.
        groups: G; divides the input channels and `filters` (AlexNet 2, ResNeXt 32: its cardinality).
        strides, padding, dilation_rate, use_bias, kernel_initializer, ...: as in `keras.layers.Conv2D`.

    Input shape: (batch, height, width, channels). Output shape: (batch, new_height, new_width, filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: filters or channels that the groups do not divide; strides and dilation_rate both above 1; a data_format
            other than "channels_last", at build.

    Reference: A. Krizhevsky, I. Sutskever, G. Hinton 2012, "ImageNet Classification with Deep Convolutional Neural Networks",
    section 3.5; S. Xie et al. 2017, "Aggregated Residual Transformations for Deep Neural Networks", figure 3c, arXiv:1611.05431.

    Example:
        >>> import keras
        >>> from keras_canon.layers import GroupedConv2D
        >>> print(tuple(GroupedConv2D(64, 3, groups=32, padding="same")(keras.ops.ones((1, 8, 8, 32))).shape))
        (1, 8, 8, 64)
    """

    def build(self, input_shape):
        if self.data_format != "channels_last":
            raise ValueError(f"data_format must be 'channels_last', got {self.data_format!r}.")
        super().build(input_shape)

    def convolution_op(self, inputs, kernel):
        """Return the convolution of (B, H, W, C) with a kernel (h, w, C / groups, filters)."""
        arguments = {"strides": self.strides, "padding": self.padding, "dilation_rate": self.dilation_rate, "data_format": "channels_last"}
        if self.groups == 1:
            return keras.ops.conv(inputs, kernel, **arguments)
        if kernel.shape[2] == 1 and self.strides[0] == self.strides[1]:
            height, width, _, filters = kernel.shape
            depthwise = keras.ops.reshape(kernel, (height, width, self.groups, filters // self.groups))
            return keras.ops.depthwise_conv(inputs, depthwise, **arguments)
        shares = zip(keras.ops.split(inputs, self.groups, axis=-1), keras.ops.split(kernel, self.groups, axis=-1), strict=True)
        return keras.ops.concatenate([keras.ops.conv(one, weights, **arguments) for one, weights in shares], axis=-1)
