"""Stochastic depth: drop a whole residual branch, sample by sample."""

import keras

from .arguments import rate as checked_rate


@keras.saving.register_keras_serializable(package="keras_canon")
class StochasticDepth(keras.layers.Layer):
    r"""Drop the residual branch of a random share of the samples while training.

    With a residual block H_l = f_l(H_{l-1}) + H_{l-1}, this layer stands on the branch f_l:

        (2)  H_l = ReLU(b_l f_l(H_{l-1}) + id(H_{l-1})),    b_l ~ Bernoulli(p_l) for each sample

    The paper multiplies the branch by p_l at test time (equation 5). Here it is divided by p_l while training instead, which has
    the same expectation, so that inference is the identity and an exported model holds nothing of this layer.

    Args:
        rate: 1 - p_l, probability that a sample's branch is dropped; in [0, 1). The paper's linear rule over blocks l = 1 .. L
            is p_l = 1 - l / L * (1 - p_L) (equation 4).
        seed: seed of the draws, or None.

    Input shape: (batch, ...), any rank. Output shape: the same.
    A mask passes through unchanged.

    Raises:
        ValueError: a rate outside [0, 1).

    Reference: G. Huang, Y. Sun, Z. Liu, D. Sedra, K. Weinberger 2016, "Deep Networks with Stochastic Depth", section 3,
    arXiv:1603.09382.

    Example:
        >>> import keras
        >>> from keras_canon.layers import StochasticDepth
        >>> print(float(keras.ops.sum(StochasticDepth(0.2)(keras.ops.ones((4, 2))))))
        8.0
    """

    def __init__(self, rate, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = checked_rate("rate", rate)
        self.seed = seed
        self.supports_masking = True
        self.seed_generator = keras.random.SeedGenerator(seed) if self.rate > 0 else None

    def call(self, inputs, training=None):
        if not training or self.seed_generator is None:
            return inputs
        # One draw a sample: (B, 1, ..., 1).
        noise_shape = (keras.ops.shape(inputs)[0], *(1 for _ in inputs.shape[1:]))
        return keras.random.dropout(inputs, self.rate, noise_shape=noise_shape, seed=self.seed_generator)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
