"""The two modules of Inception v3 that halve the map while they widen it."""

from typing import Any

import keras

from .parallel_branches import ParallelBranches


class _Reduction(ParallelBranches):
    """Abstract module with a branch of max pooling; every branch ends with stride 2 and no padding."""

    def __init__(self, *shared, **kwargs):
        super().__init__("batch", *shared, **kwargs)
        self.pool = self.pooling("max", strides=2, padding="valid")

    def get_config(self):
        config = super().get_config()
        config.pop("normalization")
        return config


@keras.saving.register_keras_serializable(package="keras_canon")
class InceptionV3B(_Reduction):
    r"""Inception v3's reduction from 35 x 35 to 17 x 17.

        (1)  y = [f_3/2(x), f_3/2(f_3(f_1(x))), maxpool_3/2(x)],    f_k(u) = g(BN(W_k * u)),  /2 for stride 2

    with 384 and 64 -> 96 -> 96 channels beside those of the input.

    Args:
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: g.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.
        gamma_initializer: of gamma in the batch normalisations; None leaves gamma out, as the authors' code does.

    Input shape: (batch, height, width, channels), at least 3 x 3.
    Output shape: (batch, (height - 3) // 2 + 1, (width - 3) // 2 + 1, 480 + channels).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes or under 3 x 3.

    Reference: C. Szegedy et al. 2015, "Rethinking the Inception Architecture for Computer Vision", section 5, figure 10,
    arXiv:1512.00567; widths from the authors' code.

    Example:
        >>> import keras
        >>> from keras_canon.layers import InceptionV3B
        >>> print(tuple(InceptionV3B()(keras.ops.ones((1, 7, 7, 288))).shape))
        (1, 3, 3, 768)
    """

    def __init__(
        self,
        momentum=0.9,
        epsilon=1e-3,
        activation="relu",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        gamma_initializer: Any = "ones",
        **kwargs,
    ):
        super().__init__(momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer, **kwargs)
        self.branch_3x3 = self.convolution("branch_3x3", 384, 3, strides=2, padding="valid")
        self.branch_3x3_double_1 = self.convolution("branch_3x3_double_1", 64, 1)
        self.branch_3x3_double_2 = self.convolution("branch_3x3_double_2", 96, 3)
        self.branch_3x3_double_3 = self.convolution("branch_3x3_double_3", 96, 3, strides=2, padding="valid")

    def branches(self):
        return (
            [self.branch_3x3],
            [self.branch_3x3_double_1, self.branch_3x3_double_2, self.branch_3x3_double_3],
            [self.pool],
        )


@keras.saving.register_keras_serializable(package="keras_canon")
class InceptionV3D(_Reduction):
    r"""Inception v3's reduction from 17 x 17 to 8 x 8.

        (1)  y = [f_3/2(f_1(x)), f_3/2(f_7x1(f_1x7(f_1(x)))), maxpool_3/2(x)],    f_k(u) = g(BN(W_k * u)),  /2 for stride 2

    with 192 -> 320 and 192 -> 192 -> 192 -> 192 channels beside those of the input.

    Args:
        momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer: as in `InceptionV3B`.

    Input shape: (batch, height, width, channels), at least 3 x 3.
    Output shape: (batch, (height - 3) // 2 + 1, (width - 3) // 2 + 1, 512 + channels).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes or under 3 x 3.

    Reference: C. Szegedy et al. 2015, arXiv:1512.00567, section 5 and table 1; the branches are in the authors' code only.

    Example:
        >>> import keras
        >>> from keras_canon.layers import InceptionV3D
        >>> print(tuple(InceptionV3D()(keras.ops.ones((1, 7, 7, 768))).shape))
        (1, 3, 3, 1280)
    """

    def __init__(
        self,
        momentum=0.9,
        epsilon=1e-3,
        activation="relu",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        gamma_initializer: Any = "ones",
        **kwargs,
    ):
        super().__init__(momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer, **kwargs)
        self.branch_3x3_1 = self.convolution("branch_3x3_1", 192, 1)
        self.branch_3x3_2 = self.convolution("branch_3x3_2", 320, 3, strides=2, padding="valid")
        self.branch_7x7x3_1 = self.convolution("branch_7x7x3_1", 192, 1)
        self.branch_7x7x3_2 = self.convolution("branch_7x7x3_2", 192, (1, 7))
        self.branch_7x7x3_3 = self.convolution("branch_7x7x3_3", 192, (7, 1))
        self.branch_7x7x3_4 = self.convolution("branch_7x7x3_4", 192, 3, strides=2, padding="valid")

    def branches(self):
        return (
            [self.branch_3x3_1, self.branch_3x3_2],
            [self.branch_7x7x3_1, self.branch_7x7x3_2, self.branch_7x7x3_3, self.branch_7x7x3_4],
            [self.pool],
        )
