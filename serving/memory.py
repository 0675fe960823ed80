"""Giving memory back to the system."""

import ctypes
import gc
import sys

_M_ARENA_MAX = -8  # of <malloc.h>


def settle_process() -> None:
    """Spare what has been imported so far from every later search for reference cycles: TensorFlow brings half a million objects.

    It is for a process that does nothing but serve, and has to come before models are loaded, for what is spared stays for ever.
    """
    gc.collect()
    gc.freeze()


def share_arenas(most: int = 2) -> None:
    """Let the threads of this process allocate from few pools, so that what one frees another can use.

    It is for a process that does nothing but serve, and has to come before the threads are started.
    """
    if sys.platform == "linux":
        setting = getattr(ctypes.CDLL(None), "mallopt", None)
        if setting is not None:
            setting(_M_ARENA_MAX, most)
