"""The phases of a record's way add up to its latency, whatever came when."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.history import Batch, History, Steps
from benchmarks.phases import PHASES, phases_ms, summed_up
from benchmarks.workloads import PARTITIONS

WAITING, PLAN, PROCESSING, TURN = PHASES
ROUGH = st.integers(0, 3_000)


def batch_of(number: int, steps: Steps | None, committed_at: float) -> Batch:
    """Return a batch with one record of every partition."""
    return Batch(committed_at, tuple((partition, number, number + 1) for partition in range(PARTITIONS)), steps)


def test_each_phase_ends_where_the_next_one_begins() -> None:
    history = History([batch_of(0, Steps(10.0, 20, 300), 10.4)])
    # before the plan, while it is made, and (two clocks) a millisecond behind it
    phases = phases_ms(history, np.array([9_900, 10_005, 10_021, 10_000]))
    assert phases is not None
    assert np.allclose(phases[WAITING], [100, 0, 0, 0])
    assert np.allclose(phases[PLAN], [20, 15, 0, 20])
    assert np.allclose(phases[PROCESSING], [300, 300, 299, 300])
    assert np.allclose(phases[TURN], [80, 80, 80, 80])


@given(
    st.lists(st.tuples(ROUGH, ROUGH, ROUGH, ROUGH), min_size=1, max_size=4),
    st.lists(st.integers(-3_000, 0), min_size=16, max_size=16),
)
def test_they_add_up_to_the_whole_and_none_is_below_zero(
    batches: list[tuple[int, int, int, int]], before: list[int]
) -> None:
    history = History(
        [
            batch_of(number, Steps(1_000 + begun / 1_000, plan, process), 1_000 + end / 1_000)
            for number, (begun, plan, process, end) in enumerate(batches)
        ]
    )
    timestamps = np.array(before[: history.records]) + 1_000_000
    phases = phases_ms(history, timestamps)
    assert phases is not None
    assert all((each >= 0).all() for each in phases.values())
    assert np.allclose(sum(phases.values()), history.latencies_ms(timestamps))
    means = sum(phase.ms_mean for phase in summed_up(phases, 1))
    assert means == pytest.approx(history.latencies_ms(timestamps)[1:].mean())


def test_a_system_that_keeps_no_steps_has_no_phases() -> None:
    assert phases_ms(History([batch_of(0, None, 2.0)]), np.array([1, 2, 3, 4])) is None


def test_records_of_the_warm_up_count_nowhere() -> None:
    history = History([batch_of(0, Steps(10.0, 0, 0), 10.0)])
    phases = phases_ms(history, np.array([0, 9_000, 9_500, 9_600]))
    assert phases is not None
    waiting = summed_up(phases, 1)[0]
    assert (waiting.name, waiting.ms_p50) == (WAITING, 500)


@pytest.mark.parametrize(("commits", "late"), [(2, None), (319, None), (320, 5.0), (400, 5.0)])
def test_a_late_gap_is_of_what_comes_after_the_early_commits(commits: int, late: float | None) -> None:
    times = [number * 0.1 if number < 300 else 29.9 + (number - 299) * 0.005 for number in range(commits)]
    history = History([Batch(at, ()) for at in times])
    found = history.commit_gap_ms_late(300)
    assert (found is None) == (late is None)
    assert found is None or found == pytest.approx(late)


def test_a_gap_may_be_of_a_fresh_run_alone() -> None:
    history = History([Batch(at, ()) for at in (0.0, 0.3, 0.6, 0.9, 0.91, 0.92, 0.93, 0.94)])
    assert history.commit_gap_ms_median(3) == pytest.approx(300)
    assert history.commit_gap_ms_median() == pytest.approx(10)
