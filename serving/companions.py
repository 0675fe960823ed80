"""What is written beside the SavedModel, and what is measured of both."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.memory import trim_memory
from .bundle import Measurement, TensorSpec
from .formats import FORMATS, Source, check_formats, check_written, open_format, write_format
from .freezing import can_freeze, freeze
from .measuring import Predictor, measure
from .plain_ops import in_plain_ops
from .precision import to_bfloat16
from .samples import Samples, random_samples
from .signatures import Plan, build_signatures, name_outputs, trace_core
from .smallest_size import smallest_sizes

Precision = Literal["float32", "bfloat16", "int8"]


@dataclass(frozen=True)
class Arithmetic:
    """The model's arithmetic in the forms that an export needs.

    Args:
        plan: names and types.
        traced: the model with its variables, in float32.
        frozen: the same with constants, a `Core`; None where the variables have to stay, and no other format can be written.
        written: what the SavedModel gets.
        precision: of the export.
    """

    plan: Plan
    traced: Any
    frozen: Any
    written: Any
    precision: Precision

    @property
    def specs(self) -> dict[str, TensorSpec]:
        """The inputs by name."""
        return {str(spec.name): TensorSpec(spec.dtype.name, tuple(spec.shape), "") for spec in self.plan.specs}


def check_request(precision: str, formats: tuple[str, ...], data: Any) -> tuple[str, ...]:
    """Raise when precision, formats and data do not go together; return the formats to write."""
    if precision not in ("float32", "bfloat16", "int8"):
        raise CanonError(f"precision must be 'float32', 'bfloat16' or 'int8', got {precision!r}.")
    if precision == "int8":
        if data is None:
            raise CanonError("int8 needs data to find the ranges of the activations on: give data=, a few hundred typical inputs.")
        if set(formats) - {"litert"}:
            raise CanonError(f"int8 is written as litert only, got {', '.join(formats)}.")
        formats = ("litert",)
    check_formats(formats)
    return formats


def prepare(plan: Plan, precision: Precision, formats: tuple[str, ...], *, keep_variables: bool = False) -> Arithmetic:
    """Trace the model and freeze it, in the precision asked for.

    Args:
        plan: the model, with names and types.
        precision: of the export.
        formats: keys of `FORMATS`.
        keep_variables: True where other signatures share the weights, so that they cannot become constants of one.
    """
    traced = trace_core(plan)
    if keep_variables or not can_freeze(traced):
        if precision != "float32" or formats:
            raise CanonError(
                f"Model {plan.model.name!r} can be exported only as a float32 SavedModel: its weights cannot become constants "
                "(text that it writes, tables of words, state that it writes, or more than 1.5 GB)."
            )
        return Arithmetic(plan, traced, None, traced, precision)
    core = freeze(traced)
    plan = dataclasses.replace(plan, smallest=smallest_sizes(core, plan.specs))
    written = to_bfloat16(core, plan.model.name) if precision == "bfloat16" else core
    return Arithmetic(plan, traced, core, written.to_function(), precision)


def write_companions(
    arithmetic: Arithmetic, folder: Path, formats: tuple[str, ...], samples: Samples | None
) -> tuple[dict[str, str], tuple[Measurement, ...]]:
    """Write the other formats, check them, and measure everything on the samples.

    Args:
        arithmetic: the model.
        folder: the version folder, with its SavedModel.
        formats: keys of `FORMATS`.
        samples: None to measure nothing.

    Returns:
        format -> path inside the folder, and the measurements.
    """
    if not formats and samples is None:
        return {}, ()
    saved = _saved_model(folder)
    reference = _in_memory(arithmetic)
    precision = arithmetic.precision
    measurements = []
    if samples is not None:
        lowered = "bfloat16" if precision == "bfloat16" else "float32"
        measurements.append(measure(f"saved_model {lowered}", saved, reference, samples))
    trial = random_samples(arithmetic.specs) if samples is None else samples
    for name in formats:
        kind = precision if precision == "int8" else "float32"
        path = write_format(name, _source(arithmetic, name), folder, samples if kind == "int8" else None)
        predict = open_format(name, path)
        if kind == "float32":
            check_written(name, arithmetic.plan.model.name, predict, reference if precision == "bfloat16" else saved, trial)
        if samples is not None:
            measurements.append(measure(f"{name} {kind}", predict, reference, samples))
        del predict
        trim_memory()
    return {name: FORMATS[name].file for name in formats}, tuple(measurements)


def _source(arithmetic: Arithmetic, form: str) -> Source:
    plan = arithmetic.plan
    frozen = in_plain_ops(arithmetic.frozen, litert=form == "litert").to_function()

    @tf.function(autograph=False, input_signature=plan.specs)
    def forward(*tensors):
        return name_outputs(plan, frozen(*tensors))

    return Source(plan.model.name, forward, plan.specs)


def _saved_model(folder: Path) -> Predictor:
    function = tf.saved_model.load(str(folder)).signatures["serving_default"]
    return lambda inputs: _numpy(function(**{name: tf.constant(array) for name, array in inputs.items()}))


def _in_memory(arithmetic: Arithmetic) -> Predictor:
    """The model as it was given, before freezing."""
    function = build_signatures(arithmetic.plan, arithmetic.traced)["serving_default"]
    return lambda inputs: _numpy(function(**{name: tf.constant(array) for name, array in inputs.items()}))


def _numpy(outputs: Mapping[str, tf.Tensor]) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in outputs.items()}
