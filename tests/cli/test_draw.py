"""`canon draw`: pictures that say what the models are."""

import re
import xml.etree.ElementTree as ElementTree

import keras
import pytest
from typer.testing import CliRunner

from keras_canon import zoo
from keras_canon.cli.main import app
from keras_canon.training.schedule_picture import draw_schedule

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawn: str, kind: str) -> list[str]:
    return [item.text for item in ElementTree.fromstring(drawn).iter(f"{SVG}text") if item.get("class") == kind]


def parameters(drawn: str) -> int:
    """The sum of the numbers on the right of the boxes."""
    marked = [item for item in ElementTree.fromstring(drawn).iter(f"{SVG}text") if item.get("text-anchor") == "end"]
    return sum(int(item.text.replace(",", "")) for item in marked if item.get("class") == "what")


@pytest.mark.parametrize("name", ["lenet5", "resnet20", "seq2seq_attention", "transformer_tiny", "word2vec_skipgram", "gated_convnet_14"])
def test_the_boxes_hold_all_parameters(name):
    assert parameters(zoo.draw(name)) == zoo.info(name).trainable_parameters


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.list_models())
def test_every_variant_is_drawn_with_all_its_parameters(name):
    drawn = zoo.draw(name)
    assert parameters(drawn) == zoo.info(name).trainable_parameters
    assert len(texts(drawn, "name")) < 90


def test_alike_blocks_share_a_box_and_written_out_blocks_too():
    assert texts(zoo.draw("resnet20"), "name")[2:5] == ["stage1_block1 to 3", "x 3", "stage2_block1"]
    assert "block5 to 12" in texts(zoo.draw("xception"), "name")


def test_two_inputs_stand_side_by_side_and_nothing_overlaps():
    drawn = zoo.draw("seq2seq_luong_dot")
    places = re.findall(r'class="box \w+" x="(\d+)" y="(\d+)"', drawn)
    assert len(places) == len(set(places)) == 15
    by_name = dict(zip(texts(drawn, "name"), places, strict=True))
    assert by_name["source_ids"][1] == by_name["target_ids"][1]
    assert int(by_name["encoder1"][1]) < int(by_name["encoder2"][1])


def test_a_model_of_ones_own_and_names_that_need_escaping():
    inputs = keras.Input((4,), name="a")
    model = keras.Model(inputs, keras.layers.Dense(2, name="b")(inputs), name="own")
    assert texts(zoo.draw(model), "name") == ["a", "b"]
    assert parameters(zoo.draw(model)) == 10


@pytest.mark.parametrize(("model", "path", "words"), [("lenet5", "x.png", "ends in .svg"), (keras.Sequential(), None, "functional")])
def test_what_cannot_be_drawn_is_a_sentence(model, path, words):
    with pytest.raises(zoo.CanonError, match=words):
        zoo.draw(model, path)


def test_the_command_writes_the_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, name in ((["lenet5"], "lenet5.svg"), (["lenet5_digits", "--schedule"], "lenet5_digits_learning_rate.svg")):
        found = CliRunner().invoke(app, ["draw", *arguments], catch_exceptions=False)
        assert (found.exit_code, found.stdout) == (0, f"wrote {name}\n")
        ElementTree.parse(tmp_path / name)


def test_a_schedule_shows_its_rates():
    drawn = draw_schedule("resnet20_fashion_mnist")
    points = [tuple(map(float, point.split(","))) for point in re.search(r'points="([^"]+)"', drawn).group(1).split()]
    heights = [y for _, y in points]
    peak = heights.index(min(heights))
    assert 0 < peak < len(points) // 10, "a warm-up of one epoch of twenty"
    assert heights[peak:] == sorted(heights[peak:]), "then down"
    with pytest.raises(zoo.CanonError, match=r"ends in \.svg"):
        draw_schedule("lenet5_digits", "x.png")
