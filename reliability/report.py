"""The tables of a study beside the published figures, and the plot."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from rich.table import Table

from reliability import published
from reliability.cases import Case, Fault, Outcome
from trident import Level

_COLOURS = ("#4477aa", "#ee8866", "#228833", "#aa3377", "#ccaa22")
"""They are told apart by people who don't see all of them."""


def table(outcomes: Sequence[Outcome]) -> Table:
    """Return one level's runs, a row for each."""
    (level,) = {outcome.case.level for outcome in outcomes}
    made = Table(title=str(level).replace("_", " "), title_justify="left")
    for name in ("fault", "faults", "sent", "arrived", "lost", "twice", "oftener", "published", "s", ""):
        made.add_column(name, justify="left" if name in ("fault", "published", "") else "right")
    for each in outcomes:
        counts = (each.case.faults, each.case.numbers, each.distinct, each.lost, each.twice, each.oftener)
        made.add_row(
            str(each.case.fault),
            *(f"{n:,}" for n in counts),
            said(each.case),
            f"{each.seconds:.0f}",
            each.problem or "ok",
        )
    return made


def said(case: Case) -> str:
    """Return what the study says of such a run."""
    match case.level:
        case Level.AT_MOST_ONCE:
            lost = published.LOST.get(case.faults, 0)
            return f"{lost / published.LOST_OF:.2%} lost"
        case Level.AT_LEAST_ONCE:
            twice = published.TWICE.get(case.fault, {}).get(case.faults, 0)
            return "" if case.fault is Fault.WORKER else f"{twice:,} twice"
        case Level.EXACTLY_ONCE:
            return "each once"


def svg(outcomes: Sequence[Outcome]) -> str:
    """Return the plot: what was lost at most once, and what came twice at least once, over the number of faults."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "reliability", "font.size": 8}):
        figure = Figure(figsize=(8, 3.4), layout="constrained")
        lost, twice = figure.subplots(1, 2)
        _draw(lost, "at most once: lost, % of what was sent", outcomes, Level.AT_MOST_ONCE)
        shares = [100 * n / published.LOST_OF for n in published.LOST.values()]
        lost.plot(list(published.LOST), shares, "k--", label="published")
        _draw(twice, "at least once: came twice or oftener", outcomes, Level.AT_LEAST_ONCE)
        for place, (fault, points) in enumerate(published.TWICE.items()):
            twice.plot(list(points), list(points.values()), "--", color=_COLOURS[place], label=f"published: {fault}")
        for axes in (lost, twice):
            axes.set_xlabel("faults")
            axes.legend(fontsize=6)
        twice.set_yscale("symlog")
        written = io.StringIO()
        FigureCanvasSVG(figure).print_svg(written, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return written.getvalue()


def _draw(axes: Axes, title: str, outcomes: Sequence[Outcome], level: Level) -> None:
    axes.set_title(title)
    for place, fault in enumerate(fault for fault in Fault if fault is not Fault.NONE):
        mine = [each for each in outcomes if each.case.level is level and each.case.fault is fault]
        if mine:
            faults = [each.case.faults for each in mine]
            axes.plot(faults, [_drawn(each) for each in mine], "o-", color=_COLOURS[place], label=str(fault))


def _drawn(outcome: Outcome) -> float:
    if outcome.case.level is Level.AT_MOST_ONCE:
        return 100 * outcome.lost / outcome.case.numbers
    return float(outcome.twice + outcome.oftener)
