"""The ledger in a SQLite file: the embedded default where there is no server."""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec
from pathlib import Path

from trident.base.errors import MismatchError
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.coordinators.ledger.sql.opening import refuse_timeouts
from trident.coordinators.ledger.sql.presence import PresenceMark
from trident.coordinators.ledger.sql.viewing import SqlLedgerView
from trident.state.sqlite.database import SqliteDatabase

_CLOCK_SLACK = 2.0
"""By how many seconds two readings of one process's start time may differ."""


class SqliteLedger(SqlLedger):
    """A ledger in a SQLite file; states without a database of their own live in the same file.

    Making one opens nothing. The file must be on a disk of this machine; a lease's holder that died
    on this machine is noticed at once when psutil is installed, else when its lease runs out.
    """

    def __init__(self, path: str | Path, *, busy_seconds: float = 10.0, give_up_after: None = None) -> None:
        refuse_timeouts(give_up_after=give_up_after)
        database = SqliteDatabase(path, busy_seconds=busy_seconds)
        super().__init__(database, ProcessPresence(), f"file {str(path)!r}")
        self._path = path

    def view(self) -> SqlLedgerView:
        """Return what only reads; a file that is not there is not made by that."""
        if not Path(self._path).exists():
            raise MismatchError(
                f"there is no ledger at file {str(self._path)!r}. Nothing was changed; check the address."
            )
        return super().view()

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self._path)!r})"


class ProcessPresence:
    """A holder is known by its process; pid and start time together are never used twice on a host."""

    def hold(self, topology: str, token: str) -> PresenceMark:
        """Return what tells this process from all others."""
        return PresenceMark(os.getpid(), socket.gethostname(), _started(os.getpid()))

    def is_gone(self, topology: str, token: str, mark: PresenceMark) -> bool:
        """Tell whether no process of this host is the holder, as far as can be seen from here.

        A clock that was set moves start times, and another container may have this host's name and processes of its
        own: whoever asks gives the holder the time to show itself.
        """
        if mark.pid is None or mark.started is None or mark.host != socket.gethostname():
            return False
        if find_spec("psutil") is None:
            return False
        return not _may_be(mark.pid, mark.started)

    def keep(self, topology: str, token: str) -> None:
        """Do nothing: the process itself is what shows it."""

    def end(self, topology: str, token: str) -> None:
        """Do nothing: the process itself is what shows it."""

    def close(self) -> None:
        """Do nothing: the process itself is what shows it."""


def _started(pid: int) -> float | None:
    """Return when a process started in seconds since the epoch, None if psutil is missing."""
    if find_spec("psutil") is None:
        return None
    import psutil

    return float(psutil.Process(pid).create_time())


def _may_be(pid: int, started: float) -> bool:
    """Tell whether a process runs that may be the one that started then; one that waits to be reaped runs no more."""
    import psutil

    try:
        process = psutil.Process(pid)
        runs = process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return runs and abs(process.create_time() - started) <= _CLOCK_SLACK
    except psutil.NoSuchProcess:  # of a zombie too, where that is all that is known of it
        return False
    except psutil.AccessDenied:
        return True
