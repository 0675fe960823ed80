"""Transformer decoder block."""

import keras

from .activations import gelu_tanh
from .arguments import positive_integer, rate, real
from .attention_masks import attached_mask
from .feedforward import FeedForward
from .initializers import fresh_initializer
from .multi_head_attention import MultiHeadAttention
from .transformer_sublayer import check_block_input, sublayer_input, sublayer_output


@keras.saving.register_keras_serializable(package="keras_canon")
class TransformerDecoderBlock(keras.layers.Layer):
    """Attend to the past, then to a memory, then transform each step alone.

    z = LayerNorm(x + MultiHead_causal(x, x, x)),  c = LayerNorm(z + MultiHead(z, m, m)),  y = LayerNorm(c + FFN(c))        (section 3.1)

    Without `cross_attention` the middle part is left out: the block of GPT. With `norm_first` each part is
    x + f(LayerNorm(x)) instead, and a stack ends in one more norm.

    Args:
        num_heads: h.
        model_dim: d_model, the width of input and output; the memory may have another.
        feedforward_dim: d_ff.
        cross_attention: attend to a memory (the encoder's output).
        activation: f of the feed-forward part: any Keras activation ("gelu" is the exact form), or "gelu_tanh".
        gated: a gated feed-forward part (`FeedForward`).
        norm_first: pre-norm instead of post-norm.
        epsilon: added to the variance in the norms (1e-6 in the authors' code; GPT-2 and torch 1e-5).
        dropout: P_drop, share dropped of the output of each part.
        attention_dropout: share dropped of the attention weights.
        feedforward_dropout: share dropped of the hidden features of the feed-forward part.
        use_bias: biases in all projections.
        num_key_value_heads: fewer key and value heads than query heads in the self attention.
        rotary_base: base of rotary positions in the self attention; None has none.
        kernel_initializer: initialiser of all kernels; each gets one of its own.
        residual_initializer: initialiser of the kernels whose output is added to the residual sum (GPT-2 makes them smaller); None
            is `kernel_initializer`.

    Call arguments:
        inputs: x.
        memory: m, with `cross_attention`.
        inputs_mask, memory_mask: boolean (B, T), (B, S), False at padding; Keras fills them.
        attention_mask: boolean (T, T), (B, T, T) or (B, h, T, T), further restricts the causal self attention.
        bias: numbers added to the scores of the self attention, (1 or B, 1 or h, T, T).
        cache: the cache of the self attention before these steps (`initial_cache`); see `MultiHeadAttention`.

    Input shape:
        inputs (B, T, d_model); memory (B, S, width)

    Output shape:
        (B, T, d_model); with a cache a tuple of it and the new cache.

    Raises:
        ValueError: a count or size below 1; `model_dim` not a multiple of `num_heads`; a rate outside [0, 1); at build, an
            input of another width than `model_dim`, or a memory that is missing or not wanted.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.1, figure 1, arXiv:1706.03762.

    Example:
        >>> import keras
        >>> from keras_canon.layers import TransformerDecoderBlock
        >>> block = TransformerDecoderBlock(num_heads=2, model_dim=8, feedforward_dim=32)
        >>> print(block(keras.ops.ones((2, 5, 8)), keras.ops.ones((2, 7, 8))).shape)
        (2, 5, 8)
    """

    def __init__(
        self,
        num_heads,
        model_dim,
        feedforward_dim,
        cross_attention=True,
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
        residual_initializer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.model_dim = positive_integer("model_dim", model_dim)
        self.feedforward_dim = feedforward_dim
        self.cross_attention = bool(cross_attention)
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
        self.residual_initializer = keras.initializers.get(residual_initializer)
        self.supports_masking = True
        self.attention = self._attention("self_attention", causal=True, num_key_value_heads=num_key_value_heads, rotary_base=rotary_base)
        self.memory_attention = self._attention("cross_attention") if self.cross_attention else None
        self.feedforward = FeedForward(
            feedforward_dim,
            model_dim,
            activation=self.activation,
            gated=self.gated,
            dropout=self.feedforward_dropout,
            use_bias=self.use_bias,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            output_initializer=fresh_initializer(self.residual_initializer),
            dtype=self.dtype_policy,
            name="feedforward",
        )
        norm = {"epsilon": self.epsilon, "dtype": self.dtype_policy}
        self.attention_norm = keras.layers.LayerNormalization(name="self_attention_norm", **norm)
        self.memory_norm = keras.layers.LayerNormalization(name="cross_attention_norm", **norm) if self.cross_attention else None
        self.feedforward_norm = keras.layers.LayerNormalization(name="feedforward_norm", **norm)
        self.dropout_layer = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")

    def _attention(self, name, causal=False, num_key_value_heads=None, rotary_base=None):
        return MultiHeadAttention(
            self.num_heads,
            self.model_dim,
            causal=causal,
            num_key_value_heads=num_key_value_heads,
            dropout=self.attention_dropout,
            use_bias=self.use_bias,
            use_output_bias=self.use_bias,
            rotary_base=rotary_base,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            output_initializer=fresh_initializer(self.residual_initializer),
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, inputs_shape, memory_shape=None):
        check_block_input("TransformerDecoderBlock", inputs_shape, self.model_dim)
        if self.cross_attention != (memory_shape is not None):
            given = "without a memory" if memory_shape is None else "with a memory"
            raise ValueError(f"A TransformerDecoderBlock with cross_attention={self.cross_attention} was called {given}.")
        self.attention.build(inputs_shape, inputs_shape)
        if self.memory_attention is not None and self.memory_norm is not None:
            self.memory_attention.build(inputs_shape, memory_shape)
            self.memory_norm.build(inputs_shape)
        for child in (self.attention_norm, self.feedforward, self.feedforward_norm, self.dropout_layer):
            child.build(inputs_shape)

    def initial_cache(self, batch_size, max_length):
        """Return an empty cache of the self attention for `max_length` steps of `batch_size` rows."""
        return self.attention.initial_cache(batch_size, max_length)

    def call(
        self,
        inputs,
        memory=None,
        inputs_mask=None,
        memory_mask=None,
        attention_mask=None,
        bias=None,
        cache=None,
        training=None,
    ):
        mask = attached_mask(inputs, inputs_mask)
        masks = {"query_mask": mask, "value_mask": mask, "attention_mask": attention_mask}
        hidden = sublayer_input(self, inputs, self.attention_norm)
        hidden = self.attention(hidden, hidden, bias=bias, cache=cache, training=training, **masks)
        if cache is not None:
            hidden, cache = hidden
        outputs = sublayer_output(self, inputs, hidden, self.attention_norm, training)
        if self.memory_attention is not None:
            masks = {"query_mask": mask, "value_mask": attached_mask(memory, memory_mask)}
            hidden = self.memory_attention(sublayer_input(self, outputs, self.memory_norm), memory, training=training, **masks)
            outputs = sublayer_output(self, outputs, hidden, self.memory_norm, training)
        hidden = self.feedforward(sublayer_input(self, outputs, self.feedforward_norm), training=training)
        outputs = sublayer_output(self, outputs, hidden, self.feedforward_norm, training)
        return outputs if cache is None else (outputs, cache)

    def compute_output_shape(self, inputs_shape, memory_shape=None):
        return tuple(inputs_shape)

    # With a cache there is a second output, so a symbolic call traces `call`.
    compute_output_spec = keras.Operation.compute_output_spec

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "model_dim": self.model_dim,
            "feedforward_dim": self.feedforward_dim,
            "cross_attention": self.cross_attention,
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
            "residual_initializer": keras.initializers.serialize(self.residual_initializer),
        }
