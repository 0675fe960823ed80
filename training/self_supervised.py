"""Self-supervised pre-training on pictures without labels: a backbone learns to fill in what it is not shown."""

import keras
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.model import Model
from ..zoo.preprocessing import apply_preprocessing
from ..zoo.spatial_maps import last_spatial_map
from .augmentation import Augmentation
from .data import Split
from .few_labels import ShortTraining, preprocessing_of, refuse_mixed
from .pipeline import epoch_order

METHODS = ("masked_patches", "autoencoder")
_PATCHES_A_SIDE = 8


@keras.saving.register_keras_serializable(package="keras_canon")
class MaskedReconstruction(keras.losses.Loss):
    """The mean absolute error of pixels, where they were masked.

    loss = sum over masked pixels of |x - y| / number of masked values               (1)

    Args:
        **kwargs: passed on to `keras.losses.Loss`.

    Input shapes:
        labels (batch, height, width, channels + 1), the picture and, last, 1 where it was masked; outputs (batch, height, width, channels)

    Output shape:
        the mean over the batch; (batch,) with `reduction="none"`

    Reference:
        Xie et al., 2022, "SimMIM: A Simple Framework for Masked Image Modeling", section 3.4, equation 1, arXiv:2111.09886.
    """

    def call(self, y_true, y_pred):
        """Return the loss of each example, (B,)."""
        ops = keras.ops
        pictures, masked = ops.cast(y_true[..., :-1], "float32"), ops.cast(y_true[..., -1:], "float32")
        error = ops.abs(pictures - ops.cast(y_pred, "float32")) * masked
        counted = ops.sum(masked, axis=(1, 2, 3)) * pictures.shape[-1]
        return ops.sum(error, axis=(1, 2, 3)) / ops.maximum(counted, 1.0)


def pretrain(
    model: Model,
    pictures: Split,
    *,
    method: str = "masked_patches",
    masked: float = 0.6,
    validation: float = 0.1,
    how: ShortTraining | None = None,
    augmentation: Augmentation | None = None,
) -> dict[str, list[float]]:
    """Train the backbone of a model, in place, on pictures without labels.

    A linear layer on each place of the last feature map, or on each token, gives the pixels that lie under it. `masked_patches` hides
    patches and asks for them; `autoencoder` hides nothing and asks for the whole picture, through the narrow last map.

    **Differs from the paper** (masked_patches): hidden patches are filled with the mean colour instead of a learned token, so that a
    convolutional network needs no change; and a patch has the size of a place of the last map, but never fewer than 8 lie on a side.

    Args:
        model: a `zoo.Model`, of which all is trained but what comes after the last map.
        pictures: as `data.load_unlabelled` returns them.
        method: "masked_patches" or "autoencoder".
        masked: share of patches that are hidden, above 0 and below 1.
        validation: share of the pictures that chooses the best epoch.
        how: epochs and the like; None for the defaults.
        augmentation: changes of the pictures; None for none.

    Returns:
        the figures by name, one for each epoch; `val_loss` is the error of hidden pixels, in units of the model's own input.

    Raises:
        CanonError: (a ValueError) for an unknown method, a bad share, too few pictures, or a model without a map.

    Reference:
        Xie et al., 2022, "SimMIM: A Simple Framework for Masked Image Modeling", section 3, arXiv:2111.09886.
    """
    if method not in METHODS:
        raise CanonError(f"method must be {' or '.join(map(repr, METHODS))}, got {method!r}.")
    for name, value in (("masked", masked), ("validation", validation)):
        if not 0.0 < value < 1.0:
            raise CanonError(f"{name} must be above 0 and below 1, got {value!r}.")
    if len(pictures) < 4:
        raise CanonError(f"{len(pictures)} pictures are too few to train on.")
    refuse_mixed(augmentation)
    how, preprocessing = how or ShortTraining(), preprocessing_of(model)
    network = _reconstructor(model)
    rows, columns = last_spatial_map(model).grid
    patches = max(rows, _PATCHES_A_SIDE), max(columns, _PATCHES_A_SIDE)
    share = masked if method == "masked_patches" else 0.0
    order = epoch_order(len(pictures), how.seed, 0)
    held_out = max(1, round(validation * len(pictures)))

    def prepare(example, epoch):
        images, index = example["image"][None], example["index"][None]
        if augmentation is not None and epoch >= 0:
            images = augmentation.pictures(images, index, tf.constant(epoch, "int64"))
        image = apply_preprocessing(images, preprocessing)[0]
        hidden = hidden_pixels(preprocessing.size, patches, share, seed=tf.stack([how.seed * 1_000_003 + epoch, example["index"]]))
        # an autoencoder is asked for every pixel
        asked = hidden if share else tf.ones_like(hidden)
        return image * (1.0 - hidden), tf.concat([image, asked], axis=-1)

    def batches(epoch: int) -> tf.data.Dataset:
        chosen = order[:held_out] if epoch < 0 else order[held_out:][epoch_order(len(order) - held_out, how.seed, epoch)]
        elements = pictures.dataset(chosen).map(lambda example: prepare(example, epoch), num_parallel_calls=tf.data.AUTOTUNE)
        return elements.batch(how.batch_size if epoch >= 0 else 256).prefetch(tf.data.AUTOTUNE)

    history = how.fit(network, batches, batches(-1), MaskedReconstruction(), {})
    model.update_record(weights=f"{method} on {len(pictures)} pictures without labels")
    return history


def hidden_pixels(shape: tuple[int, int], patches: tuple[int, int], share: float, seed) -> tf.Tensor:
    """Return 1 where a pixel is hidden, float32 (height, width, 1): whole patches, exactly the share of them, by a seed of two numbers."""
    count = patches[0] * patches[1]
    chosen = tf.argsort(tf.random.stateless_uniform((count,), tf.cast(seed, "int64")))
    hidden = tf.cast(tf.reshape(tf.argsort(chosen) < round(share * count), (*patches, 1)), "float32")
    return tf.image.resize(hidden, shape, method="nearest")


def _reconstructor(model: Model) -> keras.Model:
    """Return a model from a picture to the same picture, (B, H, W, C), through the last map of the backbone."""
    spot = last_spatial_map(model)
    if spot.path:
        raise CanonError(f"Model {model.name!r} holds a model inside: pre-train that one.")
    height, width, channels = model.input.shape[1:]
    rows, columns = spot.grid
    tall, wide = -(-height // rows), -(-width // columns)
    x = spot.on_grid(spot.tensor)
    x = keras.layers.Conv2D(tall * wide * channels, 1, data_format="channels_last", name="reconstruction")(x)
    x = keras.layers.Reshape((rows, columns, tall, wide, channels), name="reconstruction_blocks")(x)
    x = keras.layers.Permute((1, 3, 2, 4, 5), name="reconstruction_order")(x)
    x = keras.layers.Reshape((rows * tall, columns * wide, channels), name="reconstruction_pixels")(x)
    if (rows * tall, columns * wide) != (height, width):
        x = keras.layers.Resizing(height, width, data_format="channels_last", name="reconstruction_size")(x)
    return keras.Model(model.input, x, name=f"{model.name}_reconstruction")
