"""Multi-head attention."""

import keras

from .arguments import divisible, input_rank, one_of, positive_integer, rate, real
from .attention_cache import empty_cache, extend_cache
from .attention_masks import boolean_mask, causal_mask, combine_masks, head_mask
from .initializers import fresh_initializer
from .rotary import RotaryEmbedding
from .scaled_dot_product_attention import scaled_dot_product_attention
from .step_projection import project


@keras.saving.register_keras_serializable(package="keras_canon")
class MultiHeadAttention(keras.layers.Layer):
    """Attend from each of several learned projections of queries, keys and values.

    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O,  head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)        (section 3.2.2)

    Self attention is `layer(x, x)`, cross attention `layer(x, memory)`. A query may look at a key where every mask that is
    given allows it: `attention_mask`, the padding of values and keys, and with `causal` the past, aligned at the right
    (the last query is the last key). A query that may see nothing, or is padding itself, gets weights of exactly 0.

    **Decoding.** With `cache` (start with `initial_cache`) the call holds new steps only: their keys and values are written
    after those of earlier calls, row by row, and the new cache is returned. The steps of a call may be padded at the right
    (`value_mask`), so that rows may start with prompts of different lengths. A row with no room left gives NaN.

    Args:
        num_heads: h.
        model_dim: d_model, the width of the output; queries, keys and values may have widths of their own.
        key_dim: d_k, the width of a head; None is d_model / h.
        value_dim: d_v, the width of the values in a head; None is `key_dim`.
        num_key_value_heads: number of key and value heads, each shared by num_heads / num_key_value_heads query heads
            (grouped queries; 1 is multi-query attention); None is `num_heads`.
        causal: no query sees a later key.
        dropout: share of the attention weights dropped in training.
        scale: factor on the scores; None is 1 / sqrt(d_k).
        use_bias: biases in the query, key and value projections.
        use_output_bias: a bias in W^O.
        rotary_base: base of a rotary position embedding of queries and keys (10000 in its paper); None has none.
        rotary_pairing: `pairing` of that `RotaryEmbedding`.
        kernel_initializer, bias_initializer: initialisers of the projections; each gets one of its own.
        output_initializer: initialiser of the kernel of W^O; None is `kernel_initializer`.
        kernel_regularizer: regulariser of the four kernels.
        seed: seed of the dropout.

    Call arguments:
        query, value, key: Q, V and K; without a key it is the value.
        query_mask, value_mask, key_mask: boolean (B, T), (B, S), (B, S), False at padding; Keras fills them.
        attention_mask: boolean (T, S), (B, T, S) or (B, h, T, S), True where a query may look; S is the cache's length
            with a cache.
        bias: numbers added to the scores, (1 or B, 1 or h, T, S).
        cache: the cache before these steps.
        return_weights: also return the attention weights (B, h, T, S).
        training: whether to drop weights.

    Input shape:
        query (B, T, query width); value (B, S, value width); key (B, S, key width)

    Output shape:
        (B, T, model_dim); with `return_weights` or `cache` a tuple of it, the weights and the new cache.

    Raises:
        ValueError: a count below 1; `model_dim` or `num_heads` not divisible as above; an odd `key_dim` with rotary
            positions; a floating-point mask; a cache without `causal`; at build, inputs that have not three axes.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.2.2, arXiv:1706.03762. Shared key/value heads: Ainslie et
        al., 2023, "GQA", section 2.2, arXiv:2305.13245.

    Example:
        >>> import keras
        >>> from keras_canon.layers import MultiHeadAttention
        >>> print(MultiHeadAttention(num_heads=4, model_dim=16)(keras.ops.ones((2, 5, 16)), keras.ops.ones((2, 7, 8))).shape)
        (2, 5, 16)
    """

    def __init__(
        self,
        num_heads,
        model_dim,
        key_dim=None,
        value_dim=None,
        num_key_value_heads=None,
        causal=False,
        dropout=0.0,
        scale=None,
        use_bias=True,
        use_output_bias=True,
        rotary_base=None,
        rotary_pairing="interleaved",
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        seed=None,
        output_initializer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = positive_integer("num_heads", num_heads)
        self.model_dim = positive_integer("model_dim", model_dim)
        if key_dim is None:
            divisible("model_dim", self.model_dim, "num_heads", self.num_heads)
        self.key_dim = None if key_dim is None else positive_integer("key_dim", key_dim)
        self.value_dim = None if value_dim is None else positive_integer("value_dim", value_dim)
        self.num_key_value_heads = None if num_key_value_heads is None else positive_integer("num_key_value_heads", num_key_value_heads)
        divisible("num_heads", self.num_heads, "num_key_value_heads", self.num_key_value_heads or self.num_heads)
        self.causal = bool(causal)
        self.dropout = rate("dropout", dropout)
        self.scale = None if scale is None else real("scale", scale)
        self.use_bias = bool(use_bias)
        self.use_output_bias = bool(use_output_bias)
        self.rotary_base = None if rotary_base is None else real("rotary_base", rotary_base, 1.0)
        self.rotary_pairing = one_of("rotary_pairing", rotary_pairing, ("interleaved", "halves"))
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.output_initializer = keras.initializers.get(output_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

        self._heads = self.num_key_value_heads or self.num_heads  # of keys and values
        self._key_dim = self.key_dim or self.model_dim // self.num_heads
        self._value_dim = self.value_dim or self._key_dim
        self.query_projection = self._projection(self.num_heads * self._key_dim, self.use_bias, "query")
        self.key_projection = self._projection(self._heads * self._key_dim, self.use_bias, "key")
        self.value_projection = self._projection(self._heads * self._value_dim, self.use_bias, "value")
        self.output_projection = self._projection(self.model_dim, self.use_output_bias, "output", self.output_initializer)
        self.rotary = None
        if self.rotary_base is not None:
            if self._key_dim % 2:
                raise ValueError(f"key_dim must be even with rotary positions, got {self._key_dim}.")
            self.rotary = RotaryEmbedding(self.rotary_base, self.rotary_pairing, dtype=self.dtype_policy, name="rotary")

    def _projection(self, units, use_bias, name, initializer=None):
        return keras.layers.Dense(
            units,
            use_bias=use_bias,
            kernel_initializer=fresh_initializer(initializer or self.kernel_initializer),
            bias_initializer=fresh_initializer(self.bias_initializer),
            kernel_regularizer=self.kernel_regularizer,
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, query_shape, value_shape, key_shape=None):
        key_shape = value_shape if key_shape is None else key_shape
        for name, shape in (("query", query_shape), ("value", value_shape), ("key", key_shape)):
            input_rank(f"MultiHeadAttention ({name})", shape, 3, "(batch, steps, width)")
        if None not in (key_shape[1], value_shape[1]) and key_shape[1] != value_shape[1]:
            raise ValueError(f"key must have as many steps as value, got {key_shape[1]} and {value_shape[1]}.")
        self.query_projection.build(query_shape)
        self.key_projection.build(key_shape)
        self.value_projection.build(value_shape)
        self.output_projection.build((*query_shape[:-1], self.num_heads * self._value_dim))
        if self.rotary is not None:
            self.rotary.build((query_shape[0], self.num_heads, query_shape[1], self._key_dim))

    def initial_cache(self, batch_size, max_length):
        """Return an empty cache for `max_length` steps of `batch_size` rows, integers or scalar tensors."""
        if not keras.ops.is_tensor(batch_size):
            batch_size = positive_integer("batch_size", batch_size)
        if not keras.ops.is_tensor(max_length):
            max_length = positive_integer("max_length", max_length)
        return empty_cache(batch_size, max_length, self._heads, self._key_dim, self._value_dim, self.compute_dtype)

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        bias=None,
        cache=None,
        return_weights=False,
        training=None,
    ):
        if cache is not None and not self.causal:
            raise ValueError("cache needs causal=True: a step cannot see steps that are not yet written.")
        key = value if key is None else key
        query = self._split(project(self.query_projection, query), self.num_heads)  # (B, h, T, d_k)
        key = self._split(project(self.key_projection, key), self._heads)  # (B, heads, S, d_k)
        value = self._split(project(self.value_projection, value), self._heads)  # (B, heads, S, d_v)
        lengths = keras.ops.shape(query)[2], keras.ops.shape(key)[2]
        padding = combine_masks(*(boolean_mask("mask", mask) for mask in (value_mask, key_mask) if mask is not None))
        if self.rotary is not None:
            offset = cache["position"] if cache is not None else lengths[1] - lengths[0] if self.causal else 0
            query, key = self.rotary(query, offset=offset), self.rotary(key, offset=0 if cache is None else offset)
        if cache is not None:
            cache, visible, full = extend_cache(cache, key, value, padding)
            key, value = cache["key"], cache["value"]
        else:
            visible = keras.ops.expand_dims(causal_mask(*lengths), (0, 1)) if self.causal else None
            visible = combine_masks(visible, None if padding is None else padding[:, None, None, :])
        mask = combine_masks(
            visible,
            None if query_mask is None else boolean_mask("query_mask", query_mask)[:, None, :, None],
            None if attention_mask is None else head_mask("attention_mask", attention_mask),
        )
        context, weights = self._attend(query, key, value, mask, bias, training)
        context = keras.ops.transpose(context, (0, 2, 1, 3))  # (B, T, h, d_v)
        context = keras.ops.reshape(context, (*keras.ops.shape(context)[:2], self.num_heads * self._value_dim))
        output = project(self.output_projection, context)
        if cache is not None:  # a full row must not go on with a step missing
            output = keras.ops.where(full[:, None, None], float("nan"), output)
        extras = ([weights] if return_weights else []) + ([] if cache is None else [cache])
        return (output, *extras) if extras else output

    def _split(self, inputs, heads):
        """Return (B, S, heads * width) as (B, heads, S, width)."""
        shape = (*keras.ops.shape(inputs)[:2], heads, inputs.shape[-1] // heads)
        return keras.ops.transpose(keras.ops.reshape(inputs, shape), (0, 2, 1, 3))

    def _attend(self, query, key, value, mask, bias, training):
        groups = self.num_heads // self._heads
        options = {"scale": self.scale, "dropout": self.dropout if training else 0.0, "seed": self.seed_generator, "return_weights": True}
        if groups == 1:
            return scaled_dot_product_attention(query, key, value, mask, bias, **options)

        def grouped(tensor):  # (B, h or 1, T, X) -> (B, heads or 1, groups or 1, T, X)
            if tensor is None or tensor.shape[1] == 1:
                return None if tensor is None else keras.ops.expand_dims(tensor, 2)
            shape = keras.ops.shape(tensor)
            return keras.ops.reshape(tensor, (shape[0], self._heads, groups, *shape[2:]))

        key, value = keras.ops.expand_dims(key, 2), keras.ops.expand_dims(value, 2)
        found = scaled_dot_product_attention(grouped(query), key, value, grouped(mask), grouped(bias), **options)
        shapes = (keras.ops.shape(tensor) for tensor in found)
        return tuple(keras.ops.reshape(tensor, (shape[0], self.num_heads, *shape[3:])) for tensor, shape in zip(found, shapes, strict=True))

    def compute_output_shape(self, query_shape, value_shape, key_shape=None):
        return (*query_shape[:-1], self.model_dim)

    # The options of `call` change how many outputs there are, so a symbolic call traces it.
    compute_output_spec = keras.Operation.compute_output_spec

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "model_dim": self.model_dim,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "num_key_value_heads": self.num_key_value_heads,
            "causal": self.causal,
            "dropout": self.dropout,
            "scale": self.scale,
            "use_bias": self.use_bias,
            "use_output_bias": self.use_output_bias,
            "rotary_base": self.rotary_base,
            "rotary_pairing": self.rotary_pairing,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "seed": self.seed,
            "output_initializer": keras.initializers.serialize(self.output_initializer),
        }
