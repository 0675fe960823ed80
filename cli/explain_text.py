"""The part of `canon explain` for text: attention maps and the probabilities of next tokens as a picture."""

from pathlib import Path

import numpy as np
from rich.table import Table

from ..zoo.errors import CanonError
from .console import plain_console

_TOP = 5


def explain_text(model: Path, text: str, out: Path) -> None:
    """Draw where a trained model of text looks in a text, and which tokens it would write next.

    A translator first translates the text; its maps are those of text and translation.

    Args:
        model: folder of a run, or a .keras file, with a tokenizer beside it.
        text: to look at, or to translate.
        out: the PNG file.

    Raises:
        CanonError: for a model that writes no text, or without a tokenizer.
    """
    from ..training.sequence_lengths import translator
    from ..zoo.explain_text import draw_text, next_token_probabilities, text_attention, token_names
    from ..zoo.generation import Generation
    from .generate import STOPS, load_both_sides, load_writer, read_texts

    trained, folder = load_writer(str(model), None)
    reader, words = load_both_sides(folder, str(model))
    stops = tuple(words.special_tokens[name] for name in STOPS if name in words.special_tokens)
    generator = translator(trained, Generation(stop_ids=stops))
    words.check_vocabulary(generator.decoder.vocabulary_size, trained.name)
    prompts = read_texts(generator, words, [text], None, reader)
    sources: list[int] = []
    if generator.decoder.has_encoder:
        (written,) = generator(prompts)
        sources, ids = prompts["source_ids"][0], [*prompts["target_ids"][0], *written[:-1]]
        inputs = {"source_ids": np.array([sources], "int32"), "target_ids": np.array([ids], "int32")}
    else:
        (ids,) = prompts
        limit = generator.decoder.max_length
        if limit is not None and len(ids) > limit:
            raise CanonError(f"The text has {len(ids)} tokens, more than the context of {trained.name!r}, {limit}: shorten it.")
        inputs = np.array([ids], "int32")
    maps = {name: weights[0] for name, weights in text_attention(trained, inputs).items()}
    last = next_token_probabilities(trained, inputs)[0, -1]
    best = np.argsort(last)[::-1][:10]
    names = token_names(words, best.tolist())
    # two tokens may look alike, such as pieces of a character
    probabilities = {f"{name} ({token})": float(last[token]) for name, token in zip(names, best, strict=True)}
    shown = {"source_names": token_names(reader, sources), "probabilities": probabilities, "title": text if len(text) < 70 else ""}
    out.parent.mkdir(parents=True, exist_ok=True)
    draw_text(out, maps, token_names(words, ids), **shown)
    table = Table.grid(padding=(0, 2))
    if sources:
        table.add_row("translation", words.decode(written))
    for name, token in list(zip(names, best, strict=True))[:_TOP]:
        table.add_row("next", f"{name} ({last[token]:.4f})")
    table.add_row("picture", str(out))
    plain_console().print(table)
