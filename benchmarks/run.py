"""All benchmarks with one command: every ratio against the peers that are installed, then docs/performance.md.

usage: python benchmarks/run.py [NAME ...] [--check] [--render]

Each benchmark runs in a process of its own, calls ours and the peer in turn, and writes benchmarks/results/NAME.json with medians and
spread. Peers that are not installed are left out. docs/performance.md is made from all results that are there.

--check measures into a folder of its own and compares with the results that are there: a row fails when its ratio is below the old one
by more than 5 % and by more than both spreads, or its accuracy below it by more than 0.002; rows that cannot be compared are named.

Two measurements are started by hand, for their length: soak.py (half an hour) and transfer.py (the runs behind docs/transfer.md).
--render measures nothing and makes the pages anew.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import FOLDER, Report, load, results

HERE = Path(__file__).parent
BENCHMARKS = ("layers", "vision", "training", "serving", "server", "recurrent", "transformers", "precision", "roofline")
TOLERANCE = 0.05
ACCURACY = 0.002  # of a share of test pictures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="benchmarks; none for all")
    parser.add_argument("--check", action="store_true", help="compare with the results that are there, and write nothing")
    parser.add_argument("--render", action="store_true", help="measure nothing, make the pages anew")
    options = parser.parse_args()
    if options.render:
        render()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, FOLDER: folder} if options.check else dict(os.environ)
        for name in options.names or BENCHMARKS:
            start = time.perf_counter()
            print(f"== {name}", flush=True)
            subprocess.run([sys.executable, str(HERE / f"{name}.py")], env=environment, check=True)
            print(f"== {name}: {time.perf_counter() - start:.0f} s", flush=True)
        if not options.check:
            render()
            return 0
        pairs = [(load(path), _old(path.stem)) for path in sorted(Path(folder).glob("*.json"))]
    for new, old in pairs:
        print("\n".join(alone(new, old)) or f"{new.name}: the same rows as before")
    worse = [words for new, old in pairs for words in compare(new, old)]
    print("\n".join(worse) or "nothing is slower or less accurate than before beyond noise")
    return 1 if worse else 0


def _old(name: str) -> Report | None:
    path = HERE / "results" / f"{name}.json"
    return load(path) if path.exists() else None


def compare(new: Report, old: Report | None) -> list[str]:
    """Say which rows of a result are slower or less accurate than they were, beyond noise; a row not measured before is none."""
    known = _by_key(old)
    found = []
    for key, row in _by_key(new).items():
        before = known.get(key)
        if before is None:
            continue
        if "accuracy" in row and "accuracy" in before and row["accuracy"] < before["accuracy"] - ACCURACY:
            found.append(f"{new.name}, {', '.join(map(str, key))}: accuracy {row['accuracy']:.4f}, was {before['accuracy']:.4f}")
        if "ratio" not in row or "ratio" not in before:
            continue
        floor = min(before.get("low", before["ratio"]), before["ratio"] * (1.0 - TOLERANCE))
        if row["ratio"] < before["ratio"] * (1.0 - TOLERANCE) and row.get("high", row["ratio"]) < floor:
            found.append(f"{new.name}, {', '.join(map(str, key))}: ratio {row['ratio']:.2f}, was {before['ratio']:.2f}")
    return found


def alone(new: Report, old: Report | None) -> list[str]:
    """Say which rows of a result cannot be compared: those of one side only, such as of a peer that is not installed, or no figure."""
    after, before = _by_key(new), _by_key(old)
    found = []
    for key in sorted({*after, *before}, key=str):
        name = f"{new.name}, {', '.join(map(str, key))}"
        if key not in after or key not in before:
            found.append(f"{name}: {'not measured now' if key in before else 'not measured before'}")
        elif not any(figure in after[key] and figure in before[key] for figure in ("ratio", "accuracy")):
            found.append(f"{name}: no ratio and no accuracy to compare")
    return found


def _by_key(report: Report | None) -> dict[tuple, dict]:
    return {} if report is None else {tuple(row[name] for name in report.key): row for row in report.rows}


def render() -> None:
    """Make docs/performance.md and the tables of all pages from the results."""
    for report in results():
        report.render()


if __name__ == "__main__":
    sys.exit(main())
