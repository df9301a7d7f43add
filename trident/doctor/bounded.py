"""A look with an end: of a server that keeps silent, too, something is said in time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from trident.base.performing import perform

_T = TypeVar("_T")


def bounded(look: Callable[[], _T], seconds: float, name: str) -> _T:
    """Return what a look finds, or raise TimeoutError after so long: then it is left to itself, in a daemon thread."""
    future: Future[_T] = Future()
    threading.Thread(target=perform, args=(look, future), name=f"trident-doctor {name}", daemon=True).start()
    return future.result(seconds)
