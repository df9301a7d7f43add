"""What the figures of `make bench` are held against, as data; a goal that is not reached is printed, never an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.lines import Rounds
from benchmarks.workloads import WORKLOADS

BASELINE = "structured_streaming"
MEASURED = "trident"
_FLOOR = "floor"
_FOUR_STATES = "trident_four_states"
_NEW_VALUES = "trident_new_values"
_WITHOUT = "trident_without"
_WHOLE = {(workload.name, workload.records, workload.batch) for workload in WORKLOADS}


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound of one figure, a field of a results line: by itself, or as a multiple of another system's."""

    name: str
    workload: str
    figure: str
    bound: float
    beside: str | None = None
    """The system that it is divided by; without one the bound is in `unit`."""
    is_least: bool = False
    """Whether the bound is the least that is wanted, as of a rate; else it is the most."""
    system: str = MEASURED
    unit: str = ""

    @property
    def is_under_load(self) -> bool:
        """Whether it is about a steady load."""
        return self.figure.startswith("latency")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run stands to a goal; no figure where the run did not measure it."""

    goal: Goal
    figure: float | None

    @property
    def is_reached(self) -> bool | None:
        """Whether the bound holds for the figure as it was measured, None without one."""
        if self.figure is None:
            return None
        return self.figure >= self.goal.bound if self.goal.is_least else self.figure <= self.goal.bound

    def __str__(self) -> str:
        """Return its line: name, figure, goal, verdict."""
        goal = self.goal
        unit = f" x {goal.beside}" if goal.beside else f" {goal.unit}"
        wanted = f"goal {'at least' if goal.is_least else 'at most'} {goal.bound:g}"
        if self.figure is None:
            return f"{goal.name}: {wanted}{unit}: not measured"
        return f"{goal.name}: {self.figure:.3g}{unit}, {wanted}: {'reached' if self.is_reached else 'NOT reached'}"


GOALS = (
    Goal("small: time between commits from a fresh start", "small", "commit_gap_ms_median", 0.25, BASELINE),
    Goal("small: time between commits after 300 of them", "small", "commit_gap_ms_late", 0.2, BASELINE),
    Goal("large: latency p50 at half of the peak", "large", "latency_ms_p50", 0.5, BASELINE),
    Goal("large: latency p99 at half of the peak", "large", "latency_ms_p99", 0.7, BASELINE),
    Goal("small: latency p50 at half of the peak", "small", "latency_ms_p50", 0.35, BASELINE),
    Goal("small: first commit of a fresh process", "small", "first_commit_s", 3.0, unit="s"),
    Goal(
        "small: first commit of a fresh process beside Structured Streaming", "small", "first_commit_s", 0.6, BASELINE
    ),
    Goal("small: SIGKILL to the first commit of a new process", "small", "new_process_s", 6.0, unit="s"),
    Goal("small: SIGKILL to the first commit of a waiting one", "small", "waiting_s", 3.0, unit="s"),
    Goal("large: records/s beside Structured Streaming", "large", "records_per_s", 3.0, BASELINE, is_least=True),
    Goal("large: records/s beside a plain loop", "large", "records_per_s", 0.75, _FLOOR, is_least=True),
    Goal("wide: records/s beside a plain loop", "wide", "records_per_s", 0.8, _FLOOR, is_least=True),
    Goal("large: records/s of four states beside one", "large", "records_per_s", 0.7, MEASURED, True, _FOUR_STATES),
    Goal("large: records/s with new values beside none", "large", "records_per_s", 0.6, MEASURED, True, _NEW_VALUES),
    Goal(
        "large: records/s beside the same without exactly-once", "large", "records_per_s", 0.9, _WITHOUT, is_least=True
    ),
    Goal(
        "small: time between commits beside the same without exactly-once",
        "small",
        "commit_gap_ms_median",
        1.1,
        _WITHOUT,
    ),
)


def verdicts(results: Sequence[Rounds], goals: Sequence[Goal] = GOALS, *, has_one_peak: bool = True) -> list[Verdict]:
    """Judge every goal by the medians over the rounds.

    A goal is about a whole workload, and one of latency about one load for all systems: what a smaller run, or a load
    of each system's own, shows is not measured.
    """
    found = {(rounds.workload, rounds.system): rounds for rounds in results if _is_whole(rounds)}
    return [Verdict(goal, _figure(goal, found) if has_one_peak or not goal.is_under_load else None) for goal in goals]


def _is_whole(rounds: Rounds) -> bool:
    return all((line.workload, line.records, line.batch) in _WHOLE for line in rounds.lines)


def _figure(goal: Goal, found: dict[tuple[str, str], Rounds]) -> float | None:
    measured = _median(found.get((goal.workload, goal.system)), goal.figure)
    if goal.beside is None or measured is None:
        return measured
    beside = _median(found.get((goal.workload, goal.beside)), goal.figure)
    return measured / beside if beside else None


def _median(rounds: Rounds | None, figure: str) -> float | None:
    spread = rounds.spread(figure) if rounds else None
    return spread.median if spread else None
