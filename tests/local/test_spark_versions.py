"""Which versions of Spark are allowed, and that the tests run on the oldest and the newest of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from integration_tests.newest_spark import constraints

ROOT = Path(__file__).parents[2]


def version_in(lines: str) -> str:
    (found,) = [line.removeprefix("pyspark==") for line in lines.splitlines() if line.startswith("pyspark==")]
    return found


def test_the_pins_are_the_two_ends_of_what_is_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (allowed,) = [each for each in project["dependencies"] if each.startswith("pyspark")]
    oldest, newest = version_in((ROOT / "constraints.txt").read_text()), version_in(constraints())
    major, minor, _ = newest.split(".")
    assert allowed == f"pyspark>={'.'.join(oldest.split('.')[:2])},<{major}.{int(minor) + 1}"
