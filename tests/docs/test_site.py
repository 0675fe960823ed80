"""The site: every link leads somewhere, every family has its page with all its parts, drawings are those of the models."""

import dataclasses
import datetime
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import family_pages as pages_of_families
import listing_pages
import navigation
import pytest
from family_pages import DRAWINGS, FORMATS, accuracy_of, families, families_by_room, family_pages, figures, network
from reference_pages import module_names, public_names, reference_pages
from results_page import on_fashion_mnist, others, results, results_page
from results_plot import results_plot

from keras_canon import training, zoo
from keras_canon.training.schedule_picture import draw_schedule
from keras_canon.training.sections import Measured
from keras_canon.zoo.families import conversions

ROOT = Path(__file__).parents[2]
HAND_WRITTEN = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("tests/**/*.md"), *ROOT.glob("examples/*.md")])
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")
MEASURED = Measured(0.9123, datetime.date(2026, 11, 30), 0, 12, 600.0, "2 CPU cores", {}, 1_234_567)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """The pages that the site makes."""
    return {**family_pages(), **reference_pages(), **results_page(), **listing_pages.listing_pages()}


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
        for part in ("Variants", "is built", "Results", "Weights", "Converts from", "Drawing"):
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
            family = zoo.info(recipe.model.name).family
            assert f"| `{name}` | [{family}](models/{family}.md) | {measured.test_accuracy:.4f} |" in made["results.md"]


def test_results_are_beside_one_another_where_a_reader_sees_them():
    recipes = on_fashion_mnist()
    text = results({name: with_measured(recipe) for name, recipe in recipes.items()})
    assert text.startswith("---\nhide: [navigation, toc]\n---\n\n# Results")
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert table[0][2:4] == ["test accuracy", "others report"]
    listed = [name for row in others() for name in row["recipes"]]
    assert len(table) == 1 + len(recipes) + len(listed) - len(set(listed))  # one row for each of the kinds that a network belongs to
    assert "Not run in full yet" not in text
    assert ["0.9123", "0.949"] in [row[2:4] for row in table if row[0] == "`resnet18_fashion_mnist`"]
    assert "td code { white-space: nowrap; }" in (ROOT / "docs/stylesheets/site.css").read_text(encoding="utf-8")


def test_the_page_says_which_figures_of_others_are_reached():
    recipes = on_fashion_mnist()
    chosen = {
        "mcdnn_column_fashion_mnist": with_measured(recipes["mcdnn_column_fashion_mnist"], test_accuracy=0.93, parameters=100_001),
        "vgg13_bn_fashion_mnist": with_measured(recipes["vgg13_bn_fashion_mnist"], test_accuracy=0.935),
        "resnet18_fashion_mnist": with_measured(recipes["resnet18_fashion_mnist"], test_accuracy=0.9489),
    }
    [sentence] = [line for line in results(chosen).splitlines() if line.startswith("Of the ")]
    reached, below, missing = sentence.split(". ")
    assert reached.startswith(f"Of the {len(others())} networks of that list, 2 are reached or passed")
    assert reached.endswith(": two convolutions and pooling; VGG16")
    assert below == "Below others' figures stay ResNet18 (0.9489)"
    assert missing.startswith("No such run in full yet for two convolutions, under 100,000 parameters; AlexNet")


def test_the_picture_has_both_figures_of_each_network():
    text = results_plot([("two & more", 0.9239, 0.916), ("VGG16", 0.93, 0.935)])
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == "two & more: ours 0.9239, others 0.916; VGG16: ours 0.9300, others 0.935"
    circles = [float(item.get("cx")) for item in root.iter("{http://www.w3.org/2000/svg}circle")]
    legend, (theirs, ours, others_vgg, ours_vgg) = circles[:2], circles[2:]
    assert len(legend) == 2
    assert theirs < ours
    assert theirs < ours_vgg < others_vgg
    assert (ours - theirs) / (others_vgg - theirs) == pytest.approx(0.0079 / 0.019, abs=0.01)
    assert "\n" not in text  # one block of HTML
    assert results_plot([]) == ""


