"""The cases of the sequence sweep: classifiers and regressions."""

from checks.sequence_models import SequenceCase

CASES = [
    SequenceCase("elman", overrides={"units": 5}),
    SequenceCase("jordan"),
    SequenceCase("tdnn", length=12),
    SequenceCase("leaky_rnn", overrides={"units": 5}),
    SequenceCase("echo_state", overrides={"units": 20, "density": 0.2}),
    SequenceCase("identity_rnn", overrides={"units": 5}),
    SequenceCase("identity_rnn_mnist", overrides={"units": 5, "padding": "zeros"}, input_shape=(None, 1), num_classes=3),
    SequenceCase("lstm_classifier", overrides={"units": [5], "output": "every_step"}),
    SequenceCase("lstm_classifier_bidirectional", overrides={"units": [5, 4]}),
    SequenceCase("lstm_classifier_stacked", overrides={"units": [5, 4, 3], "vocabulary_size": 11, "embedding_dim": 4}, input_shape=(None,)),
    SequenceCase("gru_classifier", overrides={"units": [5], "vocabulary_size": 11, "embedding_dim": 4}, input_shape=(None,)),
    SequenceCase("gru_classifier_bidirectional", overrides={"units": [5, 4], "output": "every_step"}),
    SequenceCase("gru_classifier_stacked", overrides={"units": [5, 4, 3]}),
]
