"""The site: every link leads somewhere, every family has its page with all its parts, drawings are those of the models."""

import re
from pathlib import Path

import pytest
from family_pages import DRAWINGS, families, family_pages
from reference_pages import public_names, reference_pages
from results_page import on_fashion_mnist, others, results_page

from keras_canon import training, zoo
from keras_canon.training.schedule_picture import draw_schedule

ROOT = Path(__file__).parents[2]
HAND_WRITTEN = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("tests/**/*.md"), *ROOT.glob("examples/*.md")])
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """The pages that the site makes."""
    return {**family_pages(), **reference_pages(), **results_page(), "decisions/index.md": ""}


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_link_is_dead(path, made):
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(prose):
        if re.match(r"https?:|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        found = (path.parent / name).resolve() if name else path
        inside = found.relative_to(ROOT / "docs").as_posix() if found.is_relative_to(ROOT / "docs") else ""
        assert found.exists() or inside in made, f"{path.name} links to {target}"
        if anchor and found.suffix == ".md":
            text = found.read_text(encoding="utf-8") if found.exists() else made[inside]
            assert anchor in anchors(text), f"{path.name} links to {target}"


def test_every_family_has_a_page_with_all_its_parts(made):
    for family, rows in families().items():
        text = made[f"models/{family}.md"]
        for part in ("Variants", "is built", "Results", "Weights", "Drawing"):
            assert re.search(rf"^## .*{part}", text, re.MULTILINE), (family, part)
        assert "iffers from the paper" in text or "Differences" in text, family
        assert "```text\n" in text or "that of `" in text, (family, "the walk through the shapes")
        assert all(f"| `{row.name}` | {row.table} |" in text for row in rows)
        assert (DRAWINGS / f"{family}.svg").exists(), f"python docs/generate.py {rows[0].name}"
    assert sum(name.startswith("models/") for name in made) == len(families()) + 1


def test_results_stand_beside_those_of_others(made):
    names = on_fashion_mnist()
    for row in others():
        assert set(row["recipes"]) <= set(names)
        assert 0.8 < row["accuracy"] < 1.0
    for name, recipe in names.items():
        assert f"`{name}`" in made["results.md"]
        measured = recipe.expect.measured
        if measured is not None:
            assert f"| `{name}` | {measured.test_accuracy:.4f} | {measured.parameters:,} |" in made["results.md"]


def test_measured_results_are_on_the_pages(made):
    text = "".join(made.values())
    for name in training.list_recipes():
        measured = training.load_recipe(name).expect.measured
        assert (f"| `{name}` |" in text) == (measured is not None)
        assert f"`canon train {name}`" in text


def test_every_public_name_is_in_the_reference(made):
    assert "::: keras_canon.zoo.create\n" in made["reference/zoo.md"]
    for folder in ("zoo", "training", "training/data", "serving", "layers"):
        assert made[f"reference/{folder.replace('/', '-')}.md"].count("\n::: ") == len(public_names(folder))
    assert "## canon draw" in made["reference/commands.md"]


def test_drawings_are_those_of_the_models():
    for family in ("lenet", "resnet_cifar", "seq2seq_attention"):
        assert (DRAWINGS / f"{family}.svg").read_text(encoding="utf-8") == zoo.draw(families()[family][0].name)
    drawn = DRAWINGS / "schedules" / "lenet5_digits.svg"
    assert drawn.read_text(encoding="utf-8") == draw_schedule("lenet5_digits")
    assert {path.stem for path in DRAWINGS.glob("*.svg")} == set(families()), "python docs/generate.py"
    assert {path.stem for path in (DRAWINGS / "schedules").glob("*.svg")} <= set(training.list_recipes())


@pytest.mark.slow
@pytest.mark.parametrize("family", families())
def test_every_drawing_is_that_of_the_model(family):
    assert (DRAWINGS / f"{family}.svg").read_text(encoding="utf-8") == zoo.draw(families()[family][0].name)


@pytest.mark.slow
@pytest.mark.parametrize("name", training.list_recipes())
def test_every_drawn_learning_rate_is_that_of_the_recipe(name):
    assert (DRAWINGS / "schedules" / f"{name}.svg").read_text(encoding="utf-8") == draw_schedule(name)
