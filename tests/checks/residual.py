"""What the tests of the families of residual networks share."""

import functools
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np

from keras_canon import zoo
from keras_canon.zoo.conversion import plan
from keras_canon.zoo.families import conversions


def unallocated(name: str, **arguments) -> zoo.Model:
    """Return a variant whose weights have shapes but no values, so that the largest costs no memory; for reading only."""
    return _variant(name) if not arguments else _new(name, **arguments)


def _new(name: str, **arguments) -> zoo.Model:
    def build():
        with keras.StatelessScope(initialize_variables=False):
            return zoo.create(name, **arguments)

    # Keras keeps a list of variables without values by thread, and would give them all values at the thread's next symbolic call
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(build).result()


_variant = functools.cache(_new)


def blocks_of(model: zoo.Model, stage: str) -> list[keras.layers.Layer]:
    """Return the blocks of a stage such as "conv3"."""
    return [layer for layer in model.layers if layer.name.startswith(f"{stage}_block")]


def strides_of(block: keras.layers.Layer) -> list[int]:
    """Return the stride of each convolution on the residual path."""
    return [unit.window.strides[0] for unit in block.branch() if hasattr(unit, "window")]


def torchvision_names(blocks_per_stage, convolutions: int, projected) -> list[str]:
    """Return the state names of torchvision's ResNet class, for the stages (from 0) whose first block is `projected`."""
    layers = ["conv1", "bn1"]
    for stage, blocks in enumerate(blocks_per_stage):
        for block in range(blocks):
            prefix = f"layer{stage + 1}.{block}"
            layers += [f"{prefix}.{kind}{i + 1}" for i in range(convolutions) for kind in ("conv", "bn")]
            if block == 0 and stage in projected:
                layers += [f"{prefix}.downsample.0", f"{prefix}.downsample.1"]
    names = []
    for layer in layers:
        normalizes = layer.rsplit(".", 1)[-1].startswith("bn") or layer.endswith("downsample.1")
        leaves = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked") if normalizes else ("weight",)
        names += [f"{layer}.{leaf}" for leaf in leaves]
    return [*names, "fc.weight", "fc.bias"]


def check_names(variant: str, names: list[str]) -> None:
    """The torchvision conversion sends these names to every weight of the variant, each exactly once."""
    model = unallocated(variant)
    paths = [weight.path for weight in model.weights]
    (conversion,) = [one for one in conversions(zoo.info(variant).family) if one.format == "torchvision"]
    assert variant in conversion.variants
    moves, unknown = plan(conversion, names, paths)
    assert not unknown
    assert sorted(path for move in moves for path in move.targets) == sorted(paths)


def check_any_size(name: str, overrides: dict, sizes=((33, 64), (64, 40))) -> None:
    """A model for unknown sizes gives what a model for the size gives."""
    free = zoo.create(name, num_classes=3, input_shape=(None, None, 3), overrides=overrides)
    for size in sizes:
        fixed = zoo.create(name, num_classes=3, input_shape=(*size, 3), overrides=overrides)
        zoo.load_weights(fixed, free)
        images = np.random.RandomState(1).standard_normal((2, *size, 3)).astype("float32")
        np.testing.assert_allclose(free(images), fixed(images), atol=1e-5)
