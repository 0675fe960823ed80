"""The position-wise feed-forward network of a Transformer."""

import keras

from .activations import gelu_tanh
from .arguments import positive_integer, rate
from .initializers import fresh_initializer
from .step_projection import project


@keras.saving.register_keras_serializable(package="keras_canon")
class FeedForward(keras.layers.Layer):
    """Apply two dense layers with a non-linearity between them to each step alone.

    FFN(x) = f(x W_1 + b_1) W_2 + b_2        (2)
    FFN_gated(x) = (f(x W) * x V) W_2        (Shazeer 2020, equation 6, with the biases of `use_bias`)

    Gated with "sigmoid" is GLU, with "gelu" GEGLU, with "silu" SwiGLU.

    Args:
        feedforward_dim: d_ff.
        model_dim: d_model, the width of the output.
        activation: f: any Keras activation ("gelu" is the exact form), or "gelu_tanh".
        gated: multiply by a linear branch.
        dropout: share of the hidden features dropped in training (the paper has none here).
        use_bias: biases in all projections.
        kernel_initializer, bias_initializer: initialisers of the projections; each gets one of its own.
        kernel_regularizer: regulariser of the kernels.
        output_initializer: initialiser of W_2; None is `kernel_initializer`.

    Input shape:
        (B, ..., width)

    Output shape:
        (B, ..., model_dim)

    Raises:
        ValueError: a width below 1; `dropout` outside [0, 1); an unknown activation; at build, an unknown width.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.3, equation 2, arXiv:1706.03762; Shazeer, 2020, "GLU
        Variants Improve Transformer", equations 5 and 6, arXiv:2002.05202.

    Example:
        >>> import keras
        >>> from keras_canon.layers import FeedForward
        >>> print(FeedForward(feedforward_dim=32, model_dim=8, activation="silu", gated=True)(keras.ops.ones((2, 5, 8))).shape)
        (2, 5, 8)
    """

    def __init__(
        self,
        feedforward_dim,
        model_dim,
        activation="relu",
        gated=False,
        dropout=0.0,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        output_initializer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.feedforward_dim = positive_integer("feedforward_dim", feedforward_dim)
        self.model_dim = positive_integer("model_dim", model_dim)
        self.activation = keras.activations.get(gelu_tanh if activation == "gelu_tanh" else activation)
        self.gated = bool(gated)
        self.dropout = rate("dropout", dropout)
        self.use_bias = bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.output_initializer = keras.initializers.get(output_initializer)
        self.supports_masking = True
        self.hidden_projection = self._projection(self.feedforward_dim, "hidden")
        self.gate_projection = self._projection(self.feedforward_dim, "gate") if self.gated else None
        self.output_projection = self._projection(self.model_dim, "output", self.output_initializer)
        self.dropout_layer = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")

    def _projection(self, units, name, initializer=None):
        return keras.layers.Dense(
            units,
            use_bias=self.use_bias,
            kernel_initializer=fresh_initializer(initializer or self.kernel_initializer),
            bias_initializer=fresh_initializer(self.bias_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, input_shape):
        if len(input_shape) < 2 or input_shape[-1] is None:
            raise ValueError(f"FeedForward expects input of shape (batch, ..., width) with a known width, got {tuple(input_shape)}.")
        hidden_shape = (*input_shape[:-1], self.feedforward_dim)
        self.hidden_projection.build(input_shape)
        if self.gate_projection is not None:
            self.gate_projection.build(input_shape)
        self.dropout_layer.build(hidden_shape)
        self.output_projection.build(hidden_shape)

    def call(self, inputs, training=None):
        if self.gate_projection is None:
            hidden = self.activation(project(self.hidden_projection, inputs))
        else:
            hidden = self.activation(project(self.gate_projection, inputs)) * project(self.hidden_projection, inputs)
        return project(self.output_projection, self.dropout_layer(hidden, training=training))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.model_dim)

    def get_config(self):
        return {
            **super().get_config(),
            "feedforward_dim": self.feedforward_dim,
            "model_dim": self.model_dim,
            "activation": keras.activations.serialize(self.activation),
            "gated": self.gated,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "output_initializer": keras.initializers.serialize(self.output_initializer),
        }
