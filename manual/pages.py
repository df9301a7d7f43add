"""Which file of the repository becomes which page of the manual, and in which order they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
HOME: Final = "index.md"
_BESIDE: Final = {
    "README.md": HOME,
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "docker/README.md": "docker.md",
}
"""Pages that lie outside of docs/."""
_FOLDERS: Final = {"examples": "examples/index.md", "benchmarks": "benchmarks.md"}
"""What a link to a folder leads to."""
Section = tuple[str, tuple[tuple[str, str], ...]]
SECTIONS: Final[tuple[Section, ...]] = (
    (
        "Begin",
        (
            ("Tutorial", "tutorial.md"),
            ("Coming from Structured Streaming", "from-structured-streaming.md"),
            ("Coming from Storm's Trident", "from-trident.md"),
        ),
    ),
    (
        "How to",
        (
            ("Begin somewhere, and go back", "howto/start-and-rewind.md"),
            ("Use tables that are there", "howto/existing-tables.md"),
            ("Give it the least rights", "howto/least-privileges.md"),
            ("TLS and logins", "howto/tls-and-logins.md"),
            ("Dead letters", "howto/dead-letters.md"),
            ("Deploy and roll back", "howto/deploy-and-roll-back.md"),
            ("Forget a topology", "howto/forget-a-topology.md"),
            ("Back up and restore", "howto/back-up-and-restore.md"),
            ("Upgrade", "howto/upgrade.md"),
            ("Monitor", "monitoring.md"),
            ("Test a topology", "testing-topologies.md"),
            ("Read queues", "queues.md"),
            ("Bring your own store", "own-stores.md"),
            ("Run with Docker", "docker.md"),
        ),
    ),
    (
        "What it does",
        (
            ("The language", "language.md"),
            ("Guarantees", "guarantees.md"),
            ("Trident's hazards", "hazards.md"),
            ("Reliability, measured", "reliability.md"),
            ("Scaling, measured", "scaling.md"),
            ("Benchmarks", "benchmarks.md"),
        ),
    ),
    (
        "The project",
        (
            ("Design", "design.md"),
            ("What the tests see", "testing.md"),
            ("Contributing", "contributing.md"),
            ("Changelog", "changelog.md"),
        ),
    ),
)
"""All pages but those that are made of code: examples and reference."""


def sources() -> dict[str, str]:
    """Return, by file of the repository, the page that it becomes."""
    docs = ROOT / "docs"
    found = {path.relative_to(ROOT).as_posix(): path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    return found | _BESIDE


def assets() -> dict[str, str]:
    """Return what pages show or link to as it is: figures, and the numbers behind them."""
    docs = ROOT / "docs"
    return {
        path.relative_to(ROOT).as_posix(): path.relative_to(docs).as_posix()
        for path in docs.rglob("*")
        if path.suffix in (".svg", ".jsonl")
    }


def examples() -> dict[str, str]:
    """Return, by program, the page that shows it."""
    found = sorted((ROOT / "examples").glob("*.py"))
    return {path.relative_to(ROOT).as_posix(): f"examples/{path.stem}.md" for path in found}


def targets() -> dict[str, str]:
    """Return, by file or folder of the repository, what a link to it leads to."""
    return sources() | assets() | examples() | _FOLDERS
