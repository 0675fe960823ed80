"""Small models and encoded images for the serving tests."""

import io

import keras
import numpy as np
from PIL import Image

LABELS = tuple("0123456789")


def encode(array: np.ndarray, kind: str = "PNG") -> bytes:
    """Encode a uint8 image."""
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, kind)
    return buffer.getvalue()


def small_classifier(dtype: str = "float32") -> keras.Model:
    keras.utils.set_random_seed(1)
    image = keras.Input((8, 8, 3))
    x = keras.layers.Conv2D(4, 3, data_format="channels_last", dtype=dtype)(image)
    x = keras.layers.BatchNormalization(dtype=dtype)(x)
    x = keras.layers.Dropout(0.5, dtype=dtype)(keras.layers.Flatten(dtype=dtype)(x))
    return keras.Model(image, keras.layers.Dense(3, name="logits", dtype=dtype)(x), name="small")


def pair_model() -> keras.Model:
    """A dict-in, dict-out model with inputs of two types; keys in an order that is not the sorted one."""
    keras.utils.set_random_seed(2)
    signal, count = keras.Input((2,), name="signal"), keras.Input((), dtype="int32", name="count")
    scaled = keras.layers.Dense(2, name="dense")(signal)
    outputs = {"total": keras.ops.sum(scaled, axis=-1), "next": count + 1}
    return keras.Model({"signal": signal, "count": count}, outputs, name="pair")
