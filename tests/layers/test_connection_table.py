import keras
import numpy as np
import pytest

from keras_canon.layers import LENET5_C3_TABLE, ConnectionTableConv2D, LeCunFanInUniform


def by_loops(x, kernel, bias, table):
    """The equation as written, stride 1 and "valid": a sum over the connections of each output map."""
    height, width = kernel.shape[:2]
    outputs = np.zeros((x.shape[0], x.shape[1] - height + 1, x.shape[2] - width + 1, len(table))) + bias
    connection = 0
    for output, row in enumerate(table):
        for channel in row:
            for i in range(height):
                for j in range(width):
                    window = x[:, i : i + outputs.shape[1], j : j + outputs.shape[2], channel]
                    outputs[..., output] += kernel[i, j, connection] * window
            connection += 1
    return outputs


@pytest.mark.parametrize("table", [LENET5_C3_TABLE, ((3,), (5, 0, 2), (1,), (4, 3))])
def test_values_are_the_sum_over_the_table(table):
    random = np.random.RandomState(0)
    x = random.standard_normal((2, 9, 8, 6)).astype("float32")
    layer = ConnectionTableConv2D(table, 5)
    layer.build(x.shape)
    weights = [random.standard_normal(w.shape).astype("float32") for w in layer.weights]
    layer.set_weights(weights)
    np.testing.assert_allclose(layer(x), by_loops(x, *weights, table), atol=2e-5)


@pytest.mark.parametrize("padding", ["valid", "same"])
def test_equals_keras_convolution_with_the_dense_kernel(padding):
    x = np.random.RandomState(1).standard_normal((2, 9, 8, 6)).astype("float32")
    layer = ConnectionTableConv2D(LENET5_C3_TABLE, (3, 4), strides=(2, 3), padding=padding, activation="tanh")
    found = layer(x)
    plain = keras.layers.Conv2D(16, (3, 4), (2, 3), padding, activation="tanh", data_format="channels_last")
    plain.build(x.shape)
    plain.set_weights([layer.dense_kernel(), layer.bias])
    np.testing.assert_allclose(found, plain(x), atol=1e-6)
    assert layer.compute_output_shape(x.shape) == found.shape


def test_full_table_counts_as_a_plain_convolution_and_table_i_has_1516_parameters():
    for table, parameters in ((LENET5_C3_TABLE, 1516), ([range(6)] * 16, 2416)):
        layer = ConnectionTableConv2D(table, 5)
        layer.build((None, 14, 14, 6))
        assert layer.count_params() == parameters


def test_table_i_has_the_symmetry_that_the_paper_describes():
    assert [len(row) for row in LENET5_C3_TABLE] == [3] * 6 + [4] * 9 + [6]
    # "The first six take inputs from every contiguous subset of three, the next six from every contiguous subset of four."
    for count, rows in ((3, LENET5_C3_TABLE[:6]), (4, LENET5_C3_TABLE[6:12])):
        assert {frozenset(row) for row in rows} == {frozenset((start + step) % 6 for step in range(count)) for start in range(6)}
    assert len(set(LENET5_C3_TABLE)) == 16


def test_start_sees_the_fan_in_of_each_unit():
    layer = ConnectionTableConv2D([[0]] * 40 + [list(range(8))] * 40, 5, kernel_initializer=LeCunFanInUniform())
    layer.build((None, 9, 9, 8))
    kernel = np.asarray(layer.kernel)
    for part, fan_in in ((kernel[..., :40], 25), (kernel[..., 40:], 200)):
        assert 0.97 * 2.4 / fan_in < np.max(np.abs(part)) <= 2.4 / fan_in


def test_b11_no_two_output_maps_start_equal_even_when_seeded():
    for initializer in (keras.initializers.GlorotUniform(), keras.initializers.GlorotUniform(seed=3)):
        layer = ConnectionTableConv2D([[0, 1], [0, 1], [0], [1]], 3, kernel_initializer=initializer)
        layer.build((None, 9, 9, 2))
        dense = np.asarray(layer.dense_kernel())
        slices = [dense[:, :, channel, output] for channel, output in ((0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 3))]
        for index, one in enumerate(slices):
            assert np.all(one)
            assert not any(np.array_equal(one, other) for other in slices[index + 1 :])


def test_dense_kernel_is_zero_where_the_table_has_no_connection():
    layer = ConnectionTableConv2D([[0], [1, 2]], 2)
    layer.build((None, 5, 5, 3))
    dense = np.asarray(layer.dense_kernel())
    assert dense.shape == (2, 2, 3, 2)
    np.testing.assert_array_equal(dense[:, :, [1, 2, 0], [0, 0, 1]], np.zeros((2, 2, 3)))
    assert np.count_nonzero(dense) == 2 * 2 * 3


def test_dynamic_sides():
    layer = ConnectionTableConv2D([[0], [1]], 3)
    assert layer(keras.Input((None, None, 2))).shape == (None, None, None, 2)
    assert layer.compute_output_shape((None, None, 7, 2)) == (None, None, 5, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": []}, r"table must list, for each output map, the input maps that it sees, got \[\]"),
        ({"table": 3}, "table must list, for each output map, the input maps that it sees, got 3"),
        ({"table": [[0], []]}, r"table must list at least one input map for each output map, got \[\] for output map 1"),
        ({"table": [0, 1]}, "table must list at least one input map for each output map, got 0 for output map 0"),
        ({"table": [[0, -1]]}, r"table must hold integers of at least 0, got \[0, -1\] for output map 0"),
        ({"table": [[0, 1.5]]}, r"table must hold integers of at least 0, got \[0, 1.5\]"),
        ({"table": [[0], [1, 1]]}, r"table must list an input map only once for each output map, got \[1, 1\] for output map 1"),
        ({"table": [[0], [2, 6]]}, r"table must hold integers below the 6 input maps, got \[2, 6\] for output map 1"),
        ({"kernel_size": 0}, "kernel_size must be an integer of at least 1, got 0"),
        ({"strides": (1, 0)}, "strides must be an integer of at least 1, got 0"),
        ({"padding": "full"}, "padding must be one of 'valid', 'same', got 'full'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConnectionTableConv2D(**{"table": [[0], [1]], "kernel_size": 3, **arguments}).build((None, 9, 9, 6))


def test_bad_input_shapes():
    with pytest.raises(ValueError, match=r"ConnectionTableConv2D expects input of shape \(batch, height, width, channels\)"):
        ConnectionTableConv2D([[0]], 3).build((None, 9, 6))
    with pytest.raises(ValueError, match="needs a known last axis"):
        ConnectionTableConv2D([[0]], 3).build((None, 9, 9, None))
