"""Transformer encoder block."""

import keras

from .activations import gelu_tanh
from .arguments import positive_integer, rate, real
from .attention_masks import attached_mask
from .feedforward import FeedForward
from .initializers import fresh_initializer
from .multi_head_attention import MultiHeadAttention
from .transformer_sublayer import check_block_input, sublayer_input, sublayer_output


@keras.saving.register_keras_serializable(package="keras_canon")
class TransformerEncoderBlock(keras.layers.Layer):
    """Attend from each step to all steps, then transform each step alone.

    z = LayerNorm(x + MultiHead(x, x, x)),  y = LayerNorm(z + FFN(z))        (section 3.1, post-norm)
    z = x + MultiHead(N(x), N(x), N(x)),  y = z + FFN(N(z)),  N = LayerNorm        (pre-norm; a stack ends in one more norm)

    Args:
        num_heads: h.
        model_dim: d_model, the width of input and output.
        feedforward_dim: d_ff.
        activation: f of the feed-forward part: any Keras activation ("gelu" is the exact form), or "gelu_tanh".
        gated: a gated feed-forward part (`FeedForward`).
        norm_first: pre-norm instead of post-norm.
        epsilon: added to the variance in the norms (1e-6 in the authors' code; BERT 1e-12, ViT 1e-6, torch 1e-5).
        dropout: P_drop, share dropped of the output of each part.
        attention_dropout: share dropped of the attention weights.
        feedforward_dropout: share dropped of the hidden features of the feed-forward part.
        use_bias: biases in all projections.
        num_key_value_heads: fewer key and value heads than query heads (`MultiHeadAttention`).
        rotary_base: base of rotary positions in the attention; None has none.
        kernel_initializer: initialiser of all kernels; each gets one of its own.

    Call arguments:
        inputs: x.
        mask: boolean (B, T), False at padding; Keras fills it, and it is passed on.
        attention_mask: boolean (T, T), (B, T, T) or (B, h, T, T), True where a step may look.
        bias: numbers added to the scores, (1 or B, 1 or h, T, T).

    Input shape:
        (B, T, d_model)

    Output shape:
        (B, T, d_model)

    Raises:
        ValueError: a count or size below 1; `model_dim` not a multiple of `num_heads`; a rate outside [0, 1); at build, an
            input of another width than `model_dim`.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.1, figure 1, arXiv:1706.03762.

    Example:
        >>> import keras
        >>> from keras_canon.layers import TransformerEncoderBlock
        >>> print(TransformerEncoderBlock(num_heads=2, model_dim=8, feedforward_dim=32)(keras.ops.ones((2, 5, 8))).shape)
        (2, 5, 8)
    """

    def __init__(
        self,
        num_heads,
        model_dim,
        feedforward_dim,
        activation="relu",
        gated=False,
        norm_first=False,
        epsilon=1e-6,
        dropout=0.1,
        attention_dropout=0.0,
        feedforward_dropout=0.0,
        use_bias=True,
        num_key_value_heads=None,
        rotary_base=None,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.model_dim = positive_integer("model_dim", model_dim)
        self.feedforward_dim = feedforward_dim
        self.activation = keras.activations.get(gelu_tanh if activation == "gelu_tanh" else activation)
        self.gated = bool(gated)
        self.norm_first = bool(norm_first)
        self.epsilon = real("epsilon", epsilon, 0.0)
        self.dropout = rate("dropout", dropout)
        self.attention_dropout = rate("attention_dropout", attention_dropout)
        self.feedforward_dropout = rate("feedforward_dropout", feedforward_dropout)
        self.use_bias = bool(use_bias)
        self.num_key_value_heads = num_key_value_heads
        self.rotary_base = rotary_base
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True
        shared = {"use_bias": self.use_bias, "dtype": self.dtype_policy}
        self.attention = MultiHeadAttention(
            num_heads,
            model_dim,
            num_key_value_heads=num_key_value_heads,
            dropout=self.attention_dropout,
            use_output_bias=self.use_bias,
            rotary_base=rotary_base,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            name="self_attention",
            **shared,
        )
        self.feedforward = FeedForward(
            feedforward_dim,
            model_dim,
            activation=self.activation,
            gated=self.gated,
            dropout=self.feedforward_dropout,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            name="feedforward",
            **shared,
        )
        self.attention_norm = keras.layers.LayerNormalization(epsilon=self.epsilon, dtype=self.dtype_policy, name="self_attention_norm")
        self.feedforward_norm = keras.layers.LayerNormalization(epsilon=self.epsilon, dtype=self.dtype_policy, name="feedforward_norm")
        self.dropout_layer = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, input_shape):
        check_block_input("TransformerEncoderBlock", input_shape, self.model_dim)
        self.attention.build(input_shape, input_shape)
        self.feedforward.build(input_shape)
        for child in (self.attention_norm, self.feedforward_norm, self.dropout_layer):
            child.build(input_shape)

    def call(self, inputs, mask=None, attention_mask=None, bias=None, training=None):
        mask = attached_mask(inputs, mask)
        masks = {"query_mask": mask, "value_mask": mask, "attention_mask": attention_mask}
        hidden = sublayer_input(self, inputs, self.attention_norm)
        hidden = self.attention(hidden, hidden, bias=bias, training=training, **masks)
        middle = sublayer_output(self, inputs, hidden, self.attention_norm, training)
        hidden = self.feedforward(sublayer_input(self, middle, self.feedforward_norm), training=training)
        return sublayer_output(self, middle, hidden, self.feedforward_norm, training)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "model_dim": self.model_dim,
            "feedforward_dim": self.feedforward_dim,
            "activation": keras.activations.serialize(self.activation),
            "gated": self.gated,
            "norm_first": self.norm_first,
            "epsilon": self.epsilon,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "feedforward_dropout": self.feedforward_dropout,
            "use_bias": self.use_bias,
            "num_key_value_heads": self.num_key_value_heads,
            "rotary_base": self.rotary_base,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
