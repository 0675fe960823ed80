import keras
import numpy as np
import pytest

from keras_canon.layers.step_projection import project


@pytest.mark.parametrize("shape", [(2, 1, 5), (2, 3, 5), (2, 5), (2, 3, 1, 5)])
def test_a_step_is_projected_as_ever(shape):
    dense, inputs = keras.layers.Dense(4), np.random.RandomState(0).standard_normal(shape).astype("float32")
    np.testing.assert_allclose(project(dense, inputs), dense(inputs), rtol=0, atol=1e-6)
    assert project(dense, keras.KerasTensor((None, *shape[1:]))).shape == (None, *shape[1:-1], 4)
