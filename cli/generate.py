"""`canon generate`: text that a trained language model or translator writes."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..zoo.errors import CanonError
from .console import load_tensorflow

if TYPE_CHECKING:
    from ..zoo import CharacterTokenizer, Generator, Model, Tokenizer

END = "<end>"
STARTS, STOPS = ("<start>", "[CLS]"), (END, "<|endoftext|>", "[SEP]")


def generate(
    model: Annotated[str, typer.Argument(help="Folder of a run, a .keras file, or the name of a model with --weights.")],
    prompt: Annotated[list[str], typer.Option(help="Text to go on from, or to translate; repeatable.")],
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Tokens to write for each prompt at most.")] = 64,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token each time, 1 draws as the model says.")] = 0.0,
    top_k: Annotated[int | None, typer.Option(help="Draw among the k likeliest tokens.", show_default=False)] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw among the fewest tokens with this share of the probability.", show_default=False)
    ] = None,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1 makes tokens less likely that were there before.")] = 1.0,
    beam_width: Annotated[int, typer.Option(min=1, help="Above 1 searches with that many hypotheses.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed draws the same text.")] = 0,
    start: Annotated[
        str | None, typer.Option(help="Special token before each prompt, or before a translation.", show_default=False)
    ] = None,
    stop: Annotated[str | None, typer.Option(help="Special token that ends a text (default: the end token).", show_default=False)] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="Folder of the tokenizer (default: beside the model).", show_default=False)] = None,
    weights: Annotated[str | None, typer.Option(help="Tag or file of the weights of a named model.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Write on after a prompt, token by token, with a trained model.

    Example: canon generate runs/gpt2_tiny_text --prompt "In the beginning" --temperature 0.8 --top-p 0.9
    """
    load_tensorflow()
    from ..zoo.generation import Generation, Generator

    trained, folder = load_writer(model, weights)
    reader, words = load_both_sides(tokenizer or folder, model)
    settings: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "beam_width": beam_width}
    ends = [words.special_id(stop)] if stop is not None else [words.special_tokens[name] for name in STOPS if name in words.special_tokens]
    settings |= {"max_new_tokens": max_new_tokens, "repetition_penalty": repetition_penalty, "stop_ids": tuple(ends)}
    generator = Generator(trained, Generation(**settings))
    words.check_vocabulary(generator.decoder.vocabulary_size, trained.name)
    prompts = read_texts(generator, words, prompt, start, reader)
    if as_json:
        rows = generator(prompts, seed=seed)
        answers = [{"prompt": text, "text": words.decode(row), "ids": row} for text, row in zip(prompt, rows, strict=True)]
        print(json.dumps(answers, indent=2, ensure_ascii=False))
    elif len(prompt) == 1 and beam_width == 1:
        _stream(generator.stream(prompts, seed=seed), words, "" if generator.decoder.has_encoder else prompt[0])
    else:
        for text, row in zip(prompt, generator(prompts, seed=seed), strict=True):
            print(words.decode(row) if generator.decoder.has_encoder else text + words.decode(row))


def load_writer(source: str, weights: str | None) -> tuple["Model", Path | None]:
    """Return a trained model and the folder that it lies in.

    Raises:
        CanonError: when there is none, or a model of the zoo is named without weights.
    """
    from ..zoo import create, info
    from ..zoo.model import load_model

    path = Path(source)
    if path.is_dir():
        return load_model(path), path
    if path.suffix == ".keras":
        return load_model(path), path.parent
    published = ", ".join(record.tag for record in info(source).weights)
    if weights is None:
        raise CanonError(f"{source!r} is untrained: give --weights with a file or one of its tags ({published or 'it has none'}).")
    return create(source, weights=weights), None


def load_words(folder: Path | None, model: str) -> "Tokenizer":
    """Return the tokenizer in a folder: `tokenizer.json`, or the two files that GPT-2 was published with.

    Raises:
        CanonError: when there is none.
    """
    from ..zoo.tokenizers_files import load_tokenizer, read_gpt2

    if folder is None:
        raise CanonError(f"{model!r} brings no tokenizer: give --tokenizer with the folder that holds its tokenizer.json.")
    if (folder / "merges.txt").is_file() and not (folder / "tokenizer.json").exists():
        return read_gpt2(folder)
    return load_tokenizer(folder)


def load_both_sides(folder: Path | None, model: str) -> tuple["Tokenizer", "Tokenizer"]:
    """Return the tokenizer of what a model reads and that of what it writes: one for both, but for a run with two alphabets.

    Raises:
        CanonError: when there is none.
    """
    alphabets = _two_alphabets(folder)
    if alphabets is not None:
        return alphabets
    words = load_words(folder, model)
    return words, words


def _two_alphabets(folder: Path | None) -> tuple["CharacterTokenizer", "CharacterTokenizer"] | None:
    """Return the tokenizers of source and target of a run whose two sides have alphabets of their own, None for any other."""
    from ..zoo.tokenizers_plain import END, PADDING, START, UNKNOWN, CharacterTokenizer

    if folder is None or (folder / "tokenizer.json").exists() or not (folder / "vocabulary.json").is_file():
        return None
    names = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
    special = [PADDING, UNKNOWN, START, END]
    if any(names[side][: len(special)] != special for side in ("source", "target")):
        return None
    source, target = (CharacterTokenizer("".join(names[side][len(special) :]), special) for side in ("source", "target"))
    return source, target


def read_texts(generator: "Generator", words: "Tokenizer", texts: list[str], start: str | None, reader: "Tokenizer | None" = None) -> Any:
    """Return the prompts of a generator: ids, or what an encoder reads and the token that begins each answer.

    Args:
        generator: of the model.
        words: tokenizer of what it writes.
        texts: to go on from, or to translate.
        start: name of the special token before each prompt, or each translation; None takes the one of the training.
        reader: tokenizer of what an encoder reads; None takes `words`.

    Raises:
        CanonError: for a text that is empty, or a translation that no special token begins.
    """
    if generator.decoder.has_encoder:
        reader = reader or words
        start = start or next((name for name in STARTS if name in words.special_tokens), None)
        if start is None:
            raise CanonError("A translation begins with a special token: name it with --start.")
        if not all(map(reader.encode, texts)):  # what the exported model refuses too
            raise CanonError("A text to translate is empty: write at least one character.")
        end = END if END in reader.special_tokens else None  # as in training
        return {"source_ids": [reader.encode(text, end=end) for text in texts], "target_ids": [[words.special_id(start)]] * len(texts)}
    rows = [words.encode(text, start=start) for text in texts]
    if not all(rows):
        names = ", ".join(words.special_tokens)
        raise CanonError(f"The prompt is empty: write something, or name the special token to begin with by --start ({names}).")
    return rows


def _stream(steps: Iterable[list[int | None]], words: "Tokenizer", before: str) -> None:
    """Print a text while it is written."""
    from ..zoo.tokenizers import TextStream

    text = TextStream(words)
    for (token,) in steps:
        if token is not None:
            sys.stdout.write(before + text.add(token))
            sys.stdout.flush()
            before = ""
    print(text.end(), flush=True)
