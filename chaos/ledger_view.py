"""What the tables say, read as an operator would: by SQL, beside the drivers and not through their proxies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.databases import AwayError, Database, NoTableError, Row, is_postgres

_LOOK = """
    SELECT p.done, p.pinned, f.number, f.holder, (SELECT coalesce(sum(records), 0) FROM trident_commit),
           live.txid, live.attempt
    FROM trident_progress p JOIN trident_fence f ON f.topology = p.topology
    LEFT JOIN trident_plan live ON live.topology = p.topology AND live.status = 'live' AND live.txid > p.done
    ORDER BY live.txid
"""
_WRITER = """
    SELECT client_port FROM pg_stat_activity JOIN pg_locks USING (pid)
    WHERE relation = to_regclass('trident_applied') AND mode = 'RowExclusiveLock' AND granted AND client_port > 0
"""
_WRITTEN_BY = """
    SELECT 'plan', attempt, 'planned' FROM trident_plan WHERE epoch = :epoch
    UNION ALL SELECT 'pin', txid, plan FROM trident_pin WHERE epoch = :epoch
    UNION ALL SELECT 'commit', txid, CAST(done_at AS text) FROM trident_commit WHERE epoch = :epoch
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

    def __init__(self, ledger: str, states: dict[str, str]) -> None:
        self._ledger = ledger
        self._states = states
        self._databases: dict[str, Database] = {}

    def close(self) -> None:
        """Close all connections; may be called again."""
        for database in self._databases.values():
            database.close()

    def look(self) -> Look:
        """Return what the ledger says now."""
        try:
            rows = self._rows(self._ledger, _LOOK)
        except NoTableError:
            return Look()
        if not rows:
            return Look()
        done, pinned, epoch, holder, records, *_ = rows[0]
        live = [(int(row[5]), int(row[6])) for row in rows if row[5] is not None]
        txids, attempts = [txid for txid, _ in live], [attempt for _, attempt in live]
        return Look(done, pinned, epoch, int(holder.split(":")[1]), int(records), txids, attempts)

    def applied(self, state: str) -> int:
        """Return the txid that a state stands at."""
        statement = "SELECT txid FROM trident_applied WHERE state = :state"
        return int(self._rows(self._states[state], statement, state=state)[0][0])

    def writer_ports(self) -> list[int]:
        """Return the server's names of the connections that are in the middle of changing a state."""
        databases = dict.fromkeys([self._ledger, *self._states.values()])
        return [int(row[0]) for address in databases if is_postgres(address) for row in self._rows(address, _WRITER)]

    def committed_attempt(self, txid: int) -> tuple[int, int]:
        """Return with which attempt a txid was committed, and at which try."""
        statement = "SELECT attempt, tries FROM trident_commit WHERE txid = :txid"
        attempt, tries = self._rows(self._ledger, statement, txid=txid)[0]
        return int(attempt), int(tries)

    def written_by(self, epoch: int) -> set[tuple[object, ...]]:
        """Return every row of the ledger that an epoch wrote, and where it left the states."""
        rows = set(self._rows(self._ledger, _WRITTEN_BY, epoch=epoch))
        for state, address in self._states.items():
            statement = "SELECT state, txid FROM trident_applied WHERE epoch = :epoch AND state = :state"
            rows |= set(self._rows(address, statement, epoch=epoch, state=state))
        return rows

    def _rows(self, address: str, statement: str, **values: object) -> list[Row]:
        database = self._databases.setdefault(address, Database(address))
        try:
            return database.rows(statement, **values)
        except AwayError:  # the server was restarted
            return database.rows(statement, **values)
