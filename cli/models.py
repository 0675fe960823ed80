"""`canon list` and `canon info`: the registry and the recipes, without TensorFlow."""

import json
import re
from dataclasses import asdict
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Annotated

import typer
from rich.table import Table

from ..training.recipe import list_recipes, load_recipe
from ..zoo import info, list_models
from ..zoo.cards import shape_walk
from ..zoo.records import ModelInfo, Preprocessing, WeightsRecord
from .console import bold, plain_console

# what the head of a recipe says of its run, and the part of it that a narrow table has room for
_HEAD = re.compile(r"^# (Hardware|Time): +(.+)$", re.MULTILINE)
_MINUTES = re.compile(r"(?:(?:about|estimated|under) )?(?:a|\d+) minutes?")


def complete_model(incomplete: str) -> list[str]:
    """Names of models for tab completion."""
    return [name for name in list_models() if name.startswith(incomplete)]


def list_command(
    pattern: Annotated[str, typer.Argument(help="Shell pattern over names.")] = "*",
    task: Annotated[str | None, typer.Option(help="Only models of this task, such as image-classification.")] = None,
    family: Annotated[str | None, typer.Option(help="Only models of this family.")] = None,
    max_params: Annotated[int | None, typer.Option(help="Only models with at most this many trainable parameters.")] = None,
    pretrained: Annotated[bool, typer.Option("--pretrained", help="Only models with published weights.")] = False,
    recipes: Annotated[bool, typer.Option("--recipes", help="List recipes, for models that the other options choose.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the models of the zoo, or the recipes: name, how long it takes, data.

    Example: canon list "resnet*" --max-params 1000000
    """
    if recipes:
        models = list_models(task=task, family=family, max_parameters=max_params, pretrained=pretrained)
        rows = [_recipe(name) for name in list_recipes() if fnmatchcase(name, pattern)]
        _list_recipes([row for row in rows if row["model"] in models], as_json)
        return
    rows = [info(name) for name in list_models(pattern, task=task, family=family, max_parameters=max_params, pretrained=pretrained)]
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    console = plain_console()
    head, *lines = _aligned([("name", "year", "parameters", "mult-adds", "input", "weights"), *map(_cells, rows)], console.width)
    console.print(bold(head), no_wrap=True)
    if lines:
        print("\n".join(lines))  # a table of rich takes a sixth of the time of the whole command
    else:
        plain_console(stderr=True).print(f"No model matches {pattern!r} with these filters; `canon list` without arguments shows all.")


def _recipe(name: str) -> dict[str, str]:
    """Return what is told about a recipe: what stands in it, and in its head."""
    recipe = load_recipe(name)
    head = dict(_HEAD.findall((files("keras_canon.training") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")))
    row = {"name": name, "summary": recipe.summary, "model": recipe.model.name, "data": recipe.data.name}
    return {**row, "time": head.get("Time", ""), "hardware": head.get("Hardware", "")}


def _list_recipes(rows: list[dict[str, str]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    if not rows:
        plain_console(stderr=True).print("No recipe matches; `canon list --recipes` without more shows all.")
        return
    times = [found[0] if (found := _MINUTES.match(row["time"])) else "" for row in rows]
    cells = [("recipe", "time", "data"), *((row["name"], time, row["data"]) for row, time in zip(rows, times, strict=True))]
    name, time, _ = (max(map(len, column)) for column in zip(*cells, strict=True))
    console = plain_console()
    head, *lines = _cut([f"{row[0]:<{name}} {row[1]:<{time}} {row[2]}" for row in cells], console.width)
    console.print(bold(head), no_wrap=True)
    print("\n".join(lines))


def _cells(row: ModelInfo) -> tuple[str, ...]:
    shape = "x".join("any" if size is None else str(size) for size in row.input_shape)
    tags = ", ".join(record.tag for record in row.weights) or "-"
    return row.name, str(row.year), f"{row.trainable_parameters:,}", _macs(row.gmacs), shape, tags


def _aligned(rows: list[tuple[str, ...]], width: int) -> list[str]:
    """Return rows of text in columns, numbers at the right; what does not fit is cut from the last one, the tags of weights."""
    name, _, parameters, macs, shape, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [f"{row[0]:<{name}} {row[1]:<4} {row[2]:>{parameters}} {row[3]:>{macs}} {row[4]:<{shape}} {row[5]}".rstrip() for row in rows]
    return _cut(lines, width)


def _cut(lines: list[str], width: int) -> list[str]:
    return [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def info_command(
    name: Annotated[str, typer.Argument(help="Name of a model; `canon list` shows all.", autocompletion=complete_model)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a card.")] = False,
) -> None:
    """Show the card of one model: paper, sizes, features, preprocessing, shapes by stage, weights.

    Example: canon info lenet5
    """
    row = info(name)
    if as_json:
        print(json.dumps({**asdict(row), "shape_walk": shape_walk(name)}, indent=2))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _card(row):
        table.add_row(label, value)
    plain_console().print(table)


def _card(row: ModelInfo) -> list[tuple[str, str]]:
    paper = row.paper
    card = [
        (row.name, row.summary),
        ("paper", f"{paper.authors}: {paper.title}. {paper.appeared}"),
        ("", paper.url),
        ("row", row.table),
        ("task", row.task),
        ("input", f"(B, {', '.join('any' if size is None else str(size) for size in row.input_shape)})"),
        *([("output", f"logits (B, {row.num_classes})")] if row.num_classes else []),
        ("parameters", f"{row.trainable_parameters:,} trainable"),
        ("multiply-adds", f"{_macs(row.gmacs)} for one example" + (f" of {row.steps} steps" if row.steps else "")),
    ]
    if row.features:
        card.append(("features", ", ".join(f"{name} (stride {stride})" for name, stride in row.features.items())))
    if row.preprocessing:
        card.append(("preprocessing", _preparation(row.preprocessing)))
    card += _walk(shape_walk(row.name))
    for record in row.weights:
        card += _published(record)
    if not row.weights:
        card.append(("weights", "none published yet: canon train a recipe of your own"))
    weights = f', weights="{row.weights[0].tag}"' if row.weights else ""
    classes = f", num_classes={row.num_classes}" if row.num_classes else ""
    card.append(("use", f'zoo.create("{row.name}"{weights}{classes})'))
    return card


def _preparation(record: Preprocessing) -> str:
    rules = {
        "squash": "resized",
        "crop": f"centre crop of {record.fraction:.3g}",
        "pad": f"fitted into {record.fraction:.3g} of the field",
    }
    colour = "grey" if record.channels == 1 else f"{record.channels} channels, {record.channel_order}"
    scale = f"x {record.scale:.5g}, minus {_numbers(record.mean)}, over {_numbers(record.std)}"
    size = f"{record.size[0]} x {record.size[1]}"
    return f"{size} {colour}, {rules[record.resize]} ({record.interpolation}); values 0 to 255 {scale}"


def _walk(lines: tuple[str, ...]) -> list[tuple[str, str]]:
    return [("shapes" if index == 0 else "", line) for index, line in enumerate(lines)]


def _published(record: WeightsRecord) -> list[tuple[str, str]]:
    """Lines on one set of weights: where it is, whether its hash is known, what was measured, how to prepare images."""
    algorithm = record.hash.partition(":")[0]
    checked = f"{algorithm} checked" if algorithm else "its publisher lists no hash: the first download tells its sha256"
    accuracy = f", top-1 {record.accuracy:.4g} on {record.dataset}" if record.accuracy is not None else ""
    made = record.training
    trained = f"{made.command} ({made.epochs} epochs, {made.minutes:.3g} minutes on {made.hardware}, {made.date})" if made else ""
    network = [f"input {record.input_shape}"] if record.input_shape else []
    network += [f"{key} {value}" for key, value in record.overrides.items()]
    return [
        ("weights", f"{record.tag} ({record.licence}{accuracy}; {checked})"),
        ("", record.url),
        *([("", f"of the network with {', '.join(network)}")] if network else []),
        *([("", f"made by {trained}")] if trained else []),
        *([("", f"input {_preparation(record.preprocessing)}")] if record.preprocessing else []),
    ]


def _numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _macs(gmacs: float) -> str:
    return f"{gmacs:.3g} G" if gmacs >= 0.1 else f"{gmacs * 1e3:.3g} M"
