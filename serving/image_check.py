"""Which of the encoded images of a request cannot be decoded, asked in a way that leaves nothing behind.

Of every execution that fails, TensorFlow 2.21 keeps about 1 KB for as long as the process lives: the rendezvous of the step, which was
aborted and stays referenced. Measured: 700 bytes for a single op, 1,040 for a signature that maps over images, none for a session, which
makes its rendezvous on the stack. A server that is sent damaged images all day would grow by gigabytes.
"""

from collections.abc import Callable, Iterable
from functools import cache

import tensorflow as tf

from ..zoo.decoding import compiled_decoder

_WARY_FOR = 1000


class ImageCheck:
    """Decodes images before a signature does, as long as damaged ones have come lately; else it costs nothing.

    The ops are those of our `bytes` signatures, so both refuse the same images. Threads may share it: a count that is off by a few
    changes when it stops to look, and no verdict.
    """

    def __init__(self):
        self._left = 0

    def bad_before_use(self, images: Iterable[bytes]) -> int | None:
        """Return the position of the first image that cannot be decoded; None without a look where none came lately."""
        if self._left <= 0:
            return None
        images = list(images)
        self._left -= len(images)
        return self.first_bad(images)

    def first_bad(self, images: Iterable[bytes]) -> int | None:
        """Return the position of the first image that cannot be decoded, None where all can; after a bad one the next are looked at."""
        bad = next((index for index, image in enumerate(images) if not _decodes(image)), None)
        if bad is not None:
            self._left = _WARY_FOR
        return bad


def _decodes(image: bytes) -> bool:
    try:
        _decoding()(image)
    except (tf.errors.InvalidArgumentError, UnicodeDecodeError):  # a session's message may hold bytes of the image, and is no text then
        return False
    return True


@cache
def _decoding() -> Callable[[bytes], None]:
    """Return a function that decodes one image in a session."""
    decoder, graph = compiled_decoder().graph, tf.Graph()
    with graph.as_default():
        encoded = tf.compat.v1.placeholder(tf.string, ())
        replaced = {decoder.inputs[0].op.name: encoded}
        (image,) = tf.graph_util.import_graph_def(decoder.as_graph_def(), replaced, [decoder.outputs[0].name])
    return tf.compat.v1.Session(graph=graph).make_callable(image.op, [encoded])
