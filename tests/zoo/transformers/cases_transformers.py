"""The cases of the sequence sweep: every Transformer."""

from checks.sequence_models import SequenceCase

from keras_canon import zoo

SIZES = {"vocabulary_size": 11, "model_dim": 8, "num_heads": 2, "feedforward_dim": 12}
ONE_STACK = {**SIZES, "depth": 2, "max_length": 12}
COUNTED = {"left": "positions are counted from the first step, padding included"}
NO_PADDING = {"left": "no id is padding: causality hides what stands to the right, and nothing hides what stands to the left"}
# softmax does not change when all scores of a query do, so the gradient of this bias is rounding noise or 0
STILL = ("key/bias",)


def _transformer(name: str) -> SequenceCase:
    config = zoo.info(name).config
    overrides = {**SIZES, "depth": [1, 1]}
    lengths = {"source_ids": 6, "target_ids": 5}
    if config.get("vocabulary_size") == 0:
        del overrides["vocabulary_size"]
        lengths = {"source": 6, "target": 5}
    if isinstance(config.get("positions"), int):
        overrides["positions"] = 12
    without = {} if config.get("positions") in ("rotary", "none") else COUNTED
    return SequenceCase(name, overrides=overrides, lengths=lengths, without=without, still=STILL)


CASES = [
    *[_transformer(name) for name in zoo.list_models(family="transformer")],
    *[SequenceCase(name, overrides=ONE_STACK, without=NO_PADDING, still=STILL) for name in zoo.list_models(family="gpt1")],
    *[SequenceCase(name, overrides=ONE_STACK, without=NO_PADDING, still=STILL) for name in zoo.list_models(family="gpt2")],
    # as many segments as there are ids, because the sweep draws all integers alike
    *[
        SequenceCase(name, overrides={**ONE_STACK, "num_segments": 11}, without=COUNTED, still=STILL)
        for name in zoo.list_models(family="bert")
    ],
]
