"""A figure in a sentence of the README or of docs/ is one that benchmarks/results/facts.toml, a result file, a recipe or a limit holds."""

import re
import tomllib
from pathlib import Path

import pytest
import report

from keras_canon.serving import Limits

ROOT = Path(__file__).parents[2]
FACTS = tomllib.loads((ROOT / "benchmarks" / "results" / "facts.toml").read_text(encoding="utf-8"))["facts"]
GENERATED = {"performance.md", *(result.page for result in report.results())}
PAGES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in GENERATED and "decisions" not in path.parts),
]
UNITS = "s|ms|MiB|MB|GB|GiB|minutes|seconds|times|images|%|epochs|answers"
FIGURE = re.compile(rf"\b0\.\d{{3,}}\b|\b\d[\d,.]* ?(?:{UNITS})(?=\W|$)")
# what is decided and not measured, by page
DECIDED = {
    "docs/distribution.md": ["the other stops within 30 s"],
    "docs/transfer.md": ["There are 20 epochs", "All rows have the same 60 epochs", "a weight keeps 0.995 of itself, not 0.99"],
    "docs/serving.md": [f"{Limits().max_body_mb:.0f} MiB", f"{Limits().timeout_s:.0f} s", "512 MiB"],
}


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def measured(recipe: str) -> list[str]:
    """The figures that a recipe holds."""
    path = ROOT / "training" / "recipes" / f"{recipe}.toml"
    found = tomllib.loads(path.read_text(encoding="utf-8")).get("expect", {}).get("measured", {}) if path.exists() else {}
    return [
        f"{value:.4f}" for value in [*found.get("figures", {}).values(), *([found["test_accuracy"]] if "test_accuracy" in found else [])]
    ]


def without_recipes(line: str) -> str:
    """A row of a table about a recipe without the recipe's own figures."""
    recipe = re.match(r"\| `(\w+)` \|", line)
    for figure in measured(recipe.group(1)) if recipe else []:
        line = re.sub(rf"\b{re.escape(figure)}\b", "", line)
    return line


def sentences(path: Path) -> str:
    """The text without code, and without the tables that other tests hold to their results."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = "\n".join(map(without_recipes, text.splitlines()))
    text = re.sub(r"<!-- measured: \w+ -->.*?<!-- end -->|<!-- (\w+): begin -->.*?<!-- \1: end -->", "", text, flags=re.DOTALL)
    return words(re.sub(r"`[^`]*`", "", text))


def said(fact: dict) -> str:
    return fact["sentence"].format(**fact["figures"])


@pytest.mark.parametrize("fact", FACTS, ids=said)
def test_a_sentence_says_what_was_measured(fact):
    assert said(fact) in words((ROOT / fact["page"]).read_text(encoding="utf-8"))
    assert fact["how"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", str(fact["date"]))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_sentence_has_a_figure_without_a_source(path):
    name, text = str(path.relative_to(ROOT)), sentences(path)
    known = [said(fact) for fact in FACTS if fact["page"] == name] + DECIDED.get(name, [])
    for sentence in known:
        assert words(re.sub(r"`[^`]*`", "", sentence)) in text, sentence
        text = text.replace(words(re.sub(r"`[^`]*`", "", sentence)), "")
    assert FIGURE.findall(text) == []
