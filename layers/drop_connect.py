"""DropConnect: a dense layer that loses random weights in training."""

import keras

from . import arguments


@keras.saving.register_keras_serializable(package="keras_canon")
class DropConnectDense(keras.layers.Layer):
    """Dense layer whose weights, not outputs, are dropped at random in training.

    r = a((M * W) v),   M_ij ~ Bernoulli(1 - rate)        (2)

    The bias is masked in the same way. In training, what is kept is divided by 1 - rate, so that inference uses W as it is.

    Differs from the paper: (1) inference passes the mean of the pre-activation through a, where the paper averages a over
    draws from a Gaussian of that mean; (2) the scale is applied in training instead of inference.

    Args:
        units: number of outputs.
        rate: probability that a weight is dropped (1 - p in the paper).
        activation: a.
        use_bias: whether there is a bias.
        mask_per_example: whether each example draws its own M, as in the paper, which needs batch x inputs x units
            numbers; otherwise one M serves the whole batch.
        kernel_initializer: initialiser of W.
        bias_initializer: initialiser of the bias.
        kernel_regularizer: regulariser of W.
        seed: seed of the masks; None draws it from Keras's global seed.

    Input shape:
        (batch, ..., inputs); the positions of one example share its M.

    Output shape:
        (batch, ..., units)

    Raises:
        ValueError: `units` below 1, `rate` outside [0, 1), or an input with under 2 axes or an unknown last one.

    Reference:
        Wan, Zeiler, Zhang, LeCun, Fergus, 2013, "Regularization of Neural Networks using DropConnect", section 3,
        ICML 2013.

    Example:
        >>> import keras
        >>> from keras_canon.layers import DropConnectDense
        >>> print(tuple(DropConnectDense(3, rate=0.5)(keras.ops.ones((2, 4)), training=True).shape))
        (2, 3)
    """

    def __init__(
        self,
        units,
        rate=0.5,
        activation=None,
        use_bias=True,
        mask_per_example=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = arguments.positive_integer("units", units)
        self.rate = arguments.rate("rate", rate)
        self.activation = keras.activations.get(activation)
        self.use_bias = arguments.one_of("use_bias", use_bias, (True, False))
        self.mask_per_example = arguments.one_of("mask_per_example", mask_per_example, (True, False))
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.bias = None

    def build(self, input_shape):
        if len(input_shape) < 2 or input_shape[-1] is None:
            raise ValueError(
                f"DropConnectDense expects input of shape (batch, ..., inputs) with a known last axis, got {tuple(input_shape)}."
            )
        self.kernel = self.add_weight(
            name="kernel",
            shape=(input_shape[-1], self.units),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
        )
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.units,), initializer=self.bias_initializer)
        self.built = True

    def call(self, inputs, training=False):
        dropping = bool(training) and self.rate > 0.0
        per_example = dropping and self.mask_per_example
        batch = (keras.ops.shape(inputs)[0],) if per_example else ()
        kernel = self._dropped(self.kernel, batch) if dropping else self.kernel
        # (batch, ..., inputs) with (inputs, units) or (batch, inputs, units)
        outputs = keras.ops.einsum("b...i,bio->b...o" if per_example else "...i,io->...o", inputs, kernel)
        if self.bias is not None:
            bias = self._dropped(self.bias, batch) if dropping else self.bias
            if per_example:
                bias = keras.ops.reshape(bias, (*batch, *[1] * (len(inputs.shape) - 2), self.units))
            outputs = outputs + bias
        return self.activation(outputs)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "rate": self.rate,
            "activation": keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "mask_per_example": self.mask_per_example,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "seed": self.seed,
        }

    def _dropped(self, weight, batch):
        weight = keras.ops.convert_to_tensor(weight)
        kept = keras.random.uniform((*batch, *weight.shape), seed=self.seed_generator) >= self.rate
        return keras.ops.where(kept, weight / (1.0 - self.rate), keras.ops.zeros_like(weight))
