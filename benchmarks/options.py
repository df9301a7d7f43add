"""What the command line of `make bench` asks for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import System, systems
from benchmarks.programs import PROGRAMS
from benchmarks.workloads import USUAL, WORKLOADS, Workload

_USUAL = tuple(name for name, program in PROGRAMS.items() if program.is_usual)
COMMON_PEAK = "slowest"
PEAKS = {
    COMMON_PEAK: "the peak rate of the slowest system, the same for all",
    "own": "each system's own peak rate",
}
HALF = 0.5
"""The share of the peak that goals are about, and the only one unless others are named."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    systems: tuple[System, ...]
    workloads: tuple[Workload, ...]
    rounds: int
    peak: str
    shares: tuple[float, ...]
    """Of the peak, for the steady load; none where latency is left out."""
    load_seconds: float
    recovers: bool


def options_of(words: Sequence[str] | None = None) -> Options:
    """Read the command line; ends the process with a message for what can't be run."""
    parser = _parser()
    given = parser.parse_args(words)
    if given.scale <= 0 or given.rounds < 1:
        parser.error("--scale and --rounds must be above zero")
    if not all(0 < share < 1 for share in given.loads):
        parser.error("--loads are shares of the peak, between 0 and 1")
    return Options(
        systems(given.systems, given.before),
        tuple(workload.scaled(given.scale) for workload in WORKLOADS if workload.name in given.workloads),
        given.rounds,
        given.load,
        tuple(sorted(set(given.loads))) if given.load_seconds > 0 else (),
        given.load_seconds,
        not given.no_recovery,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Throughput and latency beside hand-written systems")
    parser.add_argument("--scale", type=float, default=1.0, help="0.1 for a tenth of the records")
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often all is measured; medians are shown, with least and most"
    )
    parser.add_argument("--systems", nargs="+", choices=list(PROGRAMS), default=_USUAL)
    parser.add_argument(
        "--before", type=_checkout, help="another checkout, with its .venv: the same from there beside it"
    )
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("--workloads", nargs="+", choices=names, default=USUAL)
    parser.add_argument("--load", choices=list(PEAKS), default=COMMON_PEAK, help="the peak that --loads are shares of")
    parser.add_argument(
        "--loads", nargs="+", type=float, default=[HALF], help="steady loads for the latency, as shares of the peak"
    )
    parser.add_argument("--load-seconds", type=float, default=20.0, help="how long each; 0 leaves the latency out")
    parser.add_argument("--no-recovery", action="store_true", help="leaves out what comes after a SIGKILL")
    return parser


def _checkout(text: str) -> Path:
    """Return the folder; one without its own environment could not be run."""
    root = Path(text).resolve()
    if not (root / ".venv" / "bin" / "python").exists():
        raise argparse.ArgumentTypeError(f"{root} has no .venv: run `make test` or `make demo` there first")
    return root
