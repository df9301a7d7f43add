"""Many seeds over several processes; one seed again; a failing seed made short."""

from __future__ import annotations

import gc
import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context

from tests.simulation.counts import Failure, Report, counted_moves
from tests.simulation.faults import Fault, FaultKind
from tests.simulation.world import World

_CHUNK = 250
_COLLECT_EVERY = 50


@dataclass(frozen=True)
class Shrunk:
    """The shortest schedule found with which a seed still fails, and what then happens."""

    seed: int
    faults: tuple[Fault, ...]
    drawn: int
    commits: int
    what: str
    trace: tuple[str, ...]

    def show(self) -> str:
        """Return it as text."""
        return "\n".join(
            [
                f"seed {self.seed}: {len(self.faults)} of {self.drawn} faults are enough",
                *(f"  after {fault.after} commits: {fault.kind}" for fault in self.faults),
                "",
                *self.trace,
                "",
                f"VIOLATION: {self.what}",
            ]
        )


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep quiet in the block: thousands of worlds and scenes warn of what was done to them."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def failure_of(world: World) -> str | None:
    """Run the world; returns what was violated, None when nothing was."""
    with without_warnings():
        try:
            world.run()
        except Exception as error:  # noqa: BLE001 - whatever it raises is what was found
            return f"{type(error).__name__}: {error}"
    return None


def run_chunk(first: int, count: int) -> Report:
    """Run so many seeds in this process."""
    report = Report()
    started = time.process_time()
    gc.collect()
    gc.freeze()  # what is loaded by now stays: collecting the worlds need not look at it
    gc.disable()
    try:
        with counted_moves() as moves:
            for seed in range(first, first + count):
                _run_one(seed, report)
                if seed % _COLLECT_EVERY == 0:
                    gc.collect()
            report.moves.update(moves)
    finally:
        gc.enable()
        gc.unfreeze()
    report.cpu_seconds = time.process_time() - started
    return report


def _run_one(seed: int, report: Report) -> None:
    world = World(seed)
    what = failure_of(world)
    report.seeds += 1
    report.commits.append(world.monitor.commits)
    report.faults.append(sum(world.counts[kind] for kind in _KINDS))
    report.happened.update({str(what): number for what, number in world.counts.items()})
    report.losses += len(world.monitor.account.losses)
    if what is not None:
        report.failures.append(Failure(seed, what))
    vars(world).clear()  # most of what refers to each other goes by way of the world: little is left to be collected


_KINDS = tuple(FaultKind)


def run_seeds(first: int, count: int, processes: int = 2) -> Report:
    """Run so many seeds; the report does not depend on how many processes there are."""
    chunks = [(start, min(_CHUNK, first + count - start)) for start in range(first, first + count, _CHUNK)]
    report = Report()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for part in pool.map(run_chunk, *zip(*chunks, strict=True)):
            report.add(part)
    return report


def trace_of(seed: int, faults: tuple[Fault, ...] | None = None, *, commits: int | None = None) -> World:
    """Run one seed and keep what happened; the world's trace ends with what was violated, if anything was."""
    world = World(seed, faults) if commits is None else World(seed, faults, commits=commits)
    world.trace = []
    what = failure_of(world)
    if what is not None:
        world.trace.append(f"VIOLATION: {what}")
    return world


def digest_of(seed: int) -> str:
    """Return a digest of everything that happened with a seed."""
    world = trace_of(seed)
    assert world.trace is not None
    return hashlib.sha256("\n".join(world.trace).encode()).hexdigest()


def shrink(seed: int) -> Shrunk | None:
    """Leave out one fault after the other while the seed still fails; None if it does not fail at all."""
    world = World(seed)
    what = failure_of(world)
    if what is None:
        return None
    faults, drawn = world.faults, len(world.faults)
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for fewer in _without_one(faults):
            shorter = failure_of(World(seed, fewer))
            if shorter is not None:
                faults, what, is_smaller = fewer, shorter, True
                break
    last = trace_of(seed, faults)
    assert last.trace is not None
    return Shrunk(seed, faults, drawn, last.monitor.commits, what, tuple(last.trace[:-1]))


def _without_one(faults: tuple[Fault, ...]) -> Iterator[tuple[Fault, ...]]:
    for number in reversed(range(len(faults))):
        yield faults[:number] + faults[number + 1 :]


def first_failing(seeds: range, bug: Callable[[], AbstractContextManager[object]] = nullcontext) -> Shrunk | None:
    """Return the first of these seeds that fails with a planted bug, made short."""
    with bug():
        for seed in seeds:
            found = shrink(seed)
            if found is not None:
                return found
    return None
