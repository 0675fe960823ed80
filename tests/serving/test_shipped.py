"""The bundles in saved_models/: what their table says, with the answers of the weights that come with the package."""

from pathlib import Path

import numpy as np
import pytest

from keras_canon import serving, zoo
from keras_canon.serving import shipped
from keras_canon.serving.model_folders import find_versions

FOLDER = Path(__file__).parents[2] / "saved_models"
TRACKED = sorted(set(find_versions(FOLDER)) & set(shipped.shipped_weights()))


def test_the_table_is_that_of_the_manifests():
    assert "lenet5_fashion_mnist" in TRACKED
    assert (FOLDER / shipped.README).read_text(encoding="utf-8") == shipped.describe_bundles(FOLDER)


@pytest.mark.parametrize("name", TRACKED)
def test_a_bundle_answers_as_the_shipped_weights_do(name):
    variant, tag = shipped.shipped_weights()[name]
    model, servable = zoo.create(variant, weights=tag), serving.load(FOLDER / name)
    x = np.random.default_rng(0).normal(size=(5, *model.input_shape[1:])).astype("float32")
    expected = model.predict(x, verbose=0)
    np.testing.assert_allclose(servable.predict(x)["logits"], expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert servable.labels == zoo.class_names("fashion_mnist")
    assert "bytes" in servable.signatures


def test_what_is_missing_is_exported_and_the_rest_left_alone(tmp_path, monkeypatch, capsys):
    every = shipped.shipped_weights()
    monkeypatch.setattr(shipped, "shipped_weights", lambda: {"lenet5_fashion_mnist": every["lenet5_fashion_mnist"]})
    shipped.main(tmp_path)
    assert capsys.readouterr().out.splitlines() == [f"Wrote {tmp_path / 'lenet5_fashion_mnist' / '1'}", f"Wrote {tmp_path / 'README.md'}"]
    assert "| `lenet5_fashion_mnist` | 1 | `lenet5` | fashion_mnist | (32, 32, 1) | 10 |" in (tmp_path / "README.md").read_text()
    shipped.main(tmp_path)
    assert capsys.readouterr().out.splitlines() == [f"Wrote {tmp_path / 'README.md'}"]
