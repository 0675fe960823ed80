"""`EchoStateCell`: the equation, the spectral radius, sparsity, seeds, and the property the cell is named after."""

import keras
import numpy as np
import pytest
from checks.recurrent import run_cell, sequence

from keras_canon.layers import EchoStateCell


def built(**init):
    cell = EchoStateCell(**{"units": 60, "seed": 3, **init})
    cell.build((None, 4))
    return cell


def test_equals_the_equation():
    cell = EchoStateCell(20, leak=0.4, bias_scale=0.5, density=0.3, seed=1)
    outputs = run_cell(cell)(sequence()).numpy()
    kernel, recurrent, bias = (item.numpy() for item in (cell.input_kernel, cell.recurrent_kernel, cell.bias))
    hidden = np.zeros((6, 20))
    for time in range(10):
        hidden = 0.6 * hidden + 0.4 * np.tanh(sequence()[:, time] @ kernel + hidden @ recurrent + bias)
        np.testing.assert_allclose(outputs[:, time], hidden, atol=1e-5)


@pytest.mark.parametrize("radius", [0.5, 0.9, 1.25])
def test_spectral_radius_is_exact(radius):
    eigenvalues = np.linalg.eigvals(built(spectral_radius=radius).recurrent_kernel.numpy().astype("float64"))
    assert np.max(np.abs(eigenvalues)) == pytest.approx(radius, rel=1e-5)


def test_density_and_scales_are_exact():
    cell = built(density=0.2, input_scale=0.3, bias_scale=0.1)
    assert np.count_nonzero(cell.recurrent_kernel) == round(0.2 * 60 * 60)
    assert 0.25 < np.max(np.abs(cell.input_kernel)) <= 0.3
    assert 0.05 < np.max(np.abs(cell.bias)) <= 0.1
    assert not np.any(built().bias)


def test_nothing_is_trainable_and_weights_are_saved():
    cell = built()
    assert cell.trainable_weights == []
    assert [tuple(weight.shape) for weight in cell.get_weights()] == [(4, 60), (60,), (60, 60)]


def test_seed_repeats_the_reservoir_and_none_follows_the_global_seed():
    np.testing.assert_array_equal(built().recurrent_kernel, built().recurrent_kernel)
    assert not np.array_equal(built().recurrent_kernel, built(seed=4).recurrent_kernel)
    draws = []
    for _ in range(2):
        keras.utils.set_random_seed(8)
        draws += [built(seed=None).recurrent_kernel.numpy() for _ in range(2)]
    assert not np.array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])


def test_forgets_its_start():
    cell = EchoStateCell(50, spectral_radius=0.8, seed=2)
    layer = keras.layers.RNN(cell)
    inputs = sequence(2, 100)
    starts = [np.full((2, 50), value, "float32") for value in (-0.9, 0.9)]
    one, other = (layer(inputs, initial_state=[start]).numpy() for start in starts)
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_readout_learns_a_delay():
    """Memory: a linear readout of the reservoir recalls the input of three steps ago, which the input itself does not tell."""
    inputs = np.random.RandomState(0).uniform(-1, 1, (1, 600, 1)).astype("float32")
    states = run_cell(EchoStateCell(80, spectral_radius=0.9, input_scale=0.3, seed=5))(inputs).numpy()[0, 50:]
    wanted = inputs[0, 47:-3]
    readout, *_ = np.linalg.lstsq(states[:400], wanted[:400], rcond=None)
    assert np.mean((states[400:] @ readout - wanted[400:]) ** 2) < 0.01 * np.var(wanted)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"units": 0}, "units must be an integer of at least 1, got 0"),
        ({"spectral_radius": -0.1}, "spectral_radius must be at least 0.0, got -0.1"),
        ({"density": 0.0}, "density must be above 0 and at most 1, got 0.0"),
        ({"density": 1.1}, "density must be between 0.0 and 1.0, got 1.1"),
        ({"input_scale": -1}, "input_scale must be at least 0.0, got -1"),
        ({"bias_scale": -1}, "bias_scale must be at least 0.0, got -1"),
        ({"leak": 0}, "leak must be above 0 and at most 1, got 0.0"),
        ({"seed": -2}, "seed must be None or an integer of at least 0, got -2"),
        ({"seed": "one"}, "seed must be None or an integer of at least 0, got 'one'"),
    ],
)
def test_bad_arguments(init, message):
    with pytest.raises(ValueError, match=message):
        EchoStateCell(**{"units": 5, **init})


def test_reservoir_without_a_cycle():
    with pytest.raises(ValueError, match=r"density must leave a cycle among the units, got density=0.1 with units=3"):
        EchoStateCell(3, density=0.1, seed=0).build((None, 4))
