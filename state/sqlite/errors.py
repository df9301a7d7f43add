"""What SQLite's errors mean for the caller: one table by primary result code."""

from __future__ import annotations

import sqlite3

from trident.base.errors import FatalError, RefusedError, RetryableError, TridentError
from trident.state.databases.transactions import driver_error

_RETRYABLE = {
    sqlite3.SQLITE_BUSY: "another writer held the file for too long",
    sqlite3.SQLITE_LOCKED: "a table was locked",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the file system failed",
    sqlite3.SQLITE_NOMEM: "out of memory",
    sqlite3.SQLITE_INTERRUPT: "interrupted",
}
_REFUSED = {
    sqlite3.SQLITE_CONSTRAINT: "a constraint",
    sqlite3.SQLITE_TOOBIG: "a value is too large",
    sqlite3.SQLITE_MISMATCH: "a value has the wrong type",
}
_NAMED = {
    sqlite3.SQLITE_CONSTRAINT_CHECK: "constraint CHECK",
    sqlite3.SQLITE_CONSTRAINT_NOTNULL: "constraint NOT NULL at column",
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: "constraint UNIQUE at columns",
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: "constraint PRIMARY KEY at columns",
}
_FATAL = {
    sqlite3.SQLITE_CANTOPEN: "the file can't be opened; check its folder and rights",
    sqlite3.SQLITE_READONLY: "the file can't be written; check its rights",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup",
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
}


def is_lost(error: BaseException) -> bool:
    """Tell whether a COMMIT that failed with this error may have happened all the same."""
    return _primary(error) == sqlite3.SQLITE_IOERR


def is_busy(error: BaseException) -> bool:
    """Tell whether another connection was in the way."""
    return _primary(error) == sqlite3.SQLITE_BUSY


def is_refusal(error: BaseException) -> bool:
    """Tell whether it refuses rows for good."""
    return isinstance(classify(driver_error(error)), RefusedError)


def classify(error: BaseException) -> TridentError:
    """Return the error to raise instead; never quotes values."""
    code = _primary(error)
    if code in _RETRYABLE:
        return RetryableError(f"SQLite: {_RETRYABLE[code]}; rolled back, nothing was written")
    if code in _REFUSED:
        what = _constraint(error) or _REFUSED[code]
        return RefusedError(f"SQLite refused the rows for good: {what}; nothing was written")
    if code in _FATAL:
        return FatalError(f"SQLite: {_FATAL[code]}; nothing was written")
    return FatalError(f"SQLite: {type(error).__name__}: {error}; rolled back, nothing was written")


def _constraint(error: BaseException) -> str | None:
    """Return which constraint it was, and of which table or columns, where SQLite says so.

    Only of kinds whose text is made of names alone: what a trigger says may hold the row.
    """
    kind = _NAMED.get(getattr(error, "sqlite_errorcode", 0))
    if kind is None:
        return None
    name = str(error).partition("constraint failed: ")[2]
    return f"{kind} {name!r}" if name else None


def _primary(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None
