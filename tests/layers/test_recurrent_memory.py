"""`RecurrentMemory`: one batch size at a time, forgotten on reset."""

import numpy as np
import pytest

from keras_canon.layers.recurrent_memory import RecurrentMemory


def test_keeps_values_until_reset():
    memory = RecurrentMemory("lstm", [3, 3], "float32")
    first = memory.states(2)
    assert [tuple(item.shape) for item in first] == [(2, 3), (2, 3)]
    first[0].assign(np.ones((2, 3)))
    assert memory.states(2) is first
    with pytest.raises(ValueError, match="lstm is stateful and remembers a batch of 2, got a batch of 4"):
        memory.states(4)
    memory.reset()
    assert tuple(memory.states(4)[0].shape) == (4, 3)
    memory.reset()
    assert not np.any(memory.states(2)[0])


def test_unknown_batch():
    with pytest.raises(ValueError, match="lstm is stateful and needs a fixed batch size, got an input whose batch size is None"):
        RecurrentMemory("lstm", [3], "float32").states(None)
