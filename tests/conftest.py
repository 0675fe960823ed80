"""Two virtual CPU devices for replica tests, made before TensorFlow starts."""

import tensorflow as tf

CPUS = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(CPUS[0], [tf.config.LogicalDeviceConfiguration()] * 2)
