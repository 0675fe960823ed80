"""What the README says is what the repository holds."""

import re
import tomllib
from pathlib import Path

from keras_canon import training, zoo

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def results_table() -> list[str]:
    """Rows of the results tables, made from the recipes' measured figures: those of classes, then those told by a figure of their own."""
    rows, others = [], []
    for name in training.list_recipes():
        recipe = tomllib.loads((ROOT / "training" / "recipes" / f"{name}.toml").read_text(encoding="utf-8"))
        measured = recipe.get("expect", {}).get("measured")
        data = recipe["data"]["name"]
        if measured and measured.get("figures"):
            figure, value = next(iter(measured["figures"].items()))
            others.append(
                f"| `{name}` | {data} | {figure.replace('_', ' ')} | {value:.4f} | {measured['parameters']:,} | {measured['epochs']} | "
                f"{measured['seconds'] / 60:.1f} | {measured['seed']} | {measured['date']} |"
            )
        elif measured:
            minutes = measured["seconds"] / 60
            rows.append(
                f"| `{name}` | {data} | {measured['test_accuracy']:.4f} | {measured['parameters']:,} | {measured['epochs']} | "
                f"{minutes:.1f} | {measured['seed']} | {measured['date']} |"
            )
    return rows + others


def test_results_are_the_measured_ones():
    found = [line for line in README.splitlines() if line.startswith("| `")]
    assert found == results_table()


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_models_and_recipes_that_the_readme_names_exist():
    for name in re.findall(r'zoo\.(?:create|info)\("([^"]+)"', README):
        assert zoo.info(name)
    for name in re.findall(r"canon train (\w+)", README):
        assert name in training.list_recipes()
