"""Reference pages: the public names of each sub-package for mkdocstrings, and the commands. Needs no TensorFlow."""

import ast
import inspect
from pathlib import Path

import typer

ROOT = Path(__file__).parents[1]
_PACKAGES = {
    "zoo": ("Models", "Reference models: by name, their weights, preprocessing, text generation, explanations."),
    "training": ("Training", "Recipes, runs, fine-tuning, search, evaluation."),
    "training/data": ("Data", "Data sets by name."),
    "serving": ("Serving", "Export to bundles, and the server."),
    "layers": ("Layers", "The building blocks, one concept each."),
}


def public_names(folder: str) -> list[str]:
    """What a sub-package lists in `__all__`, read without importing it."""
    for node in ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    raise LookupError(f"{folder}/__init__.py has no __all__")


def reference_pages() -> dict[str, str]:
    """Text of every page, by its path."""
    pages = {f"reference/{folder.replace('/', '-')}.md": _package(folder) for folder in _PACKAGES}
    return {**pages, "reference/commands.md": _commands()}


def _package(folder: str) -> str:
    title, summary = _PACKAGES[folder]
    package = f"keras_canon.{folder.replace('/', '.')}"
    lines = [f"# {title}: `{package}`", "", summary, ""]
    for name in public_names(folder):
        lines.append(f"::: {package}.{name}")
        if (ROOT / folder / f"{name}.py").exists() or (ROOT / folder / name).is_dir():  # a module: what it defines
            lines += ["    options:", "      members: true", '      filters: ["!^_"]']
        lines.append("")
    return "\n".join(lines)


def _commands() -> str:
    from keras_canon.cli.main import app

    lines = ["# Commands", "", "`canon COMMAND --help` shows the same in the terminal.", ""]
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        text, _, example = inspect.cleandoc(command.help or "").partition("Example: ")
        lines += [f"## canon {name}", "", " ".join(text.split()), ""]
        if example:
            lines += ["```sh", example.strip(), "```", ""]
        lines += ["| argument or option | |", "|---|---|"]
        for parameter in command.params:
            if parameter.name not in ("install_completion", "show_completion"):
                shown = "/".join(parameter.opts) if parameter.param_type_name == "option" else parameter.name.upper()
                lines.append(f"| `{shown}` | {getattr(parameter, 'help', '') or ''} |".replace("\n", " "))
        lines.append("")
    return "\n".join(lines)
