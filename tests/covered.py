"""`python -m tests.covered`: how much of each package the last run has covered, by lines and branches.

The exit code is 1 when less than `LEAST` per cent of a package of the core, lines and branches together, was run.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from coverage import Coverage

LEAST = 90.0
CORE = ("coordinators", "state")
_COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def by_package(files: Mapping[str, Mapping[str, Mapping[str, int]]]) -> dict[str, Counter[str]]:
    """Add up the counts of coverage's report for each folder at the top."""
    found: dict[str, Counter[str]] = {}
    for name, file in sorted(files.items()):
        counts = found.setdefault(Path(name).parts[0], Counter())
        counts.update({count: file["summary"][count] for count in _COUNTS})
    return found


def share(counts: Mapping[str, int]) -> float:
    """Return the per cent of lines and branches that were run."""
    there = counts["num_statements"] + counts["num_branches"]
    return 100.0 * (counts["covered_lines"] + counts["covered_branches"]) / there if there else 100.0


def show(packages: Mapping[str, Mapping[str, int]]) -> str:
    """Return the table."""
    lines = [f"{'coverage':<14}{'lines':>16}{'branches':>16}{'both':>8}"]
    for name, counts in packages.items():
        statements = f"{counts['covered_lines']:,} of {counts['num_statements']:,}"
        branches = f"{counts['covered_branches']:,} of {counts['num_branches']:,}"
        lines.append(f"{name:<14}{statements:>16}{branches:>16}{share(counts):>7.1f}%")
    return "\n".join(lines)


def too_low(packages: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the packages of the core that were run too little, or not at all."""
    return [name for name in CORE if name not in packages or share(packages[name]) < LEAST]


def main() -> int:
    """Print the table of the last run; returns the exit code."""
    coverage = Coverage()
    coverage.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        stdout, sys.stdout = sys.stdout, io.StringIO()
        try:
            coverage.json_report(outfile=str(report))
        finally:
            sys.stdout = stdout
        packages = by_package(json.loads(report.read_text())["files"])
    print(show(packages))
    for name in too_low(packages):
        print(f"{name}: less than {LEAST:.0f} % was run")
    return 1 if too_low(packages) else 0


if __name__ == "__main__":
    sys.exit(main())
