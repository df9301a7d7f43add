"""Breadth first through every future of a small world: real code, real states, no model.

Scenes that are equal are visited once; what is remembered of a scene is a 64-bit hash and how it was
reached, so a violation comes with its shortest trace. Two scenes with the same hash would pass for
one: with a million scenes the chance is about one in thirty million.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from tests.simulation.running import without_warnings
from tests.simulation.scene import Action, Scene, Scope
from trident.spouts.base import SpoutKind
from trident.state.layout import StateKind

SMALL = (
    Scope(records=2, crashes=1, take_overs=1, losses=1),
    Scope(records=2, crashes=0, take_overs=1, losses=0, failures=1, kind=SpoutKind.TRANSACTIONAL),
    Scope(records=1, crashes=0, take_overs=1, losses=0, late=1, turn=True),
    Scope(records=1, crashes=0, take_overs=1, losses=0, sink=True, ends=1),
)
LARGE = (
    Scope(),
    Scope(records=2, failures=1, unheard=1, crashes=1, take_overs=1),
    Scope(records=2, kind=SpoutKind.TRANSACTIONAL, state=StateKind.TRANSACTIONAL, failures=1, crashes=1),
    Scope(records=1, crashes=1, take_overs=1, losses=0, failures=1, late=1, turn=True),
    Scope(records=2, crashes=1, take_overs=1, losses=0, sink=True, ends=1),
)


_PROCESSES = 2
_STEPS_TO_COLLECT = 200_000
"""What is collected is looked for among millions of scenes: seldom, and before it takes a gigabyte."""


@dataclass(frozen=True)
class Explored:
    """What an exploration found."""

    scope: Scope
    scenes: int
    steps: int
    depth: int
    is_complete: bool
    violation: str | None
    trace: tuple[str, ...]
    seconds: float

    def show(self) -> str:
        """Return the verdict as text."""
        scope = ", ".join(f"{name} {value}" for name, value in self.scope._asdict().items())
        verdict = f"VIOLATION: {self.violation}" if self.violation else "nothing lost, nothing twice"
        how_far = "all of it" if self.is_complete else "stopped at the limit"
        head = f"{self.scenes:,} states, {self.steps:,} steps, depth {self.depth}, {how_far}, {self.seconds:.0f} s"
        return "\n".join([scope, head, *self.trace, verdict])


def explore(scope: Scope, most_scenes: int = 10_000_000, most_seconds: float = 1e9) -> Explored:
    """Visit every scene that can be reached; ends at the first violation, or at a limit."""
    with without_warnings():
        return _explored(scope, most_scenes, most_seconds)


def _explored(scope: Scope, most_scenes: int, most_seconds: float) -> Explored:
    started = time.monotonic()
    first = Scene(scope)
    seen: dict[int, tuple[int, Action | None]] = {hash(first.key()): (0, None)}
    frontier = [(hash(first.key()), first)]
    steps = depth = 0
    while frontier:
        following: list[tuple[int, Scene]] = []
        for here, scene in frontier:
            is_stuck = True
            for action in list(scene.actions()):
                after = scene.copy(action.actor)
                steps += 1
                if steps % _STEPS_TO_COLLECT == 0:
                    gc.collect()  # coordinators that ended refer to what they were part of
                try:
                    after.perform(action)
                except Exception as error:  # noqa: BLE001 - whatever it raises is what was found
                    what = f"{type(error).__name__}: {error}"
                    return _end(scope, seen, steps, depth, started, what, [*_trace(seen, here), action.what])
                key = hash(after.key())
                if key != here and not action.is_fault:
                    is_stuck = False
                if key in seen:
                    after.forget()
                else:
                    seen[key] = (here, action)
                    following.append((key, after))
            if is_stuck and not scene.is_settled():
                what = "nothing more happens, but records are missing"
                return _end(scope, seen, steps, depth, started, what, _trace(seen, here))
            scene.forget()
            if len(seen) > most_scenes or time.monotonic() - started > most_seconds:
                return _end(scope, seen, steps, depth, started, None, [], is_complete=False)
        frontier = following
        depth += 1
    return _end(scope, seen, steps, depth, started, None, [])


def _trace(seen: dict[int, tuple[int, Action | None]], key: int) -> list[str]:
    steps: list[str] = []
    while True:
        key, action = seen[key]
        if action is None:
            return steps[::-1]
        steps.append(action.what)


def _end(
    scope: Scope,
    seen: dict[int, tuple[int, Action | None]],
    steps: int,
    depth: int,
    started: float,
    violation: str | None,
    trace: list[str],
    *,
    is_complete: bool = True,
) -> Explored:
    seconds = time.monotonic() - started
    return Explored(scope, len(seen), steps, depth, is_complete, violation, tuple(trace), seconds)


def main() -> int:
    """`python -m tests.simulation.exploring`: print the verdict of each scope; returns 1 if a rule was broken.

    A scope that was stopped at its time limit says so: then only what was visited is known to hold.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--small", action="store_true", help="what the tests explore")
    parser.add_argument("--minutes", type=float, default=60, help="at most so long for each scope")
    arguments = parser.parse_args()
    scopes = SMALL if arguments.small else LARGE
    broken = False
    # a process explores one scope, so that the next one begins with its memory free
    with ProcessPoolExecutor(_PROCESSES, get_context("spawn"), gc.disable, max_tasks_per_child=1) as pool:
        exploring = [pool.submit(explore, scope, most_seconds=60 * arguments.minutes) for scope in scopes]
        for result in map(Future.result, exploring):
            print(result.show(), end="\n\n", flush=True)
            broken = broken or result.violation is not None
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
