"""Spark actions side by side, and when they are better not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

from trident.base.closing import after_error
from trident.base.errors import TridentError
from trident.base.signals import StopSignal
from trident.coordinators.batches.lanes import SideBySide

T = TypeVar("T")
_LONGEST_WAIT_S = 10.0
"""For jobs that were cancelled: an engine that answers no more would keep the error for itself."""
_GIVEN_UP_IS_SEEN_WITHIN_S = 0.05
_LONGEST_TURN_S = 5.0
"""What waits is under its own time limit already."""


def run_all(actions: Sequence[Callable[[], T]], cancel: Callable[[], None]) -> tuple[T, ...]:
    """Run the first action in this thread and the others in threads of their own; return all results in order.

    When one fails the others are cancelled at once, and waited for a little; then the first failure is raised.
    """
    if len(actions) <= 1:
        return tuple(action() for action in actions)
    first, *others = actions
    failures: list[BaseException] = []

    def note(error: BaseException | None) -> None:
        if error is not None:
            failures.append(error)
            if len(failures) == 1:
                after_error("cancelling the other jobs", cancel)

    side: SideBySide[T] = SideBySide("trident-job")
    futures: list[Future[T]] = []
    try:
        for action in others:
            futures.append(side.submit(action))
            futures[-1].add_done_callback(lambda future: note(future.exception()))
        return (first(), *(future.result() for future in futures))
    except TridentError as error:
        note(error)
        raise failures[0] from None
    finally:
        side.close()
        if not all(future.done() for future in futures):
            after_error("cancelling the other jobs", cancel)
            wait(futures, timeout=_LONGEST_WAIT_S)


class FirstAlone:
    """Keeps all others waiting while the first one goes: they find loaded and compiled what it had to wait for.

    Side by side they would each do that work, on the cores that the first needs for it. For any number of threads.
    """

    def __init__(self) -> None:
        self._claim = threading.Lock()
        """Taken by the first one, for good."""
        self._is_over = StopSignal()

    @contextmanager
    def turn(self, given_up: StopSignal) -> Iterator[None]:
        """Enter the block as the first, or when the first has left it, however it did; at once when given up.

        Nobody waits for longer than five seconds: the first one may be slow by itself.
        """
        is_first = self._claim.acquire(blocking=False)
        deadline = time.monotonic() + _LONGEST_TURN_S
        while not is_first and time.monotonic() < deadline and not given_up.is_set():
            if self._is_over.wait(_GIVEN_UP_IS_SEEN_WITHIN_S):
                break
        try:
            yield
        finally:
            if is_first:
                self.end()

    def end(self) -> None:
        """Keep nobody waiting any more: the first one may be at something that never ends. Any number of times."""
        self._is_over.set()
