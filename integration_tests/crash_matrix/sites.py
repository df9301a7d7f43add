"""Where ledger, states and sinks of a case live, and what happens around its deaths."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from trident.base.crash_points import CrashPoint as P

TARGET: Final = 2
"""The txid that is in flight when the coordinator dies."""


class Site(StrEnum):
    """Where ledger and ends live."""

    SQLITE = "sqlite"
    """One file: the shortcut."""
    POSTGRES = "postgres"
    """One database: the shortcut."""
    APART = "apart"
    """The state in a database of its own."""
    TWO_DATABASES = "two databases"
    """Two states in two databases, none of them the ledger's."""
    BESIDE_AND_APART = "beside and apart"
    """One state beside the ledger, applied with the pin, and one in a database of its own, applied after it."""
    PER_KEY = "per key"
    """A per-key backing map with a conditional put."""
    SQLITE_ROWS = "rows in sqlite"
    """A state and two tables of rows in the ledger's file: the shortcut."""
    ROWS_BESIDE = "rows beside"
    """A state and two tables of rows in the ledger's database: the shortcut."""
    ROWS_APART = "rows apart"
    """A state beside the ledger, and two tables of rows in a database of their own."""
    KAFKA = "kafka"
    """A state in the ledger's file, and a sink that sends before done."""
    OUTBOX = "outbox"
    """A state in the ledger's database, and a sink whose records wait there: the shortcut, sent afterwards."""
    OUTBOX_APART = "outbox and apart"
    """A sink whose records wait beside the ledger, and a state in a database of its own."""

    TURN = "turn"
    """Two states in the ledger's database, what one of them gets made in the commit turn: the shortcut."""
    TURN_APART = "turn and apart"
    """A state beside the ledger, and one in a database of its own, whose updates are made in the commit turn."""


ON_SQLITE: Final = frozenset({Site.SQLITE, Site.PER_KEY, Site.SQLITE_ROWS, Site.KAFKA})
"""Where the ledger is a SQLite file; else it is in PostgreSQL."""
WITH_KAFKA: Final = frozenset({Site.KAFKA, Site.OUTBOX, Site.OUTBOX_APART})
IN_TURN: Final = frozenset({Site.TURN, Site.TURN_APART})
"""Where the last end is made in the commit turn."""
WITH_ROWS: Final = frozenset({Site.SQLITE_ROWS, Site.ROWS_BESIDE, Site.ROWS_APART})
WITH_SINKS: Final = WITH_KAFKA | WITH_ROWS


class Script(StrEnum):
    """What happens around the death."""

    BATCH = "batch"
    """The coordinator dies with the target txid in flight; the next one runs to the end."""
    BIRTH = "birth"
    """The first coordinators ever die while they take over."""
    TAKE_OVER = "take-over"
    """One dies with the target in flight, then its successors while they take over."""
    RESET = "reset"
    """One dies with the target in flight, then those who reset the topology."""
    RETRY = "retry"
    """An end refuses the target, nothing of it is pinned, and a person has it tried again."""
    UNDO = "undo"
    """The target is pinned and in part applied, and a person undoes it."""
    DIVERT = "divert"
    """An end refuses the target, and a person diverts its rows."""
    DIVERT_WAITING = "divert waiting"
    """The target is done, a sink can't send what waits of it, and a person diverts that."""
    ADDED = "an end is added"
    """One dies with the target in flight, then one with a version that has one end more, while it takes over."""
    WRONG_VERSION = "a wrong version"
    """One dies with the target in flight, then a version that has to be refused dies, and is refused."""


DECISIONS: Final = (Script.RETRY, Script.UNDO, Script.DIVERT, Script.DIVERT_WAITING)
OF_SESSIONS: Final = frozenset(
    {
        P.AFTER_SESSION,
        P.AFTER_READING_MARKER,
        P.SENDING,
        P.BEFORE_MARKER,
        P.BEFORE_END_OF_TRANSACTION,
        P.AFTER_END_OF_TRANSACTION,
    }
)
"""Reached by every session of a sink: those of a take-over, which are of no txid, and those that send."""
OF_RELAYS: Final = frozenset({P.BEFORE_RELAY, P.IN_TRIM, P.AFTER_TRIM})
