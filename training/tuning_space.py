"""From the space of a recipe to keras-tuner's."""

from collections.abc import Mapping

import keras_tuner

from .tune_section import Range


def tuner_space(space: Mapping[str, Range]) -> keras_tuner.HyperParameters:
    """Return the space as keras-tuner takes it; choices are numbered, since it knows no lists and tables."""
    parameters = keras_tuner.HyperParameters()
    for key, kind in space.items():
        sampling = kind.sampling or "linear"
        if kind.choices is not None:
            ordered = all(isinstance(value, int | float) for value in kind.choices)
            parameters.Choice(key, list(range(len(kind.choices))), ordered=ordered)
        elif kind.integers is not None:
            parameters.Int(key, *kind.integers, step=kind.step, sampling=sampling)
        else:
            parameters.Float(key, *kind.bounds, step=kind.step, sampling=sampling)
    return parameters
