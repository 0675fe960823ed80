"""Squashing and gating functions that papers of the canon use and Keras has not under a name of their own."""

import keras


@keras.saving.register_keras_serializable(package="keras_canon")
def scaled_tanh(x):
    """Squash with the scaled hyperbolic tangent of LeNet-5.

    f(a) = A tanh(S a), A = 1.7159, S = 2/3        (6)

    A and S are chosen so that f(1) = 1 and f(-1) = -1: the desired outputs lie where the second derivative is largest,
    and the gain around the origin is close to 1 (A S = 1.14).

    Args:
        x: a tensor (a, the weighted sum) of any shape.

    Returns:
        a tensor of the shape and dtype of `x`, within (-1.7159, 1.7159).

    Reference:
        LeCun, Bottou, Bengio, Haffner, 1998, "Gradient-Based Learning Applied to Document Recognition", equation 6 and
        appendix A, doi:10.1109/5.726791.

    Example:
        >>> from keras_canon.layers import scaled_tanh
        >>> print(round(float(scaled_tanh(1.0)), 3))
        1.0
    """
    x = keras.ops.convert_to_tensor(x)
    return 1.7159 * keras.ops.tanh((2.0 / 3.0) * x)


@keras.saving.register_keras_serializable(package="keras_canon")
def gelu_tanh(x):
    """Apply the Gaussian error linear unit in its tanh form, the one of GPT-2.

    GELU(x) ~ 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))        (section 2)

    `keras.activations.gelu` computes the exact form unless told otherwise, and a function with an argument bound has no
    name to serialise; this one has.

    Args:
        x: a tensor of any shape.

    Returns:
        a tensor of the shape and dtype of `x`.

    Reference:
        Hendrycks and Gimpel, 2016, "Gaussian Error Linear Units", section 2, arXiv:1606.08415.

    Example:
        >>> from keras_canon.layers import gelu_tanh
        >>> print(round(float(gelu_tanh(1.0)), 4))
        0.8412
    """
    return keras.activations.gelu(keras.ops.convert_to_tensor(x), approximate=True)
