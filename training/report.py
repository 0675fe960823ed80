"""The report of a run, `report.md` and `report.html`: a model card that says what was done, what came out and how to do it again."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..zoo import info
from .data import Dataset, SequenceDataset
from .evaluation import Evaluation
from .figures import draw_confusion, draw_contact_sheet, draw_curves
from .recipe import recipe_toml
from .report_blocks import Block, Bullets, Code, Heading, Inline, Link, Picture, Preformatted, Strong, Table, Text
from .report_html import html
from .report_markdown import markdown
from .sections import Recipe
from .sequence_evaluation import SequenceEvaluation
from .writing import write_text

_SHOWN_MISTAKES = 24
_LARGEST_TABLE = 20
_LONGEST_SAMPLE = 160  # characters


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that a report is written from.

    Args:
        recipe: the resolved recipe.
        command: the exact command of the run.
        data: the data set.
        history: figures by name and epoch.
        best_epoch: number from 0 of the epoch whose weights were kept.
        test: the one look at the test split.
        parameters: trainable parameters.
        seconds: from the first epoch to the last.
        environment: versions and hardware.
    """

    recipe: Recipe
    command: str
    data: Dataset | SequenceDataset
    history: Mapping[str, list[float]]
    best_epoch: int
    test: Evaluation | SequenceEvaluation
    parameters: int
    seconds: float
    environment: Mapping[str, str]

    @property
    def examples_per_second(self) -> float:
        """Training examples a second in the fastest epoch, which is the one that other work on the machine disturbed least."""
        examples, section = len(self.data.train), self.recipe.train
        if section.steps_per_epoch is not None:
            examples = min(examples, section.steps_per_epoch * section.batch_size)
        return examples / min(self.history["seconds"])


def write_report(folder: Path, outcome: Outcome) -> None:
    """Write `report.md`, `report.html` (self-contained) and their pictures into a run's folder."""
    test, title = outcome.test, f"{outcome.recipe.model.name} on {outcome.data.name}"
    draw_curves(outcome.history, folder / "curves.png", title=title, best_epoch=outcome.best_epoch)
    blocks: list[Block] = [
        Heading(1, title),
        *([Text(outcome.recipe.summary)] if outcome.recipe.summary else []),
        *_result(outcome),
        Heading(2, "Curves"),
        Picture("curves.png", "Loss, accuracy and learning rate by epoch"),
        Text(_training(outcome)),
        *(_by_class(folder, test, title) if isinstance(test, Evaluation) else _samples(test)),
        *(_mistakes(folder, test, outcome.data) if isinstance(test, Evaluation) and isinstance(outcome.data, Dataset) else []),
        Heading(2, "Model"),
        *_model(outcome),
        Heading(2, "Data"),
        *_data(outcome.data),
        Heading(2, "Environment"),
        Table(("what", "which"), tuple(outcome.environment.items())),
        Heading(2, "How to reproduce"),
        *_reproduce(outcome),
    ]
    write_text(folder / "report.md", markdown(blocks))
    write_text(folder / "report.html", html(blocks, folder))


def _by_class(folder: Path, test: Evaluation, title: str) -> list[Block]:
    draw_confusion(test.confusion, test.class_names, folder / "confusion.png", title=f"{title}: test accuracy {test.accuracy:.4f}")
    return [
        Heading(2, "Classes"),
        _classes(test),
        Heading(2, "Confusion matrix"),
        Picture("confusion.png", "Right classes against predictions"),
        *_confusion(test),
    ]


def _samples(test: SequenceEvaluation) -> list[Block]:
    if not test.samples:
        return []
    return [Heading(2, "Samples"), Table(("source", "right", "said"), [tuple(map(_shown, sample)) for sample in test.samples])]


def _shown(text: str) -> Code:
    short = text if len(text) <= _LONGEST_SAMPLE else f"{text[:_LONGEST_SAMPLE]}..."
    return Code(" ".join(short.split()).replace("|", "/"))


def _result(outcome: Outcome) -> list[Block]:
    expect, test = outcome.recipe.expect, outcome.test
    how = f"{len(test.truth):,} test examples, seed {outcome.recipe.train.seed}"
    rows: list[tuple[Inline, ...]] = [(Strong("this run"), Strong(f"{test.accuracy:.4f}"), how)]
    if expect.measured is not None:
        measured = expect.measured
        when = f"{measured.date}, seed {measured.seed}, {measured.epochs} epochs, {measured.hardware}"
        where = f"the recipe as it ships, measured by this project, {when}"
        more = "".join(f", {name.replace('_', ' ')} {value:g}" for name, value in measured.figures.items())
        rows.append(("expected", f"{measured.test_accuracy:.4f}{more}", where))
    if expect.paper_accuracy is not None:
        rows.append(("paper", f"{expect.paper_accuracy:.4f}", expect.paper_source))
    note = "The test split was looked at once, after training, with the weights of the best validation epoch."
    if expect.paper_accuracy is None and expect.paper_source:
        note += f" The paper has no figure to compare with: {expect.paper_source}"
    metrics = test.metrics()
    if isinstance(test, Evaluation):
        more = f"Cross-entropy {metrics['cross_entropy']:.4f} nats, macro F1 {metrics['macro_f1']:.4f}."
    else:
        more = ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in test.figures.items()).capitalize() + "."
    return [Heading(2, "Result"), Table(("", "test accuracy", "how"), rows), Text(f"{more} {note}")]


