"""The table of weights that come with the package, in docs/transfer.md, is what their records and files say."""

import re
from pathlib import Path

from keras_canon import zoo
from keras_canon.zoo import fetch

ROOT = Path(__file__).parents[2]


def rows() -> list[str]:
    found = []
    for name in zoo.list_models(pretrained=True):
        for one in zoo.info(name).weights:
            if one.training is not None:
                size = (Path(fetch.__file__).parent / "weights" / one.url.removeprefix(fetch.PACKAGE)).stat().st_size
                made = f"{one.training.epochs}, {one.training.minutes:.1f}"
                found.append(f"| `{name}` | `{one.training.command}` | {one.accuracy:.4f} | {made} | {size / 1e6:.2f} MB |")
    return found


def test_the_table_is_what_records_and_files_say():
    text = (ROOT / "docs" / "transfer.md").read_text(encoding="utf-8")
    table = re.findall(r"<!-- shipped: begin -->\n(.*?)\n<!-- shipped: end -->", text, re.DOTALL)[0].splitlines()
    assert sorted(table[2:]) == sorted(rows())
    assert len(rows()) == 5
