"""Weights in memory pages of 2 MB, which a CPU streams faster than pages of 4 KB: a step of text generation reads every weight once."""

import ctypes
import sys
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

_PAGE = 1 << 21  # bytes
_MADV_COLLAPSE = 25  # of Linux 6.1 and later


def use_huge_pages(variables: Iterable[tf.Variable]) -> int:
    """Ask Linux to hold variables in huge pages, from now until they get other memory; their values stay as they are.

    Args:
        variables: in the memory of the CPU; what lies elsewhere is left alone.

    Returns:
        bytes that are in huge pages now; 0 where the system has none to give, as on other systems than Linux.

    Reference: madvise(2), MADV_COLLAPSE.

    Example:
        >>> import tensorflow as tf
        >>> from keras_canon.zoo.huge_pages import use_huge_pages
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
