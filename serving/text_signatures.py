"""Text in and text out: signatures that read and write text by ops of core TensorFlow, so that any SavedModel runtime answers them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from ..layers import LearnedPositionEmbedding, ctc_greedy_decode
from ..zoo.errors import CanonError
from ..zoo.generation import Generation, Generator
from ..zoo.graph_tokenizer import GraphTokenizer
from ..zoo.model import Model
from ..zoo.registry import info
from ..zoo.stepping import step_model
from ..zoo.tokenizers import Tokenizer
from ..zoo.tokenizers_plain import END, START
from ..zoo.tokenizers_subword import GPT2_SPECIAL
from .bundle import IMAGES_BYTES
from .signatures import LOGITS, Plan, at_door, name_outputs, read_images

PROMPT, SEED, SOURCE, TEXT = "prompt", "seed", "source", "text"
LOOP, TOKEN, ENDED = "loop_", "token", "ended"
_TOKEN_IDS, _SEGMENT_IDS, _LENGTHS, _SEQUENCES = "token_ids", "segment_ids", "lengths", "sequences"


@dataclass(frozen=True)
class Text:
    """How a bundle takes text and gives text.

    Args:
        tokenizer: of bytes, characters or byte-level BPE (`zoo.GraphTokenizer`), the one that the model was trained with.
        generation: how a model that writes chooses; None for the likeliest token each time, ended by the tokenizer's end token: up to 64,
            of a short context up to half of it, and as many as a translator has places for.
        start: name of a special token before each text; before each translation, where None takes the tokenizer's start token.
        end: name of a special token behind each text that is classified or translated; for a translation, None takes the tokenizer's
            end token, if it has one.
        stream: True to export also `begin` and `next`, by which `canon serve` sends a text while it is written.
        temperature: without a generation, draws tokens instead of taking the likeliest; below 1 the likely ones more often.

    Raises:
        CanonError: for another tokenizer, a special token that it has none of, or a beam search that is to stream.

    Example:
        >>> from keras_canon import serving, zoo
        >>> text = serving.Text(zoo.ByteTokenizer(), zoo.Generation(max_new_tokens=4))
        >>> model = zoo.create("char_rnn_lstm", overrides={"vocabulary_size": 259, "units": (8,)})
        >>> sorted(serving.export(model, folder / "writer", text=text).manifest.signatures)
        ['generate', 'serving_default', 'step']
    """

    tokenizer: Tokenizer
    generation: Generation | None = None
    start: str | None = None
    end: str | None = None
    stream: bool = False
    temperature: float = 0.0

    def __post_init__(self):
        if self.temperature and self.generation is not None:
            raise CanonError("Text takes a temperature only without a generation, which has its own: give one of the two.")
        GraphTokenizer(self.tokenizer)
        if self.stream and self.generation is not None and self.generation.beam_width > 1:
            raise CanonError("A beam search cannot stream, because its first ids may change until its end: set beam_width=1.")
        for name in (self.start, self.end):
            if name is not None:
                self.tokenizer.special_id(name)


def end_ids(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the ids of the special tokens that end a text."""
    return tuple(tokenizer.special_tokens[name] for name in (END, *GPT2_SPECIAL) if name in tokenizer.special_tokens)


def writes_text(model: keras.Model) -> bool:
    """Return whether a model is one of language or translation, by its record."""
    return isinstance(model, Model) and info(model.record.variant).task in ("language-modelling", "translation")


def text_signatures(model: keras.Model, plan: Plan, core: Callable[..., list[tf.Tensor]], text: Text) -> dict[str, Any]:
    """Trace the signatures that text needs.

    A model of language or translation gets `generate` (text in, text out, and a `seed` for each row where it draws) and, when it is
    recurrent, `step` (ids and states in, logits and states out). A recognizer of text lines gets `bytes` (image in, text out), one of
    speech `transcribe` (spectrogram in, text out), a classifier `bytes` (text in, its outputs out).

    Args:
        model: the model in float32.
        plan: names and types.
        core: a function from the model's inputs to the list of its outputs.
        text: tokenizer and settings.

    Returns:
        name -> concrete function.

    Raises:
        CanonError: for a model that has nothing to do with text, or another vocabulary.
    """
    inputs = [spec.name for spec in plan.specs]
    if isinstance(model, Model) and writes_text(model):
        recurrent = info(model.record.variant).builder.startswith("recurrent.")
        steps = {"step": _step(model)} if recurrent and inputs == [_TOKEN_IDS] else {}
        writer = _Writer(model, text)
        return {"generate": _generate(writer), **steps, **(_streaming(writer) if text.stream else {})}
    if set(plan.outputs) == {LOGITS, _LENGTHS}:
        return {"transcribe" if inputs == [_SEQUENCES] else "bytes": _recognize(plan, core, text)}
    if _TOKEN_IDS in inputs and set(inputs) <= {_TOKEN_IDS, _SEGMENT_IDS}:
        return {"bytes": _classify(plan, core, text)}
    raise CanonError(f"Model {model.name!r} reads {', '.join(map(str, inputs))} and writes no text: export it without text=.")


