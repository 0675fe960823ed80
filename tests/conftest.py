"""Two virtual CPU devices for replica tests, made before TensorFlow starts; and shorter rounds for the garbage collector."""

import gc

import tensorflow as tf

CPUS = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(CPUS[0], [tf.config.LogicalDeviceConfiguration()] * 2)


def pytest_collection_finish():
    """What is imported by now stays until the end, so that looking through it again and again finds nothing."""
    gc.collect()
    gc.freeze()
