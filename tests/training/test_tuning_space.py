"""The `[tune]` section: read strictly, written back, refused where trials could not be compared."""

import subprocess
import sys

import pytest

from keras_canon.training.recipe import change_recipe, load_recipe, recipe_toml
from keras_canon.training.tune_section import Range
from keras_canon.zoo.errors import CanonError

RECIPE = """
[model]
name = "lenet5_modern"
[data]
name = "synthetic:classes=3,size=28,channels=1,examples=60"
[optimizer]
name = "adam"
learning_rate = 0.01
[train]
epochs = 2
batch_size = 8
"""
SPACE = """
[tune]
objective = "val_accuracy"
[tune.space]
"optimizer.learning_rate" = { floats = [1e-4, 1e-1], sampling = "log" }
train.batch_size = { choices = [8, 16] }
model.overrides.dropout = { floats = [0.0, 0.5], step = 0.1 }
augment.crop_padding = { integers = [1, 4] }
"""


def write(folder, text):
    path = folder / "own.toml"
    path.write_text(RECIPE + text, encoding="utf-8")
    return path


def test_both_ways_of_writing_a_key(tmp_path):
    recipe = load_recipe(write(tmp_path, SPACE))
    assert recipe.tune.objective == "val_accuracy"
    assert recipe.tune.space == {
        "optimizer.learning_rate": Range(floats=(1e-4, 1e-1), sampling="log"),
        "train.batch_size": Range(choices=(8, 16)),
        "model.overrides.dropout": Range(floats=(0.0, 0.5), step=0.1),
        "augment.crop_padding": Range(integers=(1, 4)),
    }


def test_it_is_written_back_as_it_is(tmp_path):
    recipe = load_recipe(write(tmp_path, SPACE))
    (tmp_path / "again.toml").write_text(recipe_toml(recipe), encoding="utf-8")
    assert load_recipe(tmp_path / "again.toml") == recipe
    assert "tune" not in recipe_toml(load_recipe("lenet5_digits"))


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('"train.batch_size" = { choices = [8] }\ntrain.batch_size = { choices = [16] }', "two ranges"),
        ('"train.batch_size" = { integers = [8, 4] }', "lowest and a higher"),
        ('"train.batch_size" = { integers = [8, 8] }', "lowest and a higher"),
        ('"train.batch_size" = { integers = [1.5, 8] }', "an integer"),
        ('"train.batch_size" = { choices = [8, 8] }', "different values"),
        ('"train.batch_size" = { choices = [] }', "one or more"),
        ('"train.batch_size" = { choices = [8], integers = [1, 8] }', "exactly one"),
        ('"train.batch_size" = { sampling = "log" }', "exactly one"),
        ('"train.batch_size" = { choices = [8], step = 2 }', "do nothing"),
        ('"train.batch_size" = { integers = [4, 8], step = 0.5 }', "an integer"),
        ('"train.batch_size" = { integers = [4, 8], step = 5 }', "at most 4"),
        ('"train.batch_size" = { integers = [4, 8], sampling = "log", step = 2 }', "step does nothing"),
        ('"train.batch_size" = { integers = [4, 8], sampling = "cubic" }', "must be one of|must be"),
        ('"train.batch_size" = { choises = [4, 8] }', "must be a table"),
        ('"train.batch_size" = 8', "must be a table"),
        ('"optimizer.learning_rate" = { floats = [0, 1], sampling = "log" }', "above 0"),
        ('"optimizer.rate" = { floats = [0.1, 1] }', "has no 'rate'.*learning_rate"),
        ('"optimiser.learning_rate" = { floats = [0.1, 1] }', "no key of a recipe"),
        ('"learning_rate" = { floats = [0.1, 1] }', "no key of a recipe"),
        ('"data.seed" = { integers = [0, 9] }', "different examples"),
        ('"train.seed" = { integers = [0, 9] }', "lucky seed"),
        ('"train.monitor" = { choices = ["val_loss"] }', "different measures"),
        ('"model.overrides" = { choices = [{}] }\n"model.overrides.dropout" = { floats = [0.0, 0.5] }', "a part of it"),
        ('"train.loss_options.label_smoothing" = { floats = [0.0, 0.2] }', "val_accuracy"),
        ('"train.l2" = { floats = [0.0, 0.2] }', "val_accuracy"),
    ],
)
def test_what_cannot_be_searched_is_one_sentence(line, match, tmp_path):
    with pytest.raises(CanonError, match=match) as caught:
        load_recipe(write(tmp_path, f"[tune.space]\n{line}\n"))
    assert "\n" not in str(caught.value)


def test_a_wrong_objective(tmp_path):
    with pytest.raises(CanonError, match="objective"):
        load_recipe(write(tmp_path, '[tune]\nobjective = "loss"\n'))


def test_the_loss_may_change_where_accuracy_is_the_objective(tmp_path):
    line = '"train.loss_options.label_smoothing" = { floats = [0.0, 0.2] }'
    recipe = load_recipe(write(tmp_path, f'[tune]\nobjective = "val_accuracy"\n[tune.space]\n{line}\n'))
    assert change_recipe(recipe, {"train.loss_options.label_smoothing": 0.1}).train.loss_options == {"label_smoothing": 0.1}
    with pytest.raises(CanonError, match=r"own.*batch_size"):
        change_recipe(recipe, {"train.batch_size": 0})


def test_reading_a_space_needs_no_tensorflow(tmp_path):
    path = write(tmp_path, SPACE)
    code = (
        "import sys; from keras_canon.training import load_recipe; "
        f"load_recipe({str(path)!r}); assert not {{'tensorflow', 'keras_tuner'}} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
