"""Convolution, normalisation and padding written out in NumPy from their equations, to hold layers against."""

import numpy as np


def same_margin(size, kernel, stride, dilation=1):
    """Zeros (before, after) of TensorFlow's "same"."""
    needed = max((int(np.ceil(size / stride)) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return needed // 2, needed - needed // 2


def margins(padding, sizes, kernel, strides, dilation):
    """Zeros (before, after) along height and width."""
    found = []
    for axis in (0, 1):
        half = (kernel[axis] - 1) * dilation[axis] // 2
        choices = {"valid": (0, 0), "symmetric": (half, half)}
        found.append(choices.get(padding) or same_margin(sizes[axis], kernel[axis], strides[axis], dilation[axis]))
    return found


def convolve(images, kernel, strides=(1, 1), padding="same", dilation=(1, 1), groups=1):
    """Convolve (B, H, W, C) with a kernel (h, w, C / groups, F), one output pixel at a time."""
    height, width, inside, filters = kernel.shape
    images = np.pad(images, [(0, 0), *margins(padding, images.shape[1:3], (height, width), strides, dilation), (0, 0)])
    rows = (images.shape[1] - (height - 1) * dilation[0] - 1) // strides[0] + 1
    columns = (images.shape[2] - (width - 1) * dilation[1] - 1) // strides[1] + 1
    outputs = np.zeros((len(images), rows, columns, filters))
    share = filters // groups
    for row in range(rows):
        for column in range(columns):
            top, left = row * strides[0], column * strides[1]
            patch = images[:, top : top + height * dilation[0] : dilation[0], left : left + width * dilation[1] : dilation[1]]
            for group in range(groups):
                part = patch[:, :height, :width, group * inside : (group + 1) * inside]
                weights = kernel[..., group * share : (group + 1) * share]
                outputs[:, row, column, group * share : (group + 1) * share] = np.tensordot(part, weights, axes=3)
    return outputs


def depthwise(images, kernel, strides=(1, 1), padding="same", dilation=(1, 1)):
    """Convolve each channel with its own kernels: kernel (h, w, C, M) -> channels c * M + m."""
    height, width, channels, multiplier = kernel.shape
    grouped = kernel.reshape(height, width, 1, channels * multiplier)
    return convolve(images, grouped, strides, padding, dilation, groups=channels)


def normalize(x, layer):
    """Batch normalisation at inference with the weights of a Keras layer."""
    gamma, beta, mean, variance = (np.asarray(weight, "float64") for weight in layer.get_weights())
    return gamma * (x - mean) / np.sqrt(variance + layer.epsilon) + beta


def relu(x):
    return np.maximum(x, 0.0)


def unit(layer, x):
    """A `ConvNormActivation` with batch normalisation at inference, without its activation."""
    window = layer.window
    kernel = np.asarray(layer.convolution.kernel, "float64")
    return normalize(convolve(x, kernel, window.strides, window.padding, window.dilation_rate, layer.groups), layer.batch_normalization)


def randomize(layer, seed=5):
    """Give every weight of a built layer a value of its own, so that no gamma of 1 or mean of 0 hides an error."""
    random = np.random.RandomState(seed)
    for weight in layer.weights:
        if "seed" in weight.path:
            continue
        drawn = random.standard_normal(weight.shape)
        weight.assign(1 + 0.3 * np.abs(drawn) if "variance" in weight.path or "gamma" in weight.path else 0.4 * drawn)
