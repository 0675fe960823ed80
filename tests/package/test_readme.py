"""What the README says is what the repository holds."""

import re
from pathlib import Path

from keras_canon import training, zoo

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_models_and_recipes_that_the_readme_names_exist():
    for name in re.findall(r'zoo\.(?:create|info)\("([^"]+)"', README):
        assert zoo.info(name)
    for name in re.findall(r"canon train (\w+)", README):
        assert name in training.list_recipes()
