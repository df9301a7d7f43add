"""Who is told of errors, as a value: the loop and the threads say so, and know nothing of reports."""

from __future__ import annotations

from collections.abc import Callable

from trident.base.identity import BatchId

Hears = Callable[[BaseException, BatchId | None], None]
"""Hears of an error, and of which batch it is where that is known; from any thread, and never raises."""


def hear_nothing(error: BaseException, batch: BatchId | None) -> None:
    """Let it be."""
