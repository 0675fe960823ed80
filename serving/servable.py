"""A bundle in memory, ready to answer."""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.tokenizers import Tokenizer
from ..zoo.tokenizers_files import load_tokenizer
from .bundle import IMAGES_BYTES, MANIFEST, TOKENIZER, Bundle, Manifest, Signature, read_bundle
from .errors import RequestError, not_found
from .image_check import ImageCheck
from .inspection import check_safe, find_saved_model, foreign_bundle
from .tensors import from_array

DEFAULT_SIGNATURE = "serving_default"


def load(path: str | Path, *, allow_unsafe_ops: bool = False) -> "Servable":
    """Load a bundle, or a SavedModel that came from elsewhere.

    Args:
        path: NAME/VERSION, or NAME/ for its newest version; or the folder of a SavedModel without a manifest.
        allow_unsafe_ops: True to load also a SavedModel whose ops reach files, the network or Python.

    Returns:
        the servable.

    Raises:
        CanonError: when there is none, it is damaged, or it has such ops.

    Example:
        >>> from keras_canon import serving
        >>> servable = serving.load(folder / "lenet5")
        >>> servable.predict(np.zeros((1, 32, 32, 1)))["probabilities"].shape
        (1, 10)
    """
    folder = find_saved_model(Path(path))
    bundle = read_bundle(folder) if (folder / MANIFEST).is_file() else foreign_bundle(folder)
    return Servable(bundle, allow_unsafe_ops=allow_unsafe_ops)


class Servable:
    """A loaded bundle: TensorFlow alone computes, so that the answer is the one any SavedModel runtime gives.

    Args:
        bundle: what `read_bundle` returned.
        allow_unsafe_ops: True to take also a SavedModel whose ops reach files, the network or Python.

    Raises:
        CanonError: for a SavedModel with such ops, or one that TensorFlow cannot load.
    """

    def __init__(self, bundle: Bundle, *, allow_unsafe_ops: bool = False):
        self._bundle = bundle
        if not allow_unsafe_ops:
            check_safe(bundle.path)
        try:
            self._loaded = tf.saved_model.load(str(bundle.path))
        except (OSError, ValueError, tf.errors.OpError) as error:
            reason = str(error).strip().splitlines()[0]
            raise CanonError(f"TensorFlow cannot load the SavedModel in {str(bundle.path)!r}: {reason}") from error
        self._labels = bundle.labels
        self._ours, self._images = (bundle.path / MANIFEST).is_file(), ImageCheck()

    @property
    def bundle(self) -> Bundle:
        """Where it came from."""
        return self._bundle

    @property
    def manifest(self) -> Manifest:
        """What the bundle says about itself."""
        return self._bundle.manifest

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """Name -> inputs and outputs, with their types and shapes."""
        return self.manifest.signatures

    @property
    def labels(self) -> tuple[str, ...]:
        """Class names in the order of the logits; empty when none were exported."""
        return self._labels

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of a bundle that writes text; it is read once."""
        return load_tokenizer(self.bundle.path / TOKENIZER)

    def predict(self, inputs: Any, signature: str | None = None) -> dict[str, np.ndarray]:
        """Compute the outputs of a batch.

        Args:
            inputs: an array, for a model with one input; a mapping of names to arrays; or one encoded image (bytes) or a list of them.
            signature: name of a signature; None for `bytes` when bytes are given, else `serving_default`.

        Returns:
            name of the output -> array, the batch on axis 0.

        Raises:
            RequestError: for an unknown signature or input, a wrong shape or type, or bytes that are no image.
        """
        if isinstance(inputs, bytes):
            inputs = [inputs]
        if signature is None:
            encoded = isinstance(inputs, list | tuple) and bool(inputs) and isinstance(inputs[0], bytes)
            signature = "bytes" if encoded else DEFAULT_SIGNATURE
        specs = self.signature(signature).inputs
        if not isinstance(inputs, Mapping):
            if len(specs) > 1:
                raise RequestError(f"Signature {signature!r} has the inputs {', '.join(specs)}: give a mapping of names to arrays.")
            inputs = {next(iter(specs)): inputs}
        check_names(inputs, specs, signature)
        return self.run(signature, {name: from_array(inputs[name], spec, name) for name, spec in specs.items()})

    def signature(self, name: str) -> Signature:
        """Return a signature by name, or raise the error that names those there are."""
        if name not in self.signatures:
            raise not_found("signature", name, self.signatures)
        return self.signatures[name]

    def run(self, signature: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Compute a signature on arrays that have its types and shapes already; safe from many threads at once."""
        # what is foreign may decode in another way
        if IMAGES_BYTES in arrays and self._ours:
            bad = self._images.bad_before_use(arrays[IMAGES_BYTES])
            if bad is not None:
                raise _no_image(arrays[IMAGES_BYTES], bad)
        try:
            outputs = self._compute(signature, arrays)
        except tf.errors.InvalidArgumentError as error:
            raise self._refused(signature, arrays, error.message) from error
        return {name: np.asarray(outputs[name]) for name in sorted(outputs)}

    def _compute(self, signature: str, arrays: Mapping[str, np.ndarray]) -> dict[str, tf.Tensor]:
        specs = self.signatures[signature].inputs
        tensors = {name: tf.constant(array, dtype=specs[name].dtype) for name, array in arrays.items()}
        return self._loaded.signatures[signature](**tensors)

    def _refused(self, signature: str, arrays: Mapping[str, np.ndarray], message: str) -> RequestError:
        """Explain why TensorFlow could not compute; its own words are about nodes of the graph."""
        if IMAGES_BYTES in arrays and len(arrays[IMAGES_BYTES]):
            bad = self._images.first_bad(arrays[IMAGES_BYTES])
            if bad is not None:
                return _no_image(arrays[IMAGES_BYTES], bad)
        asserted = re.search(r"assertion failed: \[(.*?)\]", message)
        if asserted:  # by a signature of ours, in words for its user
            return RequestError(asserted[1])
        shapes = ", ".join(f"{name!r} of shape {array.shape}" for name, array in arrays.items())
        return RequestError(f"Signature {signature!r} cannot compute with {shapes}.")


def _no_image(images: np.ndarray, index: int) -> RequestError:
    size = len(images[index])
    return RequestError(
        f"Input {IMAGES_BYTES!r} must hold JPEG, PNG, GIF, BMP or WebP images, got {size} bytes that are none as item {index}."
    )


def check_names(given: Mapping[str, Any], specs: Mapping[str, Any], signature: str) -> None:
    """Raise when the names that were given are not exactly those of the signature's inputs."""
    if set(given) != set(specs):
        expected, got = (", ".join(sorted(repr(str(name)[:30]) for name in list(names)[:10])) or "none" for names in (specs, given))
        raise RequestError(f"Signature {signature!r} needs exactly the inputs {expected}, got {got}.")
