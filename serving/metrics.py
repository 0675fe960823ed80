"""Prometheus metrics of a server, in a registry of its own."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024)


class Metrics:
    """Counts what the server does. Label values come from the models that are served, never from a client, so their number is bounded."""

    def __init__(self):
        self._registry = CollectorRegistry()
        self._requests = Counter("canon_requests", "Requests that were answered.", ("protocol", "model", "status"), registry=self._registry)
        self._seconds = Histogram(
            "canon_request_seconds", "From the first byte to the answer.", ("protocol", "model"), buckets=_SECONDS, registry=self._registry
        )
        self._batches = Histogram(
            "canon_batch_rows", "Rows that were computed together.", ("model", "signature"), buckets=_ROWS, registry=self._registry
        )
        self._pending = Gauge("canon_requests_pending", "Requests under way.", registry=self._registry)
        self._versions = Gauge(
            "canon_model_version_served", "1 for a version that is served.", ("model", "version"), registry=self._registry
        )
        self._failures = Counter("canon_model_load_failures", "Versions that could not be loaded.", ("model",), registry=self._registry)

    def answered(self, protocol: str, model: str, status: int | str, seconds: float) -> None:
        """Count a request; `model` is "" where no served model was asked."""
        self._requests.labels(protocol, model, str(status)).inc()
        self._seconds.labels(protocol, model).observe(seconds)

    def batch(self, model: str, signature: str, rows: int) -> None:
        """Count a batch."""
        self._batches.labels(model, signature).observe(rows)

    def loaded(self, model: str, version: int) -> None:
        """Note that a version is served from now on."""
        self._versions.labels(model, str(version)).set(1)

    def unloaded(self, model: str, version: int) -> None:
        """Note that a version is no longer served."""
        self._versions.remove(model, str(version))

    def failed(self, model: str) -> None:
        """Count a version that could not be loaded."""
        self._failures.labels(model).inc()

    def page(self, pending: int) -> bytes:
        """Return the metrics in Prometheus' text form."""
        self._pending.set(pending)
        return generate_latest(self._registry)
