"""The scripts of docs/ and benchmarks/ can be imported as they import one another."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "benchmarks")]
