"""Reports: one list of blocks, as Markdown and as a self-contained page; whatever names hold."""

import base64
import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from keras_canon import training
from keras_canon.training import report
from keras_canon.training.evaluation import Evaluation
from keras_canon.training.recipe import load_recipe
from keras_canon.training.report import Outcome, write_report
from keras_canon.training.report_blocks import Bullets, Code, Heading, Link, Picture, Preformatted, Strong, Table, Text
from keras_canon.training.report_html import html
from keras_canon.training.report_markdown import markdown

NASTY = ('<script>alert("1")</script>', "a|b & 'c'", "cost $x$ ^_{")
VOID = {"meta", "img"}


class Page(HTMLParser):
    """What a browser would see: tags that are balanced, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self._open = [], [], [], []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.text.append(data)


def addresses(page):
    return [value for tag, name, value in page.attributes if name in ("src", "href", "srcset", "action", "data", "poster")]


def outcome(name="lenet5_modern_fashion_mnist", class_names=NASTY, mistakes=True):
    recipe = load_recipe(name, {"data.name": "synthetic:classes=3,size=28,channels=1,examples=60"}, smoke=True)
    data = dataclasses.replace(training.data.load(recipe.data.name), class_names=class_names, name="<b>data</b>")
    truth = np.asarray(data.test.labels)
    predicted = (truth + 1) % 3 if mistakes else truth
    test = Evaluation("x", "test", class_names, truth, predicted, np.full(len(truth), 0.9), 0.5)
    history = {name: [0.5, 0.4] for name in ("loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "seconds")}
    command = "canon train 'a & <b>' --set 'x=\"1\"'"
    return Outcome(recipe, command, data, history, 1, test, 1234, 2.0, {"Python": "<3>"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    write_report(path, outcome())
    return path


def test_the_page_asks_nobody_for_anything(folder):
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    pictures = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    files = ("curves.png", "confusion.png", "mistakes.png")
    assert [base64.b64decode(value.removeprefix("data:image/png;base64,")) for value in pictures] == [
        (folder / name).read_bytes() for name in files
    ]
    # the one address is the paper's, which a reader may follow
    assert [value for value in addresses(page) if not value.startswith("data:")] == ["https://doi.org/10.1109/5.726791"]
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "@import" not in text
    assert "url(" not in text
    assert any(str(value).startswith("default-src 'none'; img-src data:") for tag, _, value in page.attributes if tag == "meta")


def test_names_are_shown_and_never_read_as_html(folder):
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    shown = "".join(page.text)
    for name in (*NASTY, "<b>data</b>", "<3>", "canon train 'a & <b>' --set 'x=\"1\"'"):
        assert name in shown
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "<script" not in text.replace("\\<script", "")
    assert "a\\|b & 'c'" in text


def test_both_say_the_same(folder):
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    text = (folder / "report.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == [
        "Result",
        "Curves",
        "Classes",
        "Confusion matrix",
        "Worst mistakes",
        "Model",
        "Data",
        "Environment",
        "How to reproduce",
    ]
    assert page.tags.count("h2") == len(headings)
    assert page.tags.count("table") == len(re.findall(r"^\|[ -|]*---[ -|]*\|$", text, re.MULTILINE))
    words = "".join(page.text)
    for number in re.findall(r"\d[\d.,]*\d", text.split("## How to reproduce")[0].split("## Model")[0]):
        assert number in words


def test_a_run_without_mistakes(tmp_path):
    write_report(tmp_path, outcome(class_names=("a", "b", "c"), mistakes=False))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "classified correctly" in text
    assert not (tmp_path / "mistakes.png").exists()


BLOCKS = [
    Heading(1, "A < B"),
    Text("see ", Code("x|y`z"), " and ", Strong("<w>"), " at ", Link("https://example.org/?a=1&b=2"), " or ", Link("javascript:alert(1)")),
    Bullets(["one\ntwo", Code("<three>")]),
    Table(("name", "value"), (("a|b", 1), (Strong("c"), "2.5"), (Code("d"), "-"))),
    Preformatted("```\nfenced\n```", "shell"),
]


def test_markdown():
    assert markdown(BLOCKS).split("\n\n") == [
        "# A \\< B",
        "see `` x|y`z `` and **\\<w>** at <https://example.org/?a=1&b=2> or <javascript:alert(1)>",
        "- one two\n- `<three>`",
        "| name | value |\n| --- | --- |\n| a\\|b | 1 |\n| **c** | 2.5 |\n| `d` | - |",
        "````shell\n```\nfenced\n```\n````\n",
    ]


def test_html(tmp_path):
    (tmp_path / "one.png").write_bytes(b"picture")
    page = html([*BLOCKS, Picture("one.png", 'a "b"')], tmp_path)
    Page(page)
    assert "<title>A &lt; B</title>" in page
    assert 'href="https://example.org/?a=1&amp;b=2"' in page
    assert 'href="javascript' not in page
    assert '<tr><td>a|b</td><td class="number">1</td></tr>' in page
    assert f'<img alt="a &quot;b&quot;" src="data:image/png;base64,{base64.b64encode(b"picture").decode()}">' in page


def test_the_speed_is_of_the_examples_that_were_trained_on():
    whole = outcome()
    train = dataclasses.replace(whole.recipe.train, steps_per_epoch=2, batch_size=5, epochs=7, patience=None)
    part = dataclasses.replace(whole, recipe=dataclasses.replace(whole.recipe, train=train))
    assert whole.examples_per_second == len(whole.data.train) / 0.4
    assert part.examples_per_second == 10 / 0.4
    assert "stopped early by a callback" in report._training(part)


def test_signs_of_markdown_in_names():
    assert markdown([Text("a*b* [x](y) `c` snake_case _d_ \\e")]) == "a\\*b\\* \\[x\\](y) \\`c\\` snake_case \\_d\\_ \\\\e\n"
