"""Which `tf.distribute` strategy a run uses, and what its processes must agree on before the first update."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from .cluster import cluster_workers

_TPU_NAMES = ("TPU_NAME", "COLAB_TPU_ADDR")

# what TensorFlow raises in a process whose peer is gone
_LOST = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError, tf.errors.DeadlineExceededError)


def make_strategy(name: str = "auto") -> tf.distribute.Strategy:
    """Return the strategy of a run; call it before anything else in the process touches TensorFlow's devices.

    Args:
        name: "auto" for what the machine offers: the cluster in `TF_CONFIG`, a TPU that the environment names, all graphics cards
            of the machine when there are several, else one device. Or "mirrored", "multi_worker" or "tpu".

    Raises:
        CanonError: for a TPU that is not found, a cluster that cannot be formed, or "multi_worker" without a cluster.
    """
    workers = cluster_workers()
    if name == "auto":
        gpus = tf.config.list_physical_devices("GPU")
        if workers:
            name = "multi_worker"
        elif any(os.environ.get(key) for key in _TPU_NAMES):
            name = "tpu"
        else:
            name = "mirrored" if len(gpus) > 1 else "one"
    if name == "multi_worker":
        return _multi_worker(workers)
    if name == "tpu":
        return _tpu()
    if name == "mirrored":
        return _mirrored()
    return tf.distribute.get_strategy()


@cache
def _mirrored() -> tf.distribute.Strategy:
    """Return one strategy for the life of the process.

    A second one over the same devices would number its collective operations like the first, and fail at sums of another shape.
    """
    # without graphics cards: all logical CPUs, of which there is one unless the process made more
    cpus = [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices("CPU")]
    return tf.distribute.MirroredStrategy(None if tf.config.list_physical_devices("GPU") else cpus)


def _multi_worker(workers: int) -> tf.distribute.Strategy:
    if not workers:
        raise CanonError(
            'train.strategy is "multi_worker", but TF_CONFIG names no cluster: set it on every worker, or start local workers with '
            "canon train RECIPE --workers 2."
        )
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        raise CanonError("TensorFlow was in use before the cluster could be formed: train in a process that does nothing else.") from error
    except (*_LOST, tf.errors.InvalidArgumentError, ValueError) as error:
        raise CanonError(f"The cluster in TF_CONFIG cannot be formed: {str(error).splitlines()[0]}") from error


def _tpu() -> tf.distribute.Strategy:
    name = next((value for key in _TPU_NAMES if (value := os.environ.get(key))), None)
    if name is None:
        raise CanonError('train.strategy is "tpu", but no TPU was found: TPU_NAME is not set, so set it to the name of one, or to local.')
    if name == "local" and not tf.config.list_physical_devices("TPU"):
        raise CanonError('train.strategy is "tpu" and TPU_NAME is "local", but this machine has no TPU that TensorFlow can see.')
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, RuntimeError, OSError, tf.errors.OpError) as error:
        raise CanonError(f"The TPU {name!r} that TPU_NAME names was not found: {str(error).splitlines()[0]}") from error
    return tf.distribute.TPUStrategy(resolver)


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Whether this process is the one that writes files and prints."""
    # the public property wants a cluster and is not there without one
    resolver = strategy.cluster_resolver
    return resolver is None or not resolver.cluster_spec().as_dict() or _is_first(resolver)


def _is_first(resolver) -> bool:
    if "chief" in resolver.cluster_spec().as_dict():
        return resolver.task_type == "chief"
    return resolver.task_type in (None, "worker") and not resolver.task_id


def strategy_of(model: keras.Model) -> tf.distribute.Strategy:
    """Return the strategy in whose scope a model was made."""
    for variable in model.variables:
        strategy = getattr(variable.value, "distribute_strategy", None)
        if strategy is not None:
            return strategy
    return tf.distribute.get_strategy()


def tell_workers(strategy: tf.distribute.Strategy, values: list[int]) -> list[int]:
    """Return, in every process, the numbers that the chief gives; it waits until all are there.

    Args:
        strategy: of the run.
        values: from the chief what it has to say, from the others as many zeros.
    """
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return values

    def add(numbers):
        context = tf.distribute.get_replica_context()
        # of the chief's replicas only one speaks
        mine = tf.where(tf.equal(context.replica_id_in_sync_group, 0), numbers, tf.zeros_like(numbers))
        return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

    @tf.function(autograph=False)
    def tell(numbers):
        return strategy.experimental_local_results(strategy.run(add, (numbers,)))[0]

    return [int(value) for value in np.asarray(tell(tf.constant(values, "int64")))]


@contextmanager
def told_when_lost() -> Iterator[None]:
    """Turn what TensorFlow raises when a worker is gone into one sentence.

    Raises:
        CanonError: it says how to go on.
    """
    try:
        yield
    except _LOST as error:
        raise CanonError(
            "Another worker of this run stopped or cannot be reached any more; start the same command again on all workers, and the run "
            "goes on from its last checkpoint."
        ) from error


def describe(strategy: tf.distribute.Strategy) -> str:
    """Return a strategy in words, for reports."""
    replicas: Any = strategy.num_replicas_in_sync
    return "one device" if replicas == 1 else f"{type(strategy).__name__} with {replicas} replicas"
