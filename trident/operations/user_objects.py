"""A user's object in a task: made once on the driver, made ready for each task and cleaned up after it."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark import TaskContext

from trident.base.errors import ConfigurationError
from trident.operations.sending import name_of, refuse_asynchronous, refuse_generators

_HERE: Final = str(Path(__file__).parent)


@dataclass(frozen=True, slots=True)
class OperationContext:
    """What `prepare(context)` of a user's object may know: where it runs, never what its results may depend on."""

    verb: str
    """The operation that it was given to."""
    task: int
    """Spark's number of the task in its stage; which records it gets is Spark's affair."""
    run: int
    """How often the task was begun before: Spark runs one again whose worker died, and may run it twice at once."""


def check_lifecycle(what: str, user: object) -> None:
    """Refuse an object whose `prepare` or `cleanup` can't be called as each task does, or would run nothing."""
    for method, given, wanted in (("prepare", [None], "(self, context)"), ("cleanup", [], "(self)")):
        found = getattr(user, method, None)
        if not callable(found):
            continue
        refuse_asynchronous(f"{method} of {what}", found)
        refuse_generators(f"{method} of {what}", found, "make ready, or clean up, in its body; nothing was started")
        try:
            inspect.signature(found).bind(*given)
        except TypeError as error:
            raise ConfigurationError(
                f"{method} of {what} must be def {method}{wanted}, as each task calls it: {error}; nothing was started"
            ) from None


def check_takes(what: str, method: Callable[..., object], count: int, given: str) -> None:
    """Refuse a user's method that can't take so many arguments; one that does not say what it takes is believed."""
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * count)
    except TypeError as error:
        raise ConfigurationError(
            f"{what} is given {given}, and does not take that: {error}; nothing was started"
        ) from None


def place_of(user: object) -> str:
    """Return a user's function, or the class of an object, with the line where it is defined, for error texts."""
    while not hasattr(user, "__code__") and callable(inside := getattr(user, "function", getattr(user, "func", None))):
        user = inside
    code = getattr(user, "__code__", None) or getattr(type(user).__call__, "__code__", None)
    return name_of(user) if code is None else f"{name_of(user)} at {code.co_filename}:{code.co_firstlineno}"


@contextmanager
def told_of(user: object) -> Iterator[None]:
    """Add to what this library refuses of a function's results where the function is: no traceback has its line.

    An error of the same kind that the user's own code raised stays as it is: its text is theirs, and may hold values.
    """
    try:
        yield
    except ConfigurationError as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_HERE):
            raise
        raise ConfigurationError(f"{error} ({place_of(user)})") from None


@contextmanager
def ready(user: object, verb: str) -> Iterator[None]:
    """Call `prepare(context)` before a task's records and `cleanup()` after them, of an object that has them.

    Each may be called any number of times in one process, once for a task; `cleanup` also after an error, unless it was
    raised by `prepare`. What the object keeps between the two is the task's own copy.
    """
    prepare, cleanup = getattr(user, "prepare", None), getattr(user, "cleanup", None)
    if prepare is not None:
        refuse_promise(prepare(_context(verb)), f"prepare of {type(user).__name__}")
    try:
        yield
    finally:
        if cleanup is not None:
            refuse_promise(cleanup(), f"cleanup of {type(user).__name__}")


def refuse_promise(made: object, what: str) -> None:
    """Refuse what a user's code has returned instead of doing its work: nobody runs it."""
    if inspect.isgenerator(made) or inspect.isawaitable(made) or inspect.isasyncgen(made):
        close = getattr(made, "close", None)
        if callable(close):
            close()  # else Python warns that it was never run
        raise ConfigurationError(
            f"{what} returned a {type(made).__name__}, of which nothing has run: it must do its work when called. "
            "Nothing of the batch was applied"
        )


class ReadyTogether:
    """Makes several objects of a user's ready for a task, and cleans them up; for one task at a time."""

    def __init__(self) -> None:
        self._open: list[ExitStack] = []

    def prepare(self, users: Iterable[object], context: OperationContext) -> None:
        """Make them ready, in their order; those that are, are cleaned up if another one fails at it."""
        with ExitStack() as opened:
            for user in users:
                opened.enter_context(ready(user, context.verb))
            self._open.append(opened.pop_all())

    def cleanup(self) -> None:
        """Clean all of them up, also when one fails at it."""
        self._open.pop().close()


def _context(verb: str) -> OperationContext:
    task = TaskContext.get()
    return OperationContext(verb, task.partitionId(), task.attemptNumber()) if task else OperationContext(verb, 0, 0)
