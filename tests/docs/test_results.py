"""Numbers in docs/ are those of the result files, and `benchmarks/run.py --check` knows noise from a loss."""

import copy
import re
from pathlib import Path

import pytest
import report
import run

ROOT = Path(__file__).parents[2]
RESULTS = report.results()


def found(ratio: float, spread: float = 0.02, *, is_speed: bool = True, **more) -> report.Report:
    row = {"what": "x", "ratio": ratio, "low": ratio - spread, "high": ratio + spread, **more}
    return report.Report(
        "layers", "A title", "", "command", [["what", "{what}"], ["ratio", "{ratio:.2f}"]], ["what"], rows=[row], is_speed=is_speed
    )


@pytest.mark.parametrize("result", [item for item in RESULTS if item.page], ids=lambda item: item.name)
def test_a_page_is_what_its_result_says(result):
    assert (report.DOCS / result.page).read_text(encoding="utf-8") == result.markdown(), "python benchmarks/run.py --render"


def test_the_page_that_sums_up_is_what_the_results_say():
    assert (report.DOCS / "performance.md").read_text(encoding="utf-8") == report.performance(RESULTS), "python benchmarks/run.py --render"


def test_tables_between_markers_are_what_the_results_say():
    names = []
    for path in report.DOCS.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        names += re.findall(r"<!-- measured: (\w+) -->", text)
        for result in RESULTS:
            assert report.filled(text, result) == text, f"{path.name}: python benchmarks/run.py --render"
    assert set(names) <= {result.name for result in RESULTS}
    assert "server" in names


def test_every_performance_page_comes_from_a_result():
    pages = {path.name for path in report.DOCS.glob("*-performance.md")}
    assert pages <= {result.page for result in RESULTS}


def test_every_result_is_of_a_benchmark_and_tells_its_rows_apart():
    for result in RESULTS:
        assert (ROOT / result.command.split()[1]).exists()
        keys = [tuple(row[name] for name in result.key) for row in result.rows]
        assert len(set(keys)) == len(keys)
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", result.date)


@pytest.mark.parametrize(
    ("before", "now", "slower"),
    [
        (found(1.40), found(1.41), False),
        (found(1.40), found(1.37), False),  # within 5 %
        (found(1.40), found(1.20), True),
        (found(1.40), found(1.20, spread=0.25), False),  # the spreads meet
        (found(1.40, spread=0.30), found(1.20), False),
        (None, found(0.1), False),
    ],
)
def test_a_row_is_slower_only_beyond_noise(before, now, slower):
    assert bool(run.compare(now, before)) is slower


def test_rows_of_one_side_and_lost_accuracy_are_told():
    before, now = found(1.40, accuracy=0.90), found(1.40, accuracy=0.89)
    assert run.compare(now, before) == ["layers, x: accuracy 0.8900, was 0.9000"]
    assert run.alone(now, before) == []
    now.rows[0]["what"] = "y"
    assert run.alone(now, before) == ["layers, x: not measured now", "layers, y: not measured before"]
    now.rows = [{"what": "x"}]
    assert run.alone(now, before) == ["layers, x: no ratio and no accuracy to compare"]


def test_a_row_that_falls_short_is_said_to():
    noted = found(1.50)
    noted.notes = ["No figure on a GPU."]
    assert "- A title: No figure on a GPU." in report.performance([noted])
    assert "aim 1.40" in report.performance([found(1.30, least=1.4)])
    assert "aim 1.40" not in report.performance([found(1.397, least=1.4)])
    assert "aim 1.40" not in report.performance([found(1.39, least=1.4, judged="high")])


def test_what_is_not_about_speed_is_no_part_of_the_page_on_performance():
    assert "A title" not in report.performance([found(1.3, least=1.4, is_speed=False)])


def test_a_result_is_written_and_read_and_leaves_the_site_alone_when_checked(tmp_path, monkeypatch):
    monkeypatch.setenv(report.FOLDER, str(tmp_path))
    before = (report.DOCS / "performance.md").read_bytes()
    written = copy.deepcopy(found(1.4))
    written.save()
    assert report.load(tmp_path / "layers.json") == written
    assert (report.DOCS / "performance.md").read_bytes() == before
    assert "CPU cores" in written.machine


def test_ratios_are_the_peers_time_over_ours():
    assert report.ratios([1.0, 2.0, 1.0], [2.0, 2.0, 3.0]) == {"ratio": 2.0, "low": 1.5, "high": 2.5, "lowest": 1.0, "highest": 3.0}


def test_the_words_of_the_readme_are_measured():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    rows = {(row["model"], row["batch"], row["what"]): row for row in report.load(ROOT / "benchmarks/results/serving.json").rows}
    assert "half the size of `keras.Model.export`'s and faster" in readme
    ours = [row for (_, _, what), row in rows.items() if what == "float32"]
    assert all(0.4 < row["share"] < 0.6 and row["ratio"] > 1.0 for row in ours)
    assert "about twice as fast for ResNet-50" in readme
    assert all(1.9 < rows["resnet50", batch, "bfloat16"]["ratio"] < 2.6 for batch in (1, 16))


def test_the_summary_counts_ours_against_a_peer_and_tells_where_others_are_faster():
    (serving,) = [result for result in RESULTS if result.name == "serving"]
    page = report.performance([serving])
    others = [row for row in serving.rows if row["what"] in report.RUNTIMES]
    highest = max(row["ratio"] for row in serving.rows if row["what"] in ("float32", "bfloat16"))
    assert f"| {highest:.2f} |" in page
    assert max(row["ratio"] for row in others) > highest
    assert f"of {len(others)}\ncases, at most" in page
