"""Whether an attempt that is read in this process is wanted still: Spark can only end what runs in tasks.

It lies here since spouts are the lowest that read; the engine says what it has given up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from trident.base.errors import RetryableError
from trident.base.signals import StopSignal

_given_up: ContextVar[StopSignal | None] = ContextVar("trident_given_up", default=None)


@contextmanager
def reading_until(given_up: StopSignal) -> Iterator[None]:
    """Let what the calling thread reads in the block end soon after that is set."""
    token = _given_up.set(given_up)
    try:
        yield
    finally:
        _given_up.reset(token)


def require_wanted() -> None:
    """Raise RetryableError once the attempt that this thread reads was given up; asked often while it reads."""
    if not is_wanted():
        raise RetryableError("the attempt was given up while it was read; nothing of it was applied")


def is_wanted() -> bool:
    """Tell whether nobody has given up the attempt that this thread is at work for."""
    given_up = _given_up.get()
    return given_up is None or not given_up.is_set()
