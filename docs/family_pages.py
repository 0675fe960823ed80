"""A page for every family of models, from its TOML file, its builders' docstrings and the recipes. Needs no TensorFlow."""

import re
from pathlib import Path

from keras_canon import training, zoo
from keras_canon.training.sections import Recipe
from keras_canon.zoo import ModelInfo, WeightsRecord
from keras_canon.zoo.cards import builder_docstring
from keras_canon.zoo.families import conversions

DRAWINGS = Path(__file__).parent / "drawings"
# what the test accuracy of a recipe is a share of: by its loss, else by what its model does
ACCURACY_BY_LOSS = {"mean_squared_error": "share of numbers within 0.04", "ctc": "share of lines without a mistake"}
ACCURACY_BY_TASK = {
    "image-classification": "test accuracy",
    "sequence-classification": "test accuracy",
    "translation": "share of right ids, each after the right ones",
    "language-modelling": "share of right next ids",
    "masked-language-modelling": "share of masked ids found",
}
FORMATS = {
    "keras_applications": "keras.applications",
    "torchvision": "torchvision",
    "huggingface": "Hugging Face Transformers",
    "torch": "layers of torch.nn",
}


def families() -> dict[str, list[ModelInfo]]:
    """Rows of each family, oldest paper first; the rows as their table has them."""
    found: dict[str, list[ModelInfo]] = {}
    for name in zoo.list_models():
        found.setdefault(zoo.info(name).family, []).append(zoo.info(name))
    return found


def families_by_room() -> dict[str, list[str]]:
    """Names of the families by the room of the zoo in which they are, oldest paper first."""
    found: dict[str, list[str]] = {room: [] for room in ("vision", "recurrent", "transformers")}
    for family, rows in families().items():
        found.setdefault(rows[0].builder.split(".")[0], []).append(family)
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
    known = families()
    total = sum(len(rows) for rows in known.values())
    lines = ["# Models", "", f"{total} variants in {len(known)} families. `canon list` shows all of them, `canon info NAME` one."]
    for room, found in families_by_room().items():
        lines += ["", f"## {room.capitalize()}", "", "| year | family | paper | variants | trainable parameters |", "|---|---|---|---|---|"]
        for family in found:
            rows = known[family]
            cells = (str(rows[0].year), f"[{family}]({family}.md)", rows[0].paper.title, str(len(rows)), span(rows))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def span(rows: list[ModelInfo]) -> str:
    """From the fewest parameters to the most."""
    sizes = sorted({row.trainable_parameters for row in rows})
    return " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))