class _Writer:
    """A `Generator` between texts.

    Args:
        model: of language or translation.
        text: tokenizer and settings.
    """

    def __init__(self, model: Model, text: Text):
        self._words, self._start = GraphTokenizer(text.tokenizer), text.start
        self.generator = Generator(model, text.generation)
        decoder = self.generator.decoder
        text.tokenizer.check_vocabulary(decoder.vocabulary_size, model.name)
        self._translates = decoder.has_encoder
        # without settings, the room that the generator's own decoder has decides
        self.settings = self.generator.settings = text.generation or _default_generation(text, decoder)
        limit, new = decoder.max_length, self.settings.max_new_tokens
        if limit is not None and 1 + new > limit:
            first = "A start token" if self._translates else "A prompt of one token"
            raise CanonError(
                f"{first} and {new} new ones are more than the context of {model.name!r}, {limit}: give Text a Generation of fewer."
            )
        if self._translates:
            self._begin_id = text.tokenizer.special_id(text.start or START)
            self._end = text.end or (END if END in text.tokenizer.special_tokens else None)
        self.door = tf.TensorSpec((None,), tf.string, name=SOURCE if self._translates else PROMPT)
        self.seed = [tf.TensorSpec((None,), tf.int32, name=SEED)] if self.settings.temperature else []

    def read(self, texts):
        """Return what `Generator.write` takes: ids and their lengths, and what an encoder reads."""
        sources = None
        if self._translates:
            sources, read = self._words.encode(texts, end=self._end)
            found = read if self._end is None else read - 1
            token_ids = tf.pad(tf.fill((tf.shape(texts)[0], 1), self._begin_id), [[0, 0], [0, 1]])
            lengths = tf.ones_like(found)
        else:
            token_ids, lengths = self._words.encode(texts, start=self._start)
            found = read = lengths
            token_ids = _widened(token_ids, 2)
        with tf.control_dependencies(_checks(found, read, self.generator.decoder, self.settings.max_new_tokens)):
            return tf.identity(token_ids), lengths, sources

    def generate(self, texts, seed=None):
        """Return the new text of each row."""
        token_ids, lengths, sources = self.read(texts)
        written = self.generator.write(token_ids, lengths, _pairs(seed), sources)
        return {TEXT: self._words.decode(written, _written_lengths(written, self.settings.stop_ids))}


def _default_generation(text: Text, decoder: Any) -> Generation:
    """Return as many tokens as the context has room for behind a prompt, or a start token."""
    new, limit = Generation.max_new_tokens, decoder.max_length
    if limit is not None:
        new = max(1, min(new, limit - 1 if decoder.has_encoder else limit // 2))
    return Generation(max_new_tokens=new, temperature=text.temperature, stop_ids=end_ids(text.tokenizer))


def _written_lengths(written, stop_ids: tuple[int, ...]):
    """Return how many ids of each row (B, T) were written, the stop id that ended it included."""
    stops = tf.reduce_any(written[..., None] == tf.constant(stop_ids, tf.int32), axis=-1)
    over = tf.cumsum(tf.cast(stops, tf.int32), axis=1, exclusive=True) > 0
    return tf.reduce_sum(tf.cast(~over, tf.int32), axis=1)


def _pairs(seed):
    """Return two integers for each row, as `Generator` makes them of one."""
    return (0, 0) if seed is None else tf.stack([seed, tf.zeros_like(seed)])


def _generate(writer: _Writer) -> Any:
    """Trace `generate`: the new text of each row, as `Generator` writes it for the row alone."""
    return tf.function(writer.generate, autograph=False, input_signature=[writer.door, *writer.seed]).get_concrete_function()


def _streaming(writer: _Writer) -> dict[str, Any]:
    """Trace `begin`, which reads the texts, and `next`, which writes one id for each row: the loop of `generate`, held by the caller."""
    structure: list[Any] = []

    def begin(texts):
        """Return the loop's variables by name."""
        loop = writer.generator.begin(*writer.read(texts))
        structure.append(loop)
        return _named(loop)

    traced = tf.function(begin, autograph=False, input_signature=[writer.door]).get_concrete_function()
    outputs = traced.structured_outputs
    specs = [tf.TensorSpec(outputs[name].shape, outputs[name].dtype, name=name) for name in sorted(outputs)]

    def write(*tensors):
        """Return the variables after one more id, the ids, and which rows have ended."""
        seed, flat = (tensors[-1], tensors[:-1]) if writer.seed else (None, tensors)
        loop = writer.generator.step(tf.nest.pack_sequence_as(structure[0], list(flat)), _pairs(seed))
        ended = loop["ended"] | (loop["step"] >= writer.settings.max_new_tokens)
        return {**_named(loop), TOKEN: tf.identity(loop["current"]), ENDED: ended}

    following = tf.function(write, autograph=False, input_signature=[*specs, *writer.seed]).get_concrete_function()
    return {"begin": traced, "next": following}


def _named(loop: dict[str, Any]) -> dict[str, tf.Tensor]:
    return {f"{LOOP}{place:03}": tf.identity(tensor) for place, tensor in enumerate(tf.nest.flatten(loop))}


def _checks(lengths, read, decoder: Any, new_tokens: int) -> list[Any]:
    """Return the ops that refuse texts which `Generator` would refuse; `read` counts the end token too, `lengths` does not."""
    what, limit = ("source", decoder.source_max_length) if decoder.has_encoder else ("prompt", decoder.max_length)
    checks = [tf.debugging.Assert(tf.reduce_all(lengths > 0), [f"A {what} is empty: write at least one character."])]
    if limit is not None and decoder.has_encoder:
        message = f"A source is too long: the model reads {limit} tokens at most."
        checks.append(tf.debugging.Assert(tf.reduce_all(read <= limit), [message]))
    elif limit is not None:
        message = f"A prompt is too long: the context has {limit} tokens, of which {new_tokens} are for the new ones."
        checks.append(tf.debugging.Assert(tf.reduce_all(lengths + new_tokens <= limit), [message]))
    return checks


def _step(model: Model) -> Any:
    """Trace `step`: reads ids (B, T) from given states, zeros at first, and gives the states after them."""
    stepper = step_model(model)
    names = [tensor.name for tensor in stepper.inputs]
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name=tensor.name) for tensor in stepper.inputs]

    @tf.function(autograph=False, input_signature=specs)
    def step(*tensors):
        return stepper(dict(zip(names, tensors, strict=True)), training=False)

    return step.get_concrete_function()


