"""Where a Transformer looks in a text, and what it would write next."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..layers import TransformerDecoderBlock, TransformerEncoderBlock
from ..layers.transformer_sublayer import sublayer_input, sublayer_output
from .errors import CanonError
from .model import Model
from .recurrent.alignment import alignment, translates
from .token_input import filled
from .tokenizers import Tokenizer

_SHOWN = 10  # next tokens
_LABELLED = 60  # tokens at most whose names stand beside a map
_MAP = "viridis"


def text_attention(model: keras.Model, inputs: Any) -> dict[str, np.ndarray]:
    """Return where each step of a text looks.

    Args:
        model: functional, with Transformer blocks in it: `gpt1`, `gpt2`, `bert` and `transformer` of the zoo; or `seq2seq_attention`
            and `seq2seq_luong`, whose one map is "decoder/cross_attention" with one head.
        inputs: token ids as the model takes them, (B, T) or a dict by name; without padding, also where the model has a fixed number
            of steps.

    Returns:
        attention weights by "BLOCK/self_attention" and "BLOCK/cross_attention", float32 (B, heads, T, S); each row sums to 1.

    Raises:
        CanonError: (a ValueError) for a model without such blocks, what is no ids (B, T), or ids with padding, to which no step looks.

    Example:
        >>> import numpy as np
        >>> from keras_canon import zoo
        >>> maps = zoo.text_attention(zoo.create("gpt2_tiny"), np.array([[5, 6, 7]]))
        >>> maps["decoder_block1/self_attention"].shape
        (1, 4, 3, 3)
    """
    blocks = [layer for layer in model.layers if isinstance(layer, TransformerDecoderBlock | TransformerEncoderBlock)]
    if not blocks and translates(model):
        inputs = _read_ids(model, inputs)
        _refuse_padding(model, inputs)
        return _alignment(model, inputs)
    if not blocks:
        raise CanonError(f"Model {model.name!r} has no Transformer blocks, whose attention could be shown.")
    inputs = _read_ids(model, inputs)
    _refuse_padding(model, inputs)
    # what Keras passes on beside the tensors, masks, is of no use without padding
    tensors = [block.input[:2] if isinstance(block.input, list | tuple) else [block.input] for block in blocks]
    # `call` rather than the model itself, which refuses other lengths than its own, as no layer does
    given = keras.Model(model.input, {str(number): pair for number, pair in enumerate(tensors)}).call(inputs, training=False)
    found = {}
    for number, block in enumerate(blocks):
        hidden, *rest = given[str(number)]
        memory = rest[0] if isinstance(block, TransformerDecoderBlock) and block.cross_attention else None
        prepared = sublayer_input(block, hidden, block.attention_norm)
        output, weights = block.attention(prepared, prepared, return_weights=True, training=False)
        found[f"{block.name}/self_attention"] = np.asarray(weights, "float32")
        if memory is not None:
            middle = sublayer_output(block, hidden, output, block.attention_norm, False)
            query = sublayer_input(block, middle, block.memory_norm)
            attention: Any = block.memory_attention
            _, weights = attention(query, memory, return_weights=True, training=False)
            found[f"{block.name}/cross_attention"] = np.asarray(weights, "float32")
    return found


def next_token_probabilities(model: keras.Model, inputs: Any) -> np.ndarray:
    """Return how probable each token is after each step of a text, float32 (B, T, vocabulary).

    Args:
        model: of language or translation, with logits (B, T, vocabulary).
        inputs: as for `text_attention`.

    Raises:
        CanonError: (a ValueError) for a model with other outputs, or what is no ids (B, T).
    """
    outputs = model.call(_read_ids(model, inputs), training=False)  # of any length
    if isinstance(outputs, Mapping) or len(outputs.shape) != 3:
        raise CanonError(f"Model {model.name!r} gives no logits of a next token.")
    return np.asarray(keras.ops.softmax(keras.ops.cast(outputs, "float32"), axis=-1))


def token_names(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Return what stands for each id in a picture: its text with visible blanks, or the name of a special token."""
    special = {token: name for name, token in tokenizer.special_tokens.items()}
    names = [special.get(token) or tokenizer.decode([token]).replace(" ", "\u2423") for token in map(int, ids)]
    return [name if name.isprintable() else ascii(name)[1:-1] for name in names]


