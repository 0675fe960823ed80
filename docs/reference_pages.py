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
    found = _listed(ROOT / folder / "__init__.py")
    if found is None:
        raise LookupError(f"{folder}/__init__.py has no __all__")
    return found


def module_names(path: Path) -> list[str]:
    """The public names of a module: those of `__all__`, else the classes and functions that it defines."""
    defined = (node.name for node in _tree(path).body if isinstance(node, ast.ClassDef | ast.FunctionDef))
    listed = _listed(path)
    return [name for name in defined if not name.startswith("_")] if listed is None else listed


def reference_pages() -> dict[str, str]:
    """Text of every page, by its path, in the order of the navigation."""
    pages = {_page(folder): _package(folder) for folder in _PACKAGES}
    return {**pages, "reference/commands.md": _commands()}


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _listed(path: Path) -> list[str] | None:
    for node in _tree(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return None


def _page(folder: str) -> str:
    return f"reference/{folder.replace('/', '-')}.md"


def _home(folder: str, name: str) -> str:
    """The address of a name for mkdocstrings, which takes a function for the module of the same name where there is one."""
    for node in ast.walk(_tree(ROOT / folder / "__init__.py")):
        if isinstance(node, ast.ImportFrom) and node.module == name and any(alias.name == name for alias in node.names):
            return f"{name}.{name}"
    return name


def _package(folder: str) -> str:
    title, summary = _PACKAGES[folder]
    package = f"keras_canon.{folder.replace('/', '.')}"
    lines = [f"# {title}: `{package}`", "", summary, ""]
    if folder == "training":
        lines += ["The sections of a `Recipe` are on the page of [recipes](../recipes.md#every-key-explained).", ""]
    for name in public_names(folder):
        if f"{folder}/{name}" in _PACKAGES:
            lines += [f"`{package}.{name}` has [a page of its own]({folder}-{name}.md).", ""]
            continue
        home = _home(folder, name)
        lines.append(f"::: {package}.{home}")
        module = ROOT / folder / f"{name}.py"
        if home == name and module.exists():
            lines += ["    options:", f"      members: [{', '.join(module_names(module))}]"]
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
