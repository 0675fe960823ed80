"""The models that a server offers: every version under one folder, loaded at the start."""

from pathlib import Path
from typing import Any

from ..zoo.errors import CanonError
from .bundle import MANIFEST, read_bundle
from .errors import not_found
from .servable import Servable
from .versions import list_versions


class Catalogue:
    """Models by name and version.

    A version that cannot be loaded is left out and remembered in `failures`; the others are served.

    Args:
        directory: a folder of models (NAME/VERSION/...), one model (its NAME/), or one version.

    Raises:
        CanonError: when no version in it can be loaded.
    """

    def __init__(self, directory: str | Path):
        self.models: dict[str, dict[int, Servable]] = {}
        self.failures: dict[str, dict[int, str]] = {}
        directory = Path(directory)
        for path in _version_folders(directory):
            self._load(path)
        if not self.models:
            reasons = [reason for versions in self.failures.values() for reason in versions.values()]
            raise CanonError(reasons[0] if reasons else _nothing_in(directory))

    def find(self, name: str, version: int | None = None) -> Servable:
        """Return a model; its newest version when none is named.

        Raises:
            RequestError: status 404, when there is no such model or version.
        """
        versions = self._versions(name)
        if version is None:
            return versions[max(versions)]
        if version not in versions:
            raise not_found(f"version of model {name!r} numbered", str(version), map(str, versions))
        return versions[version]

    def status(self, name: str, version: int | None = None) -> dict[str, Any]:
        """Return the reply to a status request, newest version first.

        Raises:
            RequestError: status 404, when there is no such model or version.
        """
        states = {number: _state(number, "") for number in self.models.get(name, {})}
        states |= {number: _state(number, reason) for number, reason in self.failures.get(name, {}).items()}
        if version is not None and version in states:
            states = {version: states[version]}
        elif version is not None or not states:
            self.find(name, version)
        return {"model_version_status": [states[number] for number in sorted(states, reverse=True)]}

    def _versions(self, name: str) -> dict[int, Servable]:
        if name not in self.models:
            raise not_found("model", name, self.models)
        return self.models[name]

    def _load(self, path: Path) -> None:
        name, version = path.resolve().parent.name, int(path.resolve().name)
        try:
            servable = Servable(read_bundle(path))
        except CanonError as error:
            self.failures.setdefault(name, {})[version] = str(error)
        else:
            self.models.setdefault(name, {})[version] = servable


def _state(version: int, reason: str) -> dict[str, Any]:
    return {
        "version": str(version),
        "state": "END" if reason else "AVAILABLE",
        "status": {"error_code": "UNKNOWN" if reason else "OK", "error_message": reason},
    }


def _version_folders(directory: Path) -> list[Path]:
    if (directory / MANIFEST).is_file() and directory.resolve().name.isdigit():
        return [directory]
    own = list_versions(directory)
    if own:
        return list(own.values())
    children = sorted(path for path in directory.iterdir() if path.is_dir()) if directory.is_dir() else []
    return [path for child in children for path in list_versions(child).values()]


def _nothing_in(directory: Path) -> str:
    what = "no exported model in" if directory.is_dir() else "no folder"
    return f"There is {what} {str(directory)!r}: write one with `canon export RUN --out {directory / 'NAME'}`."
