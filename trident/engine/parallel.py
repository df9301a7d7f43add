"""Several Spark actions of one attempt side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

from trident.base.closing import after_error
from trident.base.errors import TridentError
from trident.coordinators.batches.lanes import SideBySide

T = TypeVar("T")
_LONGEST_WAIT_S = 10.0
"""For jobs that were cancelled: an engine that answers no more would keep the error for itself."""


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
