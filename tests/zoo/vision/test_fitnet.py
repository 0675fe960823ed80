"""FitNets against tables 5 and 7 of the paper."""

import numpy as np
import pytest

from keras_canon import layers, zoo

# table 7
WIDTHS = {
    "fitnet1": [16, 16, 16, 32, 32, 32, 48, 48, 64],
    "fitnet2": [16, 32, 32, 48, 64, 80, 96, 96, 128],
    "fitnet3": [32, 48, 64, 64, 80, 80, 80, 80, 128, 128, 128],
    "fitnet4": [32, 32, 32, 48, 48, 80, 80, 80, 80, 80, 80, 128, 128, 128, 128, 128, 128],
}
# table 5: layers, parameters in thousands, multiplications in millions; of FitNet 3 see the builder's docstring
TABLE_5 = {"fitnet1": (11, 250, 30), "fitnet2": (11, 862, 108), "fitnet4": (19, 2_500, 382)}


def kernel_weights(model) -> int:
    return sum(int(np.prod(weight.shape)) for weight in model.trainable_weights if weight.path.endswith("kernel"))


def convolutions(model) -> list:
    return [layer for layer in model.layers if isinstance(layer, layers.MaxoutConv2D)]


@pytest.mark.parametrize("name", WIDTHS)
def test_widths_of_table_7(name):
    model = zoo.create(name)
    assert [layer.filters for layer in convolutions(model)] == WIDTHS[name]
    assert {(layer.num_pieces, layer.window.kernel_size) for layer in convolutions(model)} == {(2, (3, 3))}
    assert [model.get_layer(f"pool{stage}").output.shape[1:] for stage in (1, 2)] == [
        (16, 16, model.get_layer("pool1").output.shape[-1]),
        (8, 8, model.get_layer("pool2").output.shape[-1]),
    ]
    assert model.get_layer("pool3").output.shape == (None, WIDTHS[name][-1])
    assert model.get_layer("fc4").units == 500


@pytest.mark.parametrize("name", TABLE_5)
def test_figures_of_table_5(name):
    depth, thousands, millions = TABLE_5[name]
    model = zoo.create(name)
    assert len(convolutions(model)) + 2 == depth
    printed = round(kernel_weights(model) / 1e3) if thousands < 1000 else round(kernel_weights(model) / 1e5) * 100
    assert printed == thousands
    assert round(zoo.info(name).gmacs * 1e3) == millions


def test_table_5_prints_fitnet3_with_a_wider_first_stage():
    assert kernel_weights(zoo.create("fitnet3")) == 1_503_304
    wider = {"widths": [[64] * 4, [80] * 4, [128] * 3]}
    assert round(kernel_weights(zoo.create("fitnet3", overrides=wider)), -5) == 1_600_000
    assert round(zoo.measure("fitnet3", overrides=wider).multiply_adds / 1e6) == 392


def test_starting_weights():
    for layer in convolutions(zoo.create("fitnet1")):
        assert 0.0045 < np.abs(np.asarray(layer.pieces.weights[0])).max() <= 0.005
    other = convolutions(zoo.create("fitnet1", overrides={"kernel_range": 0.0}))[1]
    assert np.asarray(other.pieces.weights[0]).std() == pytest.approx(np.sqrt(2 / (9 * 16)), rel=0.1)


def test_sizes():
    model = zoo.create("fitnet1", input_shape=(None, None, 3))
    assert model.predict(np.zeros((1, 9, 21, 3), "float32"), verbose=0).shape == (1, 10)
    with pytest.raises(zoo.CanonError, match=r"fitnet1.*at least 4 x 4"):
        zoo.create("fitnet1", input_shape=(3, 3, 3))
