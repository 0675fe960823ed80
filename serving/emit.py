"""Files that run the same bundles on more than one machine: TF Serving under Docker Compose or Kubernetes, KServe, Ray Serve."""

import json
from pathlib import Path

from ..zoo.errors import CanonError, unknown_name
from .bundle import MANIFEST
from .emit_facts import Facts
from .emit_kserve import kserve_files
from .emit_kubernetes import kubernetes_files
from .emit_ray import ray_files
from .emit_tf_serving import compose_files
from .model_folders import find_versions, nothing_in

_TARGETS = {"docker-compose": compose_files, "kserve": kserve_files, "kubernetes": kubernetes_files, "ray": ray_files}


def emit(target: str, directory: str | Path, out: str | Path, *, max_batch: int = 32, max_wait_ms: float = 2.0) -> list[Path]:
    """Write the files that serve a folder of models elsewhere.

    Args:
        target: "docker-compose", "kserve", "kubernetes" or "ray".
        directory: the folder of models; a single model is given by the folder above it.
        out: folder for the files; files that are there are not overwritten.
        max_batch: most rows that requests are combined into.
        max_wait_ms: how long a batch waits for more requests.

    Returns:
        the files, in the order to read them.

    Raises:
        CanonError: for an unknown target, a folder without models, or a file that exists.
    """
    if target not in _TARGETS:
        raise unknown_name("target of --emit", target, _TARGETS)
    facts = _facts(Path(directory), max_batch, max_wait_ms)
    files = {Path(out) / name: text for name, text in _TARGETS[target](facts).items()}
    for path in files:
        if path.exists():
            raise CanonError(f"{str(path)!r} exists: move it away, or give another --out.")
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CanonError(f"{str(out)!r} cannot be written: {error.strerror}; give another --out.") from error
    return list(files)


def _facts(directory: Path, max_batch: int, max_wait_ms: float) -> Facts:
    folders = find_versions(directory)
    if not folders:
        raise CanonError(nothing_in(directory))
    if set(folders) == {directory.resolve().name} or directory.resolve().name.isdigit():
        raise CanonError(f"{str(directory)!r} is one model: give the folder that holds it, {str(directory.resolve().parent)!r} perhaps.")
    newest = [versions[max(versions)] for versions in folders.values()]
    manifests = [_read(path) for path in newest]
    open_axes = any(opened for _, opened in manifests)
    return Facts(
        tuple(sorted(folders)), directory.resolve(), _newest([tensorflow for tensorflow, _ in manifests]), max_batch, max_wait_ms, open_axes
    )


def _read(folder: Path) -> tuple[str, bool]:
    """Return which TensorFlow wrote a bundle, and whether an input of it has an axis of any length beyond the batch."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        shapes = [spec["shape"] for signature in manifest["signatures"].values() for spec in signature["inputs"].values()]
        opened = any(shape is None or None in shape[1:] for shape in shapes)
        return str(manifest["versions"]["tensorflow"]), opened
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CanonError(f"{str(folder / MANIFEST)!r} cannot be read: export the model again.") from error


def _newest(versions: list[str]) -> str:
    return max(versions, key=lambda version: [int(part) if part.isdigit() else 0 for part in version.split(".")])
