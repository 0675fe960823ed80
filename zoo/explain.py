"""Why a model answers as it does: Grad-CAM, integrated gradients and attention maps, for any image model of the zoo."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ..layers import FirstStep, TransformerEncoderBlock
from .errors import CanonError
from .preprocessing import apply_preprocessing
from .records import Preprocessing
from .spatial_maps import SpatialMap, last_spatial_map, token_grid

STEPS = 64
_POINTS_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class IntegratedGradients:
    """How much each input value added to the answer.

    Args:
        attributions: (B, H, W, C); their sum is what the answer changed from the baseline to the image, up to `gap`.
        change: F(x) - F(x'), (B,).
        gap: change minus the sum of the attributions, (B,); more steps make it smaller.
    """

    attributions: np.ndarray
    change: np.ndarray
    gap: np.ndarray

    @property
    def heat(self) -> np.ndarray:
        """Sizes of the attributions, added over channels and scaled to 0 to 1, (B, H, W)."""
        sizes = np.abs(self.attributions).sum(axis=-1)
        # a few pixels would outshine all others
        tops = np.maximum(np.percentile(sizes, 99, axis=(1, 2), keepdims=True), 1e-12)
        return np.clip(sizes / tops, 0.0, 1.0)


def grad_cam(model: keras.Model, images, target: int | Sequence[int] | None = None, *, layer: str | None = None) -> np.ndarray:
    """Return where a model sees a class.

    alpha_k = 1/Z sum over i, j of d y_c / d A_k,ij             (1)
    L = ReLU(sum over k of alpha_k A_k)                         (2)

    Args:
        model: functional, from one image to logits (B, classes); models inside it are looked into.
        images: prepared for the model, (B, H, W, C).
        target: c, one class number or one for each image; None for the most probable one.
        layer: A; None for the last one whose output has positions. Tokens of a Vision Transformer count as positions; where only
            its class token is classified, those that its last block reads are the last that still reach the answer.

    Returns:
        heat from 0 to 1, float32 (B, H, W); all zero where nothing speaks for the class.

    Raises:
        CanonError: (a ValueError) for a model without positions, a class that it does not have, or a layer behind which only the
            class token is read.

    Reference:
        Selvaraju et al., 2017, "Grad-CAM: Visual Explanations from Deep Networks via Gradient-based Localization", section 3,
        equations 1 and 2, arXiv:1610.02391.

    Example:
        >>> import numpy as np
        >>> from keras_canon import zoo
        >>> zoo.grad_cam(zoo.create("lenet5_modern"), np.ones((1, 32, 32, 1), "float32"), target=3).shape
        (1, 32, 32)
    """
    images = tf.convert_to_tensor(images, "float32")
    spot = _read_map(model, layer)
    network = exposed(model, spot.path, [spot.tensor])
    with tf.GradientTape() as tape:
        values, logits = network(images, training=False)
        score = tf.reduce_sum(_scores(logits, _targets(logits, target)))
    gradients = spot.on_grid(tf.cast(tape.gradient(score, values), "float32"))  # (B, rows, columns, K)
    values = spot.on_grid(tf.cast(values, "float32"))
    weights = tf.reduce_mean(gradients, axis=(1, 2), keepdims=True)
    heat = tf.nn.relu(tf.reduce_sum(weights * values, axis=-1, keepdims=True))
    heat = tf.image.resize(heat, images.shape[1:3])[..., 0]
    return (heat / tf.maximum(tf.reduce_max(heat, axis=(1, 2), keepdims=True), 1e-12)).numpy()


def integrated_gradients(
    model: keras.Model, images, target: int | Sequence[int] | None = None, *, baseline=None, steps: int = STEPS
) -> IntegratedGradients:
    """Return how much each input value added to the logit of a class.

    IG_i(x) = (x_i - x'_i) integral from 0 to 1 of dF(x' + a (x - x')) / dx_i da          (1)
    sum over i of IG_i(x) = F(x) - F(x')                                                   (completeness)

    The integral is taken by the midpoint rule.

    Args:
        model: from one image to logits (B, classes).
        images: x, prepared for the model, (B, H, W, C).
        target: the class, one number or one for each image; None for the most probable one.
        baseline: x', of the shape of an image; None for black, prepared by the model's own preprocessing.
        steps: points of the integral.

    Raises:
        CanonError: (a ValueError) for a class that the model does not have, or fewer than one step.

    Reference:
        Sundararajan, Taly, Yan, 2017, "Axiomatic Attribution for Deep Networks", section 3, equation 1 and proposition 1,
        arXiv:1703.01365.
    """
    if steps < 1:
        raise CanonError(f"steps must be at least 1, got {steps}.")
    images = tf.convert_to_tensor(images, "float32")
    baseline = tf.cast(_black(model, images) if baseline is None else baseline, "float32")
    ends = tf.cast(model(tf.stack([*tf.unstack(images), baseline]), training=False), "float32")
    targets = _targets(ends[:-1], target)
    change = _scores(ends[:-1], targets) - tf.gather(ends[-1], targets)

    @tf.function(reduce_retracing=True)
    def gradient(points, targets):
        with tf.GradientTape() as tape:
            tape.watch(points)
            score = tf.reduce_sum(_scores(model(points, training=False), targets))
        return tape.gradient(score, points)

    places = (np.arange(steps, dtype="float32") + 0.5) / steps
    attributions = []
    for number, image in enumerate(tf.unstack(images)):
        path, total = image - baseline, tf.zeros_like(baseline)
        for start in range(0, steps, _POINTS_AT_ONCE):
            share = tf.reshape(places[start : start + _POINTS_AT_ONCE], (-1, 1, 1, 1))
            points = baseline + share * path
            total += tf.reduce_sum(gradient(points, tf.repeat(targets[number], tf.shape(points)[0])), axis=0)
        attributions.append(path * total / steps)
    attributions = tf.stack(attributions)
    return IntegratedGradients(attributions.numpy(), change.numpy(), (change - tf.reduce_sum(attributions, axis=(1, 2, 3))).numpy())


def attention_maps(model: keras.Model, images) -> np.ndarray:
    """Return where the tokens of a Vision Transformer look.

    Args:
        model: functional, with Transformer encoder blocks; models inside it are looked into.
        images: prepared for the model, (B, H, W, C).

    Returns:
        attention weights, float32 (blocks, B, heads, T, T); each row sums to 1.

    Raises:
        CanonError: (a ValueError) for a model without such blocks.
    """
    path, blocks = _encoder_blocks(model, ())
    if not blocks:
        raise CanonError(f"Model {model.name!r} has no Transformer encoder blocks, whose attention could be shown.")
    *inputs, _ = exposed(model, path, [block.input for block in blocks])(tf.convert_to_tensor(images, "float32"), training=False)
    found = []
    for block, hidden in zip(blocks, inputs, strict=True):
        hidden = block.attention_norm(hidden) if block.norm_first else hidden
        found.append(np.asarray(block.attention(hidden, hidden, return_weights=True, training=False)[1], "float32"))
    return np.stack(found)


def attention_rollout(weights: np.ndarray, grid: tuple[int, int] | None = None) -> np.ndarray:
    """Return how much of each place of the picture has reached the answer through all blocks.

    A~ = 1/2 A + 1/2 I, averaged over heads; rollout = A~_L ... A~_1                       (1)

    Args:
        weights: as `attention_maps` returns them.
        grid: rows and columns of the patches; None for those of a square image.

    Returns:
        heat from 0 to 1, float32 (B, rows, columns), of the class token or, without one, of the mean over all tokens.

    Raises:
        CanonError: (a ValueError) for tokens that do not fill the grid, or a square, with or without a class token.

    Reference:
        Abnar, Zuidema, 2020, "Quantifying Attention Flow in Transformers", section 3, equation 1, arXiv:2005.00928.
    """
    tokens = weights.shape[-1]
    rows, columns = token_grid(tokens, grid)
    reached = np.eye(tokens, dtype="float32")[None]
    for block in weights.mean(axis=2):
        reached = (0.5 * block + 0.5 * np.eye(tokens, dtype="float32")) @ reached
    has_class_token = rows * columns != tokens
    row = reached[:, 0] if has_class_token else reached.mean(axis=1)
    heat = row[:, -rows * columns :].reshape(-1, rows, columns)
    low, high = heat.min(axis=(1, 2), keepdims=True), heat.max(axis=(1, 2), keepdims=True)
    return (heat - low) / np.maximum(high - low, 1e-12)


def exposed(model: keras.Model, path: Sequence[keras.layers.Layer], tensors: Sequence[Any]) -> keras.Model:
    """Return a model that also gives tensors from inside, `[*tensors, output]`, sharing all layers.

    Args:
        model: functional.
        path: models around the one that the tensors belong to, from the outside inwards.
        tensors: symbolic ones of the innermost model.
    """
    if not path:
        return keras.Model(model.input, [*tensors, model.output])
    inner = exposed(path[0], path[1:], tensors)
    seen: list[Any] = []

    def call(layer, arguments, keywords):
        if layer is not path[0]:
            return layer(*arguments, **keywords)
        *found, output = inner(*arguments, **keywords)
        seen[:] = found
        return output

    copy = keras.models.clone_model(
        model, clone_function=lambda layer: layer, call_function=lambda layer, *arguments, **keywords: call(layer, arguments, keywords)
    )
    return keras.Model(copy.input, [*seen, copy.output])


def _read_map(model: keras.Model, name: str | None) -> SpatialMap:
    """Return the map of a layer, or the last one from which every position reaches the answer.

    Behind the last block of a Vision Transformer with a class token all other tokens are dropped, and their gradient is 0.
    """
    spot = last_spatial_map(model, name)
    path, blocks = _encoder_blocks(model, ())
    layers = (path[-1] if path else model).layers
    if spot.path != path or not blocks or not any(isinstance(layer, FirstStep) for layer in layers):
        return spot
    last = blocks[-1]
    if name is None:
        return replace(spot, layer=last.name, tensor=last.input)
    names = [layer.name for layer in layers]
    if names.index(spot.layer) >= names.index(last.name):
        raise CanonError(f"From {last.name!r} on only the class token of {model.name!r} is read: name a layer before it.")
    return spot


def _encoder_blocks(model: keras.Model, path: tuple[keras.layers.Layer, ...]) -> tuple[tuple[keras.layers.Layer, ...], list[Any]]:
    blocks = [layer for layer in model.layers if isinstance(layer, TransformerEncoderBlock)]
    if blocks:
        return path, blocks
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            found = _encoder_blocks(layer, (*path, layer))
            if found[1]:
                return found
    return path, []


def _targets(logits: tf.Tensor, target: int | Sequence[int] | None) -> tf.Tensor:
    if logits.shape.rank != 2:
        raise CanonError(f"An explanation needs logits (batch, classes), but the model gives {logits.shape}.")
    if target is None:
        return tf.argmax(logits, axis=-1, output_type="int32")
    rows, classes = np.asarray(logits).shape
    values = np.broadcast_to(np.asarray(target), (rows,))
    if not np.issubdtype(values.dtype, np.integer) or not 0 <= values.min() <= values.max() < classes:
        raise CanonError(f"The target must be a class number from 0 to {classes - 1}, got {target!r}.")
    return tf.constant(values, "int32")


def _scores(logits: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    return tf.gather(tf.cast(logits, "float32"), targets, axis=1, batch_dims=1)


def _black(model: keras.Model, images: tf.Tensor) -> tf.Tensor:
    """Return a black picture as the model sees it, or zeros where the model has no preprocessing of its own."""
    record = getattr(model, "_record", None)
    if record is None or not isinstance(record.preprocessing, Preprocessing):
        return tf.zeros(images.shape[1:])
    shape = (*record.preprocessing.size, record.preprocessing.channels)
    return tf.image.resize(apply_preprocessing(tf.zeros(shape), record.preprocessing), images.shape[1:3])
