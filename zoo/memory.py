"""Memory of a process: weights in large pages, and what is free given back to the system."""

import ctypes
import gc
import sys
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

_PAGE = 1 << 21  # bytes
_MADV_COLLAPSE = 25  # of Linux 6.1 and later


def use_huge_pages(variables: Iterable[tf.Variable]) -> int:
    """Ask Linux to hold variables in pages of 2 MB, from now until they get other memory; their values stay as they are.

    A CPU streams them faster than pages of 4 KB, and a step of text generation reads every weight once.

    Args:
        variables: in the memory of the CPU; what lies elsewhere is left alone.

    Returns:
        bytes that are in huge pages now; 0 where the system has none to give, as on other systems than Linux.

    Reference: madvise(2), MADV_COLLAPSE.

    Example:
        >>> import tensorflow as tf
        >>> from keras_canon.zoo.memory import use_huge_pages
        >>> use_huge_pages([tf.Variable(1.0)])  # too small for a page
        0
    """
    if sys.platform != "linux":
        return 0
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    moved = 0
    for variable in variables:
        tensor = variable.value()  # of the same memory
        readable = np.dtype(tensor.dtype.as_numpy_dtype).isbuiltin == 1  # bfloat16 gives no address
        if not readable or tensor.dtype.size * tensor.shape.num_elements() < _PAGE or "CPU" not in tensor.device:
            continue
        held = np.asarray(memoryview(tensor))
        first = -(-held.ctypes.data // _PAGE) * _PAGE
        size = (held.ctypes.data + held.nbytes) // _PAGE * _PAGE - first
        if size > 0 and madvise(first, size, _MADV_COLLAPSE) == 0:
            moved += size
    return moved


def trim_memory() -> None:
    """Give freed memory back.

    glibc keeps what each thread has freed for later, so a server whose batches vary in size grows for a long time without need, and
    compiling leaves a hundred megabytes.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl has not
        if trim is not None:
            trim(0)


def free_graphs() -> None:
    """Free what graphs that nobody holds any more have left: they, and loaded SavedModels, are full of reference cycles."""
    gc.collect()
    trim_memory()
