"""Conversions of weights by name, as data: ordered rules out of a family's TOML."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# what frameworks call the leaves of a layer -> our names, tried in turn
LEAVES = {
    "weight": ("kernel", "gamma", "scale", "embeddings", "embedding"),
    "bias": ("bias", "beta"),
    "running_mean": ("moving_mean",),
    "running_var": ("moving_variance",),
    "depthwise_kernel": ("kernel",),
    "pointwise_kernel": ("kernel",),
}
# rules that put several arrays of a recurrent layer together into the weights of a cell
CELLS = ("elman", "lstm", "gru")
# layers that the source leaves unnamed: Keras numbers them in the order in which a process makes them
_UNNAMED = re.compile(r"(conv2d|batch_normalization)(?:_(\d+))?/")
# counters that no layer of ours needs
NEVER_NEEDED = ("num_batches_tracked", "normalization/mean", "normalization/variance", "normalization/count")


@dataclass(frozen=True)
class Rule:
    r"""One rename rule; the first rule whose pattern matches the start of a source name decides.

    Args:
        source: regular expression for the start of the source name, such as `layer(\d)\.(\d+)\.conv1\.`.
        target: path of our variable or, ending in "/", of our layer, to which the leaf is added. `{1}` is the first group,
            `{1+1}` the first group plus one (a letter counts as its place in the alphabet), `{part}` a part of a split,
            `{numbered[1]}` the entry of the conversion's `numbered` at the number in the first group (0 when it took no part).
        how: "" derives the layout change from the shapes; "same" keeps the array as it is; "flatten" reorders a dense kernel
            behind a flattened map of `shape` (channels, height, width); "split" cuts the first axis into `parts`; "split_last" cuts
            the last one of an array that is stored as ours are; "tied" is an array that is stored a second time and must be equal, or
            is stored under this name alone; "absorb_bias" subtracts a convolution's bias from the moving mean of the batch normalisation
            after it, which is exact in inference; "elman", "lstm" and "gru" gather a recurrent layer's arrays (such as `weight_ih_l0`,
            which the whole source name must end in) for the cell that `target`, ending in "/", names; "skip" names arrays that the
            variant has no use for.
        shape: for "flatten".
        parts: for "split", such as ["query", "key", "value"].
    """

    source: str
    target: str = ""
    how: Literal["", "same", "flatten", "split", "split_last", "tied", "absorb_bias", "elman", "lstm", "gru", "skip"] = ""
    shape: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()

    def __post_init__(self):
        re.compile(self.source)
        if self.how == "flatten" and len(self.shape) != 3:
            raise ValueError(f"a flatten rule needs shape = [channels, height, width], got {list(self.shape)}")
        if self.how.startswith("split") and not self.parts:
            raise ValueError("a split rule needs parts")


@dataclass(frozen=True)
class Conversion:
    """How weights of one format fit certain variants of a family.

    Args:
        format: as in `zoo.load_weights`.
        variants: the variants whose arithmetic is the source's.
        rules: tried in order.
        numbered: our layers in the order of the layers that the source leaves unnamed, such as `conv2d_7`; their numbers are
            counted from the lowest one of the source, since automatic names go on counting over a process.
        epsilon: the source's batch-norm epsilon where it differs from ours; the moving variance takes up the difference exactly.
    """

    format: Literal["keras_applications", "torchvision", "huggingface", "torch"]
    variants: tuple[str, ...]
    rules: tuple[Rule, ...]
    epsilon: float | None = None
    numbered: tuple[str, ...] = ()


@dataclass(frozen=True)
class Move:
    """Where one source array goes: `targets` are paths of our variables, one for each part of a split, or of a cell."""

    name: str
    rule: Rule
    targets: tuple[str, ...]


def plan(conversion: Conversion, names: Iterable[str], paths: Iterable[str]) -> tuple[list[Move], list[str]]:
    """Decide where each source array goes.

    Args:
        conversion: the rules.
        names: names of the source arrays.
        paths: paths of our variables.

    Returns:
        (moves, names that no rule takes).
    """
    known, names = set(paths), list(names)
    offsets = _offsets(names) if conversion.numbered else {}
    moves, unknown = [], []
    for name in names:
        if name.endswith(NEVER_NEEDED):
            moves.append(Move(name, Rule(re.escape(name), how="skip"), ()))
            continue
        counted = _count_anew(name, offsets)
        for rule in conversion.rules:
            match = re.match(rule.source, counted)
            if match:
                rest = counted[match.end() :]
                parts = rule.parts or ("",)
                paths = [_fill(rule.target, match, part, conversion.numbered) for part in parts]
                targets = tuple(paths if rule.how in CELLS else [_target(path, rest, known) for path in paths])
                moves.append(Move(name, rule, () if rule.how == "skip" else targets))
                break
        else:
            unknown.append(name)
    return moves, unknown


def _offsets(names: Iterable[str]) -> dict[str, int]:
    """Return the lowest number of the unnamed layers of each kind."""
    offsets: dict[str, int] = {}
    for match in filter(None, map(_UNNAMED.match, names)):
        kind, number = match.group(1), int(match.group(2) or 0)
        offsets[kind] = min(number, offsets.get(kind, number))
    return offsets


def _count_anew(name: str, offsets: Mapping[str, int]) -> str:
    """Return the name with the number of an unnamed layer counted from the lowest one."""
    match = _UNNAMED.match(name)
    if match is None or match.group(1) not in offsets:
        return name
    kind, number = match.group(1), int(match.group(2) or 0)
    return f"{kind}_{number - offsets[kind]}/{name[match.end() :]}"


def _fill(template: str, match: re.Match, part: str, numbered: Sequence[str]) -> str:
    def value(field: re.Match) -> str:
        if field.group(0) == "{part}":
            return part
        if field.group(1):
            number = int(match.group(int(field.group(1))) or 0)
            return numbered[number] if number < len(numbered) else ""
        text = match.group(int(field.group(2)))
        return str(_number(text) + int(field.group(3))) if field.group(3) else text

    return re.sub(r"\{(?:part|numbered\[(\d+)\]|(\d+)([+-]\d+)?)\}", value, template)


def _number(text: str) -> int:
    """Return a number in a source name; a letter counts as its place in the alphabet, as in `block2a`, `block2b`."""
    return int(text) if text.isdigit() else ord(text.lower()) - ord("a") + 1


def _target(path: str, rest: str, known: set[str]) -> str:
    if not path.endswith("/"):
        return path
    for leaf in LEAVES.get(rest, (rest,)):
        if path + leaf in known:
            return path + leaf
    return path + rest
