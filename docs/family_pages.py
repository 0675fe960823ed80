"""A page for every family of models, from its TOML file, its builders' docstrings and the recipes. Needs no TensorFlow."""

import re
from pathlib import Path

from keras_canon import training, zoo
from keras_canon.training.sections import Recipe
from keras_canon.zoo import ModelInfo
from keras_canon.zoo.cards import builder_docstring

DRAWINGS = Path(__file__).parent / "drawings"


def families() -> dict[str, list[ModelInfo]]:
    """Rows of each family, oldest paper first; the rows as their table has them."""
    found: dict[str, list[ModelInfo]] = {}
    for name in zoo.list_models():
        found.setdefault(zoo.info(name).family, []).append(zoo.info(name))
    return found


def recipes() -> dict[str, list[Recipe]]:
    """Recipes of each family."""
    found: dict[str, list[Recipe]] = {}
    for name in training.list_recipes():
        recipe = training.load_recipe(name)
        found.setdefault(zoo.info(recipe.model.name).family, []).append(recipe)
    return found


def family_pages() -> dict[str, str]:
    """Text of every page, by its path."""
    by_family = recipes()
    pages = {f"models/{family}.md": _page(family, rows, by_family.get(family, [])) for family, rows in families().items()}
    return {"models/index.md": _index(), **pages}


def _index() -> str:
    lines = ["# Models", ""]
    parts: dict[str, list[str]] = {}
    for family, rows in families().items():
        room = rows[0].builder.split(".")[0]
        sizes = [row.trainable_parameters for row in rows]
        span = f"{min(sizes):,}" if len(sizes) == 1 else f"{min(sizes):,} to {max(sizes):,}"
        line = f"| {rows[0].year} | [{family}]({family}.md) | {rows[0].paper.title} | {len(rows)} | {span} |"
        parts.setdefault(room, []).append(line)
    total = sum(len(rows) for rows in families().values())
    lines.append(f"{total} variants in {len(families())} families. `canon list` shows all of them, `canon info NAME` one.")
    for room, found in parts.items():
        lines += ["", f"## {room.capitalize()}", "", "| year | family | paper | variants | trainable parameters |", "|---|---|---|---|---|"]
        lines += found
    return "\n".join([*lines, ""])


def _page(family: str, rows: list[ModelInfo], own: list[Recipe]) -> str:
    paper = rows[0].paper
    drawing = f"![Architecture of {rows[0].name}](../drawings/{family}.svg)"
    lines = [
        f"# {family}",
        "",
        f"{paper.authors}: *{paper.title}*. {paper.venue or 'arXiv'}, {paper.year}. [{paper.url}]({paper.url})",
        "",
        "## Variants",
        "",
        "| name | row of the paper | input | trainable parameters | multiply-adds | what sets it apart |",
        "|---|---|---|---|---|---|",
        *map(_variant, rows),
        "",
        "```python",
        "from keras_canon import zoo",
        "",
        f'model = zoo.create("{rows[0].name}")',
        "```",
        "",
        *(_prose(rows)),
        *_results(own),
        *_weights(rows),
        *_recipes(own),
        "## Drawing",
        "",
        f"`canon draw {rows[0].name}`; the numbers are trainable parameters.",
        "",
        drawing,
        "",
    ]
    return "\n".join(lines)


def _shape(row: ModelInfo) -> str:
    return " x ".join("any" if size is None else str(size) for size in row.input_shape)


def _variant(row: ModelInfo) -> str:
    macs = f"{row.gmacs:.3g} G" if row.gmacs >= 0.1 else f"{row.gmacs * 1e3:.3g} M"
    steps = f" for {row.steps} steps" if row.steps else ""
    cells = (f"`{row.name}`", row.table, _shape(row), f"{row.trainable_parameters:,}", macs + steps, row.summary)
    return f"| {' | '.join(cells)} |"


def _prose(rows: list[ModelInfo]) -> list[str]:
    """What the builders' docstrings say: summary, what differs from the paper, shapes by stage."""
    lines: list[str] = []
    for builder in dict.fromkeys(row.builder for row in rows):
        name = next(row.name for row in rows if row.builder == builder)
        text = builder_docstring(name).split("\nArgs:")[0]
        lines += [f"## How `{builder.split(':')[1]}` is built", "", _markdown(text), ""]
    return lines


def _markdown(docstring: str) -> str:
    """A docstring as Markdown: the indented walk through the shapes becomes a block of code, addresses become links."""
    text = re.sub(r"(?m)^(Shape walk.*:)\n((?:(?: .*)?\n?)+)", lambda found: _walk(found.group(1), found.group(2)), docstring + "\n")
    text = re.sub(r"(?<![(\[<])\bhttps?://[^\s)]+[^\s).,;]", lambda found: f"<{found.group(0)}>", text)
    # a list needs an empty line before it
    return re.sub(r"(?m)^(\*\*.*:\*\*)\n(?=1\. )", r"\1\n\n", text).strip()


def _walk(title: str, lines: str) -> str:
    body = "\n".join(line[4:] for line in lines.rstrip("\n").splitlines())
    return f"{title}\n\n```text\n{body}\n```\n\n" if body.strip() else f"{title}\n\n"


def _results(own: list[Recipe]) -> list[str]:
    lines = ["## Results", ""]
    measured = [recipe for recipe in own if recipe.expect.measured is not None]
    if not measured:
        return [*lines, "No recipe of this family has been run in full by this project yet.", ""]
    lines += [
        "| recipe | data | test accuracy | other figures | parameters | epochs | minutes | seed | date | the paper |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for recipe in measured:
        found, expect = recipe.expect.measured, recipe.expect
        assert found is not None
        figures = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in found.figures.items())
        paper = f"{expect.paper_accuracy:.4f}, {expect.paper_source}" if expect.paper_accuracy is not None else expect.paper_source
        cells = (
            f"`{recipe.name}`",
            recipe.data.name,
            f"{found.test_accuracy:.4f}",
            figures,
            f"{found.parameters:,}",
            str(found.epochs),
            f"{found.seconds / 60:.1f}",
            str(found.seed),
            str(found.date),
            paper,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", f"Measured by this project on {measured[0].expect.measured.hardware}.", ""]


def _weights(rows: list[ModelInfo]) -> list[str]:
    lines = ["## Weights", ""]
    published = [(row, record) for row in rows for record in row.weights]
    if not published:
        return [*lines, "None are published: train a recipe, or load weights of your own with `zoo.load_weights`.", ""]
    lines += ["| variant | tag | licence | top-1 measured | file |", "|---|---|---|---|---|"]
    for row, record in published:
        accuracy = f"{record.accuracy:.4f} on {record.dataset}" if record.accuracy is not None else "not measured here"
        checked = f"`{record.hash[:19]}...`" if record.hash else "no hash published"
        where = f"[{record.url.rpartition('/')[2]}]({record.url})" if record.url.startswith("http") else f"`{record.url}`"
        lines.append(f"| `{row.name}` | `{record.tag}` | {record.licence} | {accuracy} | {where}, {checked} |")
    return [*lines, ""]


def _recipes(own: list[Recipe]) -> list[str]:
    if not own:
        return []
    lines = ["## Recipes", ""]
    for recipe in own:
        lines += [f"**`canon train {recipe.name}`** {recipe.summary}", ""]
        if (DRAWINGS / "schedules" / f"{recipe.name}.svg").exists():
            lines += [f"![Learning rate of {recipe.name}](../drawings/schedules/{recipe.name}.svg)", ""]
    return lines
