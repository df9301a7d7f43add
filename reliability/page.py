"""The page docs/reliability.md: its table and plot are made from the outcomes that lie beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.pages import with_table
from reliability.cases import Outcome
from reliability.report import said, svg
from reliability.results import add
from trident import Level

FOLDER = Path(__file__).parents[1] / "docs"
_HEAD = "| level | fault | faults | sent | arrived | lost | twice | three times or oftener | published |"


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as one table, the name of a level before its first run."""
    lines = [_HEAD, "|---|---|" + "--:|" * 6 + "---|"]
    for level in Level:
        name = f"**{str(level).replace('_', ' ')}**"
        for each in (each for each in outcomes if each.case.level is level):
            lines.append(_row(name, each))
            name = ""
    return "\n".join(lines)


def draw(outcomes: Sequence[Outcome], commit: str, folder: Path = FOLDER) -> list[Path]:
    """Write the outcomes of a commit, plot and table; returns the files."""
    if not outcomes:
        raise SystemExit("there are no outcomes yet: run the study first")
    if any(each.problem for each in outcomes):
        raise SystemExit("outcomes of which one is not as promised are not shown")
    kept, plot, page = folder / "reliability.jsonl", folder / "reliability.svg", folder / "reliability.md"
    kept.unlink(missing_ok=True)
    for each in outcomes:
        add(kept, each, commit)
    plot.write_text(svg(outcomes))
    page.write_text(with_table(page.read_text(), table(outcomes)))
    return [kept, plot, page]


def _row(name: str, outcome: Outcome) -> str:
    case = outcome.case
    counts = (case.faults, case.numbers, outcome.distinct, outcome.lost, outcome.twice, outcome.oftener)
    return f"| {name} | {case.fault} | " + " | ".join(f"{n:,}" for n in counts) + f" | {said(case)} |"
