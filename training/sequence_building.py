"""From a recipe to a model of sequences, not yet compiled."""

from collections.abc import Mapping
from typing import cast

import keras
import numpy as np

from .. import zoo
from ..zoo.errors import CanonError
from ..zoo.model import Model
from ..zoo.records import Preprocessing
from .auxiliary import LENGTHS, main_output
from .data.sequences import SequenceDataset
from .sections import Recipe
from .sequence_lengths import refuse_longer
from .transcripts import refuse_infeasible


def sequence_model(recipe: Recipe, data: SequenceDataset) -> Model:
    """Return the model of a recipe for sequences; sizes that the data decide need not be in the recipe.

    These are the shape of an example, the number of classes, and the sizes of vocabularies. A length of 0 stands for any.

    Raises:
        CanonError: for a model that reads something else, or has no positions for the longest row, and for parts of a recipe that only
            pictures have.
    """
    section = recipe.model
    row = zoo.info(section.name)
    if row.preprocessing is not None:
        raise CanonError(f"Model {section.name!r} reads images, and {data.name!r} holds sequences.")
    if section.preprocessing:
        raise CanonError(f"model.preprocessing changes pictures, and {data.name!r} holds sequences: leave it out.")
    if recipe.augment.changes_pictures or recipe.augment.mixes_labels:
        raise CanonError(f"[augment] changes pictures, and {data.name!r} holds sequences: leave it out.")
    if data.start_id is not None and row.task != "translation":
        raise CanonError(
            f"{data.name!r} holds pairs to be translated, and {section.name!r} is for {row.task}: name a model for translation."
        )
    shape = data.input_shape if section.input_shape is None else tuple(steps or None for steps in section.input_shape)
    # a model of language has its classes in its vocabulary
    classes = data.num_classes if row.num_classes else 0
    model = zoo.create(section.name, num_classes=classes, input_shape=shape, overrides={**data.sizes, **section.overrides})
    names = {tensor.name for tensor in model.inputs}
    if names != set(data.train.inputs):
        raise CanonError(f"Model {section.name!r} reads {_list(names)}, but {data.name!r} gives {_list(data.train.inputs)}.")
    refuse_longer(model, data, list(data.splits.values()))
    if data.kind == "transcripts":
        return _recognizer(model, data)
    answer, wanted = main_output(model.output), 3 if data.kind == "tokens" else 2
    if isinstance(answer, Mapping):
        raise CanonError(f"Model {section.name!r} gives {_list(answer)}, none of which answers {data.name!r}: name a model with a head.")
    if len(answer.shape) != wanted:
        form = "at each step" if data.kind == "tokens" else "for the whole sequence"
        raise CanonError(f"{data.name!r} asks for one answer {form}: see the field 'output' of the config of {section.name!r}.")
    if answer.shape[-1] != data.num_classes:
        raise CanonError(f"Model {section.name!r} has {answer.shape[-1]} outputs, but {data.name!r} asks for {data.num_classes}.")
    if isinstance(model.output, Mapping):
        _freeze_other_heads(model, answer)
    return model


def _freeze_other_heads(model: Model, answer: keras.KerasTensor) -> None:
    """Leave out of training what the answer does not depend on: no gradient would reach it, and decay would."""
    asked = {layer.name for layer in keras.Model(model.inputs, answer).layers}
    for layer in model.layers:
        layer.trainable = layer.name in asked


def _recognizer(model: Model, data: SequenceDataset) -> Model:
    """Return a model that gives frames and their number; one of lines with the preprocessing that makes its pictures of others."""
    draws = "images" in data.train.inputs
    if not isinstance(model.output, Mapping) or LENGTHS not in model.output:
        what, cure = ("text lines", "crnn_ctc") if draws else ("speech", "deepspeech2")
        raise CanonError(f"{data.name!r} asks for a recognizer of {what}, and {model.name!r} is none: try {cure}.")
    if draws:
        height, _, channels = data.input_shape
        assert height is not None
        assert channels is not None
        width = max(cast(np.ndarray, split.inputs["images"]).shape[2] for split in data.splits.values())
        model.update_record(preprocessing=Preprocessing(size=(height, width), resize="pad", channels=channels))
    for split in data.splits.values():
        refuse_infeasible(model, data, split)
    return model


def _list(names) -> str:
    return " and ".join(sorted(names))
