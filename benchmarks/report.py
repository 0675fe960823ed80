"""What a benchmark found, as JSON in benchmarks/results/ and as a table in docs/, which is rendered from the JSON and nothing else.

A test compares every page with its JSON, so a number in docs/ is always one that was measured.
"""

import json
import os
import platform
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PEERS = {
    "layers": "Keras's own layers",
    "vision": "keras.applications",
    "training": "a training step written by hand",
    "serving": "`keras.Model.export`",
    "server": "itself without batching",
    "recurrent": "the same models of Keras's own layers",
    "transformers": "KerasHub, Hugging Face transformers",
    "roofline": "the measured peak of the machine",
}
# where a result has rows of candidates besides: those whose ratio is of ours against a peer
PAIRS = {"serving": ("float32", "bfloat16"), "transformers": ("KerasHub", "Hugging Face transformers")}
RUNTIMES = ("litert", "onnx", "openvino")
FOLDER = "CANON_BENCHMARK_RESULTS"  # where `run.py --check` lets the benchmarks write


@dataclass
class Report:
    """The result of one benchmark.

    Args:
        name: of the benchmark and of its JSON file.
        title: of its page.
        page: file in docs/ that it fills; "" when its table stands in a page written by hand, between markers.
        command: that measures it.
        date: of the measurement.
        machine: on what, in words.
        text: lines before the table, in which {command}, {date} and {machine} are filled in.
        columns: title and format of each column, such as ["ratio", "{ratio:.2f}"].
        rows: figures by name; one that a format needs and a row has not leaves the cell empty.
        notes: lines after the table.
        key: names of the figures that say which row it is.
        is_speed: False for one that the page on performance leaves out.

    A row may say `least`, the ratio that is asked for, and `judged`, the name of the figure that is held to it ("high" where the upper
    end of the middle half has to reach it, and left out for the ratio itself).
    """

    name: str
    title: str
    page: str
    command: str
    columns: list[list[str]]
    key: list[str]
    text: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    date: str = field(default_factory=lambda: time.strftime("%Y-%m-%d"))
    machine: str = field(default_factory=lambda: machine())
    is_speed: bool = True

    def table(self) -> list[str]:
        """Return the lines of the table."""
        lines = [f"| {' | '.join(title for title, _ in self.columns)} |", "|" + "---|" * len(self.columns)]
        return [*lines, *(f"| {' | '.join(_cell(form, row) for _, form in self.columns)} |" for row in self.rows)]

    def markdown(self) -> str:
        """Return the page."""
        words = {"command": self.command, "date": self.date, "machine": self.machine}
        text = [line.format(**words) for line in self.text]
        return "\n".join([f"# {self.title}", "", *text, "", *self.table(), *(["", *self.notes] if self.notes else []), ""])

    def save(self) -> None:
        """Write the JSON, and the page where it has one."""
        folder = os.environ.get(FOLDER)
        path = Path(folder or ROOT / "benchmarks" / "results") / f"{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"wrote {path}")
        if not folder:
            self.render()

    def render(self) -> None:
        """Write what of docs/ comes from this result."""
        if self.page:
            (DOCS / self.page).write_text(self.markdown(), encoding="utf-8")
        for path in DOCS.glob("*.md"):
            text = path.read_text(encoding="utf-8")
            if filled(text, self) != text:
                path.write_text(filled(text, self), encoding="utf-8")
        (DOCS / "performance.md").write_text(performance(results()), encoding="utf-8")


def filled(text: str, report: Report) -> str:
    """Return a page with the table of a report between its markers, `<!-- measured: NAME -->` and `<!-- end -->`."""
    start, end = f"<!-- measured: {report.name} -->", "<!-- end -->"
    pattern = re.compile(rf"{re.escape(start)}\n.*?{re.escape(end)}", re.DOTALL)
    body = "\n".join([start, f"Measured by `{report.command}` on {report.date}, {report.machine}.", "", *report.table(), end])
    return pattern.sub(lambda _: body, text)


def load(path: Path) -> Report:
    """Read a result."""
    return Report(**json.loads(path.read_text(encoding="utf-8")))


def results(folder: Path = ROOT / "benchmarks" / "results") -> list[Report]:
    """Return all results of a folder, by name."""
    return [load(path) for path in sorted(folder.glob("*.json"))]


