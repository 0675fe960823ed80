"""Curriculum dropout: the rate grows with the training step."""

import keras

from . import arguments


@keras.saving.register_keras_serializable(package="keras_canon")
class ScheduledDropout(keras.layers.Layer):
    """Dropout whose rate rises from 0 to its final value as training goes on.

    theta(t) = (1 - theta_final) exp(-gamma t) + theta_final,   rate(t) = 1 - theta(t)        (3)

    theta is the probability that a unit is kept. The step t is a variable of the layer: it is 0 at the start, grows by one
    with each call in training, and is saved with the model, so that a resumed run goes on where it stopped. What is kept is
    divided by theta(t); inference is the identity.

    Args:
        rate: final rate, 1 - theta_final.
        steps: T, number of training steps planned.
        gamma: gamma; None is the paper's rule 10 / T, with which the rate is within 0.005 % of its end at T.
        seed: seed of the masks; None draws it from Keras's global seed.

    Input shape:
        any.

    Output shape:
        that of the input.

    Raises:
        ValueError: `rate` outside [0, 1), `steps` below 1, a `gamma` not above 0.

    Reference:
        Morerio, Cavazza, Volpi, Vidal, Murino, 2017, "Curriculum Dropout", section 3, equation 3, arXiv:1703.06229.

    Example:
        >>> import keras
        >>> from keras_canon.layers import ScheduledDropout
        >>> print(tuple(ScheduledDropout(0.5, steps=1000)(keras.ops.ones((2, 4)), training=True).shape))
        (2, 4)
    """

    def __init__(self, rate, steps, gamma=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.rate = arguments.rate("rate", rate)
        self.steps = arguments.positive_integer("steps", steps)
        self.gamma = None if gamma is None else arguments.real("gamma", gamma, 0.0)
        if self.gamma == 0.0:
            raise ValueError(f"gamma must be above 0, got {gamma!r}.")
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, input_shape):
        # without aggregation: replicas count alike, each its own copy, and need not meet for that
        self.step = self.add_weight(name="step", shape=(), dtype="int32", initializer="zeros", trainable=False)
        self.built = True

    def call(self, inputs, training=False):
        if not training or self.rate == 0.0:
            return inputs
        current = self.current_rate()
        self.step.assign(self.step + 1)
        kept = keras.random.uniform(keras.ops.shape(inputs), seed=self.seed_generator, dtype="float32") >= current
        scaled = inputs * keras.ops.cast(1.0 / (1.0 - current), inputs.dtype)
        return keras.ops.where(kept, scaled, keras.ops.zeros_like(inputs))

    def current_rate(self):
        """Return the rate at the present step, a float32 scalar tensor."""
        gamma = 10.0 / self.steps if self.gamma is None else self.gamma
        return self.rate * (1.0 - keras.ops.exp(-gamma * keras.ops.cast(self.step, "float32")))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "steps": self.steps, "gamma": self.gamma, "seed": self.seed}
