"""Conversions of weights by name, as data: ordered rules out of a family's TOML."""

import re
from collections.abc import Iterable
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
# counters that no layer of ours needs
NEVER_NEEDED = ("num_batches_tracked", "normalization/mean", "normalization/variance", "normalization/count")


@dataclass(frozen=True)
class Rule:
    r"""One rename rule; the first rule whose pattern matches the start of a source name decides.

    Args:
        source: regular expression for the start of the source name, such as `layer(\d)\.(\d+)\.conv1\.`.
        target: path of our variable or, ending in "/", of our layer, to which the leaf is added. `{1}` is the first group,
            `{1+1}` the first group plus one, `{part}` a part of a split.
        how: "" derives the layout change from the shapes; "same" keeps the array as it is; "flatten" reorders a dense kernel
            behind a flattened map of `shape` (channels, height, width); "split" cuts the first axis into `parts`;
            "absorb_bias" subtracts a convolution's bias from the moving mean of the batch normalisation after it, which is exact
            in inference; "positions" resamples a learned position table; "skip" names arrays that the variant has no use for.
        shape: for "flatten".
        parts: for "split", such as ["query", "key", "value"].
    """

    source: str
    target: str = ""
    how: Literal["", "same", "flatten", "split", "absorb_bias", "positions", "skip"] = ""
    shape: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()

    def __post_init__(self):
        re.compile(self.source)
        if self.how == "flatten" and len(self.shape) != 3:
            raise ValueError(f"a flatten rule needs shape = [channels, height, width], got {list(self.shape)}")
        if self.how == "split" and not self.parts:
            raise ValueError("a split rule needs parts")


@dataclass(frozen=True)
class Conversion:
    """How weights of one format fit certain variants of a family.

    Args:
        format: as in `zoo.load_weights`.
        variants: the variants whose arithmetic is the source's.
        rules: tried in order.
        epsilon: the source's batch-norm epsilon where it differs from ours; the moving variance takes up the difference exactly.
    """

    format: Literal["keras_applications", "torchvision", "huggingface", "torch"]
    variants: tuple[str, ...]
    rules: tuple[Rule, ...]
    epsilon: float | None = None


@dataclass(frozen=True)
class Move:
    """Where one source array goes: `targets` are paths of our variables, one for each part of a split."""

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
    known = set(paths)
    moves, unknown = [], []
    for name in names:
        if name.endswith(NEVER_NEEDED):
            moves.append(Move(name, Rule(re.escape(name), how="skip"), ()))
            continue
        for rule in conversion.rules:
            match = re.match(rule.source, name)
            if match:
                rest = name[match.end() :]
                parts = rule.parts or ("",)
                targets = tuple(_target(_fill(rule.target, match, part), rest, known) for part in parts)
                moves.append(Move(name, rule, () if rule.how == "skip" else targets))
                break
        else:
            unknown.append(name)
    return moves, unknown


def _fill(template: str, match: re.Match, part: str) -> str:
    def value(field: re.Match) -> str:
        if field.group(0) == "{part}":
            return part
        text = match.group(int(field.group(1)))
        return str(int(text) + int(field.group(2))) if field.group(2) else text

    return re.sub(r"\{(?:part|(\d+)([+-]\d+)?)\}", value, template)


def _target(path: str, rest: str, known: set[str]) -> str:
    if not path.endswith("/"):
        return path
    for leaf in LEAVES.get(rest, (rest,)):
        if path + leaf in known:
            return path + leaf
    return path + rest
