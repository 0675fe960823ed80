"""The page of results on Fashion-MNIST, from the recipes' measured figures and the list of others' in docs/fashion_mnist.toml."""

import tomllib
from pathlib import Path

from keras_canon import training, zoo
from keras_canon.training.sections import Recipe

LIST = Path(__file__).parent / "fashion_mnist.toml"


def others() -> list[dict]:
    """Rows of the list: `network`, `accuracy`, `recipes`, and `parameters` where it says how many."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))["rows"]


def on_fashion_mnist() -> dict[str, Recipe]:
    """Recipes on the whole of Fashion-MNIST, by name."""
    found = {name: training.load_recipe(name) for name in training.list_recipes()}
    return {name: recipe for name, recipe in found.items() if recipe.data.name in ("fashion_mnist", "rows:fashion_mnist")}


def results_page() -> dict[str, str]:
    """Text of the page, by its path."""
    return {"results.md": results(on_fashion_mnist())}


def results(recipes: dict[str, Recipe]) -> str:
    """The page of these recipes. Its table is wide, so that it goes without the columns at the sides."""
    measured = {name: recipe for name, recipe in recipes.items() if recipe.expect.measured is not None}
    listed = [name for row in others() for name in row["recipes"]]
    lines = [
        "---",
        "hide: [navigation, toc]",
        "---",
        "",
        "# Results on Fashion-MNIST",
        "",
        "60,000 pictures to train with, of which the recipes keep some for validation, and 10,000 to test: the weights are those that are",
        "best on validation, and the test is read once. Every row is a command, `canon train RECIPE`. Beside it stands what others report",
        "for a network of the kind, mostly larger ones, trained longer, from",
        "[the list of the data's authors](https://github.com/zalandoresearch/fashion-mnist#benchmark), who have not measured it either.",
        "Seed, day and machine of each run are on the page of its family.",
        "",
        "| recipe | family | test accuracy | others report | their network | parameters | theirs | epochs | minutes |",
        "|---|---|---|---|---|---|---|---|---|",
        *[_row(measured[name], row) for row in others() for name in row["recipes"] if name in measured],
        *[_row(recipe, {}) for name, recipe in measured.items() if name not in listed],
        "",
    ]
    left = [f"`{name}`" for name in recipes if name not in measured]
    if left:
        lines += [f"Not run in full yet: {', '.join(left)}.", ""]
    return "\n".join(lines)


def _row(recipe: Recipe, other: dict) -> str:
    found, family = recipe.expect.measured, zoo.info(recipe.model.name).family
    assert found is not None
    cells = (
        f"`{recipe.name}`",
        f"[{family}](models/{family}.md)",
        f"{found.test_accuracy:.4f}",
        f"{other['accuracy']:.3f}" if other else "",
        other.get("network", ""),
        f"{found.parameters:,}" if found.parameters is not None else "",
        f"{other['parameters']:,}" if "parameters" in other else "",
        str(found.epochs),
        f"{found.seconds / 60:.1f}",
    )
    return f"| {' | '.join(cells)} |"
