"""`canon list` and `canon info`."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from keras_canon import training, zoo
from keras_canon.cli.main import app
from keras_canon.zoo.cards import builder_docstring, shape_walk


def run(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == 0, found.output
    return found.output


def test_list_shows_every_name_in_full_on_80_columns():
    lines = run("list").splitlines()
    assert {line.split()[0] for line in lines[1:]} == set(zoo.list_models())
    assert max(map(len, lines)) <= 80


def test_list_pretrained():
    names = [line.split()[0] for line in run("list", "--pretrained").splitlines()[1:]]
    assert names == zoo.list_models(pretrained=True)
    assert "resnet50" in names
    assert "resnet32" not in names


def test_card():
    card = run("info", "resnet50")
    for text in ("arxiv.org/abs/1512.03385", "25,557,032 trainable", "conv5 (B, 7, 7, 2048)", "imagenet (MIT; md5 checked)", "bgr"):
        assert text in " ".join(card.split())
    assert 'zoo.create("resnet50", weights="imagenet", num_classes=1000)' in card
    assert "none published" in run("info", "resnet32")
    assert "its publisher lists no hash" in " ".join(run("info", "mobilenet_v2").split())


def test_card_as_json():
    card = json.loads(run("info", "vit_base_16", "--json"))
    assert card["weights"][0]["url"].startswith("hf://")
    assert card["shape_walk"][1].split() == ["images", "(B,", "224,", "224,", "3)"]


@pytest.mark.parametrize("name", zoo.list_models())
def test_every_builder_has_a_shape_walk_from_input_to_output(name):
    text = builder_docstring(name)
    assert "Paper" in text
    assert "**Differs from the paper" in text
    walk = [line for line in shape_walk(name) if "(B," in line]
    assert len(walk) >= 3
    assert walk[0].split()[0] in {"images", "sequences", "token_ids", "source_ids"}


def test_list_of_recipes():
    lines = run("list", "--recipes").splitlines()
    assert [line.split()[0] for line in lines[1:]] == training.list_recipes()
    assert max(map(len, lines)) <= 80
    assert ["lenet5_digits", "under", "a", "minute", "digits"] in [line.split() for line in lines]
    named = [name for name in training.list_recipes() if name.startswith("lenet5")]
    assert "lenet5_modern_normalised_fashion_mnist" in named
    assert [line.split()[0] for line in run("list", "lenet5*", "--recipes", "--family", "lenet").splitlines()[1:]] == named


def test_list_of_recipes_as_json():
    rows = json.loads(run("list", "--recipes", "--task", "translation", "--json"))
    assert "seq2seq_attention_dates" in [row["name"] for row in rows]
    assert all(row["time"] and row["hardware"] and row["summary"] for row in rows)
    assert rows[0]["data"] == training.load_recipe(rows[0]["name"]).data.name


def test_every_recipe_says_how_long_it_takes():
    for line in run("list", "--recipes").splitlines()[1:]:
        assert "minute" in line, line


def test_no_recipe_matches():
    assert "No recipe matches" in run("list", "nothing*", "--recipes")


def test_listing_recipes_needs_no_tensorflow():
    program = (
        "import sys; from keras_canon.cli.main import app; app(['list', '--recipes'], standalone_mode=False); "
        "print('tensorflow' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.splitlines()[-1] == "False"
