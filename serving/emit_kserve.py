"""KServe: one InferenceService a model, which scales by itself."""

from .emit_facts import Facts, resource_name


def kserve_files(facts: Facts) -> dict[str, str]:
    """Return one file with an InferenceService for each model."""
    head = (
        "# KServe over bundles on a volume. Run: kubectl apply -f inference-services.yaml\n"
        "# storageUri may as well be s3://BUCKET/NAME or gs://BUCKET/NAME; it is the folder that holds the version folders.\n"
    )
    return {"inference-services.yaml": head + "---\n".join(_service(name, facts) for name in facts.models)}


def _service(name: str, facts: Facts) -> str:
    batcher = "" if facts.open_axes else _batcher(facts)
    return f"""\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: {resource_name(name)}
spec:
  predictor:
    minReplicas: 1
    maxReplicas: 10
    # requests under way in a replica, above which another is started
    scaleMetric: concurrency
    scaleTarget: 16
    timeout: 60
{batcher}    model:
      modelFormat:
        name: tensorflow
        version: "2"
      runtimeVersion: "{facts.tensorflow}"
      storageUri: pvc://canon-models/{name}
      resources:
        requests: {{cpu: "1", memory: 1Gi}}
        limits: {{cpu: "2", memory: 4Gi}}
"""


def _batcher(facts: Facts) -> str:
    return f"""\
    batcher:
      maxBatchSize: {facts.max_batch}
      maxLatency: {max(1, round(facts.max_wait_ms))}
      timeout: 60
"""
