"""The average of several classifiers' probabilities, as logits."""

import math
from collections.abc import Sequence

import keras


@keras.saving.register_keras_serializable(package="keras_canon")
class EnsembleAverage(keras.layers.Layer):
    r"""Average the class probabilities of several classifiers that are given by their logits.

        (1)  y_c = (1 / N) sum_n softmax(z^n)_c
        (2)  output_c = log y_c

    The softmax of the output is y again, so the layer stands where a model's logits stand. It is computed as a log-sum-exp,
    so a probability that underflows in (1) keeps its logarithm. The layer has no weights.

    Args:
        **kwargs: passed on to `keras.layers.Layer`.

    Input shape: a list of N >= 2 tensors of one shape (batch, ..., classes). Output shape: that of one of them.
    Masks are not taken: the last axis holds classes.

    Raises:
        ValueError: an input that is no list of at least two tensors of one shape.

    Reference: D. Ciresan, U. Meier, J. Schmidhuber 2012, "Multi-column Deep Neural Networks for Image Classification", section
    2, arXiv:1202.2745.

    Example:
        >>> import keras
        >>> from keras_canon.layers import EnsembleAverage
        >>> print(tuple(EnsembleAverage()([keras.ops.ones((2, 10)), keras.ops.zeros((2, 10))]).shape))
        (2, 10)
    """

    def build(self, input_shape):
        several = isinstance(input_shape, Sequence) and len(input_shape) > 1 and all(isinstance(one, Sequence) for one in input_shape)
        if not several or len({tuple(one) for one in input_shape}) > 1:
            raise ValueError(f"EnsembleAverage expects a list of at least 2 logits of one shape, got shapes {input_shape}.")
        self.built = True

    def call(self, inputs):
        wide = keras.backend.result_type(inputs[0].dtype, "float32")
        # (N, batch, ..., classes)
        log_probabilities = keras.ops.stack([keras.ops.log_softmax(keras.ops.cast(logits, wide), axis=-1) for logits in inputs])
        average = keras.ops.logsumexp(log_probabilities, axis=0) - math.log(len(inputs))
        return keras.ops.cast(average, inputs[0].dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape[0])
