"""What mkdocs runs: pages made from the repository's own tables and docstrings, and the navigation. Needs no TensorFlow."""

import re
import shutil
import tempfile
from pathlib import Path

from family_pages import family_pages
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from reference_pages import reference_pages
from results_page import results_page

_FIRST = (
    ("Start", ("index.md", "start.md")),
    ("Guides", ("guides/import.md", "guides/finetune.md", "guides/serve.md", "add-a-model.md")),
)
_LAST = (
    ("Reference", "reference/"),
    ("Decisions", "decisions/"),
)


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
    """Add the made pages, and put every page of the folder into the navigation: none is forgotten."""
    for path, text in {**family_pages(), **reference_pages(), **results_page()}.items():
        files.append(File.generated(config, path, content=text))
    pages = {file.src_uri for file in files if file.src_uri.endswith(".md")}
    pages.add("decisions/index.md")
    decisions = sorted(page for page in pages if page.startswith("decisions/"))
    files.append(File.generated(config, "decisions/index.md", content=_decisions(files, decisions)))
    config.nav = _navigation(pages)
    return files


def _navigation(pages: set[str]) -> list:
    left = set(pages)

    def take(chosen) -> list[str]:
        found = [page for page in chosen if page in left]
        left.difference_update(found)
        return found

    def under(folder: str) -> list[str]:
        found = take(sorted(page for page in left if page.startswith(folder)))
        return sorted(found, key=lambda page: (not page.endswith("index.md"), page))

    nav = [{title: take(chosen)} for title, chosen in _FIRST]
    models, last = [*take(["results.md"]), *under("models/")], [{title: under(folder)} for title, folder in _LAST]
    performance = take(["performance.md", *sorted(page for page in left if page.endswith("-performance.md"))])
    return [*nav, {"Models": models}, {"Topics": take(sorted(left))}, {"Performance": performance}, *last]


def _decisions(files: Files, pages: list[str]) -> str:
    titles = []
    for page in pages:
        file = files.get_file_from_path(page)
        if file is not None:
            title = re.search(r"^# (.+)$", file.content_string, re.MULTILINE)
            titles.append(f"- [{title.group(1) if title else page}]({page.removeprefix('decisions/')})")
    return "\n".join(["# Decisions", "", "What was chosen, why, and what was rejected.", "", *titles, ""])
