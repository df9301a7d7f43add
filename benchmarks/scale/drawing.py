"""The plot: a panel for each curve, with the time between commits and the CPU of each part."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from benchmarks.cpu import CpuTimes
from benchmarks.scale.axes import AXES
from benchmarks.scale.results import Result

_COLUMNS = 3
_PANEL = (3.4, 2.7)
_LEAST_MS = 0.5
"""Below it nothing is drawn: CPU is looked at four times a second."""
_PARTS = {
    "driver": ("driver", "#4477aa"),
    "jvm": ("Spark's JVMs", "#ee8866"),
    "workers": ("Python workers", "#228833"),
    "broker": ("Kafka", "#aa3377"),
    "database": ("PostgreSQL", "#ccaa22"),
}
"""Colours that are told apart by people who don't see all of them."""


def _style() -> AbstractContextManager[None]:
    """Return settings under which the same figures make the same file, and letters stay letters: small, and text."""
    return mpl.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "scaling",
            "font.family": "sans-serif",
            "font.size": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )


def curves(results: Sequence[Result]) -> dict[tuple[str, str], list[Result]]:
    """Return the points of each curve, by axis and what is said of its base, in order."""
    found: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        found.setdefault((result.axis, _base(result)), []).append(result)
    return {key: sorted(points, key=lambda each: each.value) for key, points in found.items()}


def _base(result: Result) -> str:
    axis = AXES[result.axis]
    return "" if axis.field == "batch" else f"batches of {axis.base_of(result.load).batch:,}"


def svg(results: Sequence[Result]) -> str:
    """Return the plot as SVG."""
    panels = curves(results)
    rows = -(-len(panels) // _COLUMNS)
    with _style():
        figure = Figure(figsize=(_PANEL[0] * _COLUMNS, _PANEL[1] * rows + 0.4), layout="constrained")
        FigureCanvasSVG(figure)
        grid = figure.subplots(rows, _COLUMNS, squeeze=False, sharey=True)
        places = list(grid.flat)
        for place, ((axis, base), points) in zip(places, panels.items(), strict=False):
            _panel(place, axis, base, points)
        for place in places[len(panels) :]:
            place.set_axis_off()
        for row in grid:
            row[0].set_ylabel("ms a batch")
        lines, names = places[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _panel(place: Axes, axis: str, base: str, points: Sequence[Result]) -> None:
    values = [point.value for point in points]
    place.set_xscale("log", base=2 if max(values) <= 256 else 10)
    place.set_yscale("log")
    place.set_xticks(values, [_short(value) for value in values])
    place.minorticks_off()
    place.grid(visible=True, axis="y", linewidth=0.3)
    place.set_xlabel(AXES[axis].label)
    place.yaxis.set_major_formatter("{x:,.0f}")
    place.set_title(f"{axis}, {base}" if base else axis, fontsize=9)
    for part in CpuTimes.__slots__:
        name, colour = _PARTS[part]
        times = [max(getattr(point.cpu, part), _LEAST_MS) for point in points]
        place.plot(values, times, color=colour, linewidth=1, marker=".", markersize=3, label=f"CPU: {name}")
    times = [point.batch_ms for point in points]
    place.plot(values, times, color="black", linewidth=2, marker="o", markersize=3, label="time")


def _short(value: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value // size}{letter}"
    return str(value)
