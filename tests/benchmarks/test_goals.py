"""Goals are judged by medians, none is left out, and what was not measured is not called reached."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.goals import GOALS, Goal, verdicts
from benchmarks.lines import Rounds
from benchmarks.programs import PROGRAMS
from benchmarks.workloads import WORKLOADS
from tests.benchmarks.sample import LINE, rounds_of

RATE = Goal("the rate", "large", "records_per_s", 0.75, "floor", is_least=True)
GAP = Goal("the gap", "small", "commit_gap_ms_median", 0.25, "structured_streaming")
START = Goal("the start", "small", "first_commit_s", 3.0, unit="s")


@pytest.mark.parametrize(("rate", "verdict"), [(74.0, "NOT reached"), (75.0, "reached"), (300.0, "reached")])
def test_a_rate_is_to_be_at_least_so_large(rate: float, verdict: str) -> None:
    results = [
        rounds_of("trident", "large", records_per_s=(rate,)),
        rounds_of("floor", "large", records_per_s=(100.0,)),
    ]
    (judged,) = verdicts(results, [RATE])
    assert str(judged) == f"the rate: {rate / 100:.3g} x floor, goal at least 0.75: {verdict}"


@pytest.mark.parametrize(("gap", "verdict"), [(26.0, "NOT reached"), (25.0, "reached"), (1.0, "reached")])
def test_a_time_is_to_be_at_most_so_long(gap: float, verdict: str) -> None:
    beside = rounds_of("structured_streaming", "small", commit_gap_ms_median=(100.0,))
    (judged,) = verdicts([rounds_of("trident", "small", commit_gap_ms_median=(gap,)), beside], [GAP])
    assert str(judged).endswith(f"x structured_streaming, goal at most 0.25: {verdict}")


def test_a_goal_without_another_system_has_a_unit() -> None:
    (judged,) = verdicts([rounds_of("trident", "small", first_commit_s=(2.96,))], [START])
    assert str(judged) == "the start: 2.96 s, goal at most 3: reached"


def test_rounds_are_judged_by_their_medians() -> None:
    own = rounds_of("trident", "large", records_per_s=(10.0, 80.0, 90.0))
    (judged,) = verdicts([own, rounds_of("floor", "large", records_per_s=(500.0, 100.0, 20.0))], [RATE])
    assert judged.figure == 0.8


@pytest.mark.parametrize("missing", ["nobody", "of another workload", "one of the two", "without the figure"])
def test_what_was_not_measured_is_neither_reached_nor_missed(missing: str) -> None:
    late = Goal("late", "small", "commit_gap_ms_late", 0.2, "structured_streaming")
    results = {
        "nobody": [],
        "of another workload": [
            rounds_of("trident", "large", commit_gap_ms_late=(1.0,)),
            rounds_of("structured_streaming", "large", commit_gap_ms_late=(9.0,)),
        ],
        "one of the two": [rounds_of("trident", "small", commit_gap_ms_late=(1.0,))],
        "without the figure": [
            rounds_of("trident", "small", records_per_s=(1.0,)),
            rounds_of("structured_streaming", "small", records_per_s=(1.0,)),
        ],
    }[missing]
    (judged,) = verdicts(results, [late])
    assert judged.is_reached is None
    assert str(judged) == "late: goal at most 0.2 x structured_streaming: not measured"


@pytest.mark.parametrize(("factor", "is_judged"), [(1.0, True), (0.5, False), (2.0, False)])
def test_only_a_whole_workload_is_judged(factor: float, is_judged: bool) -> None:
    own = rounds_of("trident", "small", first_commit_s=(1.0,))
    lines = tuple(replace(line, records=int(line.records * factor)) for line in own.lines)
    (judged,) = verdicts([Rounds(lines)], [START])
    assert (judged.is_reached is True) == is_judged
    assert (judged.is_reached is None) == (not is_judged)


def test_latency_is_judged_only_where_all_had_the_same_load() -> None:
    goal = Goal("latency", "large", "latency_ms_p50", 0.5, "structured_streaming")
    results = [
        rounds_of("trident", "large", latency_ms_p50=(1.0,), records_per_s=(9.0,)),
        rounds_of("structured_streaming", "large", latency_ms_p50=(4.0,), records_per_s=(1.0,)),
        rounds_of("floor", "large", records_per_s=(10.0,)),
    ]
    assert [judged.figure for judged in verdicts(results, [goal, RATE])] == [0.25, 0.9]
    assert [judged.figure for judged in verdicts(results, [goal, RATE], has_one_peak=False)] == [None, 0.9]


def test_every_goal_is_of_something_that_is_measured() -> None:
    assert [str(verdict).rsplit(": ", 1)[1] for verdict in verdicts([])] == ["not measured"] * len(GOALS)
    for goal in GOALS:
        LINE.figure(goal.figure)
        assert {goal.system, goal.beside or goal.system} <= set(PROGRAMS)
        assert goal.workload in {workload.name for workload in WORKLOADS}
        assert bool(goal.unit) == (goal.beside is None)
    assert len({goal.name for goal in GOALS}) == len(GOALS)


def test_what_is_no_figure_is_refused() -> None:
    with pytest.raises(TypeError, match="loads is no figure"):
        LINE.figure("loads")
