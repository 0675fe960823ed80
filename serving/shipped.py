"""Bundles of the weights that come with this package, and a README with a table of them.

usage: python -m keras_canon.serving.shipped [FOLDER]
"""

import sys
from pathlib import Path

from ..zoo.fetch import PACKAGE
from ..zoo.registry import create, info, list_models
from .bundle import Bundle, read_bundle, shape_text
from .model_folders import find_versions
from .saved_model import export

README = "README.md"
_HEAD = """# Bundles that come with the checkout

Written by `python -m keras_canon.serving.shipped saved_models` from the weights that come with the package, and from the bundles' own
manifests. Each is a SavedModel in the layout that TensorFlow Serving reads, with frozen and folded float32 weights. Serve them with
`canon serve saved_models/`; what you export beside them is not tracked.

"""
_COLUMNS = ("name", "version", "variant", "weights", "input", "classes", "parameters, all", "precision", "MB", "test accuracy")


def export_shipped(directory: str | Path) -> list[Bundle]:
    """Export the weights that come with this package, each to `directory/VARIANT_WEIGHTS`.

    Args:
        directory: folder of models; a model that has a version in it already is left as it is.

    Returns:
        the bundles that were written.
    """
    present = find_versions(Path(directory))
    missing = {name: source for name, source in shipped_weights().items() if name not in present}
    return [export(create(variant, weights=tag), Path(directory) / name) for name, (variant, tag) in missing.items()]


def shipped_weights() -> dict[str, tuple[str, str]]:
    """Return name of the bundle -> (variant, weights tag) for all weights that come with this package."""
    names = list_models(pretrained=True)
    return {f"{name}_{one.tag}": (name, one.tag) for name in names for one in info(name).weights if one.url.startswith(PACKAGE)}


def describe_bundles(directory: str | Path) -> str:
    """Return the README of a folder of such bundles: a table with one row a version, from the manifests; others are passed over.

    Raises:
        CanonError: when a bundle is damaged.
    """
    shipped, found = shipped_weights(), find_versions(Path(directory))
    bundles = [read_bundle(path) for name, versions in found.items() if name in shipped for path in versions.values()]
    rows = [_COLUMNS, tuple("---" for _ in _COLUMNS), *map(_row, bundles)]
    return _HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(bundle: Bundle) -> tuple[str, ...]:
    manifest = bundle.manifest
    record = manifest.record
    weights = [] if record is None else [one for one in info(record.variant).weights if one.tag == record.weights]
    size = sum(path.stat().st_size for path in bundle.path.rglob("*") if path.is_file())
    shapes = [spec.shape[1:] if spec.shape else None for spec in manifest.signatures["serving_default"].inputs.values()]
    return (
        f"`{bundle.name}`",
        str(bundle.version),
        "" if record is None else f"`{record.variant}`",
        (record.weights if record is not None else None) or "",
        ", ".join(map(shape_text, shapes)),
        str(len(bundle.labels) or ""),
        f"{manifest.parameters:,}",
        manifest.precision,
        f"{size / 1e6:.2f}",
        f"{weights[0].accuracy:.4f} ({weights[0].dataset})" if weights and weights[0].accuracy is not None else "",
    )


def main(directory: Path) -> None:
    """Write the bundles that are missing, and the README."""
    directory.mkdir(parents=True, exist_ok=True)
    for bundle in export_shipped(directory):
        print(f"Wrote {bundle.path}")
    (directory / README).write_text(describe_bundles(directory), encoding="utf-8")
    print(f"Wrote {directory / README}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "saved_models"))