def _recognize(plan: Plan, core: Callable[..., list[tf.Tensor]], text: Text) -> Any:
    """Trace `bytes` of a recognizer of lines, or `transcribe` of one of speech: the likeliest path, without repeats and blanks."""
    preprocessing, (door,) = plan.preprocessing, plan.specs
    if preprocessing is None and door.name != _SEQUENCES:
        raise CanonError(f"Model {plan.model.name!r} has no preprocessing: give preprocessing=, which says how an image becomes its input.")
    classes = plan.model.outputs[plan.outputs.index(LOGITS)].shape[-1]
    text.tokenizer.check_vocabulary(classes, plan.model.name)
    words = GraphTokenizer(text.tokenizer)

    def recognize(given):
        found = name_outputs(plan, at_door(plan, core, [given if preprocessing is None else read_images(given, preprocessing)]))
        labels, _ = ctc_greedy_decode(found[LOGITS], found[_LENGTHS])
        return {TEXT: words.decode(tf.maximum(labels, 0))}

    signature = door if preprocessing is None else tf.TensorSpec((None,), tf.string, name=IMAGES_BYTES)
    return tf.function(recognize, autograph=False, input_signature=[signature]).get_concrete_function()


def _classify(plan: Plan, core: Callable[..., list[tf.Tensor]], text: Text) -> Any:
    """Trace `bytes` of a model that reads ids: its outputs for texts, each of which is one segment."""
    words = GraphTokenizer(text.tokenizer)
    names = [spec.name for spec in plan.specs]
    text.tokenizer.check_vocabulary(_vocabulary(plan.model), plan.model.name)
    steps = plan.specs[0].shape[1]
    tables = [layer.max_length for layer in plan.model.layers if isinstance(layer, LearnedPositionEmbedding)]
    limit = min([*tables, *([] if steps is None else [steps])], default=None)

    def classify(texts):
        """Return the outputs for texts."""
        token_ids, lengths = words.encode(texts, start=text.start, end=text.end)
        checks = [tf.debugging.Assert(tf.reduce_all(lengths > 0), ["A text is empty: write at least one character."])]
        if limit is not None:
            message = f"A text is too long: the model reads {limit} tokens at most."
            checks.append(tf.debugging.Assert(tf.reduce_all(lengths <= limit), [message]))
        with tf.control_dependencies(checks):
            token_ids = tf.identity(token_ids)
        if steps is not None:
            token_ids = _widened(token_ids, steps)
            token_ids.set_shape((None, steps))
        found = [token_ids if name == _TOKEN_IDS else tf.zeros_like(token_ids) for name in names]
        return name_outputs(plan, at_door(plan, core, found))

    strings = tf.TensorSpec((None,), tf.string, name=TEXT)
    return tf.function(classify, autograph=False, input_signature=[strings]).get_concrete_function()


def _widened(token_ids: tf.Tensor, width: int) -> tf.Tensor:
    """Return ids (B, T) with padding behind them, so that T is at least `width`."""
    missing = tf.maximum(0, width - tf.shape(token_ids)[1])
    return tf.pad(token_ids, tf.stack([[0, 0], [0, missing]]))


def _vocabulary(model: keras.Model) -> int:
    """Return the size of the table of tokens: the largest one there is."""
    return max(getattr(layer, "vocabulary_size", getattr(layer, "input_dim", 0)) or 0 for layer in model.layers)
