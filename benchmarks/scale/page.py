"""The page docs/scaling.md: its table and plot are made from the figures that lie beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

from benchmarks.pages import with_table
from benchmarks.processes import ROOT
from benchmarks.scale.drawing import curves, svg
from benchmarks.scale.results import Result, write

FOLDER = ROOT / "docs"
_HEAD = (
    "| varied | | ms a batch | median gap | records/s | rows changed | plan | process | commit "
    "| driver | JVMs | workers | Kafka | PostgreSQL |"
)


def table(results: Sequence[Result]) -> str:
    """Return the figures as one table, the name of a curve before its first point."""
    lines = [_HEAD, "|---|" + "--:|" * (_HEAD.count("|") - 2)]
    for (axis, base), points in curves(results).items():
        name = f"**{axis}**" + (f", {base}" if base else "")
        for point in points:
            lines.append(_row(name, point))
            name = ""
    return "\n".join(lines)


def draw(results: Sequence[Result], folder: Path = FOLDER) -> list[Path]:
    """Write figures, plot and table; returns the files."""
    if not results:
        raise SystemExit("there are no figures yet: measure first")
    if not all(result.exact for result in results):
        raise SystemExit("figures of a run that was not exact are not shown")
    figures, plot, page = folder / "scaling.jsonl", folder / "scaling.svg", folder / "scaling.md"
    write(figures, results)
    plot.write_text(svg(results))
    page.write_text(with_table(page.read_text(), table(results)))
    return [figures, plot, page]


def _row(name: str, point: Result) -> str:
    times = [f"{point.value:,}", f"{point.batch_ms:,.0f}", f"{point.gap_ms:,.0f}"]
    counts = [f"{point.records_per_s:,.0f}", f"{point.keys:,}"]
    steps = [f"{ms:,.0f}" for ms in (point.plan_ms, point.process_ms, point.commit_ms, *astuple(point.cpu))]
    return f"| {name} | " + " | ".join([*times, *counts, *steps]) + " |"
