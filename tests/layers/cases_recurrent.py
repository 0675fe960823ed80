"""Contract cases of the recurrent layers and cells."""

import numpy as np
from checks.layers import LayerCase

from keras_canon.layers import (
    GRU,
    LSTM,
    Bidirectional,
    EchoStateCell,
    ElmanCell,
    GRUCell,
    JordanCell,
    LeakyIntegratorCell,
    LSTMCell,
    PyramidalRNN,
    StackedRNN,
)

RANDOM = np.random.RandomState(4)
STEP = RANDOM.standard_normal((3, 4)).astype("float32")
SEQUENCE = RANDOM.standard_normal((3, 7, 4)).astype("float32")


def state(units):
    return RANDOM.standard_normal((3, units)).astype("float32")


# Inputs 4, units 5: a gate has 4 * 5 weights from the inputs, 5 * 5 from the state and 5 biases.
GATE = 4 * 5 + 5 * 5 + 5

CASES = [
    LayerCase(ElmanCell, {"units": 5}, (STEP, [state(5)]), GATE),
    LayerCase(ElmanCell, {"units": 5, "activation": "relu", "use_bias": False}, (STEP, [state(5)]), GATE - 5, id="relu"),
    LayerCase(JordanCell, {"units": 5, "output_units": 3}, (STEP, [state(3)]), 4 * 5 + 3 * 5 + 5 + 5 * 3 + 3),
    LayerCase(
        JordanCell,
        {"units": 5, "output_units": 3, "decay": 0.5, "use_bias": False},
        (STEP, [state(3)]),
        4 * 5 + 3 * 5 + 5 * 3,
        id="decay",
    ),
    LayerCase(LeakyIntegratorCell, {"units": 5, "leak": 0.3}, (STEP, [state(5)]), GATE),
    LayerCase(LSTMCell, {"units": 5}, (STEP, [state(5), state(5)]), 4 * GATE),
    LayerCase(
        LSTMCell, {"units": 5, "peepholes": True, "unit_forget_bias": False}, (STEP, [state(5), state(5)]), 4 * GATE + 3 * 5, id="peepholes"
    ),
    LayerCase(GRUCell, {"units": 5}, (STEP, [state(5)]), 3 * (GATE + 5)),
    LayerCase(GRUCell, {"units": 5, "reset_after": False}, (STEP, [state(5)]), 3 * GATE, id="reset_before"),
    LayerCase(EchoStateCell, {"units": 20, "seed": 3, "bias_scale": 0.1, "leak": 0.8}, (STEP, [state(20)]), 0),
    LayerCase(LSTM, {"units": 5}, (SEQUENCE,), 4 * GATE, mask=True),
    LayerCase(LSTM, {"units": 5, "return_sequences": True, "dropout": 0.2, "seed": 1}, (SEQUENCE,), 4 * GATE, id="sequences", mask=True),
    LayerCase(
        LSTM,
        {"units": 5, "return_sequences": True, "return_state": True, "use_bias": False, "zero_output_for_mask": True},
        (SEQUENCE, [state(5), state(5)]),
        4 * (GATE - 5),
        id="states",
        mask=True,
    ),
    LayerCase(LSTM, {"units": 5, "return_sequences": True}, (SEQUENCE,), 4 * GATE, id="training", mask=True, call={"training": True}),
    LayerCase(LSTM, {"units": 5, "go_backwards": True}, (SEQUENCE,), 4 * GATE, id="backwards", mask=True),
    LayerCase(
        LSTM,
        {"units": 5, "stateful": True},
        (SEQUENCE,),
        4 * GATE,
        id="stateful",
        without={
            "shape": "a stateful layer refuses the unknown batch size of the symbolic input; test_lstm.py covers it",
            "compiled": "each call continues from the last, so two calls differ by design",
            "xla": "each call continues from the last, so two calls differ by design",
            "half": "each call continues from the last, so two calls differ by design",
            "reload": "the saved model would need a fixed batch size",
        },
    ),
    LayerCase(GRU, {"units": 5}, (SEQUENCE,), 3 * (GATE + 5), mask=True),
    LayerCase(
        GRU, {"units": 5, "return_sequences": True, "return_state": True}, (SEQUENCE, state(5)), 3 * (GATE + 5), id="states", mask=True
    ),
    LayerCase(GRU, {"units": 5, "return_sequences": True}, (SEQUENCE,), 3 * (GATE + 5), id="training", mask=True, call={"training": True}),
    LayerCase(GRU, {"units": 5, "reset_after": False, "return_sequences": True}, (SEQUENCE,), 3 * GATE, id="reset_before", mask=True),
    LayerCase(Bidirectional, {"layer": LSTM(5, return_sequences=True)}, (SEQUENCE,), 2 * 4 * GATE, mask=True),
    LayerCase(Bidirectional, {"layer": GRU(5), "merge_mode": "sum"}, (SEQUENCE,), 2 * 3 * (GATE + 5), id="last", mask=True),
    LayerCase(
        Bidirectional,
        {
            "layer": LSTM(5, return_sequences=True, return_state=True),
            "merge_mode": None,
            "backward_layer": GRU(5, go_backwards=True, return_sequences=True, return_state=True),
        },
        (SEQUENCE,),
        4 * GATE + 3 * (GATE + 5),
        id="apart",
        mask=True,
    ),
    LayerCase(
        StackedRNN,
        {"layers": [LSTM(5, return_sequences=True), GRU(3)], "dropout": 0.3, "seed": 2},
        (SEQUENCE,),
        4 * GATE + 3 * (5 * 3 + 3 * 3 + 2 * 3),
        mask=True,
    ),
    LayerCase(
        StackedRNN,
        {"layers": [LSTM(5, return_sequences=True, return_state=True)] * 2},
        (SEQUENCE, [state(5) for _ in range(4)]),
        4 * GATE + 4 * (5 * 5 + 5 * 5 + 5),
        id="states",
        mask=True,
    ),
    LayerCase(
        PyramidalRNN,
        {"layers": [Bidirectional(LSTM(5, return_sequences=True)), GRU(3, return_sequences=True)]},
        (SEQUENCE,),
        2 * 4 * (8 * 5 + 5 * 5 + 5) + 3 * (20 * 3 + 3 * 3 + 2 * 3),
        mask=True,
    ),
    LayerCase(PyramidalRNN, {"layers": [GRU(3)], "factor": 3}, (SEQUENCE,), 3 * (12 * 3 + 3 * 3 + 2 * 3), id="last", mask=True),
]
