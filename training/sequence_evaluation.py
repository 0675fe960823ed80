"""How good a trained model of sequences is on a split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, cast

import keras
import numpy as np
import tensorflow as tf

from ..zoo.errors import CanonError, unknown_name
from ..zoo.generation import Generation
from ..zoo.model import Model
from .auxiliary import MAIN_OUTPUT, main_output
from .carried_state import CarriedState, streams
from .compiled_steps import kept
from .data.sequences import Ragged, SequenceDataset, SequenceSplit
from .data.vocabulary import Characters
from .evaluation import Evaluation, judged
from .sequence_lengths import refuse_longer, step_limit, translator
from .sequence_losses import NEAR
from .sequence_pipeline import in_order, sequence_reader
from .steps import compiled
from .text_metrics import bits, bleu, character_error_rate, exact_match, perplexity, word_error_rate
from .transcripts import read_lines

_SHOWN = 12
_STREAMS = 64  # that a text is cut into where a state is carried: how many decides the figures, a little
_ROOM = 8  # ids that a translation may have beyond the longest right one
_DECODED = 2000  # translations of a split at most, which are written one id after the other


@dataclass(frozen=True, eq=False)
class SequenceEvaluation:
    """The answers of a model on one split of sequences.

    Args:
        data: name of the data set.
        split: name of the split.
        truth: the right answers, (N, 1) or rows of ids.
        accuracy: share of right ids, or of numbers that are within 0.04.
        figures: further figures by name, such as perplexity.
        samples: (source, right, said) of some examples.
    """

    data: str
    split: str
    truth: Any = field(repr=False)
    accuracy: float
    figures: dict[str, float]
    samples: tuple[tuple[str, str, str], ...] = ()

    def metrics(self) -> dict[str, float]:
        """Return the figures that sum up the split."""
        return {"accuracy": self.accuracy, **self.figures, "examples": len(self.truth)}

    def by_class(self) -> list:
        """Return nothing: there are no classes."""
        return []


def evaluate_sequences(
    model: Model, data: SequenceDataset, split: str = "test", *, batch_size: int = 128
) -> Evaluation | SequenceEvaluation:
    """Evaluate a model on one split of a data set of sequences.

    For "tokens", cross-entropy is a mean over all ids of the split that are not padding, and `exact_match` the share of sequences with
    every id right. Translations are written from their start, greedily, by what the model itself wrote before; at most the first
    2000 of a split. Where ids are masked, the masks are always the same, and only what is asked counts.

    Args:
        model: of the data's vocabulary or classes.
        data: the data set.
        split: "train", "validation" or "test".
        batch_size: examples at a time; it changes the speed only. Data that carry a state are always read as 64 streams.

    Returns:
        an `Evaluation` for one class a sequence, and a `SequenceEvaluation` for all else.

    Raises:
        CanonError: for an unknown split, a model of other inputs or outputs, or one without positions for the longest row.
    """
    if split not in data.splits:
        raise unknown_name("split", split, data.splits)
    names = {tensor.name for tensor in model.inputs}
    answer = main_output(model.output)
    answer = answer.get(MAIN_OUTPUT) if isinstance(answer, Mapping) else answer
    if names != set(data.train.inputs) or answer is None or answer.shape[-1] != data.num_classes:
        raise CanonError(f"Model {model.name!r} does not fit {data.name!r}: it has other inputs or another number of outputs.")
    if data.class_names and model.record.labels and model.record.labels != data.class_names:
        raise CanonError(f"Model {model.name!r} knows other classes, or another alphabet, than {data.name!r}.")
    part = data.splits[split].masked()
    refuse_longer(model, data, [part])
    if data.kind == "tokens":
        return _tokens(model, data, part, batch_size)
    if data.kind == "transcripts":
        return _transcripts(model, data, part)
    found = np.zeros((len(part), data.num_classes), "float32")
    forward = _forward(model, part)
    for positions, inputs, _ in in_order(part, batch_size, limit=step_limit(model)):
        found[positions] = forward(inputs).numpy()
    if data.kind == "classes":
        return judged(found, data.name, data.class_names, part.name, np.asarray(part.labels))
    truth = np.asarray(part.labels)
    distances = np.abs(found - truth)
    pairs = zip(truth.ravel()[:_SHOWN].tolist(), np.ravel(found)[:_SHOWN].tolist(), strict=True)
    samples = tuple(("", f"{right:.3f}", f"{said:.3f}") for right, said in pairs)
    figures = {"mean_squared_error": float(np.mean(distances.astype("float64") ** 2))}
    return SequenceEvaluation(data.name, split, part.labels, float(np.mean(distances <= NEAR)), figures, samples)


def _forward(model: Model, split: SequenceSplit, carried: CarriedState | None = None):
    """Return the compiled forward pass in inference, float32; each call of one that carries a state goes on from the last."""
    signature, _ = cast(Any, sequence_reader(split, 1)(None).element_spec)

    def outputs(inputs):
        found = main_output(model(inputs, training=False) if carried is None else carried.evaluate(inputs))
        return tf.nest.map_structure(lambda values: tf.cast(values, "float32") if values.dtype.is_floating else values, found)

    if carried is not None:
        return compiled(outputs, (signature,))
    return kept(model, ("sequence outputs", signature), lambda: compiled(outputs, (signature,)))


def _tokens(model: Model, data: SequenceDataset, split: SequenceSplit, batch_size: int) -> SequenceEvaluation:
    rows = _STREAMS if data.carries else batch_size
    carried = CarriedState(model, rows) if data.carries else None
    forward = _forward(model, split, carried)
    order = streams(len(split), rows) if data.carries else None
    whole = np.zeros(len(split), bool)
    said: dict[int, np.ndarray] = {}
    loss = right = total = 0.0
    for positions, inputs, labels in in_order(split, rows, order, step_limit(model)):
        logits = forward(inputs)
        truth = np.asarray(labels)
        losses = np.asarray(keras.ops.sparse_categorical_crossentropy(labels, logits, from_logits=True), "float64")
        answers, real = np.argmax(logits, axis=-1), truth != 0
        loss, total = loss + float(losses[real].sum()), total + float(real.sum())
        right += float((answers == truth)[real].sum())
        whole[positions] = np.all((answers == truth) | ~real, axis=1)
        said.update((int(place), row[kind]) for place, row, kind in zip(positions, answers, real, strict=True) if place < _SHOWN)
    cross_entropy = loss / max(total, 1.0)
    figures = {"cross_entropy": cross_entropy, "perplexity": perplexity(cross_entropy)}
    if data.characters:
        figures["bits_per_character"] = bits(cross_entropy)
    elif data.train.masking is None:
        figures["exact_match"] = float(whole.mean())
    if data.end_id is not None:
        written = translate(model, data, split, batch_size)
        figures.update(_text_figures(data, split, written))
        said = dict(enumerate(written[:_SHOWN]))
    samples = tuple(_sample(data, split, place, said[place]) for place in sorted(said))
    return SequenceEvaluation(data.name, split.name, split.labels, right / max(total, 1.0), figures, samples)


def _transcripts(model: Model, data: SequenceDataset, split: SequenceSplit) -> SequenceEvaluation:
    read, loss = read_lines(model, split, _forward(model, split))
    figures = {"ctc": loss, **_text_figures(data, split, read)}
    alphabet = Characters(data.class_names)
    samples = tuple(("", alphabet.decode(split.labels[place]), alphabet.decode(read[place])) for place in range(min(_SHOWN, len(read))))
    return SequenceEvaluation(data.name, split.name, split.labels, figures["exact_match"], figures, samples)


def translate(model: Model, data: SequenceDataset, split: SequenceSplit, batch_size: int = 128) -> list[np.ndarray]:
    """Return what the model writes for the sources of a split, greedily, as ids with their end; at most the first 2000."""
    sources, labels = split.inputs["source_ids"], split.labels
    assert isinstance(sources, Ragged)
    assert isinstance(labels, Ragged)
    assert data.start_id is not None
    assert data.end_id is not None
    settings = Generation(max_new_tokens=int(labels.lengths.max()) + _ROOM, stop_ids=(data.end_id,))
    generator, written = translator(model, settings), []
    for start in range(0, min(len(split), _DECODED), batch_size):
        rows = [sources[place] for place in range(start, min(start + batch_size, len(split)))]
        found = generator({"source_ids": rows, "target_ids": [[data.start_id]] * len(rows)})
        written += [np.asarray(row, "int32") for row in found]
    return written


def _text_figures(data: SequenceDataset, split: SequenceSplit, written: Sequence[np.ndarray]) -> dict[str, float]:
    alphabet = Characters(data.class_names)
    truth = [alphabet.decode(split.labels[place]) for place in range(len(written))]
    said = [alphabet.decode(row) for row in written]
    figures = {
        "exact_match": exact_match(truth, said),
        "character_error_rate": character_error_rate(truth, said),
        "word_error_rate": word_error_rate(truth, said),
    }
    # of lines and speech, mostly shorter than its four words in a row, BLEU says nothing
    return {**figures, "bleu": bleu(truth, said)} if data.kind == "tokens" and find_spec("sacrebleu") else figures


def _sample(data: SequenceDataset, split: SequenceSplit, place: int, said: np.ndarray) -> tuple[str, str, str]:
    if data.characters or data.source_names:
        target = Characters(data.class_names)
        first = next(iter(split.inputs.values()))[place]
        source = Characters(data.source_names or data.class_names).decode(first)
        return source, target.decode(split.labels[place]), target.decode(said)
    real = split.labels[place][split.labels[place] != 0]
    names = [" ".join(data.class_names[int(number)] for number in row) for row in (next(iter(split.inputs.values()))[place], real, said)]
    return names[0], names[1], names[2]
