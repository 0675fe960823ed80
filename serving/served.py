"""A version that is being served: the loaded bundle with a batcher for each signature."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from .batching import Arrays, Batcher, Outputs
from .errors import not_found
from .limits import Limits
from .servable import Servable


class Served:
    """Queues requests for one version.

    Whoever holds it may go on asking after the catalogue has let go of it, so a swap fails no request; with the last holder its
    memory is given back.

    Args:
        servable: the loaded bundle.
        pool: where batches are computed.
        limits: of each request, and of the batches.
        observe: called with the name of the signature and the rows of every batch.
    """

    def __init__(self, servable: Servable, pool: ThreadPoolExecutor, limits: Limits, observe: Callable[[str, int], None]):
        self.servable = servable
        self._limits = limits
        self._batchers = {
            name: Batcher(
                partial(servable.run, name),
                signature,
                pool,
                max_batch=limits.max_batch,
                max_wait_s=limits.max_wait_ms / 1e3,
                observe=partial(observe, name),
            )
            for name, signature in servable.signatures.items()
        }

    def submit(self, signature: str, arrays: Arrays) -> Future[Outputs]:
        """Queue a request whose arrays have the signature's types and shapes.

        Raises:
            RequestError: for an unknown signature, or a request beyond the limits.
        """
        if signature not in self._batchers:
            raise not_found("signature", signature, self._batchers)
        self._limits.check_arrays(arrays)
        return self._batchers[signature].submit(arrays)
