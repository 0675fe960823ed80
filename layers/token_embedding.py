"""Token embedding with a tied output projection."""

import keras

from .arguments import positive_integer


@keras.saving.register_keras_serializable(package="keras_canon")
class TokenEmbedding(keras.layers.Layer):
    """Look up the vector of each token, or in reverse compare vectors with those of all tokens.

    y_t = s E[token_t],  s = sqrt(d_model) with `scale`, else 1        (1)
    logits_t = x_t E^T + b  (reverse)        (2)

    One table E serves both ends of a language model: `hidden = embedding(tokens)`, ..., `logits = embedding(hidden,
    reverse=True)`. The factor s applies to the look-up only.

    Args:
        vocabulary_size: number of tokens, rows of E.
        model_dim: d_model, width of E.
        scale: multiply by sqrt(d_model), as Vaswani et al. do.
        mask_zero: token 0 is padding: the look-up gives a mask that is False there.
        embeddings_initializer: initialiser of E.
        use_output_bias: b, a number for each token in reverse, as BERT's masked language model has; without it b is 0.

    Call arguments:
        inputs: integer tokens, or in reverse vectors.
        reverse: give logits of vectors.

    Input shape:
        (B, ...), or in reverse (B, ..., model_dim)

    Output shape:
        (B, ..., model_dim), or in reverse (B, ..., vocabulary_size).

    Raises:
        ValueError: a size below 1; tokens that are not integers (float16 cannot tell 2049 from 2048); in reverse a width
            other than `model_dim`.

    Reference:
        Vaswani et al., 2017, "Attention Is All You Need", section 3.4, arXiv:1706.03762; Press and Wolf, 2017, "Using the
        Output Embedding to Improve Language Models", arXiv:1608.05859.

    Example:
        >>> import keras
        >>> from keras_canon.layers import TokenEmbedding
        >>> embedding = TokenEmbedding(vocabulary_size=100, model_dim=8)
        >>> print(embedding(embedding(keras.ops.zeros((2, 5), "int32")), reverse=True).shape)
        (2, 5, 100)
    """

    def __init__(
        self,
        vocabulary_size,
        model_dim,
        scale=False,
        mask_zero=False,
        embeddings_initializer="uniform",
        use_output_bias=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = positive_integer("vocabulary_size", vocabulary_size)
        self.model_dim = positive_integer("model_dim", model_dim)
        self.scale = bool(scale)
        self.mask_zero = bool(mask_zero)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.use_output_bias = bool(use_output_bias)
        self.supports_masking = True

    def build(self, input_shape=None):
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.vocabulary_size, self.model_dim), initializer=self.embeddings_initializer
        )
        self.output_bias = None
        if self.use_output_bias:
            self.output_bias = self.add_weight(name="output_bias", shape=(self.vocabulary_size,), initializer="zeros")

    def call(self, inputs, reverse=False):
        if reverse:
            if inputs.shape[-1] != self.model_dim:
                raise ValueError(f"In reverse the input must have width model_dim={self.model_dim}, got {inputs.shape[-1]}.")
            logits = keras.ops.matmul(inputs, keras.ops.transpose(self.embeddings))
            return logits if self.output_bias is None else logits + self.output_bias
        if not _holds_integers(inputs):
            raise ValueError(f"Tokens must be integers, got {keras.backend.standardize_dtype(inputs.dtype)}; give keras.Input a dtype.")
        tokens = keras.ops.cast(inputs, keras.backend.result_type(inputs.dtype, "int32"))  # no look-up by 8 or 16 bits
        outputs = keras.ops.take(self.embeddings, tokens, axis=0)
        return outputs * keras.ops.cast(self.model_dim**0.5, outputs.dtype) if self.scale else outputs

    def compute_mask(self, inputs, mask=None):
        """Return where the tokens are not 0; vectors keep the mask they have."""
        return keras.ops.not_equal(inputs, 0) if self.mask_zero and _holds_integers(inputs) else mask

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.model_dim)

    # In reverse the output has another shape, so a symbolic call traces `call`.
    compute_output_spec = keras.Operation.compute_output_spec

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "model_dim": self.model_dim,
            "scale": self.scale,
            "mask_zero": self.mask_zero,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "use_output_bias": self.use_output_bias,
        }


def _holds_integers(tensor) -> bool:
    return "int" in keras.backend.standardize_dtype(tensor.dtype)