def _page(family: str, rows: list[ModelInfo], own: list[Recipe]) -> str:
    paper = rows[0].paper
    lines = [
        f"# {family}",
        "",
        f"{paper.authors}: *{paper.title}*. {paper.appeared}. [{paper.url}]({paper.url})",
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
        *_conversions(rows),
        *_recipes(own),
        *_drawing(rows[0]),
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
    text = re.sub(r"(?m)^\*\*.*(?:\n.+)*", lambda found: _list(found.group(0)), text)
    return text.strip()


def _list(paragraph: str) -> str:
    """A paragraph that counts "1. ... 2. ..." as a list, which needs an empty line before it and each number at the start of a line."""
    first = re.search(r"(?:(?<=\*\*)\s|\n)(\d+)\. ", paragraph)
    if first is None:
        return paragraph
    lines, rest, number = [paragraph[: first.start()], ""], paragraph[first.start() + 1 :], int(first.group(1))
    while (after := re.search(rf"(?<=[.;:,])\s+(?={number + 1}\. )", rest)) is not None:
        lines.append(rest[: after.start()])
        rest, number = rest[after.end() :], number + 1
    return "\n".join([*lines, rest])


def _walk(title: str, lines: str) -> str:
    body = "\n".join(line[4:] for line in lines.rstrip("\n").splitlines())
    return f"{title}\n\n```text\n{body}\n```\n\n" if body.strip() else f"{title}\n\n"


def _results(own: list[Recipe]) -> list[str]:
    lines = ["## Results", ""]
    measured = [recipe for recipe in own if recipe.expect.measured is not None]
    if not measured:
        return [*lines, "No recipe of this family has been run in full by this project yet.", ""]
    lines += ["| recipe | figure | test | further figures | parameters | epochs | minutes |", "|---|---|---|---|---|---|---|"]
    lines += [_result(recipe) for recipe in measured]
    lines += ["", "Measured by this project:", ""]
    for recipe in measured:
        found, expect = recipe.expect.measured, recipe.expect
        assert found is not None
        paper = f"{expect.paper_accuracy:.4f}, {expect.paper_source}" if expect.paper_accuracy is not None else expect.paper_source
        note = f"- `{recipe.name}` on the data `{recipe.data.name}`, {found.date}, seed {found.seed}, {found.hardware}."
        lines.append(f"{note} The paper: {paper.rstrip('.')}." if paper else note)
    return [*lines, ""]


def accuracy_of(recipe: Recipe) -> str:
    """What the test accuracy of a recipe is a share of."""
    row = zoo.info(recipe.model.name)
    if recipe.train.loss in ACCURACY_BY_LOSS:
        return ACCURACY_BY_LOSS[recipe.train.loss]
    if {**row.config, **recipe.model.overrides}.get("output") == "every_step":
        return "share of right ids"
    return ACCURACY_BY_TASK[row.task]


def figures(recipe: Recipe) -> list[tuple[str, str]]:
    """Name and value of the measured figures: first the one that the recipe is judged by, as in the README."""
    found = recipe.expect.measured
    assert found is not None
    own = [(name.replace("_", " "), f"{value:.4g}") for name, value in found.figures.items()]
    return [*own[:1], (accuracy_of(recipe), f"{found.test_accuracy:.4f}"), *own[1:]]


def _result(recipe: Recipe) -> str:
    found = recipe.expect.measured
    assert found is not None
    (figure, value), *further = figures(recipe)
    cells = (
        f"`{recipe.name}`",
        figure,
        value,
        ", ".join(f"{name} {other}" for name, other in further),
        f"{found.parameters:,}" if found.parameters is not None else "",
        str(found.epochs),
        f"{found.seconds / 60:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def _weights(rows: list[ModelInfo]) -> list[str]:
    lines = ["## Weights", ""]
    published = [(row, record) for row in rows for record in row.weights]
    if not published:
        return [*lines, "None are published: train a recipe, or load weights of your own with `zoo.load_weights`.", ""]
    lines += ["| variant | tag | network | top-1 | licence | file |", "|---|---|---|---|---|---|"]
    for row, record in published:
        accuracy = f"{record.accuracy:.4f}" if record.accuracy is not None else "not measured"
        checked = f"`{record.hash[:15]}...`" if record.hash else "no hash published"
        cells = (f"`{row.name}`", f"`{record.tag}`", network(record), accuracy, record.licence, f"{_file(record)}<br>{checked}")
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    for row, record in published:
        made = record.training
        if made is not None:
            lines += [f"`{row.name}`, `{record.tag}`: made by this project on {made.date} with seed {made.seed} on {made.hardware},"]
            lines += [f"file `{record.url.rpartition('/')[2]}`,"]
            lines += [f"{made.epochs} epochs in {made.minutes:g} minutes; measured on {record.dataset}. The command:"]
            lines += ["", "```sh", made.command.replace(" --set ", " \\\n    --set "), "```", ""]
    return lines


def network(record: WeightsRecord) -> str:
    """How the network that weights are of differs from the row of its variant."""
    parts = [f"`{' x '.join(map(str, record.input_shape))}`"] if record.input_shape else []
    parts += [f"`{name} = {value}`" for name, value in record.overrides.items()]
    parts += [f"{record.num_classes} classes"] if record.num_classes is not None else []
    return ", ".join(parts) or "as in the variant's row"


def _file(record: WeightsRecord) -> str:
    kind, _, path = record.url.partition("://")
    if kind == "package":
        return "in the package"
    if kind == "hf":
        repository, _, _ = path.rpartition("/")
        shown = re.sub(r"([/_.])", r"\1<wbr>", repository)  # a long name, which a line may break
        return f"[{shown}](https://huggingface.co/{repository})"
    return f"[{record.application or path.rpartition('/')[2]}]({record.url})"


def _conversions(rows: list[ModelInfo]) -> list[str]:
    """Of which other frameworks `zoo.load_weights` takes weights, and for which variants."""
    lines = ["## Converts from", ""]
    takers: dict[str, set[str]] = {}
    for conversion in conversions(rows[0].family):
        takers.setdefault(conversion.format, set()).update(conversion.variants)
    if not takers:
        return [*lines, "No other framework: `zoo.load_weights` takes this project's own files.", ""]
    lines += ["`zoo.load_weights(model, source)` takes, beside this project's own files:", ""]
    for format_, found in takers.items():
        names = [f"`{row.name}`" for row in rows if row.name in found]
        who = "every variant" if len(names) == len(rows) else ", ".join(names)
        lines.append(f'- `format="{format_}"`, {FORMATS[format_]}: {who}')
    return [*lines, ""]


def _drawing(row: ModelInfo) -> list[str]:
    lines = ["## Drawing", ""]
    if not (DRAWINGS / f"{row.family}.svg").exists():  # a test asks for it, so that a site is missing one only while a family is new
        return [*lines, f"Not drawn yet: `python docs/generate.py {row.name}` makes it.", ""]
    text = f"`canon draw {row.name}`; the numbers are trainable parameters."
    return [*lines, text, "", f"![Architecture of {row.name}](../drawings/{row.family}.svg)", ""]


def _recipes(own: list[Recipe]) -> list[str]:
    if not own:
        return []
    lines = ["## Recipes", ""]
    for recipe in own:
        lines += [f"**`canon train {recipe.name}`** {recipe.summary}", ""]
        if (DRAWINGS / "schedules" / f"{recipe.name}.svg").exists():
            lines += [f"![Learning rate of {recipe.name}](../drawings/schedules/{recipe.name}.svg)", ""]
    return lines
