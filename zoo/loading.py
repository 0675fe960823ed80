"""`zoo.load_weights`: everything is matched and checked first, then assigned, so a bad source leaves the model as it was."""

import difflib
from collections.abc import Mapping
from typing import Literal

from .conversion import Conversion, plan
from .errors import CanonError
from .families import conversions
from .load_report import LoadReport
from .model import Model, check_ours
from .placement import Placement
from .registry import info
from .sources import Source, read_source

Format = Literal["auto", "canon", "keras_applications", "torchvision", "huggingface", "torch"]
FORMATS = ("auto", "canon", "keras_applications", "torchvision", "huggingface", "torch")


def load_weights(model: Model, source, format: Format = "auto", strict: bool = True, *, skip_head: bool | None = False) -> LoadReport:
    """Load weights of this project or of another framework into a model.

    Two kinds of arrays are adapted, and reported as such, where a model for images needs them in another shape: the first kernel
    to another number of input channels (`adapt_input_channels`), and a learned position table to another image size
    (`resample_positions`).

    The model's record then says where the weights came from; with weights out of another model's record also its preprocessing
    and, when the head was loaded too, its labels. Weights hold no optimizer state: the optimizer of a compiled model is left as it
    is, so compile again for one that starts afresh, or load a whole training with `zoo.load_model`.

    Args:
        model: a `zoo.Model`.
        source: a mapping of names to arrays, a `keras.Model`, or the path of a .safetensors, .keras, .weights.h5 or .h5 file.
        format: where the names come from; "auto" finds out.
        strict: True to refuse, before anything is changed, a source that lacks a weight, has one too many, or one of another
            shape; False to load what fits and list the rest in the report.
        skip_head: True to leave the output layer `logits` as it is; None to do so when the source has another number of classes
            or no head; False to treat it like any other layer.

    Returns:
        a `LoadReport`.

    Raises:
        CanonError: for an unreadable source, a format that the variant has no conversion from (weights that fit in shape but
            not in arithmetic are refused), and in strict mode for any difference, with the names and both shapes.
    """
    if format not in FORMATS:
        raise CanonError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    check_ours(model)
    read = read_source(source, model)
    if read.variant and read.variant != model.record.variant:
        raise CanonError(f"Weights of {read.variant!r} are not weights of {model.record.variant!r}: create that variant instead.")
    placement = Placement(model, read.arrays, skip_head, read.record and read.record.input_shape)
    chosen = _choose_format(model, read.arrays, placement.targets, read.format if format == "auto" else format)
    if chosen == "canon":
        placement.take_canon()
    else:
        placement.take_converted(_conversion(model, chosen))
    optimizer = getattr(model, "optimizer", None)
    notes = () if optimizer is None else ("the optimizer was left as it is, because weights hold no optimizer state",)
    report = placement.report(chosen, notes)
    if strict:
        _refuse_differences(model, report, placement)
    placement.assign()
    _update_record(model, read, report)
    return report


def _update_record(model: Model, read: Source, report: LoadReport) -> None:
    record, theirs = model.record, read.record
    if theirs is None:
        model.update_record(weights=f"{read.origin} ({report.format})")
        return
    whole = theirs.num_classes == record.num_classes and not report.skipped
    labels = theirs.labels if whole and theirs.labels else None
    preprocessing = theirs.preprocessing.fitted(record.input_shape) if theirs.preprocessing else None
    model.update_record(labels=labels, weights=read.origin, preprocessing=preprocessing)


def _choose_format(model: Model, arrays: Mapping, targets: Mapping, wanted: str) -> str:
    if wanted not in ("", "auto"):
        return wanted
    if sum(name in targets for name in arrays) * 2 > len(arrays):
        return "canon"
    best, matched = "", 0
    for conversion in conversions(info(model.record.variant).family):
        count = len(arrays) - len(plan(conversion, arrays, targets)[1])
        if count > matched:
            best, matched = conversion.format, count
    if not best:
        some = ", ".join(list(arrays)[:3])
        raise CanonError(
            f"The names of the weights ({some}, ...) are those of no format known for {model.record.variant!r}: name the format."
        )
    return best


def _conversion(model: Model, chosen: str) -> Conversion:
    variant = model.record.variant
    candidates = [one for one in conversions(info(variant).family) if one.format == chosen]
    for conversion in candidates:
        if variant in conversion.variants:
            return conversion
    others = [name for conversion in candidates for name in conversion.variants]
    # another form of the same network, such as NAME_torch, before networks that are only called alike
    forms = [name for name in others if name.startswith(f"{variant}_") or variant.startswith(f"{name}_")]
    near = forms or difflib.get_close_matches(variant, others, n=2, cutoff=0.6)
    cure = f"such weights fit {' or '.join(map(repr, near))}" if near else "no variant of its family takes them"
    raise CanonError(f"{variant!r} cannot take weights in the format {chosen!r}, because its arithmetic differs: {cure}.")


def _refuse_differences(model: Model, report: LoadReport, placement: Placement) -> None:
    faults = [f"{path} is {ours} and the source has {source}" for path, source, ours in report.skipped if not placement.forgiven(path)]
    faults += [f"{path} {shape} is missing" for path, shape in report.missing if not placement.forgiven(path)]
    faults += [f"{name} is not used" for name in report.unused if name not in placement.not_needed]
    if faults:
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise CanonError(f"The weights do not fit {model.name!r}: {'; '.join(faults[:3])}{more} (strict=False loads what fits).")
