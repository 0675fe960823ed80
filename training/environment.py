"""What a run ran on, for its report."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import tensorflow as tf


def environment() -> dict[str, str]:
    """Return versions and hardware by name."""
    packages = {name: version(name) for name in ("keras-canon", "keras", "tensorflow", "numpy")}
    gpus = [
        tf.config.experimental.get_device_details(device).get("device_name", "GPU") for device in tf.config.list_physical_devices("GPU")
    ]
    return {
        "Python": platform.python_version(),
        **packages,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "accelerators": ", ".join(gpus) or "none",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
