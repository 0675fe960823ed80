"""Where the decoder of a recurrent translator looks in the source, step by step."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from ..errors import CanonError
from ..model import Model
from ..stepping import encoder_model, step_model


def translates(model: Any) -> bool:
    """Return whether a model is one of the zoo that reads a source and a target."""
    return isinstance(model, Model) and {"source_ids", "target_ids"} <= {tensor.name for tensor in model.inputs}


def alignment(model: Model, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the attention of the decoder.

    Args:
        model: of the families `seq2seq_attention` and `seq2seq_luong`.
        inputs: `source_ids` (B, S) and `target_ids` (B, T).

    Returns:
        weights by "decoder/cross_attention", float32 (B, 1, T, S); each row sums to 1.

    Raises:
        CanonError: for a translator whose decoder looks at nothing but states.
    """
    stepper = step_model(model)
    if "attention" not in stepper.output:
        raise CanonError(f"Model {model.name!r} has no attention that could be shown: its decoder reads the last states of the encoder.")
    state = encoder_model(model)(keras.ops.convert_to_tensor(inputs["source_ids"], "int32"), training=False)
    wanted = {tensor.name for tensor in stepper.inputs} - {"token_ids"}
    token_ids = keras.ops.convert_to_tensor(inputs["target_ids"], "int32")
    outputs = stepper({"token_ids": token_ids, **{name: state[name] for name in wanted}}, training=False)
    return {"decoder/cross_attention": np.asarray(outputs["attention"], "float32")[:, None]}
