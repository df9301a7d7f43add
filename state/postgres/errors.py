"""What Postgres' errors mean for the caller: one table by SQLSTATE."""

from __future__ import annotations

import re

import psycopg

from trident.base.errors import FatalError, RefusedError, RetryableError, TridentError
from trident.state.databases.transactions import driver_error

_RETRYABLE = (
    "08",  # connection lost or refused
    "25006",  # read-only for now: maintenance, or a standby that is not promoted yet
    "25P03",  # idle in transaction for too long: this process was stopped
    "40001",  # serialization failure
    "40P01",  # deadlock
    "53",  # out of memory, disk or connections
    "55P03",  # lock_timeout
    "57014",  # statement cancelled
    "57P",  # server shutting down, crashed or starting
)
_REFUSED = (
    "22",  # a value that its type or a function can't take
    "23",  # a constraint
    "38",  # a function in another language
    "44",  # a view's check option
    "54",  # a limit of the server
    "P0",  # a function in PL/pgSQL: RAISE, ASSERT, no row where one must be
)
_OF_A_ROW = "ExecWithCheckOptions"
"""Where the server holds new rows against policies of row-level security, under the SQLSTATE of a missing right."""
_LANGUAGES = ("pl_exec.c", "plpy_elog.c", "plperl.c", "pltcl.c")
"""Where the server raises what a function of a user's says, under whatever SQLSTATE that chose."""
_IN_FUNCTION = re.compile(r"\bPL/\w+|^SQL function ")
"""What the last line of a context has, in whatever language, when a function's own statement has failed."""
_FUNCTION = re.compile(r"([^\s()\"]+)\(|\"([^\"]+)\"")
_NO_SCHEMA = (
    "The search_path of the role, or of the address, has to name a schema that is there and that the role may use "
    "(GRANT USAGE, CREATE ON SCHEMA)"
)
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


def is_read_only(error: BaseException | None) -> bool:
    """Tell whether this error is that of a session that may not write, and will not for as long as it lives."""
    found = driver_error(error) if error is not None else None
    return isinstance(found, psycopg.Error) and found.sqlstate == "25006"


def is_of_a_function(error: BaseException | None) -> bool:
    """Tell whether its words are those of a function that users made, a trigger's mostly; they may hold a row."""
    found = driver_error(error) if error is not None else None
    return isinstance(found, psycopg.Error) and (found.diag.source_file or "").endswith(_LANGUAGES)


def _is_inside_a_function(error: psycopg.Error) -> bool:
    """Tell whether a function raised it, or a statement of its own did: what that says may be made of a row, too."""
    return is_of_a_function(error) or _IN_FUNCTION.search(_outermost(error)) is not None


def _outermost(error: psycopg.Error) -> str:
    """Return what our own statement has called; the lines before it may quote what that has executed."""
    return (error.diag.context or "").rpartition("\n")[2]


def may_quote_a_row(error: BaseException | None) -> bool:
    """Tell whether the driver's text has words of a function's, or of what it executed."""
    found = driver_error(error) if error is not None else None
    return isinstance(found, psycopg.Error) and (is_of_a_function(found) or bool(found.diag.context))


def is_out_of_range(error: BaseException) -> bool:
    """Tell whether a number left the range of its type, in our own statement and not in a user's function."""
    found = driver_error(error)
    return isinstance(found, psycopg.Error) and found.sqlstate == "22003" and not _is_inside_a_function(found)


def is_row_twice(error: BaseException) -> bool:
    """Tell whether a MERGE found two rows for a stored one, in our own statement and not in a user's function."""
    found = driver_error(error)
    return isinstance(found, psycopg.Error) and found.sqlstate == "21000" and not _is_inside_a_function(found)


def is_refusal(error: BaseException) -> bool:
    """Tell whether it refuses rows for good."""
    return isinstance(classify(driver_error(error)), RefusedError)


def is_lock_timeout(error: BaseException | None) -> bool:
    """Tell whether this error, or the driver's one inside of it, is that of a lock that was not given in time."""
    found = driver_error(error) if error is not None else None
    return isinstance(found, psycopg.Error) and found.sqlstate == "55P03"


def classify(error: BaseException) -> TridentError:
    """Return the error to raise instead; never quotes values, which Postgres puts into its texts."""
    if not isinstance(error, psycopg.Error):
        return FatalError(f"the database layer failed with {type(error).__name__}; the transaction was rolled back")
    state = error.sqlstate
    if state is None:
        return _without_state(error)
    where = _where(error)
    if state.startswith(_RETRYABLE):
        said = f"an error{where}" if is_of_a_function(error) else error.diag.message_primary
        return RetryableError(f"Postgres: {said} ({state}); rolled back, nothing was written")
    of_a_row = error.diag.source_function == _OF_A_ROW
    if state.startswith(_REFUSED) or of_a_row or _is_inside_a_function(error):
        kind = type(error).__name__
        return RefusedError(f"Postgres refused the rows for good: {kind} ({state}){where}; nothing was written")
    if state.startswith(("28", "3D")):
        return FatalError(f"can't connect to Postgres: {error.diag.message_primary}; check the DSN")
    way = f". {_NO_SCHEMA}" if state == "3F000" else ""
    return FatalError(f"Postgres: {error.diag.message_primary} ({state}){where}; rolled back, nothing was written{way}")


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


def _function_of(error: psycopg.Error) -> str | None:
    """Return the name of the function that our own statement has called."""
    found = _FUNCTION.search(_outermost(error)) if _is_inside_a_function(error) else None
    return found.group(1) or found.group(2) if found else None


def _where(error: psycopg.Error) -> str:
    named = {
        "table": error.diag.table_name,
        "column": error.diag.column_name,
        "constraint": error.diag.constraint_name,
        "function": _function_of(error),
    }
    found = ", ".join(f"{what} {name!r}" for what, name in named.items() if name)
    return f" at {found}" if found else ""
