"""Echo-state reservoir: a recurrent cell with fixed random weights."""

import keras
import numpy as np

from . import arguments
from .recurrent_cell import share


@keras.saving.register_keras_serializable(package="keras_canon")
class EchoStateCell(keras.layers.Layer):
    """Fixed random recurrent network, of which only a readout that is put behind it is trained.

    h_t = (1 - alpha) h_{t-1} + alpha tanh(x_t W_in + h_{t-1} U + b)        (1)

    U is drawn sparse and then scaled so that its largest absolute eigenvalue is rho. With rho below 1 the reservoir forgets its
    start in practice (the echo-state property), and the closer to 1, the longer it remembers.

    Args:
        units: width of h.
        spectral_radius: rho, at least 0.
        density: share of the entries of U that are not zero, in (0, 1].
        input_scale: the entries of W_in are uniform in (-input_scale, input_scale).
        bias_scale: likewise for b; 0 makes b zero.
        leak: alpha, in (0, 1].
        seed: seed of W_in, U and b; None draws it from Keras's global seed.

    Input shape:
        inputs (batch, features); states, a list of h (batch, units).

    Output shape:
        outputs h (batch, units); states, a list of h (batch, units). No weight is trainable.

    Raises:
        ValueError: `units` below 1, `spectral_radius`, `input_scale` or `bias_scale` below 0, `density` or `leak` outside (0, 1], `seed`
            below 0, inputs that have not 2 axes, or a reservoir so sparse that every eigenvalue is zero.

    Reference:
        Jaeger, 2001, "The echo state approach to analysing and training recurrent neural networks", GMD report 148, section 2;
        leak: Jaeger, Lukosevicius, Popovici, Siewert, 2007, section 2, Neural Networks 20(3).

    Example:
        >>> import keras
        >>> from keras_canon.layers import EchoStateCell
        >>> print(tuple(keras.layers.RNN(EchoStateCell(50, seed=0))(keras.ops.ones((2, 7, 4))).shape))
        (2, 50)
    """

    def __init__(self, units, spectral_radius=0.9, density=0.1, input_scale=1.0, bias_scale=0.0, leak=1.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = arguments.positive_integer("units", units)
        self.spectral_radius = arguments.real("spectral_radius", spectral_radius, 0.0)
        self.density = share("density", density)
        self.input_scale = arguments.real("input_scale", input_scale, 0.0)
        self.bias_scale = arguments.real("bias_scale", bias_scale, 0.0)
        self.leak = share("leak", leak)
        if seed is not None and (not isinstance(seed, int) or seed < 0):
            raise ValueError(f"seed must be None or an integer of at least 0, got {seed!r}.")
        self.seed = seed
        self.state_size = self.output_size = self.units

    def build(self, input_shape):
        arguments.input_rank("EchoStateCell", input_shape, 2, "(batch, features)")
        # An initialiser turns None into a seed drawn from the global one, so that a reservoir is as repeatable as any layer.
        draw = np.random.default_rng(keras.initializers.RandomUniform(seed=self.seed).seed)
        self.input_kernel = self._fixed("input_kernel", self.input_scale * draw.uniform(-1.0, 1.0, (input_shape[-1], self.units)))
        self.bias = self._fixed("bias", self.bias_scale * draw.uniform(-1.0, 1.0, self.units))
        self.recurrent_kernel = self._fixed("recurrent_kernel", self._reservoir(draw))

    def _fixed(self, name, value):
        return self.add_weight(name=name, shape=value.shape, initializer=keras.initializers.Constant(value), trainable=False)

    def _reservoir(self, draw):
        """Return U: exactly the share `density` of its entries, scaled to the spectral radius in double precision."""
        size = self.units**2
        chosen = draw.permutation(size) < max(1, round(self.density * size))
        matrix = np.where(chosen, draw.uniform(-1.0, 1.0, size), 0.0).reshape(self.units, self.units)
        radius = np.max(np.abs(np.linalg.eigvals(matrix)))
        if radius < 1e-6:
            raise ValueError(
                f"density must leave a cycle among the units, got density={self.density} with units={self.units}, whose eigenvalues "
                "are all zero; take a larger density, more units or another seed."
            )
        return matrix * (self.spectral_radius / radius)

    def call(self, inputs, states):
        summed = keras.ops.matmul(inputs, self.input_kernel) + keras.ops.matmul(states[0], self.recurrent_kernel) + self.bias
        hidden = (1 - self.leak) * states[0] + self.leak * keras.ops.tanh(summed)
        return hidden, [hidden]

    def get_initial_state(self, batch_size=None):
        """Return a zero state (batch_size, units) in a list."""
        return [keras.ops.zeros((batch_size, self.units), dtype=self.compute_dtype)]

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.units), [(input_shape[0], self.units)]

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "spectral_radius": self.spectral_radius,
            "density": self.density,
            "input_scale": self.input_scale,
            "bias_scale": self.bias_scale,
            "leak": self.leak,
            "seed": self.seed,
        }
