"""The three inception modules of Inception v3 that keep the size of the map; see `inception_v3_reduction` for the two that halve it.

All use batch normalisation after each convolution. Letters A to E count the kinds in the order in which the network uses them:
A at 35 x 35, B halves, C at 17 x 17, D halves, E at 8 x 8.
"""

from typing import Any

import keras

from .arguments import one_of, positive_integer
from .parallel_branches import ParallelBranches


class _AverageBranch(ParallelBranches):
    """Abstract module with a branch of average pooling, which may count the padding."""

    def __init__(self, count_padding, *shared, **kwargs):
        super().__init__("batch", *shared, **kwargs)
        self.count_padding = one_of("count_padding", count_padding, (True, False))
        self.pool = self.pooling("average", count_padding=self.count_padding)

    def get_config(self):
        config = {**super().get_config(), "count_padding": self.count_padding}
        config.pop("normalization")
        return config


@keras.saving.register_keras_serializable(package="keras_canon")
class InceptionV3A(_AverageBranch):
    r"""Inception v3's module with the 5 x 5 branch beside two stacked 3 x 3 convolutions, at 35 x 35.

        (1)  y = [f_1(x), f_5(f_1(x)), f_3(f_3(f_1(x))), f_1(avgpool_3(x))],    f_k(u) = g(BN(W_k * u))

    with 64, 48 -> 64, 64 -> 96 -> 96 and `pool_filters` channels.

    Args:
        pool_filters: channels of the pooling branch; 32 in the first of the three modules, 64 in the others.
        count_padding: whether the average divides by 9 at the border too (torchvision) or by the positions inside the map.
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: g.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.
        gamma_initializer: of gamma in the batch normalisations; None leaves gamma out, as the authors' code does.

    Input shape: (batch, height, width, channels). Output shape: (batch, height, width, 224 + pool_filters).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes.

    Reference: C. Szegedy, V. Vanhoucke, S. Ioffe, J. Shlens, Z. Wojna 2015, "Rethinking the Inception Architecture for Computer
    Vision", figure 5, table 1, arXiv:1512.00567; widths, and the 5 x 5 branch in place of the figure's, from the authors' code.

    Example:
        >>> import keras
        >>> from keras_canon.layers import InceptionV3A
        >>> print(tuple(InceptionV3A(pool_filters=32)(keras.ops.ones((1, 5, 5, 192))).shape))
        (1, 5, 5, 256)
    """

    def __init__(
        self,
        pool_filters=64,
        count_padding=False,
        momentum=0.9,
        epsilon=1e-3,
        activation="relu",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        gamma_initializer: Any = "ones",
        **kwargs,
    ):
        shared = (momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer)
        super().__init__(count_padding, *shared, **kwargs)
        self.pool_filters = positive_integer("pool_filters", pool_filters)
        self.branch_1x1 = self.convolution("branch_1x1", 64, 1)
        self.branch_5x5_1 = self.convolution("branch_5x5_1", 48, 1)
        self.branch_5x5_2 = self.convolution("branch_5x5_2", 64, 5)
        self.branch_3x3_double_1 = self.convolution("branch_3x3_double_1", 64, 1)
        self.branch_3x3_double_2 = self.convolution("branch_3x3_double_2", 96, 3)
        self.branch_3x3_double_3 = self.convolution("branch_3x3_double_3", 96, 3)
        self.branch_pool = self.convolution("branch_pool", self.pool_filters, 1)

    def branches(self):
        return (
            [self.branch_1x1],
            [self.branch_5x5_1, self.branch_5x5_2],
            [self.branch_3x3_double_1, self.branch_3x3_double_2, self.branch_3x3_double_3],
            [self.pool, self.branch_pool],
        )

    def get_config(self):
        return {**super().get_config(), "pool_filters": self.pool_filters}


