"""TF Serving's own configuration files, and Docker Compose around them."""

import json

from .emit_facts import Facts

_MAX_ROWS = 1024  # as `canon serve` allows


def models_config(facts: Facts) -> str:
    """Return TF Serving's list of models (`ModelServerConfig` as text)."""
    entries = "".join(
        f'  config {{\n    name: "{name}"\n    base_path: "/models/{name}"\n    model_platform: "tensorflow"\n  }}\n'
        for name in facts.models
    )
    return f"model_config_list {{\n{entries}}}\n"


def batching_config(facts: Facts) -> str:
    """Return TF Serving's `BatchingParameters` as text."""
    return (
        "# rows of one request at most; a request of more than are computed at once is split\n"
        f"max_batch_size {{ value: {max(_MAX_ROWS, facts.max_batch)} }}\n"
        "enable_large_batch_splitting { value: true }\n"
        f"max_execution_batch_size {{ value: {facts.max_batch} }}\n"
        f"batch_timeout_micros {{ value: {round(1000 * facts.max_wait_ms)} }}\n"
        "# beyond so many waiting batches a request is refused, not queued\n"
        "max_enqueued_batches { value: 64 }\n"
        "# 1 to 2 times the number of CPU cores of a replica\n"
        "num_batch_threads { value: 4 }\n"
    )


def batching_arguments(facts: Facts) -> tuple[str, ...]:
    """Return the options of TF Serving that switch batching on; none where requests of different lengths would be refused."""
    return () if facts.open_axes else ("--enable_batching=true", "--batching_parameters_file=/config/batching.config")


def compose_files(facts: Facts) -> dict[str, str]:
    """Return compose.yaml and TF Serving's configuration."""
    arguments = "".join(f"      - {argument}\n" for argument in batching_arguments(facts))
    compose = f"""\
# TF Serving over the bundles in {facts.directory}.
# Run: docker compose up -d; then: curl http://127.0.0.1:8501/v1/models/{facts.models[0]}
# More machines: docker compose --file compose.yaml up --scale serving=N behind a load balancer (give each its own port).
services:
  serving:
    image: {json.dumps(facts.image)}
    command:
      - --model_config_file=/config/models.config
      # versions that appear in the folder are taken up without a restart
      - --file_system_poll_wait_seconds=5
{arguments}    ports:
      # this machine only; "8501:8501" opens it to the network
      - "127.0.0.1:8500:8500"
      - "127.0.0.1:8501:8501"
    volumes:
      - type: bind
        source: {json.dumps(str(facts.directory))}
        target: /models
        read_only: true
      - type: bind
        source: ./config
        target: /config
        read_only: true
    read_only: true
    tmpfs:
      - /tmp
    cap_drop:
      - ALL
    security_opt:
      - no-new-privileges:true
    restart: unless-stopped
    stop_grace_period: 30s
"""
    files = {"compose.yaml": compose, "config/models.config": models_config(facts)}
    return files if facts.open_axes else {**files, "config/batching.config": batching_config(facts)}
