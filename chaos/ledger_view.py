"""What the tables say, read as an operator would: by SQL, beside the drivers and not through their proxies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row

_LOOK = """
    SELECT p.done, p.pinned, f.number AS epoch, split_part(f.holder, ':', 2)::int AS holder,
           (SELECT coalesce(sum(records), 0)::bigint FROM trident_commit) AS records,
           ARRAY(SELECT txid FROM trident_plan WHERE status = 'live' AND txid > p.done ORDER BY txid) AS in_flight,
           ARRAY(SELECT attempt FROM trident_plan WHERE status = 'live' AND txid > p.done ORDER BY txid) AS attempts
    FROM trident_progress p JOIN trident_fence f USING (topology)
"""
_WRITER = """
    SELECT client_port FROM pg_stat_activity JOIN pg_locks USING (pid)
    WHERE relation = to_regclass('trident_applied') AND mode = 'RowExclusiveLock' AND granted AND client_port > 0
"""
_WRITTEN_BY = """
    SELECT 'plan', attempt, 'planned' FROM trident_plan WHERE epoch = %(epoch)s
    UNION ALL SELECT 'pin', txid, plan FROM trident_pin WHERE epoch = %(epoch)s
    UNION ALL SELECT 'commit', txid, done_at::text FROM trident_commit WHERE epoch = %(epoch)s
"""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the ledger."""

    done: int = 0
    pinned: int | None = None
    epoch: int = 0
    holder: int = 0
    """Process id of the driver that holds the topology."""
    records: int = 0
    in_flight: Sequence[int] = ()
    attempts: Sequence[int] = ()

    @property
    def is_pinned(self) -> bool:
        """Whether a txid is decided and not done."""
        return self.pinned is not None and self.pinned > self.done

    @property
    def phase(self) -> str:
        """What the ledger says of the lowest txid in flight."""
        if not self.in_flight:
            return "idle"
        return "pinned, not done" if self.is_pinned else "planned, not pinned"


class LedgerView:
    """Looks at the ledger, and at the states' databases; from one thread. Survives a restart of the server."""

    def __init__(self, ledger_dsn: str, state_dsns: dict[str, str]) -> None:
        self._ledger = ledger_dsn
        self._states = state_dsns
        self._connections: dict[str, psycopg.Connection] = {}

    def close(self) -> None:
        """Close all connections; may be called again."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def look(self) -> Look:
        """Return what the ledger says now."""
        if self._rows(self._ledger, "SELECT to_regclass('trident_commit')")[0][0] is None:
            return Look()
        connection = self._connection(self._ledger)
        with connection.cursor(row_factory=class_row(Look)) as cursor:
            return cursor.execute(_LOOK).fetchone() or Look()

    def applied(self, state: str) -> int:
        """Return the txid that a state stands at."""
        statement = "SELECT txid FROM trident_applied WHERE state = %(state)s"
        return int(self._rows(self._states[state], statement, {"state": state})[0][0])

    def writer_ports(self) -> list[int]:
        """Return the server's names of the connections that are in the middle of changing a state."""
        databases = dict.fromkeys([self._ledger, *self._states.values()])
        return [int(row[0]) for dsn in databases for row in self._rows(dsn, _WRITER)]

    def committed_attempt(self, txid: int) -> tuple[int, int]:
        """Return with which attempt a txid was committed, and at which try."""
        statement = "SELECT attempt, tries FROM trident_commit WHERE txid = %(txid)s"
        attempt, tries = self._rows(self._ledger, statement, {"txid": txid})[0]
        return int(attempt), int(tries)

    def written_by(self, epoch: int) -> set[tuple[object, ...]]:
        """Return every row of the ledger that an epoch wrote, and where it left the states."""
        rows = {tuple(row) for row in self._rows(self._ledger, _WRITTEN_BY, {"epoch": epoch})}
        for state, dsn in self._states.items():
            statement = "SELECT state, txid FROM trident_applied WHERE epoch = %(epoch)s AND state = %(state)s"
            rows |= {tuple(row) for row in self._rows(dsn, statement, {"epoch": epoch, "state": state})}
        return rows

    def _rows(self, dsn: str, statement: str, values: dict[str, object] | None = None) -> list[tuple[Any, ...]]:
        try:
            return self._connection(dsn).execute(statement, values).fetchall()
        except psycopg.OperationalError:  # the server was restarted
            self._connections.pop(dsn).close()
            return self._connection(dsn).execute(statement, values).fetchall()

    def _connection(self, dsn: str) -> psycopg.Connection:
        if dsn not in self._connections:
            self._connections[dsn] = psycopg.connect(dsn, autocommit=True)
        return self._connections[dsn]
