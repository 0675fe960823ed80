"""A picture of an architecture, from the model's own named layers."""

import math
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import keras

from .drawing_svg import Box, picture
from .errors import CanonError
from .registry import create, info

# what begins a mask: operations on it say which steps are real, and are no part of the architecture
_MASKS = ("NotEqual", "Equal", "Greater", "Less", "LogicalOr", "LogicalAnd", "LogicalNot")
# the first whose word is in the name of the layer's class
_KINDS = (
    ("input", ("InputLayer", "TokenEmbedding", "SegmentEmbedding", "Position", "ClassToken")),
    ("recurrence", ("RNN", "LSTM", "GRU", "Bidirectional")),
    ("attention", ("Attention", "Transformer")),
    ("pooling", ("Pooling", "Subsampling", "FirstStep")),
    ("convolution", ("Conv", "Residual", "Bottleneck", "Inception", "DenseBlock", "Transition", "FireModule", "PatchEmbedding")),
    ("dense", ("Dense", "ClassMaps", "RBFOutput", "FeedForward")),
)


def draw(model: str | keras.Model, path: str | Path | None = None) -> str:
    """Draw the architecture of a model: a box for each named layer, with its output shape and its trainable parameters.

    Layers in a row that are alike share a box ("x 5"), and so do those of a residual block that is written out in full. Dropout and the
    arithmetic of masks are left out.

    Args:
        model: name of a variant, which is drawn without giving its weights memory, or a functional model.
        path: the .svg file to write; None to write none.

    Returns:
        the picture, an SVG document.

    Raises:
        CanonError: for an unknown name, a model that is not functional, or a path that does not end in .svg.

    Example:
        >>> from keras_canon import zoo
        >>> zoo.draw("lenet5").count('class="box ')
        9
    """
    if path is not None and Path(path).suffix != ".svg":
        raise CanonError(f"A drawing is an SVG picture: give a path that ends in .svg, not {str(path)!r}.")
    if isinstance(model, str):
        row = info(model)
        first, *others = row.paper.authors.split(",")
        drawn = picture(_variant_boxes(model), model, f"{first}{' et al.' if others else ''} {row.year}, {row.table}")
    else:
        drawn = picture(_boxes(model), model.name, "")
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(drawn, encoding="utf-8")
    return drawn


def _variant_boxes(name: str) -> list[Box]:
    def build() -> list[Box]:
        with keras.StatelessScope(initialize_variables=False):
            return _boxes(create(name))

    # Keras keeps a list of variables without values by thread, and would give them all values at the thread's next symbolic call
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(build).result()


def _boxes(model: keras.Model) -> list[Box]:
    """Return the boxes of a model from its inputs to its outputs, alike ones joined."""
    if not isinstance(model, keras.Model) or not getattr(model, "outputs", None):
        raise CanonError("Only a functional model can be drawn: its layers and how they are joined are what the picture shows.")
    boxes = _calls(model)
    boxes = _joined(boxes, _written_out_block, _block_box)
    return _joined(boxes, _alike, _repeated_box)


def _calls(model: keras.Model) -> list[Box]:
    """Return a box for each call of a layer; operations without a name of their own hand on where their inputs come from."""
    found: dict[tuple[int, int], Box | None] = {}
    sources: dict[tuple[int, int], tuple[int, ...]] = {}
    masks: dict[tuple[int, int], bool] = {}

    def _visit(tensor) -> tuple[int, int]:
        operation, index, _ = tensor._keras_history
        key = (id(operation), index)
        if key in sources:
            return key
        node = operation._inbound_nodes[index]
        before = [_visit(item) for item in node.input_tensors]
        real = [item for item in before if not masks[item]]
        masks[key] = type(operation).__name__ in _MASKS or (bool(before) and not real)
        origins = tuple(dict.fromkeys(number for item in real for number in sources[item]))
        shown = isinstance(operation, keras.layers.Layer) and "Dropout" not in type(operation).__name__ and not masks[key]
        if shown:
            found[key] = _box(len(found), operation, node.output_tensors, index, origins)
        sources[key] = (len(found) - 1,) if shown else origins
        return key

    for tensor in model.outputs:
        _visit(tensor)
    return [box for box in found.values() if box is not None]


def _box(number: int, layer: keras.layers.Layer, outputs, call: int, sources: tuple[int, ...]) -> Box:
    kind = type(layer).__name__
    shape = ", ".join("B" if axis == 0 else "any" if size is None else str(size) for axis, size in enumerate(outputs[0].shape))
    return Box(
        number=number,
        name=layer.name if call == 0 else f"{layer.name}, again",
        what="input" if kind == "InputLayer" else kind,
        shape=f"({shape})",
        parameters=0 if call else sum(math.prod(weight.shape) for weight in layer.trainable_weights),
        kind=next((name for name, words in _KINDS if any(word in kind for word in words)), "other"),
        sources=sources,
    )


def _joined(boxes: list[Box], belongs: Callable[[list[Box], Box], bool], join: Callable[[list[Box]], Box]) -> list[Box]:
    """Join neighbours: a box goes to the group of the one before it when `belongs` says so and nothing else leads in or out between."""
    groups: list[list[Box]] = []
    for box in boxes:
        if groups and belongs(groups[-1], box) and _closed(boxes, [*groups[-1], box]):
            groups[-1].append(box)
        else:
            groups.append([box])
    home = {box.number: index for index, group in enumerate(groups) for box in group}
    result = []
    for index, group in enumerate(groups):
        box = join(group) if len(group) > 1 else group[0]
        origins = dict.fromkeys(home[number] for member in group for number in member.sources if home[number] != index)
        result.append(replace(box, number=index, sources=tuple(origins)))
    return result


def _closed(boxes: list[Box], group: list[Box]) -> bool:
    """Return whether only the first of a group has sources outside, apart from those the first has too."""
    inside = {box.number for box in group}
    return all(set(box.sources) - inside <= set(group[0].sources) for box in group[1:])


def _stage(name: str) -> str:
    return name.rpartition("_")[0]


def _written_out_block(group: list[Box], box: Box) -> bool:
    """Return whether a box is of the same residual block: the part of the name before the last underscore is the block's name."""
    return bool(re.search(r"block\d+$", _stage(box.name))) and _stage(group[0].name) == _stage(box.name)


def _block_box(group: list[Box]) -> Box:
    counts: dict[str, int] = {}
    for box in group:
        counts[box.what] = counts.get(box.what, 0) + 1
    what = ", ".join(kind if count == 1 else f"{count} {kind}" for kind, count in counts.items())
    return replace(group[-1], name=_stage(group[0].name), what=what, kind=group[0].kind, parameters=_total(group))


def _alike(group: list[Box], box: Box) -> bool:
    last = group[-1]
    same = (last.what, last.shape, last.parameters) == (box.what, box.shape, box.parameters)
    return same and box.sources == (last.number,) and box.parameters > 0


def _repeated_box(group: list[Box]) -> Box:
    first, last = group[0].name, group[-1].name
    # "block2 to 9": what both names begin with, up to the last number or letter, is said once
    begin = len(re.sub(r"(\d+|[a-z])$", "", last))
    rest = last[begin:] if begin and first[:begin] == last[:begin] else last
    return replace(group[0], name=f"{first} to {rest}", count=len(group), parameters=_total(group))


def _total(group: Iterable[Box]) -> int:
    return sum(box.parameters for box in group)
