import numpy as np
import pytest

from keras_canon.layers.parallel_branches import ParallelBranches


class Forked(ParallelBranches):
    """Two branches of which the second forks again."""

    def __init__(self):
        super().__init__(None, 0.9, 1e-3, None, "ones", None)
        self.first = self.convolution("first", 1, 1)
        self.stem = self.convolution("stem", 2, 1)
        self.left = self.convolution("left", 1, 1)
        self.right = self.convolution("right", 3, 1)

    def branches(self):
        return ([self.first], [self.stem, ([self.left], [self.right])])


def test_forks_are_concatenated_in_their_order():
    layer = Forked()
    x = np.ones((1, 2, 2, 3), "float32")
    np.testing.assert_array_equal(layer(x)[0, 0, 0], [3, 6, 6, 6, 6])
    assert layer.compute_output_shape((None, 2, None, 3)) == (None, 2, None, 5)


def test_abstract_module_says_so():
    with pytest.raises(TypeError, match="ParallelBranches has no branches of its own"):
        ParallelBranches(None, 0.9, 1e-3, None, "ones", None).branches()
