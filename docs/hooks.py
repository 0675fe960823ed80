"""What mkdocs runs: pages made from the repository's own tables and docstrings, and the navigation. Needs no TensorFlow."""

import shutil
import tempfile
from pathlib import Path

from family_pages import families_by_room, family_pages
from listing_pages import listing_pages, notebooks
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from navigation import navigation
from reference_pages import reference_pages
from results_page import results_page


@event_priority(100)
def on_config(config):
    """Show mkdocstrings the source as one package: it reads files and knows nothing of the folders that pyproject.toml maps."""
    root = Path(config.config_file_path).parent
    source = Path(tempfile.mkdtemp(prefix="keras-canon-docs-"))
    package = source / "keras_canon"
    package.mkdir()
    for path in (root / "package").glob("*.py"):
        (package / path.name).symlink_to(path)
    for folder in ("layers", "zoo", "training", "serving", "cli"):
        (package / folder).symlink_to(root / folder)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [str(source)]
    config.extra["source_of_reference"] = str(source)
    return config


def on_post_build(config) -> None:
    """Take that package away again."""
    shutil.rmtree(config.extra["source_of_reference"], ignore_errors=True)


def on_files(files: Files, config) -> Files:
    """Add the made pages and the notebooks, and put every page of the folder into the navigation."""
    reference = reference_pages()
    for path, text in {**family_pages(), **reference, **results_page(), **listing_pages()}.items():
        files.append(File.generated(config, path, content=text))
    for path in notebooks():
        files.append(File.generated(config, f"notebooks/{path.name}", abs_src_path=str(path)))
    pages = {file.src_uri for file in files if file.src_uri.endswith(".md")}
    rooms = {room.capitalize(): [f"models/{family}.md" for family in found] for room, found in families_by_room().items()}
    config.nav = navigation(pages, rooms, list(reference))
    return files
