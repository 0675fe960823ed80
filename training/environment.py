"""What a run ran on, for its report."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port


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
        "oneDNN": "on" if has_onednn() else "off",
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "accelerators": ", ".join(gpus) or "none",
    }


def has_onednn() -> bool:
    """Return whether TensorFlow computes with oneDNN, which it leaves off by itself on x86 processors without AVX-512.

    It rounds in another way than TensorFlow's own kernels do.
    """
    return bool(_pywrap_util_port.IsMklEnabled())


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
