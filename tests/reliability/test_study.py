"""The study: which runs it has, what each level is held to, and what its tables say."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.pages import with_table
from reliability import published
from reliability.cases import Case, Fault, Outcome
from reliability.faults import Operation, Strikes
from reliability.page import FOLDER, draw
from reliability.page import table as page_table
from reliability.report import svg, table
from reliability.results import add, commit_of, commits, read
from reliability.study import cases
from trident import Collector, InputRecord, Level


def outcome(level: Level, fault: Fault = Fault.NONE, faults: int = 0, numbers: int = 10_000) -> Outcome:
    return Outcome(Case(level, fault, faults, numbers), numbers, 0, 0, numbers * (numbers + 1) // 2, faults, 1.0, 0)


def test_it_has_the_study_s_counts_of_faults_and_numbers() -> None:
    found = cases()
    mine = {(each.fault, each.faults): each.numbers for each in found if each.level is Level.AT_LEAST_ONCE}
    for fault, twice in published.TWICE.items():
        assert {faults: mine[fault, faults] for faults in twice} == dict.fromkeys(twice, 100_000)
    most = [each for each in found if each.level is Level.AT_MOST_ONCE and each.faults]
    assert {(each.faults, each.numbers) for each in most} == {(faults, 3_000_000) for faults in (1, 2, 3, 4)}
    once = [each for each in found if each.level is Level.EXACTLY_ONCE]
    assert {each.faults for each in once if each.fault is Fault.ACKER} == {1, 2, 3}
    assert max(each.numbers for each in once) == 1_000_000


def test_on_a_smaller_scale_there_are_as_many_faults() -> None:
    whole, small = cases(), cases(0.01)
    assert [each.faults for each in whole] == [each.faults for each in small]
    assert max(each.numbers for each in small) == 30_000
    assert min(each.numbers for each in small) == 4_000


def test_faults_are_spread_over_the_numbers() -> None:
    assert Case(Level.AT_LEAST_ONCE, Fault.SPOUT, 3, 100).strikes_at() == (25, 50, 75)


@pytest.mark.parametrize("level", list(Level))
def test_a_level_that_was_kept_has_no_problem_and_without_faults_nothing_is_lost(level: Level) -> None:
    kept = outcome(level)
    assert kept.problem is None
    assert replace(kept, distinct=kept.distinct - 1).problem == "1 lost"
    assert replace(kept, twice=3).problem == "3 doubled"
    assert outcome(level, Fault.SPOUT, 2).problem is None
    assert replace(outcome(level, Fault.SPOUT, 2), struck=1).problem == "1 of 2 faults struck"


def test_each_level_is_held_to_what_it_promises_with_faults() -> None:
    levels = (Level.AT_MOST_ONCE, Level.AT_LEAST_ONCE, Level.EXACTLY_ONCE)
    most, least, exactly = (outcome(level, Fault.SPOUT, 1) for level in levels)
    assert (replace(most, distinct=9_000).problem, replace(most, twice=1).problem) == (None, "1 doubled")
    assert (replace(least, twice=2, oftener=1).problem, replace(least, distinct=9_999).problem) == (None, "1 lost")
    assert replace(exactly, total=exactly.total - 1).problem == "the sum is 50,004,999 and not 50,005,000"
    for level in levels:
        assert replace(outcome(level, Fault.SPOUT, 1), strangers=1).problem == "1 rows of what nobody sent"


def test_faults_explain_so_much_and_no_more() -> None:
    most = outcome(Level.AT_MOST_ONCE, Fault.SPOUT, 1, 3_000_000)
    assert replace(most, distinct=0).problem == "3,000,000 lost, more than the faults explain"
    least = outcome(Level.AT_LEAST_ONCE, Fault.ACKER, 2)
    assert replace(least, twice=4_000).problem is None
    assert replace(least, twice=4_000, oftener=1).problem == "4,001 doubled, more than the faults explain"


class Noting(Collector):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def emit(self, values: object, *, anchors: Iterable[InputRecord] = ()) -> None:
        self.heard.append("emit")

    def ack(self, record: InputRecord) -> None:
        self.heard.append("ack")

    def fail(self, record: InputRecord, reason: str = "") -> None:
        self.heard.append("fail")


@pytest.mark.parametrize(("fault", "heard"), [(Fault.BEFORE_EMIT, []), (Fault.AFTER_EMIT, ["emit"])])
def test_an_operation_raises_once_where_it_is_to(fault: Fault, heard: list[str], tmp_path: Path) -> None:
    strikes, noting = Strikes(tmp_path), Noting()
    operation = Operation(strikes, fault, (7,))
    operation(InputRecord(n=6), noting)
    assert noting.heard == ["emit", "ack"]
    with pytest.raises(RuntimeError):
        operation(InputRecord(n=7), noting)
    assert noting.heard[2:] == heard
    operation(InputRecord(n=7), noting)
    assert noting.heard[-2:] == ["emit", "ack"]
    assert strikes.count == 1


def test_the_table_has_our_figures_beside_the_published_ones_and_the_plot_has_both() -> None:
    least = replace(outcome(Level.AT_LEAST_ONCE, Fault.SPOUT, 2), twice=17)
    outcomes = [least, outcome(Level.AT_MOST_ONCE, Fault.WORKER, 1)]
    console = Console(width=130, record=True, file=io.StringIO())
    console.print(table(outcomes[:1]))
    assert "17" in (text := console.export_text())
    assert "4,414 twice" in text
    drawn = svg(outcomes)
    assert "published" in drawn
    assert "operation&#39;s process" in drawn or "operation's process" in drawn


def test_outcomes_are_kept_and_the_last_of_a_run_counts(tmp_path: Path) -> None:
    file = tmp_path / "results" / "study.jsonl"
    first, other = outcome(Level.AT_LEAST_ONCE, Fault.SPOUT, 2), outcome(Level.EXACTLY_ONCE)
    again = replace(first, twice=7)
    for each in (first, other, again):
        add(file, each, "abc")
    assert read(file) == {first.case: again, other.case: other}
    assert read(tmp_path / "none") == {}
    assert commits(tmp_path / "none") == []


def test_what_another_commit_has_done_is_not_done(tmp_path: Path) -> None:
    file = tmp_path / "study.jsonl"
    first, other = outcome(Level.AT_LEAST_ONCE, Fault.SPOUT, 2), outcome(Level.EXACTLY_ONCE)
    add(file, first, "abc")
    add(file, other, "def")
    assert read(file, "def") == {other.case: other}
    assert commits(file) == ["abc", "def"]
    assert commit_of(Path(__file__).parent)
    assert commit_of(tmp_path) == ""


def test_the_page_that_is_there_shows_the_outcomes_beside_it() -> None:
    outcomes = list(read(FOLDER / "reliability.jsonl").values())
    page = (FOLDER / "reliability.md").read_text()
    assert with_table(page, page_table(outcomes)) == page
    assert not any(each.problem for each in outcomes)
    assert (FOLDER / "reliability.svg").read_text() == svg(outcomes)


def test_the_page_is_made_of_what_was_as_promised_alone(tmp_path: Path) -> None:
    page = tmp_path / "reliability.md"
    page.write_text("before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n")
    good = outcome(Level.AT_LEAST_ONCE, Fault.SPOUT, 2)
    with pytest.raises(SystemExit, match="not as promised"):
        draw([replace(good, strangers=1)], "abc", tmp_path)
    draw([good], "abc", tmp_path)
    assert "| **at least once** | spout | 2 | 10,000 | 10,000 | 0 | 0 | 0 | 4,414 twice |" in page.read_text()
    assert read(tmp_path / "reliability.jsonl", "abc") == {good.case: good}
    assert (tmp_path / "reliability.svg").exists()
