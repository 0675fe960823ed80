"""The cases of the sequence sweep: text lines and speech."""

from checks.sequence_models import SequenceCase

CASES = [
    SequenceCase("crnn_ctc", overrides={"filters": [3, 4, 4, 5, 5, 6, 6], "units": [4, 3]}, num_classes=5, length=19, front=True),
    SequenceCase(
        "deepspeech2",
        overrides={"filters": [3, 4], "units": [5, 4], "dense_units": 6},
        input_shape=(None, 23),
        num_classes=5,
        length=11,
        front=True,
    ),
]
