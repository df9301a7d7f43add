"""Several cases at once, each in a forking program of its own."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from integration_tests.crash_matrix.cases import Case
from integration_tests.crash_matrix.forking import Forker, warmed_up
from integration_tests.crash_matrix.lives import Life
from integration_tests.crash_matrix.places import Addresses
from integration_tests.crash_matrix.playing import play


class Workers:
    """Forking programs that have lived each of the `warm` cases once; use it as a context manager."""

    def __init__(self, addresses: Addresses, warm: Sequence[Case], count: int) -> None:
        self._addresses = addresses
        self._warm = warm
        self._count = count
        self._free: queue.SimpleQueue[Forker] = queue.SimpleQueue()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for forker in self._stack.enter_context(warmed_up(self._count, self._warm_up)):
            self._free.put(forker)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def play(self, cases: Sequence[Case]) -> None:
        """Play the cases; raises AssertionError with everything that was wrong."""
        with ThreadPoolExecutor(self._count) as pool:
            problems = [problem for found in pool.map(self._play, cases) for problem in found]
        assert not problems, f"{len(problems)} problems in {len(cases)} cases:\n" + "\n".join(problems)

    def _play(self, case: Case) -> list[str]:
        forker = self._free.get()
        try:
            return play(case, self._addresses, forker)
        finally:
            self._free.put(forker)

    def _warm_up(self, number: int, forker: Forker) -> None:
        for place, case in enumerate(self._warm):
            life = Life(case, self._addresses, f"{number}{place}00")
            life.place.make_ready()
            forker.warm_up(life)
