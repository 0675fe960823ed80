"""The number format of a run: Keras's mixed-precision policies, and which of them suits a machine."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import keras
import tensorflow as tf

# by what the kernel calls them: x86 and ARM
_BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
# a smaller gain may be chance, and float32 is the safe choice
_WORTHWHILE = 0.9


def has_bfloat16_instructions(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether the processor computes with bfloat16 itself; False where that cannot be found out."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(_BFLOAT16_FLAGS & set(line.split()) for line in lines if line.lower().startswith(("flags", "features")))


def choose_precision(
    name: str, seconds: Callable[[str], float], *, devices: Callable[[str], list] = tf.config.list_physical_devices
) -> str:
    """Return the policy of a run.

    Args:
        name: a policy, which is returned as it is, or "auto": mixed_bfloat16 on TPUs, mixed_float16 on graphics cards, mixed_bfloat16
            on processors with instructions for it where it is at least a tenth faster, else float32.
        seconds: measures an update under a policy; called on processors with such instructions only.
        devices: lists the devices of a kind.
    """
    if name != "auto":
        return name
    if devices("TPU"):
        return "mixed_bfloat16"
    if devices("GPU"):
        return "mixed_float16"
    if has_bfloat16_instructions() and seconds("mixed_bfloat16") < _WORTHWHILE * seconds("float32"):
        return "mixed_bfloat16"
    return "float32"


@contextmanager
def precision_policy(name: str) -> Iterator[None]:
    """Let models that are made inside have a policy."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def update_seconds(update: Callable[[], object], times: int = 3) -> float:
    """Return the shortest time of a few updates, after one that is not counted."""
    update()
    found = []
    for _ in range(times):
        started = time.perf_counter()
        update()
        found.append(time.perf_counter() - started)
    return min(found)
