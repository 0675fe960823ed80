"""What a fine-tuning adds to the report of a run: where it started, what each phase did, and how else it might have been done."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..zoo.load_report import LoadReport
from .finetuning_history import PhaseRecord
from .report import Outcome
from .report_blocks import Block, Bullets, Heading, Strong, Table, Text
from .report_html import html
from .report_markdown import markdown
from .transfer_section import TransferSection
from .writing import write_text

_NAMES = {"probe": "linear probe: the head alone", "scratch": "from scratch: random weights"}


def add_to_report(
    folder: Path,
    outcome: Outcome,
    section: TransferSection,
    loaded: LoadReport | None,
    records: Sequence[PhaseRecord],
    compared: Mapping[str, Mapping[str, Any]],
) -> None:
    """Put a chapter on the fine-tuning before the curves of `report.md` and `report.html`."""
    add_chapter(folder, [*_start(section, loaded), *_phases(outcome, records), *_comparison(outcome, section, compared)])


def add_chapter(folder: Path, blocks: Sequence[Block]) -> None:
    """Put blocks before the curves of `report.md` and `report.html`."""
    text = (folder / "report.md").read_text(encoding="utf-8")
    write_text(folder / "report.md", text.replace("## Curves\n", f"{markdown(blocks)}\n## Curves\n", 1))
    page = (folder / "report.html").read_text(encoding="utf-8")
    body = html(blocks, folder).split("<body>\n", 1)[1].split("</body>", 1)[0]
    write_text(folder / "report.html", page.replace("<h2>Curves</h2>", f"{body}<h2>Curves</h2>", 1))


def _start(section: TransferSection, loaded: LoadReport | None) -> list[Block]:
    if loaded is None:
        return [Heading(2, "Fine-tuning"), Text("This run started from random weights, to compare with runs that did not.")]
    frozen = "stayed frozen" if section.keep_batch_norm_frozen else "followed the new data"
    text = (
        f"Started from the weights {section.weights}: {len(loaded.loaded)} arrays were loaded in the format {loaded.format}, the head is "
        f"new. Rates: the head's is optimizer.learning_rate, that of the last stage {section.backbone_rate:g} of it, and each stage "
        f"below has {section.layer_decay:g} of the one above. Batch normalisation of the backbone {frozen}."
    )
    notes = [f"adapted: {path} from {theirs} to {ours}" for path, theirs, ours in loaded.adapted]
    notes += [f"left out: {name}" for name in loaded.unused]
    return [Heading(2, "Fine-tuning"), Text(text), *([Bullets(notes)] if notes else [])]


def _phases(outcome: Outcome, records: Sequence[PhaseRecord]) -> list[Block]:
    monitor = outcome.recipe.train.monitor
    rows = [
        (number, record.name, f"{record.parameters:,}", record.epochs, record.best_epoch + 1, f"{record.best:.4f}", f"{record.seconds:.0f}")
        for number, record in enumerate(records, 1)
        if record.epochs
    ]
    note = "Each phase began with the best weights so far. Epochs below are counted through all phases."
    head = ("phase", "what is trained", "parameters", "epochs", "best epoch", f"best {monitor}", "seconds")
    return [Table(head, rows), Text(note)]


def _comparison(outcome: Outcome, section: TransferSection, compared: Mapping[str, Mapping[str, Any]]) -> list[Block]:
    if not compared:
        return []
    accuracy, loss = outcome.test.accuracy, outcome.test.metrics()["cross_entropy"]
    rows: list[tuple] = [(Strong(f"this run: {section.method}"), Strong(f"{accuracy:.4f}"), f"{loss:.4f}", f"{outcome.seconds:.0f}")]
    for method, metrics in compared.items():
        test = metrics["test"]
        rows.append((_NAMES[method], f"{test['accuracy']:.4f}", f"{test['cross_entropy']:.4f}", f"{metrics['seconds']:.0f}"))
    note = "Same split, seed, epochs and optimizer; each is a run folder of its own under compare/."
    return [Heading(2, "Comparison"), Table(("", "test accuracy", "cross-entropy", "seconds"), rows), Text(note)]
