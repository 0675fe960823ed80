"""Several documents in one row of a language model, none of which sees another: for training on short texts without padding."""

import keras

from ..errors import CanonError
from ..model import Model


def packed_model(model: Model) -> keras.Model:
    """Return a form of a language model that reads several documents in a row; the layers, and so the weights, are the model's own.

    A step attends to earlier steps of its own document only, and positions start anew with each document: every document gives what
    it would give alone. `training.data.pack` makes such rows. Train this form, and write with the model itself.

    Args:
        model: a `zoo.Model` of `gpt1` or `gpt2`.

    Returns:
        a model with the inputs `token_ids` and `document_ids`, int32 (B, T), the steps of a document side by side with a number of
        its own in its row and 0 where there is none, and the model's outputs.

    Raises:
        CanonError: for another model.

    Reference:
        Raffel et al., 2020, "Exploring the limits of transfer learning with a unified text-to-text Transformer", section 3.1.2 (packing),
        arXiv:1910.10683; Krell et al., 2021, "Efficient sequence packing without cross-contamination", section 3.2, arXiv:2107.02027.

    Example:
        >>> import numpy as np
        >>> from keras_canon import zoo
        >>> packed = zoo.packed_model(zoo.create("gpt2_tiny"))
        >>> packed({"token_ids": np.array([[5, 6, 7]]), "document_ids": np.array([[1, 1, 2]])}).shape
        TensorShape([1, 3, 2048])
    """
    layers = {layer.name: layer for layer in model.layers}
    blocks = [layer for name, layer in layers.items() if name.startswith("decoder_block")]
    if not blocks or not {"tokens", "positions"} <= set(layers):
        raise CanonError(f"Model {model.name!r} reads no packed documents: give one of the families gpt1 and gpt2.")
    token_ids, document_ids = (keras.Input((None,), dtype="int32", name=name) for name in ("token_ids", "document_ids"))
    same = keras.ops.equal(keras.ops.expand_dims(document_ids, 2), keras.ops.expand_dims(document_ids, 1))  # (B, T, T)
    first = keras.ops.argmax(keras.ops.cast(same, "int32"), axis=-1)  # (B, T), where each step's document begins
    steps = keras.ops.cumsum(keras.ops.ones_like(document_ids), axis=1) - 1
    # the rest of a row is no document: counted on, it would leave the table, and NaN reaches even those who attend to none of it
    offset = keras.ops.where(keras.ops.equal(document_ids, 0), 0, steps - keras.ops.cast(first, "int32"))
    x = layers["positions"](layers["tokens"](token_ids), offset=offset)
    x = layers["embedding_dropout"](x)
    for block in blocks:
        x = block(x, attention_mask=same)
    if "decoder_norm" in layers:
        x = layers["decoder_norm"](x)
    logits = layers["logits"](layers["tokens"](x, reverse=True))
    return keras.Model({"token_ids": token_ids, "document_ids": document_ids}, logits, name=f"{model.name}_packed")
