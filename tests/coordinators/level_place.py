"""Where a topology of a drawn life is: its ledger and its targets, in memory or SQLite, as one life sees them."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from tests.coordinators.level_account import Rows
from trident.base.errors import MismatchError
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.coordinators.ledger.view import LedgerView, TopologyStatus
from trident.state import MemoryState, SqliteState
from trident.state.databases.base import SqlTransaction
from trident.state.memory.database import MemoryDatabase
from trident.state.sqlite.database import SqliteDatabase
from trident.state.target import State
from trident.testing.coordinators import PlayedClock
from trident.testing.lives import Life, MortalDatabase, MortalLedger

LEASE = timedelta(seconds=60)
_OWNED = "SELECT 1 FROM trident_plain WHERE topology = ? AND state = ? AND NOT has_left"
Transactions = Callable[[SqliteDatabase], AbstractContextManager[SqlTransaction]]


class LevelPlace:
    """A ledger and two states, of which the second may be apart from it; whether, and in what, is drawn."""

    def __init__(self, rng: random.Random, topology: str, folder: Path) -> None:
        self.life = Life()
        self.clock = PlayedClock()
        self._topology = topology
        self._folder = folder
        self._is_sql = rng.random() < 0.1  # it takes ten times as long
        self._is_apart = rng.random() < 0.5
        self._kept, self._apart = MemoryLedger(), MemoryDatabase()
        self._lives: dict[SqliteDatabase, Life] = {}

    def ledger(self) -> Ledger:
        """Return the ledger, as long as this life lasts."""
        if self._is_sql:
            return SqliteLedger(self._folder / "ledger.sqlite")
        return MortalLedger(self.clock, database=MortalDatabase(self._kept.database, self.life))

    def state(self, target: str) -> State:
        """Return a target, as long as this life lasts."""
        is_apart = self._lives_apart(target)
        if self._is_sql:
            return SqliteState(target, path=self._file(target)) if is_apart else SqliteState(target)
        return MemoryState(target, database=MortalDatabase(self._apart, self.life) if is_apart else None)

    def rows(self, target: str) -> Rows:
        """Read a target by itself."""
        if not self._is_sql:
            found = MemoryState(target).rows(self._apart if self._lives_apart(target) else self._kept.database)
            return {str(row["account"]): int(str(row["n"])) for row in found}
        with sqlite3.connect(self._file(target)) as connection, suppress(sqlite3.OperationalError):
            return dict(connection.execute(f"SELECT account, n FROM {target}"))
        return {}  # there is no table yet

    def is_owned(self, target: str) -> bool:
        """Tell whether the topology has the target, by what is noted where it is."""
        if self._is_sql:
            with sqlite3.connect(self._file(target)) as connection, suppress(sqlite3.OperationalError):
                return connection.execute(_OWNED, (self._topology, target)).fetchone() is not None
            return False
        database = self._apart if self._lives_apart(target) else self._kept.database
        with database.transaction() as transaction:
            return target in transaction.table("plain marks")

    def status(self) -> TopologyStatus | None:
        """Return what the ledger says, None before it knows the topology."""
        with suppress(MismatchError):
            return self._view().status(self._topology)
        return None

    def position(self) -> int:
        """Return up to which record all are done."""
        return 0 if self.status() is None else sum(each.done for each in self._view().progress(self._topology))

    def outlive(self) -> None:
        """Let whatever holds the topology have lost its lease."""
        self.clock.outlive(2 * LEASE)
        if self._is_sql:
            with sqlite3.connect(self._folder / "ledger.sqlite") as connection, suppress(sqlite3.OperationalError):
                connection.execute("UPDATE trident_heartbeat SET released = 1")

    def mortal(self, transaction: Transactions) -> Transactions:
        """Return what SQLite's transactions are in a life: one that its death meets, and each behind it, is undone."""

        @contextmanager
        def mortal(database: SqliteDatabase) -> Iterator[SqlTransaction]:
            life = self._lives.setdefault(database, self.life)  # who is dead writes nothing through what it has opened
            life.require_alive()
            with transaction(database) as opened:
                yield opened
                life.require_alive()

        return mortal

    def _view(self) -> LedgerView:
        return SqliteLedger(self._folder / "ledger.sqlite").view() if self._is_sql else self._kept.view()

    def _lives_apart(self, target: str) -> bool:
        return self._is_apart and target == "two"

    def _file(self, target: str) -> Path:
        return self._folder / ("two.sqlite" if self._lives_apart(target) else "ledger.sqlite")