def with_measured(recipe: training.Recipe, **changes) -> training.Recipe:
    measured = dataclasses.replace(MEASURED, **changes)
    return dataclasses.replace(recipe, expect=dataclasses.replace(recipe.expect, measured=measured))


def test_measured_results_are_on_the_pages(made):
    text = "".join(made.values())
    for name in training.list_recipes():
        measured = training.load_recipe(name).expect.measured
        assert (f"| `{name}` |" in text) == (measured is not None)
        assert f"`canon train {name}`" in text


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("lenet5_digits", "test accuracy"),
        ("adding_lstm", "share of numbers within 0.04"),
        ("copying_lstm", "share of right ids"),
        ("crnn_ctc_lines", "share of lines without a mistake"),
        ("transformer_tiny_dates", "share of right ids, each after the right ones"),
        ("bert_tiny_mlm", "share of masked ids found"),
        ("gpt2_tiny_text", "share of right next ids"),
    ],
)
def test_a_result_says_what_was_measured(name, figure):
    recipe = with_measured(training.load_recipe(name))
    assert figures(recipe) == [(figure, "0.9123")]
    recipe = with_measured(recipe, figures={"exact_match": 0.5, "word_error_rate": 0.25})  # as in the README, its own figure leads
    assert figures(recipe) == [("exact match", "0.5"), (figure, "0.9123"), ("word error rate", "0.25")]


def test_the_accuracy_of_every_recipe_has_a_name():
    assert all(accuracy_of(training.load_recipe(name)) for name in training.list_recipes())


def test_weights_tell_their_network_and_their_command(made):
    for name in zoo.list_models(pretrained=True):
        row = zoo.info(name)
        for record in row.weights:
            assert f"| `{name}` | `{record.tag}` | {network(record)} |" in made[f"models/{row.family}.md"]
            own = bool(record.input_shape or record.overrides or record.num_classes is not None)
            assert own == (network(record) != "as in the variant's row")
            if record.training is not None:
                text = re.sub(r" \\\n +", " ", made[f"models/{row.family}.md"])
                assert f"```sh\n{record.training.command}\n```" in text
    assert "`28 x 28 x 1`, `patch_size = 4`, `depth = 4`" in made["models/vit.md"]
    assert "`width_multiplier = 0.35`" in made["models/mobilenet_v2.md"]


def test_formats_that_convert_are_listed(made):
    for family in families():
        found = {conversion.format for conversion in conversions(family)}
        assert set(re.findall(r'^- `format="(\w+)"`', made[f"models/{family}.md"], re.MULTILINE)) == found
        assert found <= set(FORMATS)
    assert '- `format="keras_applications"`, keras.applications: `vgg16`, `vgg19`\n' in made["models/vgg.md"]
    assert "torch.nn: every variant" in made["models/elman.md"]
    assert "No other framework" in made["models/lenet.md"]


def test_what_differs_from_the_paper_is_a_list(made):
    assert "**Differs from the paper:**\n\n1. The weights of `logits`" in made["models/identity_rnn.md"]
    assert "**Differs from the paper:**\n\n1. The readout is a layer" in made["models/echo_state.md"]
    assert "\n2. There is no feedback from the output." in made["models/echo_state.md"]
    assert "\n2. Weights start as Keras starts them" in made["models/char_rnn.md"]
    assert "and\n\n5. averages in the modules" in made["models/inception_v3.md"]
    for name, text in made.items():
        if name.startswith("models/"):
            assert not re.search(r"^\*\*[^*]+\*\*.* \d\. ", text, re.MULTILINE), name
            assert not re.search(r"^(?!\d+\. |   )\S.*\n1\. ", text, re.MULTILINE), name


def test_a_year_and_a_number_are_said_once(made):
    paper = zoo.info("resnet50").paper
    assert paper.appeared == "2015; CVPR 2016"
    assert zoo.info("convnext_tiny").paper.appeared == "CVPR 2022"
    assert dataclasses.replace(paper, venue="").appeared == "arXiv, 2015"
    assert zoo.info("lenet5").paper.appeared == "Proceedings of the IEEE 86(11), 1998"
    assert not re.search(r"\b([\d,]+) to \1 ", made["models/index.md"])
    assert "| 2 | 3,504,872 |" in made["models/index.md"]