def _training(outcome: Outcome) -> str:
    what = "images" if isinstance(outcome.data, Dataset) else "sequences"
    history, train = outcome.history, outcome.recipe.train
    epochs, best = len(history["loss"]), outcome.best_epoch
    if epochs == train.epochs:
        stopped = "all of them"
    elif train.patience is None:
        stopped = "stopped early by a callback"
    else:
        stopped = f"stopped early after {train.patience} epochs without a better {train.monitor}"
    return (
        f"{epochs} of {train.epochs} epochs ({stopped}) in {outcome.seconds:.0f} s, validation included; "
        f"{outcome.examples_per_second:,.0f} training {what} a second. "
        f"Kept: the weights of epoch {best + 1}, validation loss {history['val_loss'][best]:.4f}, "
        f"validation accuracy {history['val_accuracy'][best]:.4f}."
    )


def _classes(test: Evaluation) -> Table:
    rows = [(row.name, _share(row.precision), _share(row.recall), _share(row.f1), f"{row.examples:,}") for row in test.by_class()]
    return Table(("class", "precision", "recall", "F1", "test examples"), rows)


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _confusion(test: Evaluation) -> list[Block]:
    if len(test.class_names) > _LARGEST_TABLE:
        return []
    rows = [(Strong(name), *counts) for name, counts in zip(test.class_names, test.confusion.tolist(), strict=True)]
    return [Table(("right \\ predicted", *test.class_names), rows)]


def _mistakes(folder: Path, test: Evaluation, data: Dataset) -> list[Block]:
    worst, head = test.mistakes[:_SHOWN_MISTAKES], Heading(2, "Worst mistakes")
    if not len(worst):
        return [head, Text(f"None: all {len(test.truth):,} test examples were classified correctly.")]
    names = test.class_names
    captions = [f"{names[test.predicted[i]]} ({test.confidence[i]:.2f})\nright: {names[test.truth[i]]}" for i in worst]
    images = [data.splits[test.split].image(int(i)) for i in worst]
    draw_contact_sheet(images, captions, folder / "mistakes.png", title="Worst mistakes: what the model said, and what is right")
    rows = [
        (int(i), str(data.splits[test.split].ids[i]), names[test.truth[i]], names[test.predicted[i]], f"{test.confidence[i]:.4f}")
        for i in worst
    ]
    return [
        head,
        Text(f"{len(test.mistakes):,} of {len(test.truth):,} test examples are wrong; the {len(worst)} most confident:"),
        Picture("mistakes.png", "Contact sheet of the worst mistakes"),
        Table(("position", "id", "right", "predicted", "probability"), rows),
    ]


def _model(outcome: Outcome) -> list[Block]:
    row = info(outcome.recipe.model.name)
    paper = row.paper
    changed = f" Changes: {outcome.recipe.model.overrides}." if outcome.recipe.model.overrides else ""
    return [
        Text(Code(row.name), f": {row.summary} {outcome.parameters:,} trainable parameters.{changed}"),
        Text(f"{paper.authors}: {paper.title}. {paper.venue or 'arXiv'}, {paper.year}, {row.table}. ", Link(paper.url)),
    ]


def _data(data: Dataset | SequenceDataset) -> list[Block]:
    rows = [(name, f"{len(split):,}") for name, split in data.splits.items()]
    facts = [f"{key}: {value}" for key, value in data.facts.items() if key != "counts"]
    head = Text(Code(data.name), f": {_pictures(data) if isinstance(data, Dataset) else _sequences(data)}")
    return [head, Table(("split", "examples"), rows), *([Bullets(facts)] if facts else [])]


def _pictures(data: Dataset) -> str:
    shape = " x ".join(map(str, data.image_shape)) if data.image_shape else f"various sizes, {data.channels} channels"
    return f"{data.num_classes} classes, pictures of {shape}."


def _sequences(data: SequenceDataset) -> str:
    labels = {"classes": f"one of {data.num_classes} classes each", "numbers": "one number each", "transcripts": "a line of text each"}
    lengths = data.train.lengths
    return f"sequences of {lengths.min()} to {lengths.max()} steps, {labels.get(data.kind, f'an id out of {data.num_classes} a step')}."


def _reproduce(outcome: Outcome) -> list[Block]:
    same = "Runs with the same recipe, seed and machine end with the same weights, bit for bit."
    promise = same if outcome.recipe.train.deterministic else "The run was not deterministic: figures differ a little from run to run."
    return [
        Preformatted(outcome.command, "shell"),
        Text("or, from this folder alone, ", Code("canon train recipe.toml --out AGAIN"), f". {promise}"),
        Preformatted(recipe_toml(outcome.recipe).strip(), "toml"),
    ]
