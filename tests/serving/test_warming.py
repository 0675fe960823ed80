import numpy as np
import pytest

from keras_canon.serving import Signature, TensorSpec
from keras_canon.serving.errors import RequestError
from keras_canon.serving.warming import TINY_PNG, made_up_inputs, warm_up
from keras_canon.zoo import CanonError


class Recorder:
    """Stands for a servable; fails as it is told."""

    def __init__(self, error=None, **inputs):
        self.signatures = {"serving_default": Signature(inputs=inputs, outputs={})}
        self.error, self.asked = error, []

    def run(self, name, arrays):
        self.asked.append((name, {key: array.shape for key, array in arrays.items()}))
        if self.error is not None:
            raise self.error


def test_inputs_have_the_types_and_shapes_of_the_signature():
    inputs = {
        "x": TensorSpec("float32", (None, None, 3), "x:0"),
        "n": TensorSpec("int32", (None,), "n:0"),
        "images_bytes": TensorSpec("string", (None,), "b:0"),
        "texts": TensorSpec("string", (None,), "t:0"),
    }
    arrays, certain = made_up_inputs(Signature(inputs=inputs, outputs={}), 2)
    assert (arrays["x"].shape, arrays["x"].dtype, arrays["n"].dtype) == ((2, 32, 3), np.float32, np.int32)
    assert arrays["images_bytes"].tolist() == [TINY_PNG] * 2
    assert arrays["texts"].tolist() == [b"a"] * 2
    assert not certain


def test_a_model_that_cannot_compute_its_own_shape_is_refused_and_a_guess_is_not_held_against_it():
    fixed, guessed = TensorSpec("float32", (None, 3), "x:0"), TensorSpec("float32", (None, None), "x:0")
    recorder = Recorder(x=fixed)
    warm_up(recorder)
    assert recorder.asked == [("serving_default", {"x": (1, 3)})]
    with pytest.raises(CanonError, match="cannot compute"):
        warm_up(Recorder(RequestError("Signature 'serving_default' cannot compute."), x=fixed))
    warm_up(Recorder(RequestError("no"), x=guessed))


def test_a_served_model_was_warmed_up(models, monkeypatch):
    from keras_canon import serving
    from keras_canon.serving import server

    warmed = []
    monkeypatch.setattr(server, "warm_up", lambda servable: warmed.append(servable.bundle.name))
    with serving.Server(models / "log", port=0, quiet=True):
        assert warmed == ["log"]
