"""Several Spark actions of one attempt side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import TypeVar

from trident.base.closing import after_error
from trident.base.errors import TridentError
from trident.coordinators.batches.lanes import SideBySide

T = TypeVar("T")


def run_all(actions: Sequence[Callable[[], T]], cancel: Callable[[], None]) -> tuple[T, ...]:
    """Run the first action in this thread and the others in threads of their own; return all results in order.

    When one fails the others are cancelled and waited for, then the first failure is raised.
    """
    first, *others = actions
    if not others:
        return (first(),)
    side: SideBySide[T] = SideBySide("trident-job")
    futures = [side.submit(action) for action in others]
    try:
        return (first(), *(future.result() for future in futures))
    except TridentError:
        after_error("cancelling the other jobs", cancel)
        raise
    finally:
        side.close()
        wait(futures)
