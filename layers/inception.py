"""The inception module of GoogLeNet."""

from typing import Any

import keras

from .arguments import integers, positive_integer
from .parallel_branches import ParallelBranches


@keras.saving.register_keras_serializable(package="keras_canon")
class InceptionModule(ParallelBranches):
    r"""1 x 1, 3 x 3 and 5 x 5 convolutions and a max pooling side by side, the wide ones behind a 1 x 1 reduction.

        (1)  y = [f_1(x), f_3(f_1(x)), f_5(f_1(x)), f_1(maxpool_3(x))],    f_k(u) = g(W_k * u + b)

    - 2014: the defaults.
    - Batch-norm form (torchvision's GoogLeNet): normalization "batch", epsilon 1e-3 and large_kernel_size 3.

    Sub-layers are named `branch_1x1`, `branch_3x3_reduce`, `branch_3x3`, `branch_large_reduce`, `branch_large` and `branch_pool`.

    Args:
        filters: six integers, a row of table 1 from "#1x1" on: 1 x 1, 3 x 3 reduction, 3 x 3, 5 x 5 reduction, 5 x 5, pool projection.
        large_kernel_size: kernel of the fifth; an odd integer.
        normalization: None, or "batch" after each convolution (which then has no bias).
        momentum: share of the old moving statistics that batch normalisation keeps.
        epsilon: added to the variance.
        activation: g.
        kernel_initializer: of every kernel.
        kernel_regularizer: of every kernel.
        gamma_initializer: of gamma in the batch normalisations; None leaves gamma out.

    Input shape: (batch, height, width, channels).
    Output shape: (batch, height, width, filters[0] + filters[2] + filters[4] + filters[5]).
    Image maps carry no mask, so none is taken.

    Raises:
        ValueError: an argument out of range; not six `filters`; an even `large_kernel_size`; an input without four axes.

    Reference: C. Szegedy et al. 2014, "Going Deeper with Convolutions", section 4, figure 2b, table 1, arXiv:1409.4842.

    Example:
        >>> import keras
        >>> from keras_canon.layers import InceptionModule
        >>> print(tuple(InceptionModule((64, 96, 128, 16, 32, 32))(keras.ops.ones((1, 7, 7, 192))).shape))
        (1, 7, 7, 256)
    """

    def __init__(
        self,
        filters,
        large_kernel_size=5,
        normalization=None,
        momentum=0.9,
        epsilon=1e-3,
        activation="relu",
        kernel_initializer="he_normal",
        kernel_regularizer=None,
        gamma_initializer: Any = "ones",
        **kwargs,
    ):
        shared = (momentum, epsilon, activation, kernel_initializer, kernel_regularizer, gamma_initializer)
        super().__init__(normalization, *shared, **kwargs)
        if not isinstance(filters, list | tuple):
            raise ValueError(f"filters must be six integers, got {filters!r}.")
        self.filters = integers("filters", filters, 6)
        self.large_kernel_size = positive_integer("large_kernel_size", large_kernel_size)
        if self.large_kernel_size % 2 == 0:
            raise ValueError(f"large_kernel_size must be odd, got {large_kernel_size}.")
        single, reduce_3x3, middle, reduce_large, large, projection = self.filters
        self.branch_1x1 = self.convolution("branch_1x1", single, 1)
        self.branch_3x3_reduce = self.convolution("branch_3x3_reduce", reduce_3x3, 1)
        self.branch_3x3 = self.convolution("branch_3x3", middle, 3)
        self.branch_large_reduce = self.convolution("branch_large_reduce", reduce_large, 1)
        self.branch_large = self.convolution("branch_large", large, self.large_kernel_size)
        self.pool = self.pooling("max")
        self.branch_pool = self.convolution("branch_pool", projection, 1)

    def branches(self):
        return (
            [self.branch_1x1],
            [self.branch_3x3_reduce, self.branch_3x3],
            [self.branch_large_reduce, self.branch_large],
            [self.pool, self.branch_pool],
        )

    def get_config(self):
        return {**super().get_config(), "filters": list(self.filters), "large_kernel_size": self.large_kernel_size}
