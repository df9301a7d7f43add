"""Named places where a process may die: the tests let it die at each of them, in production nothing happens.

A process-wide switch instead of an argument: the places lie in stores, readers and Spark tasks as
well, and an argument would have to go through every constructor that users see. Not armed, a place
costs one comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum


class CrashPoint(StrEnum):
    """Every border between two effects, in the order of a batch's life; then those of a coordinator's."""

    BEFORE_PLAN = "before the plan is written"
    AFTER_PLAN = "after the plan is written"
    READING = "while ranges are read"
    AFTER_COPY = "after a task's COPY, before its manifest"
    AFTER_PROCESSING = "after all jobs came back"
    AFTER_STAGING = "after a state's updates are staged"
    AFTER_ACK = "after everything is acked"
    IN_TURN = "in the commit turn"
    BEFORE_TURN_WORK = "in the commit turn, before its work"
    AFTER_TURN_WORK = "in the commit turn, after its work is staged"
    BEFORE_PIN = "before the pin is written"
    IN_PIN_TRANSACTION = "in the transaction of pin, applies and done, before its COMMIT"
    AFTER_PIN = "after the pin is written"
    IN_APPLY = "in a state's own transaction, before its COMMIT"
    BETWEEN_CHUNKS = "between two chunks of a per-key store"
    BEFORE_POSITION = "after a per-key store's chunks, before its position"
    AFTER_SESSION = "sink: a session has fenced all others, its marker is not read yet"
    AFTER_READING_MARKER = "sink: its session has read the newest marker, nothing is sent yet"
    SENDING = "sink: one more record is sent"
    BEFORE_MARKER = "sink: rows are sent, the marker is not"
    BEFORE_END_OF_TRANSACTION = "sink: rows and marker are sent, the transaction is open"
    AFTER_END_OF_TRANSACTION = "sink: the transaction is committed"
    AFTER_SHARES = "sink: every producer has sent its share, the sink's own marker has not moved"
    BEFORE_RELAY = "outbox: what waits is read, no session is begun"
    IN_TRIM = "outbox: in the transaction that trims, before its COMMIT"
    AFTER_TRIM = "outbox: what was sent is taken out of it"
    AFTER_APPLY = "after the apply to one state"
    BEFORE_DONE = "after every apply, before done"
    AFTER_DONE = "after done, before spouts are told"
    BEFORE_CLEAN_UP = "before history is cleaned up"
    BETWEEN_CLEAN_UPS = "between the clean-ups of ledger and states"
    BEFORE_RENEWAL = "before the lease is renewed"
    AFTER_RENEWAL = "after the lease is renewed"
    AFTER_LEASE = "take-over: the ledger's epoch is raised"
    AFTER_LOOKING = "take-over: ledger and states were looked at, nothing is changed yet"
    AFTER_PREPARATION = "take-over: a state's tables are there"
    AFTER_FENCE = "take-over: a state's epoch is raised"
    AFTER_READING_LEDGER = "take-over: all that is open is read"
    AFTER_CHECKING = "take-over: where the states stand is checked"
    AFTER_REGISTRATION = "take-over: the topology is registered, nothing is refused any more"
    AFTER_RECORDING_BIRTHS = "take-over: the births of new states are recorded"
    BETWEEN_BIRTHS = "take-over: a new sink has its first marker, and is not registered beside the ledger yet"
    AFTER_BIRTH = "take-over: a new state is registered"
    AFTER_STARTS = "take-over: start positions are stored"
    AFTER_DECIDING_RESET = "reset: the decision is recorded"
    AFTER_RESETTING_STATE = "reset: one state follows the decision"
    AFTER_RESET = "reset: the new incarnation is open"
    AFTER_REFUSING = "a refusal is recorded, before its coordinator stops"
    AFTER_DECIDING_RETRY = "retry: the decision is recorded"
    AFTER_DECIDING_DIVERT = "divert: the decision is recorded"
    AFTER_STAGING_KEPT = "divert: what the state takes of the pinned rows is staged, nothing is decided yet"
    AFTER_DIVERTING = "divert: the rows are kept, the pin has none of them"
    IN_DIVERTING_WAITING = "divert: in the transaction that takes out what waits, before its COMMIT"
    AFTER_DIVERTING_WAITING = "divert: what waited is kept by the ledger"
    AFTER_DECIDING_UNDO = "undo: the decision is recorded"
    BETWEEN_UNDONE_CHUNKS = "undo: between two chunks of a per-key store"
    IN_UNDO = "undo: in a state's own transaction, before its COMMIT"
    AFTER_UNDOING_STATE = "undo: one state is back at the txid before"
    AFTER_UNPINNING = "undo: the pin is taken back"
    BEFORE_DROPPING = "drop: all that is done is in it or sent, the topology still has it"
    AFTER_DROPPING = "drop: the topology has it no more"
    BEFORE_DECIDING_FORGET = "forget: every fence is raised and all was tried, nothing is recorded"
    AFTER_DECIDING_FORGET = "forget: the decision is recorded"
    IN_FORGETTING = "forget: in a target's own transaction, before its COMMIT"
    BETWEEN_FORGETTINGS = "forget: a sink is let go of in its cluster, beside the ledger it is not yet"
    AFTER_FORGETTING_TARGET = "forget: one target is let go of"
    AFTER_NOTING_TARGET = "forget: the ledger has noted that one target is let go of"
    AFTER_FORGETTING = "forget: the ledger has nothing of it any more but the numbers that it used up"
    BEFORE_RENAMING = "rename: all that is pinned is done, ledger and states have the former names"
    AFTER_RENAMING = "rename: the ledger has the new names, no state has followed yet"
    AFTER_FOLLOWING = "rename: one state stands under its new name"


Action = Callable[[CrashPoint, int], None]
"""Gets the place and the txid that is dealt with there, 0 where there is none."""

_action: Action | None = None


def reached(point: CrashPoint, txid: int = 0) -> None:
    """Say that the place is reached; does nothing unless a test has armed this process."""
    if _action is not None:
        _action(point, txid)


@contextmanager
def armed(action: Action) -> Iterator[None]:
    """Call the action at every place that this process reaches while the block runs, from any thread."""
    global _action
    before, _action = _action, action
    try:
        yield
    finally:
        _action = before
