"""Memory databases that can lose an answer, or keep a transaction open after its client has gone; plain rows.

`MemoryLedger`, `MemoryTarget` and every rule in them are the product's own. Replaced are only what
Arrow does with rows (`PlainRows`) and how a transaction ends (`SimulatedDatabase`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import cast

import pyarrow as pa

from tests.simulation.data import LAYOUT, PlainTable, held_plain
from trident.base.digest import Digest
from trident.base.errors import MismatchError, OutcomeUnknownError, RetryableError, TridentError
from trident.base.identity import BatchId, Epoch
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.folding import Row, StoredRow
from trident.state.layout import StateKind, StateLayout
from trident.state.memory.database import MemoryDatabase, MemoryTable, MemoryTransaction
from trident.state.memory.staged import ArrowRows
from trident.state.memory.state import MemoryState
from trident.state.memory.target import MemoryTarget
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.target import LedgerDatabase
from trident.testing.state_harness import held

GONE = "<gone>"


class Ending(Enum):
    """What becomes of a transaction whose COMMIT was sent."""

    KEPT = "kept"
    KEPT_UNHEARD = "kept, its answer is lost"
    UNDONE_UNHEARD = "rolled back, its answer is lost"
    AT_WORK = "its answer is lost and the backend is still at work"


class LockedError(Exception):
    """A row that the call needs is locked by a backend still at work; nothing was read or written."""


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction whose client has gone: it holds its row locks until it takes effect, or does not."""

    changes: tuple[tuple[str, object, object], ...]
    epoch: Epoch | None


@dataclass(slots=True)
class Circumstances:
    """Under which the next call is made: who makes it, and what becomes of its first transaction."""

    epoch: Epoch | None = None
    ending: Ending = Ending.KEPT
    failing: RetryableError | None = None
    waits: bool = True
    """Whether it needs rows that a backend still at work has locked."""
    times_out: bool = False


class SimulatedDatabase(MemoryDatabase):
    """See the module's text. `watch` hears of every transaction that took effect, with what was there before."""

    def __init__(
        self,
        name: str,
        call: Circumstances,
        watch: Callable[[SimulatedDatabase, Epoch | None, Collection[str]], None],
    ) -> None:
        super().__init__()
        self.name = name
        self.watch = watch
        self.open_transactions: list[OpenTransaction] = []
        self.timeouts = 0
        self._call = call
        self._current: MemoryTransaction | None = None

    @property
    def tables(self) -> dict[str, MemoryTable]:
        return self._tables

    def transaction(self) -> SimulatedDatabase:  # type: ignore[override]
        return self

    def __enter__(self) -> MemoryTransaction:
        call = self._call
        if self.open_transactions and call.waits:
            if call.times_out:
                self.timeouts += 1
                raise RetryableError("canceling statement due to lock timeout; nothing was written")
            raise LockedError(self.name)
        if call.failing is not None:
            error, call.failing = call.failing, None
            raise error
        assert self._current is None
        self._current = MemoryTransaction(self._tables)
        return self._current

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        transaction, self._current = self._current, None
        assert transaction is not None
        if error is not None:
            transaction.roll_back()
            return
        call = self._call
        ending = call.ending
        if ending is Ending.KEPT:
            self.watch(self, call.epoch, transaction._before)
            return
        call.ending = Ending.KEPT
        if ending is Ending.KEPT_UNHEARD:
            self.watch(self, call.epoch, transaction._before)
        else:
            changes = tuple(_changes(transaction._before, self._tables))
            transaction.roll_back()
            if ending is Ending.AT_WORK:
                self.open_transactions.append(OpenTransaction(changes, call.epoch))
        raise OutcomeUnknownError("the connection was lost while COMMIT was on its way")

    def end(self, transaction: OpenTransaction, takes_effect: bool) -> None:
        """End a transaction that was left open, and let go of its locks."""
        self.open_transactions.remove(transaction)
        if takes_effect:
            for table, key, value in transaction.changes:
                rows = self._tables.setdefault(table, {})
                if value is GONE:
                    rows.pop(key, None)
                else:
                    rows[key] = value
            self.watch(self, transaction.epoch, {table for table, _, _ in transaction.changes})

    def backup(self) -> dict[str, MemoryTable]:
        return {name: dict(table) for name, table in self._tables.items()}

    def restore(self, backup: Mapping[str, MemoryTable], mine: Callable[[str], bool]) -> None:
        """Put the chosen tables back to what they were; a server that is restored has no connection left."""
        self.open_transactions.clear()
        for name in [*self._tables, *backup]:
            if mine(name):
                self._tables[name] = dict(backup.get(name, {}))


def _changes(before: Mapping[str, MemoryTable], now: Mapping[str, MemoryTable]) -> Iterator[tuple[str, object, object]]:
    for name, old in before.items():
        new = now[name]
        for key, value in new.items():
            if key not in old or old[key] is not value:
                yield name, key, value
        for key in old:
            if key not in new:
                yield name, key, GONE


class PlainRows(ArrowRows):
    """Rows as a dict by key: what Arrow would check can't be wrong here.

    Where the product names an Arrow table, a `PlainTable` is passed along.
    """

    def conform(self, rows: pa.Table) -> pa.Table:
        return rows

    def digest(self, write_id: str, rows: pa.Table) -> Digest:
        return Digest(len(rows))

    def keyed(self, tables: Sequence[pa.Table]) -> dict[Row, Row]:
        plain = cast("Sequence[PlainTable]", tables)
        keyed = plain[0] if len(plain) == 1 else {key: row for table in plain for key, row in table.items()}
        if len(keyed) != sum(map(len, plain)):
            raise MismatchError("a key was staged twice in one batch; nothing was applied")
        return keyed

    def joined(self, tables: Sequence[pa.Table]) -> pa.Table:
        rows = [(*key, *values) for key, values in self.keyed(tables).items()]
        return held(self.layout, *rows).rows

    def check_fit(self, changed: Mapping[Row, StoredRow]) -> None:
        pass


class SimulatedStore(MemoryTarget):
    """A memory store that can be told to refuse the next batch that it does not have yet."""

    refuses: TridentError | None = None

    def _rows_of(self, transaction: MemoryTransaction, batch: BatchId, updates: StagedUpdates) -> dict[Row, Row]:
        if self.refuses is not None:
            error, self.refuses = self.refuses, None
            raise error
        return super()._rows_of(transaction, batch, updates)

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        if isinstance(updates, HeldUpdates):
            return self._rows.joined([updates.rows])
        return super().staged_rows(batch, updates)


def make_store(
    name: str, kind: StateKind, database: MemoryDatabase, beside_ledger: bool, draw_id: Callable[[], str]
) -> SimulatedStore:
    return SimulatedStore(
        database, name, kind, LAYOUT, beside_ledger=beside_ledger, rows=PlainRows(LAYOUT), draw_id=draw_id
    )


class _CheckedRows(PlainRows):
    def check_fit(self, changed: Mapping[Row, StoredRow]) -> None:
        ArrowRows(self.layout).check_fit(changed)


class _FromArrow(SimulatedStore):
    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        arrow = ArrowRows(self._layout)
        return super().stage(batch, held_plain(PlainTable(arrow.keyed([arrow.conform(updates.rows)]))))


class PlainState(MemoryState):
    """The simulated state as the contract suite opens it: Arrow tables become plain ones, and values must fit."""

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> SimulatedStore:
        database = self.database or ledger_database
        assert isinstance(database, MemoryDatabase)
        beside = self.database is None
        return _FromArrow(database, self.name, self.kind, layout, beside_ledger=beside, rows=_CheckedRows(layout))
