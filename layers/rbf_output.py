"""Euclidean radial basis function units, the output layer of LeNet-5."""

import keras
import numpy as np

from .arguments import positive_integer
from .initializers import RandomSigns, fresh_initializer


def _checked_codes(codes, units: int) -> tuple[tuple[float, ...], ...]:
    array = np.asarray(codes, dtype="float64")
    if array.ndim != 2 or array.shape[0] != units or not array.shape[1] or not np.all(np.isfinite(array)):
        raise ValueError(f"codes must hold one row of finite numbers for each of the {units} units, got an array of shape {array.shape}.")
    return tuple(tuple(row) for row in array.tolist())


@keras.saving.register_keras_serializable(package="keras_canon")
class RBFOutput(keras.layers.Layer):
    """Measure the squared distance of the input to the code of each class.

    y_i = sum over j of (x_j - w_ij)^2        (7)

    y_i is a penalty: small where the input fits the model of class i, as the unnormalised negative log-likelihood of a
    Gaussian around its code. The sum is taken in float32 under every policy; in float16 a penalty above 65504 is given as
    65504. Inputs of one vector a sample have no time axis to mask; with more axes a mask passes through unchanged.

    Args:
        units: number of classes.
        codes: w, one row of as many numbers as the input has features for each class (in the paper stylised 7 x 12
            drawings of the characters, -1 and +1), or None to draw them with `codes_initializer`.
        trainable_codes: whether w is trained; False in the paper ("kept fixed (at least initially)").
        as_logits: give -y_i, whose largest is the best class and whose softmax is the posterior of classes with equal
            priors, for losses and decoders that expect logits.
        codes_initializer: initialiser of w where `codes` is None. None draws -1 and +1 with equal probability.

    Input shape:
        (batch, ..., features)

    Output shape:
        (batch, ..., units)

    Raises:
        ValueError: `units` below 1; codes that are not `units` rows of finite numbers; at build, fewer than 2 axes,
            unknown features, or codes of another width than the input.

    Reference:
        LeCun, Bottou, Bengio, Haffner, 1998, "Gradient-Based Learning Applied to Document Recognition", section II.B,
        equation 7, doi:10.1109/5.726791.

    Example:
        >>> import keras
        >>> from keras_canon.layers import RBFOutput
        >>> print(RBFOutput(2, codes=[[1, 1, 1], [1, -1, 1]])(keras.ops.ones((1, 3))).numpy().tolist())
        [[0.0, 4.0]]
    """

    def __init__(self, units, codes=None, trainable_codes=False, as_logits=False, codes_initializer=None, **kwargs):
        super().__init__(**kwargs)
        self.units = positive_integer("units", units)
        self.codes = None if codes is None else _checked_codes(codes, self.units)
        self.trainable_codes = bool(trainable_codes)
        self.as_logits = bool(as_logits)
        self.codes_initializer = keras.initializers.get(codes_initializer)
        self.supports_masking = True

    def build(self, input_shape):
        if len(input_shape) < 2 or input_shape[-1] is None:
            raise ValueError(f"RBFOutput expects input of shape (batch, ..., features) with known features, got {tuple(input_shape)}.")
        features = input_shape[-1]
        if self.codes is not None and len(self.codes[0]) != features:
            raise ValueError(f"codes must have as many columns as the input has features, {features}, got {len(self.codes[0])}.")
        self.kernel = self.add_weight(
            name="codes", shape=(self.units, features), initializer=self._initial_codes, trainable=self.trainable_codes
        )

    def _initial_codes(self, shape, dtype=None):
        if self.codes is not None:
            return keras.ops.convert_to_tensor(np.asarray(self.codes), dtype=dtype)
        return (fresh_initializer(self.codes_initializer) or RandomSigns())(shape, dtype=dtype)

    def call(self, inputs):
        # float32, and differences rather than |x|^2 - 2 x.w + |w|^2: near a code that form loses all digits.
        codes = keras.ops.cast(keras.ops.convert_to_tensor(self.kernel), "float32")
        differences = keras.ops.expand_dims(keras.ops.cast(inputs, "float32"), -2) - codes  # (batch, ..., units, features)
        penalties = keras.ops.sum(keras.ops.square(differences), axis=-1)
        if keras.backend.standardize_dtype(self.compute_dtype) == "float16":
            penalties = keras.ops.minimum(penalties, 65504.0)
        return keras.ops.cast(-penalties if self.as_logits else penalties, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "codes": None if self.codes is None else [list(row) for row in self.codes],
            "trainable_codes": self.trainable_codes,
            "as_logits": self.as_logits,
            "codes_initializer": keras.initializers.serialize(self.codes_initializer) if self.codes_initializer else None,
        }
