"""The legal moves of a batch, as data: `(status, word) -> status`; anything else poisons the coordinator.

docs/design.md has the diagram that is drawn from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Status(StrEnum):
    """Where a live attempt stands."""

    PLANNING = "planning"
    PROCESSING = "processing"
    READY = "ready"
    """Read to the end, all of it acked, staged; waits for its commit turn."""
    TURNING = "turning"
    """Has the commit turn and does the work that reads what the topology itself wrote; still without effect."""
    PINNING = "pinning"
    """Has the commit turn; until the pin's answer is known nobody may drop it."""
    APPLYING = "applying"
    """Pinned: only rolled forward from here on."""
    FINISHING = "finishing"
    """Every state has it; `done` is on its way."""
    BLOCKED = "blocked"
    """Can't go on, whatever is tried: ends the run once everything before it is done, and is void if that fails.

    Also what becomes of the txid whose last try has failed. Nothing more is heard of its attempt.
    """
    DONE = "done"
    """Ended well; no longer live."""
    DROPPED = "dropped"
    """Ended without effect; no longer live."""


class Word(StrEnum):
    """What can come back about a live attempt."""

    PLANNED = "planned"
    NOTHING_TO_PLAN = "nothing to plan"
    """There is nothing to read, or what there is is left for a fuller batch: the number is given back."""
    PROCESSED = "processed"
    TURN = "turn"
    """The commit turn, of a topology without work in it: on to the pin."""
    TURN_BEGUN = "turn begun"
    """The commit turn, of a topology with work in it."""
    TURN_WORKED = "turn worked"
    PINNED = "pinned"
    APPLIED = "applied"
    """By the last state that was waited for."""
    COMMITTED = "committed"
    """Pinned, applied and done in one transaction."""
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    """It failed in a way that no other attempt at the same records would mend."""


TRANSITIONS: Mapping[tuple[Status, Word], Status] = {
    (Status.PLANNING, Word.PLANNED): Status.PROCESSING,
    (Status.PLANNING, Word.NOTHING_TO_PLAN): Status.DROPPED,
    (Status.PROCESSING, Word.PROCESSED): Status.READY,
    (Status.READY, Word.TURN): Status.PINNING,
    (Status.READY, Word.TURN_BEGUN): Status.TURNING,
    (Status.TURNING, Word.TURN_WORKED): Status.PINNING,
    (Status.PINNING, Word.PINNED): Status.APPLYING,
    (Status.PINNING, Word.COMMITTED): Status.DONE,
    (Status.APPLYING, Word.APPLIED): Status.FINISHING,
    (Status.FINISHING, Word.FINISHED): Status.DONE,
    (Status.PROCESSING, Word.FAILED): Status.DROPPED,
    (Status.READY, Word.FAILED): Status.DROPPED,
    (Status.TURNING, Word.FAILED): Status.DROPPED,
    (Status.PINNING, Word.FAILED): Status.DROPPED,
    (Status.PLANNING, Word.STOPPED): Status.BLOCKED,
    (Status.PROCESSING, Word.STOPPED): Status.BLOCKED,
    (Status.TURNING, Word.STOPPED): Status.BLOCKED,
}


class IllegalTransitionError(Exception):
    """A word came that its batch's status does not allow: a bug, never a fault of the outside world."""


def move(status: Status, word: Word) -> Status:
    """Return the status after the word; raises IllegalTransitionError for a pair that is not listed."""
    try:
        return TRANSITIONS[status, word]
    except KeyError:
        raise IllegalTransitionError(f"{word!r} is not legal for a batch that is {status!r}") from None
