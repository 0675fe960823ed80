"""The scripts of docs/ and benchmarks/ that tests look into, by the names under which they import one another.

Their folders do not go onto sys.path: benchmarks/transformers.py would be taken for the package of that name.
"""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PATHS = (
    "benchmarks/report.py",
    "benchmarks/run.py",
    "docs/family_pages.py",
    "docs/navigation.py",
    "docs/listing_pages.py",
    "docs/record.py",
    "docs/reference_pages.py",
    "docs/results_plot.py",
    "docs/results_page.py",
)

for path in PATHS:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])
