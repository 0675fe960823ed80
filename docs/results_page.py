"""The page of results on Fashion-MNIST, from the recipes' measured figures and the list of others' in docs/fashion_mnist.toml."""

import tomllib
from pathlib import Path

from results_plot import results_plot

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
        _summary(measured),
        "",
        results_plot([(row["network"], best, row["accuracy"]) for row in others() if (best := _best(row, measured))]),
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


def _summary(measured: dict[str, Recipe]) -> str:
    """One sentence: in which rows of the list ours have as much, with no more parameters where it says how many."""
    best = {row["network"]: _best(row, measured) for row in others()}
    reached = [row["network"] for row in others() if best[row["network"]] >= row["accuracy"]]
    below = [f"{row['network']} ({best[row['network']]:.4f})" for row in others() if 0.0 < best[row["network"]] < row["accuracy"]]
    missing = [network for network, accuracy in best.items() if not accuracy]
    parts = [f"Of the {len(best)} networks of that list, {len(reached)} are reached or passed, with no more parameters where it tells them"]
    parts += [f": {'; '.join(reached)}" if reached else ""]
    parts += [f". Below others' figures stay {'; '.join(below)}" if below else ""]
    parts += [f". No such run in full yet for {'; '.join(missing)}" if missing else ""]
    return "".join(parts) + "."


def _best(row: dict, measured: dict[str, Recipe]) -> float:
    """Best test accuracy of our recipes for the row that have no more parameters than it says; 0 for none."""
    runs = [measured[name].expect.measured for name in row["recipes"] if name in measured]
    most = row.get("parameters", float("inf"))
    return max((run.test_accuracy for run in runs if run is not None and (run.parameters or 0) <= most), default=0.0)


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
