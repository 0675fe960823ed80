import pytest

from keras_canon.layers import rounded_width


def test_b13_widths_of_scaled_networks():
    assert rounded_width(32 * 1.4) == 48
    assert [rounded_width(width * 1.4) for width in (16, 24, 64, 96, 160, 320)] == [24, 32, 88, 136, 224, 448]
    assert [rounded_width(width) for width in (16, 24, 32, 64, 96, 160, 320, 1280)] == [16, 24, 32, 64, 96, 160, 320, 1280]


def test_mobilenet_v3_small_squeeze_widths():
    assert [rounded_width(expanded / 4) for expanded in (16, 96, 240, 120, 144, 288, 576)] == [8, 24, 64, 32, 40, 72, 144]


def test_result_is_never_under_90_percent_and_halves_round_up():
    assert [rounded_width(width) for width in (0, 1, 12, 18, 19, 20, 60)] == [8, 8, 16, 24, 24, 24, 64]
    assert all(rounded_width(width / 3) >= 0.9 * width / 3 for width in range(1, 3000))
    assert rounded_width(33, divisor=1) == 33
    assert rounded_width(5, minimum=16) == 16


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"width must be at least 0.0, got -1"):
        rounded_width(-1)
    with pytest.raises(ValueError, match="divisor must be an integer of at least 1, got 0"):
        rounded_width(8, 0)
    with pytest.raises(ValueError, match="minimum must be an integer of at least 1, got 0"):
        rounded_width(8, minimum=0)
