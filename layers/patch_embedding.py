"""Patch embedding of the Vision Transformer."""

import keras

from .arguments import input_rank, integers, positive_integer
from .initializers import fresh_initializer


@keras.saving.register_keras_serializable(package="keras_canon")
class PatchEmbedding(keras.layers.Layer):
    """Cut an image into patches and project each to a vector.

    z_n = x_n E,  x_n the P x P x C numbers of patch n        (1)

    Patches do not overlap and are listed row by row. An image has no padding to mask.

    Args:
        patch_size: P, an integer or (height, width).
        model_dim: D, width of the output.
        use_bias: a bias next to E.
        kernel_initializer, bias_initializer: initialisers of E and the bias.

    Input shape:
        (B, H, W, C)

    Output shape:
        (B, H W / P^2, D)

    Raises:
        ValueError: a size below 1; at build or call, a height or width that is not a multiple of the patch's.

    Reference:
        Dosovitskiy et al., 2021, "An Image Is Worth 16x16 Words", section 3.1, equation 1, arXiv:2010.11929.

    Example:
        >>> import keras
        >>> from keras_canon.layers import PatchEmbedding
        >>> print(PatchEmbedding(patch_size=16, model_dim=8)(keras.ops.zeros((1, 32, 48, 3))).shape)
        (1, 6, 8)
    """

    def __init__(self, patch_size, model_dim, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros", **kwargs):
        super().__init__(**kwargs)
        self.patch_size = integers("patch_size", patch_size, 2)
        self.model_dim = positive_integer("model_dim", model_dim)
        self.use_bias = bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.supports_masking = False
        self.projection = keras.layers.Conv2D(
            self.model_dim,
            self.patch_size,
            strides=self.patch_size,
            padding="valid",
            data_format="channels_last",
            use_bias=self.use_bias,
            kernel_initializer=fresh_initializer(self.kernel_initializer),
            bias_initializer=fresh_initializer(self.bias_initializer),
            dtype=self.dtype_policy,
            name="projection",
        )

    def build(self, input_shape):
        input_rank("PatchEmbedding", input_shape, 4, "(batch, height, width, channels)")
        self._check_size(input_shape)
        self.projection.build(input_shape)

    def _check_size(self, shape):
        for name, size, patch in zip(("height", "width"), shape[1:3], self.patch_size, strict=True):
            if size is not None and (size % patch or not size):
                raise ValueError(f"The {name} of an image must be a multiple of the patch's, {patch}, got {size}.")

    def call(self, inputs):
        self._check_size(inputs.shape)
        patches = self.projection(inputs)  # (B, H / P, W / P, D)
        batch, rows, columns, width = keras.ops.shape(patches)
        return keras.ops.reshape(patches, (batch, rows * columns, width))

    def compute_output_shape(self, input_shape):
        height, width = input_shape[1:3]
        if height is None or width is None:
            return (input_shape[0], None, self.model_dim)
        return (input_shape[0], (height // self.patch_size[0]) * (width // self.patch_size[1]), self.model_dim)

    def get_config(self):
        return {
            **super().get_config(),
            "patch_size": list(self.patch_size),
            "model_dim": self.model_dim,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
        }
