"""Counting sizes costs no memory, neither at once nor later."""

from pathlib import Path

import keras
import pytest

from keras_canon import zoo


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the process's memory from Linux's /proc")
def test_measuring_allocates_no_weights():
    zoo.measure("lenet5_modern")  # what TensorFlow allocates once
    before = resident()
    found = zoo.measure("vgg16")
    assert found.trainable_parameters == 138_357_544
    # a symbolic call gives values to all variables that Keras knows to be without
    keras.layers.Dense(1)(keras.Input((1,)))
    assert keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]).built
    assert resident() - before < 138_357_544 * 4 / 2


def test_errors_pass_through():
    with pytest.raises(zoo.CanonError, match="no model 'vgg15'"):
        zoo.measure("vgg15")


def test_a_policy_of_the_caller_does_not_matter():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        assert zoo.measure("lenet5_modern") == zoo.Complexity(61_706, 416_520)
    finally:
        keras.config.set_dtype_policy("float32")
