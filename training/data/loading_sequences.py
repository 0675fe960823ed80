"""From the name of a data set of sequences to its three splits."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ...zoo.errors import CanonError
from .bible import bible_source
from .dates import dates_source
from .gettext_pairs import gettext_source
from .labelled_texts import texts_dataset
from .lines import lines_source
from .loading import VALIDATION_SHARE, load
from .memory_tasks import COPY_NAMES, memory_source, parse_options, whole_numbers
from .names import DataName, is_sequence, parse_name
from .passages import books_dataset, passages_dataset
from .prepare import directory
from .sequence_builder import read_source
from .sequences import Column, Ragged, SequenceDataset, SequenceSplit
from .source import Split
from .speech import speech_source
from .splits import check_share, validation_parts
from .text import WINDOW, text_source, windows
from .vocabulary import END, START, UNKNOWN, Characters

_SHORTEST, _LONGEST = 8, 4096


def load_sequences(
    name: str, *, seed: int = 0, validation: float | None = None, data_dir: str | os.PathLike | None = None
) -> SequenceDataset:
    """Load a data set of sequences, preparing it first where that has not been done on this machine.

    Args:
        name: `rows:fashion_mnist` (any data set of pictures of one shape, row by row), `adding:length=100`, `copying:delay=20`,
            `parity:length=20`, `text`, `text:PATH`, `text:PATH[window=200,state=carried]`, `bible`, `lines:width=160`,
            `speech:examples=1000`, `dates`, `gettext:en-fr`, `passages`, `books:labels=200,books=10` or
            `texts:reviews.csv[label=stars]`; pairs with `[alphabet=shared]` have one table of characters for both sides.
        seed: decides which examples of the training part become the validation split.
        validation: share of the training part that becomes the validation split, above 0 and below 1; None takes 0.1.
        data_dir: where prepared data lie; None takes the environment's `KERAS_CANON_DATA`, else the default of TFDS.

    Returns:
        The `SequenceDataset`; equal arguments give equal splits in equal order.

    Raises:
        CanonError: unknown name, bad option, a missing or too short text, a language without catalogues, a program that is not
            installed, damaged data.

    Example:
        >>> digits = load_sequences("rows:digits")
        >>> digits.train.inputs["sequences"].shape, digits.num_classes
        ((1257, 8, 8), 10)
    """
    parsed = parse_name(name)
    if not is_sequence(name):
        raise CanonError(f"{name!r} holds pictures: read them row by row as rows:{name}.")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise CanonError(f"seed must be an integer, got {seed!r}.")
    share = check_share("validation", VALIDATION_SHARE if validation is None else validation)
    if parsed.kind == "rows":
        return _rows(name, parsed, int(seed), validation, data_dir)
    kinds: dict[str, Callable[..., SequenceDataset]] = {
        "bible": _text,
        "books": books_dataset,
        "dates": _pairs,
        "gettext": _pairs,
        "lines": _transcripts,
        "passages": passages_dataset,
        "speech": _transcripts,
        "text": _text,
        "texts": texts_dataset,
    }
    return kinds.get(parsed.kind, _memory)(name, parsed, share, int(seed), directory(data_dir))


def _rows(name: str, parsed: DataName, seed: int, validation: float | None, data_dir: str | os.PathLike | None) -> SequenceDataset:
    pictures = load(parsed.argument, seed=seed, validation=validation, data_dir=data_dir)
    if pictures.image_shape is None:
        raise CanonError(f"The pictures of {parsed.argument!r} differ in shape: rows:NAME needs one shape for all.")
    height, width, channels = pictures.image_shape

    def sequences(split: Split) -> SequenceSplit:
        batches = [batch["image"].numpy() for batch in split.dataset(None, 4096)]
        values = np.concatenate(batches).reshape(-1, height, width * channels).astype("float32") / 255.0
        return SequenceSplit(split.name, {"sequences": values}, split.labels, np.full(len(values), height))

    train, held_out, test = (sequences(split) for split in pictures.splits.values())
    return SequenceDataset(name, "classes", pictures.class_names, (None, width * channels), train, held_out, test, pictures.facts)


def _memory(name: str, parsed: DataName, share: float, seed: int, data_dir: str | None) -> SequenceDataset:
    options = parse_options(parsed.kind, parsed.argument)
    arrays, facts = read_source(memory_source(parsed.kind, options), name, data_dir)
    is_text = parsed.kind == "copying"

    def split_of(part: str) -> SequenceSplit:
        values = arrays[part]["sequence"]
        real = values != 0 if is_text else np.any(values != 0, axis=2)
        # up to the last real step
        lengths = values.shape[1] - np.argmax(real[:, ::-1], axis=1)
        return SequenceSplit(part, {"token_ids" if is_text else "sequences": values}, arrays[part]["label"], lengths)

    train, held_out = _cut(split_of("train"), share, seed)
    facts = {**facts, "seed": seed}
    rest: dict[str, Any] = {"train": train, "validation": held_out, "test": split_of("test"), "facts": facts}
    if parsed.kind == "adding":
        return SequenceDataset(name, "numbers", (), (None, 2), **rest)
    if parsed.kind == "parity":
        return SequenceDataset(name, "classes", ("even", "odd"), (None, 1), **rest)
    return SequenceDataset(name, "tokens", COPY_NAMES, (None,), **rest, sizes={"vocabulary_size": len(COPY_NAMES)})


def _text(name: str, parsed: DataName, share: float, seed: int, data_dir: str | None) -> SequenceDataset:
    window = parsed.options.get("window", str(WINDOW))
    if not window.isdecimal() or not _SHORTEST <= int(window) <= _LONGEST:
        raise CanonError(f"window must be a whole number from {_SHORTEST} to {_LONGEST}, got {window!r}.")
    state = parsed.options.get("state", "zero")
    if state not in ("zero", "carried"):
        raise CanonError(f"state must be zero or carried, got {state!r}.")
    if parsed.kind == "bible" and parsed.argument:
        raise CanonError(f"The data set 'bible' takes options in brackets alone, as in bible[window=200], got {name!r}.")
    source = bible_source() if parsed.kind == "bible" else text_source(parsed.argument)
    arrays, facts = read_source(source, name, data_dir)
    blocks = {part: [block.decode() for block in arrays[part]["text"].tolist()] for part in arrays}
    kept, held_out = validation_parts(blocks["train"], share, seed)
    texts = {
        "train": "".join(blocks["train"][place] for place in kept),
        "validation": "".join(blocks["train"][place] for place in held_out),
        "test": "".join(blocks["test"]),
    }
    alphabet = Characters.of([texts["train"]])

    def split_of(part: str) -> SequenceSplit:
        inputs, labels = windows(alphabet.encode(texts[part]), int(window))
        if not len(inputs):
            raise CanonError(f"The {part} split of {name!r} has {len(texts[part])} characters, too few for a window of {window}.")
        return SequenceSplit(part, {"token_ids": inputs}, labels, np.full(len(inputs), int(window)))

    train, held_out, test = map(split_of, texts)
    lengths = {part: len(text) for part, text in texts.items()}
    facts = {**facts, "seed": seed, "characters": lengths, **_unknown(train, held_out, test)}
    sizes = {"vocabulary_size": len(alphabet)}
    rest: dict[str, Any] = {"facts": facts, "sizes": sizes, "characters": True, "carries": state == "carried"}
    return SequenceDataset(name, "tokens", alphabet.symbols, (None,), train, held_out, test, **rest)


def _pairs(name: str, parsed: DataName, share: float, seed: int, data_dir: str | None) -> SequenceDataset:
    if parsed.kind == "dates":
        source = dates_source(**whole_numbers("dates", parsed.argument, ("examples",)))
    else:
        source = gettext_source(parsed.argument)
    arrays, facts = read_source(source, name, data_dir)
    texts = {part: {side: [text.decode() for text in arrays[part][side].tolist()] for side in ("source", "target")} for part in arrays}
    kept, held_out = validation_parts(texts["train"]["source"], share, seed)
    alphabets = _alphabets(parsed, texts["train"], kept)
    train = _pair_split("train", texts["train"], *alphabets)
    splits = (train.part("train", kept), train.part("validation", held_out), _pair_split("test", texts["test"], *alphabets))
    return SequenceDataset(
        name,
        "tokens",
        alphabets[1].symbols,
        (None,),
        *splits,
        {**facts, "seed": seed, **_unknown(*splits)},
        sizes={"vocabulary_size": len(alphabets[0])}
        if alphabets[0] is alphabets[1]
        else {"source_vocabulary_size": len(alphabets[0]), "target_vocabulary_size": len(alphabets[1])},
        source_names=alphabets[0].symbols,
        start_id=START,
        end_id=END,
    )


def _transcripts(name: str, parsed: DataName, share: float, seed: int, data_dir: str | None) -> SequenceDataset:
    if parsed.kind == "lines":
        source = lines_source(**whole_numbers("lines", parsed.argument, ("examples", "width")))
    else:
        source = speech_source(**whole_numbers("speech", parsed.argument, ("examples",)))
    arrays, facts = read_source(source, name, data_dir)
    texts = {part: [text.decode() for text in arrays[part]["text"].tolist()] for part in arrays}
    kept, held_out = validation_parts(texts["train"], share, seed)
    alphabet = Characters.of(texts["train"][place] for place in kept)

    def split_of(part: str) -> SequenceSplit:
        stored, labels = arrays[part], Ragged.of([alphabet.encode(text) for text in texts[part]])
        if parsed.kind == "lines":
            return SequenceSplit(part, {"images": stored["image"][..., None]}, labels, stored["width"])  # (N, 32, width, 1)
        return SequenceSplit(part, {"sequences": stored["sequence"]}, labels, stored["length"])  # (N, 200, 161)

    train = split_of("train")
    splits = (train.part("train", kept), train.part("validation", held_out), split_of("test"))
    shape = (*arrays["train"]["image"].shape[1:2], None, 1) if parsed.kind == "lines" else (None, arrays["train"]["sequence"].shape[2])
    return SequenceDataset(name, "transcripts", alphabet.symbols, shape, *splits, {**facts, "seed": seed, **_unknown(*splits)})


def _alphabets(parsed: DataName, texts: dict[str, list[str]], kept: np.ndarray) -> list[Characters]:
    """Return the alphabets of source and target, of the training split alone; the same one twice where they share it."""
    choice = parsed.options.get("alphabet", "separate")
    if choice not in ("separate", "shared"):
        raise CanonError(f"alphabet must be shared or separate, got {choice!r}.")
    sides = [[texts[side][place] for place in kept] for side in ("source", "target")]
    if choice == "separate":
        return [Characters.of(side) for side in sides]
    return [Characters.of(sides[0] + sides[1])] * 2


def _pair_split(name: str, texts: dict[str, list[str]], sources: Characters, targets: Characters) -> SequenceSplit:
    """Return texts as ids: the source with its end, the target behind its start, and as labels the target with its end."""
    source = Ragged.of([np.append(sources.encode(text), END) for text in texts["source"]])
    encoded = [targets.encode(text) for text in texts["target"]]
    target = Ragged.of([np.insert(ids, 0, START) for ids in encoded])
    labels = Ragged.of([np.append(ids, END) for ids in encoded])
    inputs: dict[str, Column] = {"source_ids": source, "target_ids": target}
    return SequenceSplit(name, inputs, labels, np.maximum(source.lengths, target.lengths))


def _unknown(*splits: SequenceSplit) -> dict[str, dict[str, int]]:
    """Return, for reports, how many characters of each split are none of the alphabet, where some are; figures count them like others."""
    counts = {}
    for split in splits:
        columns = [column for name, column in split.inputs.items() if name == "source_ids"] + [split.labels]
        values = [column.values if isinstance(column, Ragged) else column for column in columns]
        counts[split.name] = sum(int(np.count_nonzero(ids == UNKNOWN)) for ids in values)
    return {"unknown_characters": counts} if any(counts.values()) else {}


def _cut(split: SequenceSplit, share: float, seed: int) -> tuple[SequenceSplit, SequenceSplit]:
    kept, held_out = validation_parts(next(iter(split.inputs.values())), share, seed)
    return split.part("train", kept), split.part("validation", held_out)
