"""The axes, the file of figures, the table and the plot: all of `make bench-scale` that needs no server."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree

import numpy as np
import pytest

import benchmarks.scale.__main__ as command
from benchmarks.cpu import CpuTimes
from benchmarks.expected import Expected
from benchmarks.pages import with_table
from benchmarks.scale.axes import AXES, Load
from benchmarks.scale.drawing import svg
from benchmarks.scale.page import FOLDER, draw, table
from benchmarks.scale.results import Result, put, read, write
from benchmarks.systems.trident_scaled import tables

_MOST_BYTES = 150_000
_FIELDS = [name for name in Load.__slots__ if name != "scale"]
EVERY = [(axis, load) for axis in AXES for load in AXES[axis].loads()]


def result(axis: str, load: Load, batch_ms: float = 100.0) -> Result:
    cpu = CpuTimes(10.0, 0.0, 30.5, 4.0, 50.0)
    return Result(
        axis=axis,
        load=load,
        batch_ms=batch_ms,
        gap_ms=40.0,
        records_per_s=500_000,
        plan_ms=20,
        process_ms=90,
        commit_ms=30.5,
        keys=38_000,
        cpu=cpu,
        exact=True,
    )


@pytest.mark.parametrize("axis", AXES)
def test_on_a_curve_one_thing_is_varied_and_all_else_stands(axis: str) -> None:
    described = AXES[axis]
    for base in described.bases:
        loads = [load for load in described.loads() if described.base_of(load) == base]
        assert [described.value(load) for load in loads] == list(described.values)
        others = {tuple(getattr(load, name) for name in _FIELDS if name != described.field) for load in loads}
        assert len(others) == 1


def test_every_field_of_a_load_is_an_axis_and_the_ranges_are_the_promised_ones() -> None:
    assert sorted(axis.field for axis in AXES.values()) == sorted(_FIELDS)
    assert {name: (axis.values[0], axis.values[-1]) for name, axis in AXES.items()} == {
        "partitions": (1, 256),
        "keys": (10**3, 10**7),
        "states": (1, 16),
        "batch": (10**2, 10**6),
        "ledger": (10, 10**6),
        "executors": (1, 4),
    }


def test_no_run_is_too_short_for_a_median_nor_too_long() -> None:
    batches = [load.batches for _, load in EVERY]
    assert min(batches) >= 7
    assert max(batches) <= 100
    assert max(load.records for _, load in EVERY) <= 7_000_000
    assert Load().batches == 30
    assert replace(Load(), scale=0.01).batches == 7


def test_the_command_line_shortens() -> None:
    assert len(command.options([]).loads()) == len(EVERY) == len(set(EVERY))
    asked = command.options(["--axes", "keys", "ledger", "--points", "3", "--scale", "0.5"])
    assert [AXES[axis].value(load) for axis, load in asked.loads()] == [
        1_000,
        100_000,
        10_000_000,
        10,
        1_000,
        1_000_000,
    ]
    assert {load.scale for _, load in asked.loads()} == {0.5}
    assert [AXES[axis].value(load) for axis, load in command.options(["--axes", "batch", "--points", "1"]).loads()] == [
        100
    ]
    for words in (["--scale", "0"], ["--points", "0"], ["--axes", "none"]):
        with pytest.raises(SystemExit):
            command.options(words)


def test_figures_are_kept_by_point_and_only_what_is_missing_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "results" / "scaling.jsonl"
    assert read(file) == []
    results: list[Result] = []
    for axis, load in reversed(EVERY[:4]):
        results = put(results, result(axis, load))
    write(file, results)
    assert read(file) == results
    assert [each.load for each in results] == [load for _, load in EVERY[:4]]
    asked = command.options(["--axes", "partitions", "--missing", "--results", str(file)])
    assert asked.loads() == [(axis, load) for axis, load in EVERY if axis == "partitions"][4:]


def test_a_point_that_is_measured_anew_takes_the_place_of_the_old_one_whatever_its_length() -> None:
    axis, load = EVERY[0]
    first = put([], result(axis, load))
    again = put(first, result(axis, replace(load, scale=0.1), batch_ms=7))
    assert [each.batch_ms for each in again] == [7]
    same_load = put(again, result("keys", load))
    assert len(same_load) == 2


class Pretending(Protocol):
    def __call__(self, *words: str, wrong: Load | None = None) -> tuple[Pretended, int, list[Result]]: ...


class Pretended:
    """Measures nothing; every result of one load is wrong."""

    def __init__(self, wrong: Load | None = None) -> None:
        self.wrong = wrong
        self.seen: list[Load] = []

    def __call__(self, servers: object, logs: Path) -> Pretended:
        return self

    def measure(self, axis: str, load: Load) -> Result:
        self.seen.append(load)
        return replace(result(axis, load), exact=load != self.wrong)


@pytest.fixture
def pretended(monkeypatch, tmp_path):
    """Runs the command with a stand-in for whatever measures; returns it, the exit code and the figures."""

    def run(*words: str, wrong: Load | None = None) -> tuple[Pretended, int, list[Result]]:
        file, made = tmp_path / "scaling.jsonl", Pretended(wrong)
        monkeypatch.setattr(command, "local_servers", nullcontext)
        monkeypatch.setattr(command, "Measuring", made)
        monkeypatch.setattr(sys, "argv", ["benchmarks.scale", "--results", str(file), *words])
        return made, command.main(), read(file)

    return run


def test_a_point_where_axes_meet_is_measured_once(pretended: Pretending) -> None:
    measuring, code, results = pretended("--axes", "partitions", "keys")
    assert code == 0
    assert [(each.axis, each.load) for each in results] == [
        point for point in EVERY if point[0] in ("partitions", "keys")
    ]
    assert measuring.seen.count(Load()) == 1


def test_a_result_that_is_not_exact_ends_the_run_with_1_and_is_kept(pretended: Pretending) -> None:
    _, code, results = pretended("--axes", "keys", wrong=Load())
    assert code == 1
    assert [each.load for each in results if not each.exact] == [Load()]


def test_a_run_ends_when_its_time_is_up_and_goes_on_later(pretended: Pretending) -> None:
    measuring, code, results = pretended("--minutes", "-1")
    assert (code, measuring.seen, results) == (0, [], [])
    pretended("--axes", "keys", "--points", "2")
    measuring, _, results = pretended("--axes", "keys", "--missing")
    assert [load.accounts for load in measuring.seen] == [10_000, 100_000, 1_000_000]
    assert len(results) == 5


def test_the_table_has_every_point_and_a_curve_is_named_once() -> None:
    rows = table([result(axis, load) for axis, load in EVERY]).splitlines()
    assert len(rows) == 2 + len(EVERY)
    assert {row.count("|") for row in rows} == {15}
    figures = "1 | 100 | 40 | 500,000 | 38,000 | 20 | 90 | 30 | 10 | 0 | 30 | 4 | 50"
    assert rows[2] == f"| **partitions**, batches of 1,000 | {figures} |"
    assert sum("**" in row for row in rows) == 8
    assert any(row.startswith("| **batch** | 100 |") for row in rows)


def test_the_plot_has_a_panel_for_each_curve_is_small_and_is_the_same_again() -> None:
    results = [result(axis, load) for axis, load in EVERY]
    drawn = svg(results)
    assert drawn == svg(results)
    assert len(drawn.encode()) < _MOST_BYTES
    texts = [text.text for text in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert sum(str(text).endswith("batches of 50,000") for text in texts) == 3
    assert {axis.label for axis in AXES.values()} <= set(texts)
    assert {"time", "CPU: driver", "CPU: PostgreSQL"} <= set(texts)


def test_a_page_is_made_of_exact_figures_only(tmp_path: Path) -> None:
    page = tmp_path / "scaling.md"
    page.write_text("before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n")
    good = result(*EVERY[0])
    for wrong in ([], [good, replace(good, exact=False)]):
        with pytest.raises(SystemExit):
            draw(wrong, tmp_path)
    figures, plot, _ = draw([good], tmp_path)
    assert page.read_text() == f"before\n<!-- figures -->\n{table([good])}\n<!-- end of figures -->\nafter\n"
    assert read(figures) == [good]
    assert plot.read_text().startswith("<?xml")
    with pytest.raises(ValueError, match="no place"):
        with_table("a page", "a table")


def test_the_page_that_is_there_shows_the_figures_beside_it() -> None:
    results = read(FOLDER / "scaling.jsonl")
    page = (FOLDER / "scaling.md").read_text()
    measured = [(each.axis, each.load) for each in results]
    assert measured == [point for point in EVERY if point in measured]
    ends = {axis: (AXES[axis].values[0], AXES[axis].values[-1]) for axis in AXES}
    assert {(axis, load) for axis, load in EVERY if AXES[axis].value(load) in ends[axis]} <= set(measured)
    assert all(each.exact for each in results)
    assert with_table(page, table(results)) == page
    assert len((FOLDER / "scaling.svg").read_bytes()) < _MOST_BYTES


def test_states_do_work_of_their_own_and_two_runs_are_counted_together() -> None:
    assert tables(3) == {"balances_1": 1, "balances_2": 2, "balances_3": 3}
    one = Expected(3, np.array([2, 1, 0]), np.array([10, 5, 0]))
    both = one.plus(Expected(2, np.array([0, 1, 1]), np.array([0, 7, 1])))
    assert (both.records, both.counts.tolist(), both.totals.tolist()) == (5, [2, 2, 1], [10, 12, 1])
