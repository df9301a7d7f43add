"""The three levels of a topology: where a batch's effects stand around the durable record that it is done."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """What a topology promises about each record, whatever dies and whenever."""

    EXACTLY_ONCE = "exactly_once"
    """It changes every result once: what a batch changes is staged before it is recorded, and applied with it."""
    AT_LEAST_ONCE = "at_least_once"
    """It is in every result, and may be there more than once: a batch is written before it is recorded."""
    AT_MOST_ONCE = "at_most_once"
    """It is in no result twice, and may be in none: a batch is recorded before it is written."""

    @property
    def is_plain(self) -> bool:
        """Whether results are written as they come, with nothing stored beside them."""
        return self is not Level.EXACTLY_ONCE

    @property
    def not_promised(self) -> str:
        """Say in words what it does not promise; empty where nothing is left out."""
        return _NOT_PROMISED[self]


_NOT_PROMISED = {
    Level.EXACTLY_ONCE: "",
    Level.AT_LEAST_ONCE: (
        "after a failure, or when its process dies, what was not recorded as done is read and written again, so "
        "records may count several times; tasks write a large batch before those before it are done"
    ),
    Level.AT_MOST_ONCE: (
        "a batch is recorded as done before it is read, so one that fails, or whose process dies, is lost and never "
        "tried again; batches are written side by side, in no order"
    ),
}