def draw_text(
    path: str | Path,
    maps: Mapping[str, np.ndarray],
    names: Sequence[str],
    *,
    source_names: Sequence[str] = (),
    probabilities: Mapping[str, float] | None = None,
    title: str = "",
) -> None:
    """Draw attention maps, the mean over heads, and below them the most probable next tokens.

    Args:
        path: the PNG file.
        maps: (heads, T, S) by name.
        names: of the T tokens.
        source_names: of what cross attention looks at, and the encoder's blocks at itself.
        probabilities: of next tokens by name; None leaves them out.
        title: above all.
    """
    columns = min(len(maps), 4)
    rows = -(-len(maps) // columns) + (probabilities is not None)
    figure = Figure(figsize=(3.6 * columns, 3.6 * rows), dpi=110, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    # "$" would begin a formula
    figure.suptitle(title.replace("$", r"\$"), fontsize=11)
    grid = figure.add_gridspec(rows, columns)
    for place, (name, weights) in enumerate(maps.items()):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        axes.imshow(weights.mean(axis=0), cmap=_MAP, vmin=0.0, aspect="auto", interpolation="nearest")
        axes.set_title(name, fontsize=9)
        encoder = name.startswith("encoder") and bool(source_names)
        _label(axes.set_yticks, source_names if encoder else names)
        _label(axes.set_xticks, source_names if encoder or name.endswith("cross_attention") else names, rotation=90)
    if probabilities is not None:
        axes = figure.add_subplot(grid[rows - 1, :])
        shown = sorted(probabilities.items(), key=lambda item: item[1], reverse=True)[:_SHOWN]
        axes.barh([_plain(name) for name, _ in shown], [value for _, value in shown], color="#4477aa")
        axes.invert_yaxis()
        axes.set_xlim(0.0, 1.0)
        axes.set_title("probability of the next token", fontsize=9)
    figure.savefig(Path(path))


def _label(set_ticks: Any, names: Sequence[str], rotation: int = 0) -> None:
    if len(names) <= _LABELLED:
        set_ticks(range(len(names)), [_plain(name) for name in names], fontsize=6, rotation=rotation)


def _plain(name: str) -> str:
    return name.replace("$", r"\$")


def _alignment(model: Model, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the maps of a recurrent translator; a source is filled up to a fixed number of steps, as where it translates."""
    steps, length = model.input["source_ids"].shape[1], inputs["source_ids"].shape[1]
    if steps is not None and length > steps:
        raise CanonError(f"A source of {length} ids is more than {model.name!r} can read, {steps}: shorten it.")
    maps = alignment(model, {**inputs, "source_ids": filled(inputs["source_ids"], steps)})
    return {name: weights[..., :length] for name, weights in maps.items()}


def _read_ids(model: keras.Model, inputs: Any) -> Any:
    """Return the ids of a model of text as arrays (B, T), by name where it has several inputs; any other model's inputs as they are."""
    wanted = {tensor.name: tensor for tensor in model.inputs}
    if any(len(tensor.shape) != 2 or "int" not in str(tensor.dtype) for tensor in wanted.values()):
        return inputs
    given = inputs if isinstance(inputs, Mapping) else dict.fromkeys(list(wanted)[:1], inputs)
    if not wanted.keys() <= given.keys():
        raise CanonError(f"Model {model.name!r} reads {' and '.join(wanted)}: give a dict with ids (B, T) of each.")
    read = {}
    for name in wanted:
        try:
            read[name] = np.asarray(given[name])
        except ValueError as error:  # lists of unequal lengths
            raise CanonError(f"{name} must be one array of integer ids (B, T): explain texts of different lengths one by one.") from error
        if read[name].ndim != 2 or not read[name].size or read[name].dtype.kind not in "iu":
            raise CanonError(f"{name} must be integer ids (B, T), got {read[name].dtype} of shape {read[name].shape}.")
        read[name] = read[name].astype("int32")
    if isinstance(model.input, Mapping):
        return read
    return next(iter(read.values())) if len(read) == 1 else list(read.values())


def _refuse_padding(model: keras.Model, inputs: Any) -> None:
    masks = any(getattr(layer, "mask_zero", False) for layer in model.layers)
    ids = inputs if isinstance(inputs, Mapping) else {"token_ids": inputs}
    padded = [name for name, values in ids.items() if name != "segment_ids" and (np.asarray(values) == 0).any()]
    if masks and padded:
        raise CanonError(f"{padded[0]} holds the id 0, which is padding to {model.name!r}: give ids without padding.")
