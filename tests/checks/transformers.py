"""Small Transformers of every row, and inputs for them."""

from functools import cache

import numpy as np

from keras_canon import zoo

VOCABULARY = 23
CONTEXT = 12
_SIZES = {"vocabulary_size": VOCABULARY, "model_dim": 8, "num_heads": 2, "feedforward_dim": 16}


@cache
def small(name: str, **overrides) -> zoo.Model:
    """Build a row of the families in `zoo/transformers` at a small size, once, with weights far enough from 0 to tell inputs apart."""
    row = zoo.info(name)
    sizes = {**_SIZES, "depth": 2, "max_length": CONTEXT}
    if row.family == "transformer":
        sizes = {**_SIZES, "depth": [1, 1]}
        if "vocabulary_size" in row.config and not row.config["vocabulary_size"]:
            del sizes["vocabulary_size"]
        if isinstance(row.config.get("positions"), int):
            sizes["positions"] = CONTEXT
    model = zoo.create(name, overrides={**sizes, **overrides})
    for number, weight in enumerate(model.trainable_weights):
        if len(weight.shape) > 1:
            weight.assign(np.random.RandomState(number).standard_normal(weight.shape) * 0.4)
    return model


def inputs_of(model: zoo.Model, steps: int = 6, rows: int = 2, seed: int = 0) -> dict[str, np.ndarray]:
    """Return an array for each input of the model, without padding."""
    random = np.random.RandomState(seed)
    given = {}
    for tensor in model.inputs:
        if tensor.name == "segment_ids":
            given[tensor.name] = random.randint(0, 2, (rows, steps)).astype("int32")
        elif len(tensor.shape) == 2:
            given[tensor.name] = random.randint(1, VOCABULARY, (rows, steps)).astype("int32")
        else:
            given[tensor.name] = random.standard_normal((rows, steps, tensor.shape[-1])).astype("float32")
    return given


def outputs_of(model: zoo.Model, given: dict[str, np.ndarray], **options) -> list[np.ndarray]:
    """Run the model and return its outputs as a list."""
    outputs = model(given if len(given) > 1 else next(iter(given.values())), training=False, **options)
    return [np.asarray(output) for output in (outputs.values() if isinstance(outputs, dict) else [outputs])]
