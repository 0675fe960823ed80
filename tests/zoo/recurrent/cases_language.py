"""The cases of the sequence sweep: language models, translation, word vectors."""

from checks.sequence_models import SequenceCase

SMALL_PAIR = {"source_vocabulary_size": 11, "target_vocabulary_size": 13, "embedding_dim": 4}
LENGTHS = {"source_ids": 6, "target_ids": 5}
LUONG = {**SMALL_PAIR, "units": [5, 4]}

CASES = [
    SequenceCase("char_rnn_lstm", overrides={"units": [5, 4], "vocabulary_size": 11, "embedding_dim": 6}),
    SequenceCase("char_rnn_gru", overrides={"units": [5, 4], "vocabulary_size": 11, "embedding_dim": 6}),
    SequenceCase("gated_convnet_14", overrides={"vocabulary_size": 11, "embedding_dim": 6, "blocks": [[6, 3], [5, 1], [4, 4]]}),
    SequenceCase(
        "gated_convnet_14b", overrides={"vocabulary_size": 11, "embedding_dim": 6, "blocks": [[4, 1, 4, 3, 8, 1]], "dropout": 0.1}
    ),
    SequenceCase("word2vec_skipgram", overrides={"vocabulary_size": 11, "embedding_dim": 6}),
    SequenceCase("word2vec_cbow", overrides={"vocabulary_size": 11, "embedding_dim": 6}, input_shape=(None,)),
    SequenceCase("seq2seq", overrides={**SMALL_PAIR, "units": [5, 4]}, lengths=LENGTHS),
    SequenceCase("seq2seq_luong_dot", overrides={**LUONG, "score": "dot"}, lengths=LENGTHS),
    SequenceCase("seq2seq_luong_general", overrides={**LUONG, "score": "general"}, lengths=LENGTHS),
    SequenceCase("seq2seq_luong_concat", overrides={**LUONG, "score": "concat", "attention_units": 3}, lengths=LENGTHS),
    SequenceCase("seq2seq_luong_location", overrides={**LUONG, "score": "location", "max_length": 12}, lengths=LENGTHS),
    SequenceCase("seq2seq_attention", overrides={**SMALL_PAIR, "units": 5, "attention_units": 4, "readout_units": 6}, lengths=LENGTHS),
]
