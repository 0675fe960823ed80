"""Where the versions of models lie under a folder that is to be served; needs no TensorFlow."""

from pathlib import Path

from .bundle import MANIFEST
from .versions import list_versions


def find_versions(directory: Path) -> dict[str, dict[int, Path]]:
    """Return model -> version -> folder, whatever `directory` is: a folder of models, one model, or one version.

    Hidden folders are passed over: tools that copy write under such names first.
    """
    if (directory / MANIFEST).is_file() and directory.resolve().name.isdigit():
        path = directory.resolve()
        return {path.parent.name: {int(path.name): path}}
    own = list_versions(directory)
    if own:
        return {directory.resolve().name: own}
    children = sorted(path for path in directory.iterdir() if path.is_dir()) if directory.is_dir() else []
    return {child.name: versions for child in children if not child.name.startswith(".") and (versions := list_versions(child))}


def nothing_in(directory: Path) -> str:
    """Return the sentence for a folder without a model."""
    what = "no exported model in" if directory.is_dir() else "no folder"
    return f"There is {what} {str(directory)!r}: write one with `canon export RUN --out {directory / 'NAME'}`."