@keras.saving.register_keras_serializable(package="keras_canon")
class InceptionV3C(_AverageBranch):
    r"""Inception v3's module with 7 x 7 convolutions factorised into 1 x 7 and 7 x 1, at 17 x 17.

        (1)  y = [f_1(x), f_7x1(f_1x7(f_1(x))), f_1x7(f_7x1(f_1x7(f_7x1(f_1(x))))), f_1(avgpool_3(x))],    f_k(u) = g(BN(W_k * u))

    with 192 channels at the end of each branch and `width` channels inside.

    Args:
        width: channels inside the factorised branches; 128, 160, 160, 192 in the four modules.
        count_padding: whether the average divides by 9 at the border too (torchvision) or by the positions inside the map.
        momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer: as in `InceptionV3A`.

    Input shape: (batch, height, width, channels). Output shape: (batch, height, width, 768).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes.

    Reference: C. Szegedy et al. 2015, arXiv:1512.00567, section 3.2, figure 6 with n = 7; widths from the authors' code.

    Example:
        >>> import keras
        >>> from keras_canon.layers import InceptionV3C
        >>> print(tuple(InceptionV3C(width=128)(keras.ops.ones((1, 3, 3, 768))).shape))
        (1, 3, 3, 768)
    """

    def __init__(
        self,
        width=192,
        count_padding=False,
        momentum=0.9,
        epsilon=1e-3,
        activation="relu",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        gamma_initializer: Any = "ones",
        **kwargs,
    ):
        shared = (momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer)
        super().__init__(count_padding, *shared, **kwargs)
        self.width = positive_integer("width", width)
        self.branch_1x1 = self.convolution("branch_1x1", 192, 1)
        self.branch_7x7_1 = self.convolution("branch_7x7_1", self.width, 1)
        self.branch_7x7_2 = self.convolution("branch_7x7_2", self.width, (1, 7))
        self.branch_7x7_3 = self.convolution("branch_7x7_3", 192, (7, 1))
        self.branch_7x7_double_1 = self.convolution("branch_7x7_double_1", self.width, 1)
        self.branch_7x7_double_2 = self.convolution("branch_7x7_double_2", self.width, (7, 1))
        self.branch_7x7_double_3 = self.convolution("branch_7x7_double_3", self.width, (1, 7))
        self.branch_7x7_double_4 = self.convolution("branch_7x7_double_4", self.width, (7, 1))
        self.branch_7x7_double_5 = self.convolution("branch_7x7_double_5", 192, (1, 7))
        self.branch_pool = self.convolution("branch_pool", 192, 1)

    def branches(self):
        double = [self.branch_7x7_double_1, self.branch_7x7_double_2, self.branch_7x7_double_3]
        return (
            [self.branch_1x1],
            [self.branch_7x7_1, self.branch_7x7_2, self.branch_7x7_3],
            [*double, self.branch_7x7_double_4, self.branch_7x7_double_5],
            [self.pool, self.branch_pool],
        )

    def get_config(self):
        return {**super().get_config(), "width": self.width}


@keras.saving.register_keras_serializable(package="keras_canon")
class InceptionV3E(_AverageBranch):
    r"""Inception v3's module whose 3 x 3 branches fan out into 1 x 3 and 3 x 1, at 8 x 8.

        (1)  y = [f_1(x), F(f_1(x)), F(f_3(f_1(x))), f_1(avgpool_3(x))],    F(u) = [f_1x3(u), f_3x1(u)]

    with f_k(u) = g(BN(W_k * u)) and 320, 384 -> 2 x 384, 448 -> 384 -> 2 x 384 and 192 channels.

    Args:
        count_padding: whether the average divides by 9 at the border too (torchvision) or by the positions inside the map.
        momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer: as in `InceptionV3A`.

    Input shape: (batch, height, width, channels). Output shape: (batch, height, width, 2048).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; an input without four axes.

    Reference: C. Szegedy et al. 2015, arXiv:1512.00567, section 6, figure 7; widths from the authors' code.

    Example:
        >>> import keras
        >>> from keras_canon.layers import InceptionV3E
        >>> print(tuple(InceptionV3E()(keras.ops.ones((1, 2, 2, 16))).shape))
        (1, 2, 2, 2048)
    """

    def __init__(
        self,
        count_padding=False,
        momentum=0.9,
        epsilon=1e-3,
        activation="relu",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        gamma_initializer: Any = "ones",
        **kwargs,
    ):
        shared = (momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer)
        super().__init__(count_padding, *shared, **kwargs)
        self.branch_1x1 = self.convolution("branch_1x1", 320, 1)
        self.branch_3x3_1 = self.convolution("branch_3x3_1", 384, 1)
        self.branch_3x3_2a = self.convolution("branch_3x3_2a", 384, (1, 3))
        self.branch_3x3_2b = self.convolution("branch_3x3_2b", 384, (3, 1))
        self.branch_3x3_double_1 = self.convolution("branch_3x3_double_1", 448, 1)
        self.branch_3x3_double_2 = self.convolution("branch_3x3_double_2", 384, 3)
        self.branch_3x3_double_3a = self.convolution("branch_3x3_double_3a", 384, (1, 3))
        self.branch_3x3_double_3b = self.convolution("branch_3x3_double_3b", 384, (3, 1))
        self.branch_pool = self.convolution("branch_pool", 192, 1)

    def branches(self):
        fan = ([self.branch_3x3_2a], [self.branch_3x3_2b])
        double_fan = ([self.branch_3x3_double_3a], [self.branch_3x3_double_3b])
        return (
            [self.branch_1x1],
            [self.branch_3x3_1, fan],
            [self.branch_3x3_double_1, self.branch_3x3_double_2, double_fan],
            [self.pool, self.branch_pool],
        )
