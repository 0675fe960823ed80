"""A run on sequences that starts from trained weights: all of the encoder by name, under a new head."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from ..zoo.errors import CanonError
from ..zoo.load_report import LoadReport
from ..zoo.loading import Format, load_weights
from ..zoo.model import Model
from ..zoo.placement import HEAD
from ..zoo.sources import read_source
from ..zoo.tokenizers import FILE, Tokenizer
from ..zoo.tokenizers_files import load_tokenizer
from ..zoo.tokenizers_plain import CharacterTokenizer
from .data.sequences import SequenceDataset
from .data.vocabulary import SPECIALS
from .finetuning_weights import hashed_weights
from .report_blocks import Block, Bullets, Heading, Text
from .transfer_section import TransferSection

_TAKEN = ("weights", "sha256")


def load_encoder(model: Model, section: TransferSection, data: SequenceDataset) -> LoadReport:
    """Load what a model shares with the one that weights are of; its head stays new, and heads that it lacks are left out.

    The weights may be of another variant of the family, such as those of a pre-training for a classifier.

    Args:
        model: as the recipe builds it.
        section: `[transfer]`.
        data: whose ids must be those that the weights were trained on.

    Returns:
        what was loaded, skipped and left out.

    Raises:
        CanonError: for weights that are not there, have changed, are of other ids or do not fit, and for keys that pictures alone have.
    """
    others = [field.name for field in dataclasses.fields(section) if field.name not in _TAKEN and getattr(section, field.name) is not None]
    if others or section.weights is None:
        keys = ", ".join(f"transfer.{name}" for name in others)
        raise CanonError(f"[transfer] of sequences takes {' and '.join(_TAKEN)}, and trains all weights at one rate: leave out {keys}.")
    weights, found = section.weights, hashed_weights(section, model.record.variant)
    _check_vocabulary(Path(weights), data)
    source = read_source(found.path, model)
    form = cast(Format, found.published.format if found.published else source.format or "auto")
    # by name alone: the file is of another variant where its heads are others
    report = load_weights(model, source.arrays, format=form, strict=False, skip_head=True)
    fault = _fault(model, report)
    if fault:
        raise CanonError(f"The weights {weights!r} do not fit {model.name!r}: {fault}.")
    model.update_record(weights=weights)
    return report


def start_blocks(weights: str, report: LoadReport) -> Sequence[Block]:
    """Return what a run's report says of its start.

    Args:
        weights: as in `[transfer]`.
        report: what was loaded.
    """
    new = ", ".join(report.skipped_layers) or "nothing"
    text = f"Started from the weights {weights}: {len(report.loaded)} arrays were loaded in the format {report.format}. New: {new}."
    return [Heading(2, "Fine-tuning"), Text(text), *([Bullets([f"left out: {name}" for name in report.unused])] if report.unused else [])]


def own_tokenizer(data: SequenceDataset) -> Tokenizer | None:
    """Return what makes ids of data out of text, that of characters where source and target have one alphabet; None for no text.

    Args:
        data: the data set.
    """
    names = data.class_names
    if data.tokenizer is not None or data.kind not in ("tokens", "transcripts"):
        return data.tokenizer
    if data.source_names not in ((), names) or names[: len(SPECIALS)] != SPECIALS:
        return None
    return CharacterTokenizer("".join(names[len(SPECIALS) :]), SPECIALS)


def _check_vocabulary(weights: Path, data: SequenceDataset) -> None:
    """Refuse a run, or a file of one, whose ids stand for other pieces."""
    folder, words = weights.parent if weights.is_file() else weights, own_tokenizer(data)
    if words is None or (data.tokenizer is None and data.kind == "transcripts"):  # whose ids are those of the new head alone
        return
    if (folder / FILE).is_file() and load_tokenizer(folder).to_json() != words.to_json():
        raise CanonError(f"{str(weights)!r} was trained with another vocabulary than that of {data.name!r}: train it anew.")


def _fault(model: Model, report: LoadReport) -> str:
    """Return what keeps weights from being those of the encoder, "" for nothing: what is new must come last."""
    for path, theirs, ours in report.skipped:
        if HEAD not in path.split("/"):
            return f"{path} is {ours} and the source has {theirs}"
    if not report.loaded:
        return "none of its arrays is there"
    loaded = {path for _, path, _ in report.loaded}
    order = [weight.path for weight in model.weights]
    last = max(order.index(path) for path in loaded)
    missing = next((path for path, _ in report.missing if order.index(path) < last), None)
    return f"{missing} is missing" if missing else ""