def test_a_family_without_a_drawing_says_how_to_make_it(monkeypatch, tmp_path):
    monkeypatch.setattr(pages_of_families, "DRAWINGS", tmp_path)
    text = family_pages()["models/lenet.md"]
    assert "`python docs/generate.py lenet5` makes it" in text
    assert ".svg" not in text


def test_every_public_name_is_in_the_reference(made):
    assert "::: keras_canon.zoo.create\n" in made["reference/zoo.md"]
    for folder in ("zoo", "training", "training/data", "serving", "layers"):
        inside = [name for name in public_names(folder) if folder == "training" and name == "data"]
        assert made[f"reference/{folder.replace('/', '-')}.md"].count("\n::: ") == len(public_names(folder)) - len(inside)
    assert "## canon draw" in made["reference/commands.md"]


def test_the_reference_has_public_names_alone_and_each_once(made):
    text = "\n".join(text for text in [*made.values(), *(path.read_text(encoding="utf-8") for path in HAND_WRITTEN)])
    found = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    assert len(set(found)) == len(found)
    assert "members: true" not in text
    assert not [name for members in re.findall(r"members: \[(.*)\]", text) for name in members.split(", ") if name.startswith("_")]
    assert "keras_canon.layers.ctc_loss.ctc_loss" in found  # the function, not the module
    assert module_names(ROOT / "training/text_metrics.py")[0] == "edit_distance"
    for field in dataclasses.fields(training.Recipe):
        if dataclasses.is_dataclass(kind := type(getattr(training.load_recipe("lenet5_digits"), field.name))):
            assert f"{kind.__module__}.{kind.__qualname__}" in found


def test_every_page_has_its_place_in_the_navigation(made):
    pages = {*made, *(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))}
    rooms = {room.capitalize(): [f"models/{family}.md" for family in found] for room, found in families_by_room().items()}
    found = {title: entries for part in navigation.navigation(pages, rooms, list(reference_pages())) for title, entries in part.items()}
    assert list(found) == ["Start", "Guides", "Models", "Topics", "Performance", "Reference", "Decisions"]
    assert found["Start"][:3] == ["index.md", "start.md", "install.md"]
    assert "recipes.md" in found["Guides"]
    assert "notebooks.md" in found["Guides"]
    assert found["Models"][:2] == ["models/index.md", "results.md"]
    assert [next(iter(room)) for room in found["Models"][2:]] == ["Vision", "Recurrent", "Transformers"]
    assert found["Topics"] == ["topics/index.md", *navigation.TOPICS]
    flat = [page for entries in found.values() for page in entries if isinstance(page, str)]
    flat += [page for room in found["Models"][2:] for own in room.values() for page in own]
    assert sorted(flat) == sorted(pages)


def test_notebooks_are_on_the_site(made):
    assert len(listing_pages.notebooks()) >= 3
    for path in listing_pages.notebooks():
        assert f"`examples/{path.name}` in a checkout; [download](notebooks/{path.name})" in made["notebooks.md"]
    assert "## Serve a model and call it\n\nTrain a small network" in made["notebooks.md"]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    tabs = re.findall(r'<a href="([^"]*)" class="md-tabs__link">', home)
    assert {"models/", "topics/"} <= set(tabs)
    for path in (tmp_path / "reference").rglob("*.html"):
        assert not re.search(r'<h\d id="[^"]*\._', path.read_text(encoding="utf-8")), path
    assert "<li>The readout is a layer" in re.sub(r"<p>|\n", "", (tmp_path / "models/echo_state/index.html").read_text(encoding="utf-8"))
    assert len(list((tmp_path / "notebooks").glob("*.ipynb"))) == len(listing_pages.notebooks())


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


@pytest.mark.parametrize("name", training.list_recipes())
def test_every_drawn_learning_rate_is_that_of_the_recipe(name):
    assert (DRAWINGS / "schedules" / f"{name}.svg").read_text(encoding="utf-8") == draw_schedule(name)
