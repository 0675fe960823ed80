"""The models that a server offers: the newest versions under one folder, swapped while requests go on."""

import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..zoo.errors import CanonError
from ..zoo.memory import free_graphs
from .errors import not_found
from .model_folders import find_versions, nothing_in
from .served import Served

Key = tuple[str, int]
# every file of a version folder with its size and time: when nothing of it changes, neither does the folder
Fingerprint = tuple[tuple[str, int, int], ...]
Models = dict[str, dict[int, Served]]


@dataclass(frozen=True)
class _Loaded:
    fingerprint: Fingerprint
    served: Served


@dataclass(frozen=True)
class _Failed:
    fingerprint: Fingerprint
    reason: str


class Catalogue:
    """Models by name and version.

    A version that cannot be loaded is left out and remembered in `failures`; the others are served. `scan` may be called from one
    thread at a time; everything else from any.

    Args:
        directory: a folder of models (NAME/VERSION/...), one model (its NAME/), or one version.
        load: starts to read, load and warm up a version folder; whatever it fails with becomes the version's failure.
        keep: how many versions of a model are served, the newest that can be loaded; those with a label are served besides.
        labels: model -> label -> version, such as {"lenet5": {"stable": 1}}.
        tell: called with an event ("served", "not served", "no longer served", "no such version"), model, version and the reason.

    Raises:
        CanonError: when no version in it can be loaded.
    """

    def __init__(
        self,
        directory: str | Path,
        load: Callable[[Path], Future[Served]],
        *,
        keep: int = 2,
        labels: Mapping[str, Mapping[str, int]] | None = None,
        tell: Callable[[str, str, int, str], None] = lambda event, model, version, reason: None,
    ):
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
            raise CanonError(f"keep must be a whole number of at least 1, got {keep!r}.")
        self.models: Models = {}
        self._directory = Path(directory)
        self._load = load
        self._keep = keep
        self._labels = {name: dict(versions) for name, versions in (labels or {}).items()}
        self._tell = tell
        self._loaded: dict[Key, _Loaded] = {}
        self._failed: dict[Key, _Failed] = {}
        self._seen: dict[Key, Fingerprint] = {}
        self._missing: set[Key] = set()
        self._loading: Key | None = None
        self._going: list[weakref.ref[Served]] = []
        self.scan(settled=False)
        if not self.models:
            reasons = [failed.reason for failed in self._failed.values()]
            raise CanonError(reasons[0] if reasons else nothing_in(self._directory))
        for name, versions in self._labels.items():
            for label, version in versions.items():
                if version not in self.models.get(name, {}):
                    tell("no such version", name, version, f"the label {label!r} names it")

    @property
    def failures(self) -> dict[str, dict[int, str]]:
        """Model -> version -> why it is not served."""
        failures: dict[str, dict[int, str]] = {}
        for (name, version), failed in list(self._failed.items()):
            failures.setdefault(name, {})[version] = failed.reason
        return failures

    def find(self, name: str, version: int | None = None, label: str | None = None) -> Served:
        """Return a version of a model; its newest when neither a version nor a label is named.

        Raises:
            RequestError: status 404, when there is no such model, version or label.
        """
        versions = self._versions(name)
        if label is not None:
            labels = self._labels.get(name, {})
            if label not in labels:
                raise not_found(f"label of model {name!r} named", label, labels)
            version = labels[label]
        if version is None:
            return versions[max(versions)]
        if version not in versions:
            raise not_found(f"version of model {name!r} numbered", str(version), map(str, versions))
        return versions[version]

    def status(self, name: str, version: int | None = None, label: str | None = None) -> dict[str, Any]:
        """Return the reply to a status request, newest version first.

        Raises:
            RequestError: status 404, when there is no such model, version or label.
        """
        if label is not None:
            version = self.find(name, None, label).servable.bundle.version
        failures = self.failures.get(name, {})
        states = {number: _state(number, "END", reason) for number, reason in failures.items()}
        states |= {number: _state(number, "AVAILABLE", failures.get(number, "")) for number in self.models.get(name, {})}
        loading = self._loading
        if loading is not None and loading[0] == name:
            states.setdefault(loading[1], _state(loading[1], "LOADING", ""))
        if version is not None and version in states:
            states = {version: states[version]}
        elif version is not None or not states:
            self.find(name, version)
        return {"model_version_status": [states[number] for number in sorted(states, reverse=True)]}

    def scan(self, settled: bool = True) -> None:
        """Compare the folder with what is served: load what is new, then let go of what is not wanted any more.

        Args:
            settled: True to load only folders that did not change since the last scan, for they may still be being copied.

        Raises:
            OSError: when the folder cannot be read; what is served stays.
        """
        folders = find_versions(self._directory)
        present = {(name, version) for name, versions in folders.items() for version in versions}
        # a folder that is gone once may be about to be replaced
        gone = {key for key in self._loaded if key not in present and key in self._missing}
        self._missing = {key for key in self._loaded if key not in present}
        for key in [*self._failed, *self._seen]:
            if key not in present:
                self._failed.pop(key, None)
                self._seen.pop(key, None)
        wanted: Models = {}
        for name in sorted({*folders, *(name for name, _ in self._loaded)}):
            kept = self._choose(name, folders.get(name, {}), gone, settled)
            if kept:
                wanted[name] = kept
                self._publish({**self.models, name: kept})
        self._publish(wanted)
        self._release()

    def _choose(self, name: str, folders: dict[int, Path], gone: set[Key], settled: bool) -> dict[int, Served]:
        """Return the versions of a model to serve, loading those that are new."""
        numbers = {*folders, *(version for known, version in self._loaded if known == name)}
        pinned = set(self._labels.get(name, {}).values())
        kept: dict[int, Served] = {}
        for version in sorted(numbers, reverse=True):
            if len(kept) >= self._keep and version not in pinned:
                continue
            key = (name, version)
            if version in folders:
                self._update(key, folders[version], settled)
            if key in self._loaded and key not in gone:
                kept[version] = self._loaded[key].served
        return dict(sorted(kept.items()))

    def _update(self, key: Key, path: Path, settled: bool) -> None:
        fingerprint = _fingerprint(path)
        known = [entry.fingerprint for entry in (self._loaded.get(key), self._failed.get(key)) if entry is not None]
        if fingerprint in known:
            return
        if settled and self._seen.get(key) != fingerprint:
            self._seen[key] = fingerprint
            return
        self._loading = key
        loading = self._load(path)
        error = loading.exception()
        if error is None:
            self._loaded[key] = _Loaded(fingerprint, loading.result())
            self._failed.pop(key, None)
            self._tell("served", *key, "")
        else:
            reason = str(error) if isinstance(error, CanonError) else f"{type(error).__name__} while it was loaded: {error}"
            self._failed[key] = _Failed(fingerprint, reason)
            self._tell("not served", *key, reason)
        self._loading = None

    def _publish(self, models: Models) -> None:
        """Exchange what `find` sees in one step, and let go of the rest."""
        self.models = models
        kept = {(name, version) for name, versions in models.items() for version in versions}
        dropped = [key for key in self._loaded if key not in kept]
        for key in dropped:
            self._going.append(weakref.ref(self._loaded.pop(key).served))
            self._tell("no longer served", *key, "")

    def _release(self) -> None:
        """Give back the memory of the versions that were let go, each once the last request that holds it has its answer."""
        held = [version for version in self._going if version() is not None]
        if len(held) < len(self._going):
            free_graphs()
        self._going = held

    def _versions(self, name: str) -> dict[int, Served]:
        models = self.models
        if name not in models:
            raise not_found("model", name, models)
        return models[name]


def _state(version: int, state: str, reason: str) -> dict[str, Any]:
    status = {"error_code": "UNKNOWN" if reason else "OK", "error_message": reason}
    return {"version": str(version), "state": state, "status": status}


def _fingerprint(folder: Path) -> Fingerprint:
    files = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found = path.stat()
            files.append((path.relative_to(folder).as_posix(), found.st_size, found.st_mtime_ns))
    return tuple(files)
