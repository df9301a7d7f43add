"""A user's object in a task: made once on the driver, made ready for each task and cleaned up after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark import TaskContext


@dataclass(frozen=True, slots=True)
class OperationContext:
    """What `prepare(context)` of a user's object may know: where it runs, never what its results may depend on."""

    verb: str
    """The operation that it was given to."""
    task: int
    """Spark's number of the task in its stage; which records it gets is Spark's affair."""
    run: int
    """How often the task was begun before: Spark runs one again whose worker died, and may run it twice at once."""


@contextmanager
def ready(user: object, verb: str) -> Iterator[None]:
    """Call `prepare(context)` before a task's records and `cleanup()` after them, of an object that has them.

    Each may be called any number of times in one process, once for a task; `cleanup` also after an error, unless it was
    raised by `prepare`. What the object keeps between the two is the task's own copy.
    """
    prepare, cleanup = getattr(user, "prepare", None), getattr(user, "cleanup", None)
    if prepare is not None:
        prepare(_context(verb))
    try:
        yield
    finally:
        if cleanup is not None:
            cleanup()


def _context(verb: str) -> OperationContext:
    task = TaskContext.get()
    return OperationContext(verb, task.partitionId(), task.attemptNumber()) if task else OperationContext(verb, 0, 0)