def performance(reports: list[Report]) -> str:
    """Return the page that sums up all results."""
    lines = [
        "# Performance",
        "",
        "Written by `python benchmarks/run.py` from `benchmarks/results/`. Ours and the peer are called in turn in one process, so",
        "that whatever else the machine does slows both; a ratio is the peer's time over ours, the median of the calls: above 1, ours is",
        "faster.",
        "`python benchmarks/run.py --check` measures again and fails where a ratio fell beyond noise.",
        "",
        "| what | against | rows | ratio: lowest | median | highest | short of its aim | measured |",
        "|---|---|---|---|---|---|---|---|",
    ]
    reports = [report for report in reports if report.is_speed]
    compared = [report for report in reports if report.name != "roofline" and any("ratio" in row for row in report.rows)]
    lines += [_summary(report) for report in compared]
    lines += [words for report in reports if report.name == "serving" for words in ("", _other_runtimes(report))]
    missed = [words for report in reports for words in _missed(report)]
    notes = [f"- {report.title}: {note}" for report in reports for note in report.notes]
    lines += ["", "## Short of an aim", ""]
    lines += ["An aim is a least ratio that the project set itself before it measured; the pages of the table name them.", ""]
    lines += missed or ["No row is."]
    lines += ["", *notes] if notes else []
    for report in reports:
        if not report.page:
            lines += ["", f"## {report.title}", "", *report.text, *([""] if report.text else [])]
            lines += [f"Measured by `{report.command}` on {report.date}, {report.machine}.", "", *report.table()]
    return "\n".join([*lines, ""])


def _summary(report: Report) -> str:
    rows = [row for row in report.rows if "ratio" in row and row.get("what") in PAIRS.get(report.name, (row.get("what"),))]
    ratios = sorted(row["ratio"] for row in rows)
    title = f"[{report.title}]({report.page})" if report.page else f"[{report.title}](#{report.title.lower().replace(' ', '-')})"
    missed = len(_missed(report)) if any(row.get("least") for row in report.rows) else ""
    middle = ratios[len(ratios) // 2] if len(ratios) % 2 else sum(ratios[len(ratios) // 2 - 1 : len(ratios) // 2 + 1]) / 2
    cells = (
        title,
        PEERS.get(report.name, ""),
        len(rows),
        f"{ratios[0]:.2f}",
        f"{middle:.2f}",
        f"{ratios[-1]:.2f}",
        missed,
        report.date,
    )
    return f"| {' | '.join(map(str, cells))} |"


def _other_runtimes(report: Report) -> str:
    """Say where another runtime answers faster than our float32 SavedModel: what the table of pairs does not show."""
    times = {(row["model"], row["batch"], row["what"]): row["ms"] for row in report.rows}
    gains = [
        (times[model, batch, "float32"] / milliseconds, what, model, batch)
        for (model, batch, what), milliseconds in times.items()
        if what in RUNTIMES
    ]
    gain, what, model, batch = max(gains)
    faster = sum(ratio > 1.0 for ratio, *_ in gains)
    return (
        f"Other runtimes, which `canon export --format` writes for, are faster than our float32 SavedModel in {faster} of {len(gains)}\n"
        f"cases, at most {gain:.1f} times: `{model}` at batch {batch} in `{what}`."
    )


def _missed(report: Report) -> list[str]:
    """Say which rows fall short of what is asked; "judged" names the end of the spread that counts, where noise is allowed for."""
    # a ratio of 1.397 shows as 1.40 in its table and is no miss
    short = [row for row in report.rows if row.get("least") and round(row[row.get("judged", "ratio")], 2) < row["least"]]
    more = f" ([more]({report.page}))" if report.page else ""
    return [
        f"- {report.title}, {', '.join(str(row[name]) for name in report.key)}: {row['ratio']:.2f}, aim {row['least']:.2f}{more}"
        for row in short
    ]


def ratios(ours: Sequence[float], peer: Sequence[float]) -> dict[str, float]:
    """Return what is known of the peer's time over ours, call by call: median, middle half, lowest and highest."""
    found = [theirs / own for own, theirs in zip(ours, peer, strict=True)]
    low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
    return {"ratio": middle, "low": low, "high": high, "lowest": min(found), "highest": max(found)}


def machine() -> str:
    """Return processor, memory and versions, in words."""
    from importlib.metadata import version

    return (
        f"{os.cpu_count()} CPU cores ({_processor()}, {platform.machine()}), {_memory_gb()} GB, Python {platform.python_version()}, "
        f"TensorFlow {version('tensorflow')}, Keras {version('keras')}"
    )


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", path.read_text(encoding="utf-8")) if path.exists() else None
    return found.group(1).strip() if found else platform.processor() or "unknown"


def _memory_gb() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30) if hasattr(os, "sysconf") else 0


def _cell(form: str, row: dict[str, Any]) -> str:
    if any(row.get(name) is None for name in re.findall(r"{(\w+)", form)):
        return ""
    return form.format(**row)
