"""Pages that list others: topics, decisions, and the notebooks, which lie outside the folder of the site."""

import json
import re
from pathlib import Path

from navigation import TOPICS

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"


def listing_pages() -> dict[str, str]:
    """Text of every page, by its path."""
    return {"topics/index.md": _topics(), "decisions/index.md": _decisions(), "notebooks.md": _notebooks()}


def notebooks() -> list[Path]:
    """The notebooks, which the site offers under `notebooks/`."""
    return sorted(EXAMPLES.glob("*.ipynb"))


def _title(path: Path) -> str:
    found = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1) if found else path.name


def _topics() -> str:
    rows = [f"- [{_title(DOCS / page)}](../{page}): {text}" for page, text in TOPICS.items()]
    return "\n".join(["# Topics", "", "One subject each, further than the guides go.", "", *rows, ""])


def _decisions() -> str:
    rows = [f"- [{_title(path)}]({path.name})" for path in sorted((DOCS / "decisions").glob("*.md")) if path.name != "index.md"]
    return "\n".join(["# Decisions", "", "What was chosen, why, and what was rejected.", "", *rows, ""])


def _notebooks() -> str:
    lines = ["# Notebooks", "", "They lie in `examples/` of the repository. Their cells are run by a test."]
    for path in notebooks():
        title, text = _opening(path)
        lines += ["", f"## {title}", "", text, "", f"`examples/{path.name}` in a checkout; [download](notebooks/{path.name})."]
    return "\n".join([*lines, ""])


def _opening(path: Path) -> tuple[str, str]:
    """The title of a notebook and the paragraph under it."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and text.startswith("# "):
            title, _, rest = text.partition("\n")
            return title.removeprefix("# ").strip(), rest.strip().partition("\n\n")[0]
    raise LookupError(f"{path.name} has no cell that starts with a title, such as '# Serve a model'")
