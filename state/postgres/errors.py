"""What Postgres' errors mean for the caller: one table by SQLSTATE."""

from __future__ import annotations

import psycopg

from trident.base.errors import FatalError, RefusedError, RetryableError, TridentError

_RETRYABLE = (
    "08",  # connection lost or refused
    "25P03",  # idle in transaction for too long: this process was stopped
    "40001",  # serialization failure
    "40P01",  # deadlock
    "53",  # out of memory, disk or connections
    "55P03",  # lock_timeout
    "57014",  # statement cancelled
    "57P",  # server shutting down, crashed or starting
)
_REFUSED = ("22", "23", "54")
_CONNECT_FATAL = {
    "password authentication failed": "the user or password is wrong",
    "no password supplied": "the server wants a password and the DSN has none",
    "no pg_hba.conf entry": "the server does not let this user in from here (pg_hba.conf)",
    "does not exist": "the database or the role in the DSN does not exist",
    "permission denied for database": "the user may not connect to this database",
}


def is_lost(error: BaseException) -> bool:
    """Tell whether this error means that the server's answer never came."""
    if not isinstance(error, psycopg.Error):
        return False
    state = error.sqlstate
    return isinstance(error, psycopg.OperationalError) and (state is None or state.startswith(("08", "57P")))


def classify(error: BaseException) -> TridentError:
    """Return the error to raise instead; never quotes values, which Postgres puts into its texts."""
    if not isinstance(error, psycopg.Error):
        return FatalError(f"the database layer failed with {type(error).__name__}; the transaction was rolled back")
    state = error.sqlstate
    if state is None:
        return _without_state(error)
    where = _where(error)
    if state.startswith(_RETRYABLE):
        return RetryableError(f"Postgres: {error.diag.message_primary} ({state}); rolled back, nothing was written")
    if state.startswith(_REFUSED):
        kind = type(error).__name__
        return RefusedError(f"Postgres refused the rows for good: {kind} ({state}){where}; nothing was written")
    if state.startswith(("28", "3D")):
        return FatalError(f"can't connect to Postgres: {error.diag.message_primary}; check the DSN")
    return FatalError(f"Postgres: {error.diag.message_primary} ({state}){where}; rolled back, nothing was written")


def _without_state(error: psycopg.Error) -> TridentError:
    text = str(error)
    for part, meaning in _CONNECT_FATAL.items():
        if "FATAL" in text and part in text:
            return FatalError(f"can't connect to Postgres: {meaning}; nothing was written, correct the DSN")
    if isinstance(error, psycopg.OperationalError):
        return RetryableError(f"no connection to Postgres: {text.splitlines()[0] if text else 'it was lost'}")
    if isinstance(error, psycopg.DataError):
        return RefusedError("Postgres can't hold one of the rows; nothing was written")
    return FatalError(f"Postgres driver: {type(error).__name__}; rolled back, nothing was written")


def _where(error: psycopg.Error) -> str:
    named = {
        "table": error.diag.table_name,
        "column": error.diag.column_name,
        "constraint": error.diag.constraint_name,
    }
    found = ", ".join(f"{what} {name!r}" for what, name in named.items() if name)
    return f" at {found}" if found else ""
