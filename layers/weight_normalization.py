"""Weight normalisation: length and direction of each weight vector as parameters of their own."""

import keras

WRAPPED = (keras.layers.Dense, keras.layers.Conv1D, keras.layers.Conv2D, keras.layers.Conv3D)


@keras.saving.register_keras_serializable(package="keras_canon")
class WeightNormalization(keras.layers.Wrapper):
    """Run a dense or convolution layer with its kernel re-parameterised as length times direction.

    w = (g / ||v||) v        (2)

    One g per output unit or filter, one v of the kernel's shape, both trainable; the norm runs over all other axes and is
    taken in float32 under a half-precision policy. v is the wrapped layer's own kernel variable, so its initialiser and
    regulariser act on v. g starts as ||v||, so that wrapping a layer does not change what it computes.

    Differs from the paper: no data-dependent initialisation (section 3).

    Masks pass as through the wrapped layer: Dense hands them on, convolutions have no use for them.

    Args:
        layer: a keras.layers.Dense, Conv1D, Conv2D or Conv3D, or its config. It takes over the `dtype` of the wrapper when
            one is given, else the wrapper takes over the layer's.

    Input shape:
        that of the wrapped layer.

    Output shape:
        that of the wrapped layer.

    Raises:
        ValueError: `layer` is of another class.

    Reference:
        Salimans, Kingma, 2016, "Weight Normalization: A Simple Reparameterization to Accelerate Training of Deep Neural
        Networks", section 2, arXiv:1602.07868.

    Example:
        >>> import keras
        >>> from keras_canon.layers import WeightNormalization
        >>> print(tuple(WeightNormalization(keras.layers.Dense(3))(keras.ops.ones((2, 4))).shape))
        (2, 3)
    """

    def __init__(self, layer, **kwargs):
        layer = keras.layers.deserialize(layer) if isinstance(layer, dict) else layer
        if not isinstance(layer, WRAPPED):
            allowed = ", ".join(item.__name__ for item in WRAPPED)
            raise ValueError(f"layer must be one of keras.layers {allowed}, got {type(layer).__name__}.")
        kwargs["dtype"] = layer.dtype_policy if kwargs.get("dtype") is None else kwargs["dtype"]
        super().__init__(layer, **kwargs)
        self.layer.dtype_policy = self.dtype_policy
        self.supports_masking = layer.supports_masking
        self.g = None

    def build(self, input_shape):
        if not self.layer.built:
            self.layer.build(input_shape)

        def length_of_v(shape, dtype=None):
            # Called when the variable gets its value, by then v has one; a value assigned here in build would be lost
            # where Keras builds a model symbolically.
            return keras.ops.cast(keras.ops.reshape(self._length(self.layer.kernel), shape), dtype)

        self.g = self.add_weight(name="g", shape=(self.layer.kernel.shape[-1],), initializer=length_of_v)
        self.built = True

    def call(self, inputs):
        direction = keras.ops.convert_to_tensor(self.layer.kernel)
        length = self._length(direction)
        scale = keras.ops.cast(self.g, length.dtype) / length
        kernel = keras.ops.cast(keras.ops.cast(direction, length.dtype) * scale, direction.dtype)
        variables = [kernel if item is self.layer.kernel else item.value for item in self.layer.trainable_variables]
        fixed = [kernel if item is self.layer.kernel else item.value for item in self.layer.non_trainable_variables]
        outputs, _ = self.layer.stateless_call(variables, fixed, inputs)
        return outputs

    def compute_output_shape(self, input_shape):
        return self.layer.compute_output_shape(input_shape)

    def get_config(self):
        config = super().get_config()
        config["layer"].pop("build_config", None)
        return config

    def _length(self, kernel):
        """Return ||v|| of each output, (outputs,), in float32 or wider; never 0."""
        kernel = keras.ops.convert_to_tensor(kernel)
        kernel = keras.ops.cast(kernel, keras.backend.result_type(kernel.dtype, "float32"))
        energy = keras.ops.sum(keras.ops.square(kernel), axis=tuple(range(len(kernel.shape) - 1)))
        return keras.ops.sqrt(keras.ops.maximum(energy, keras.config.epsilon() ** 2))
