"""What a case's records go to, and what each of them must hold: states, tables of rows, topics."""

from __future__ import annotations

import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql

from integration_tests.crash_matrix.looks import NO_ROWS, NOTHING, Rows, Seen, look, look_in_map
from integration_tests.crash_matrix.maps import SqliteMap
from integration_tests.sinks.reading import committed
from tests.coordinators.fakes import LAYOUT
from trident.base.order import ORDER, order_of
from trident.base.timeouts import Timeouts
from trident.state import BackingMapState, KafkaSink, PostgresState, PostgresTable, SqliteState, SqliteTable
from trident.state.kafka.records import ROWS
from trident.state.row_tables.shape import RowWrite, row_shape
from trident.state.row_tables.sink import RowSink
from trident.state.target import LedgerDatabase, Target

TOO_LARGE: Final = 10**15
"""An amount that no table of rows takes, where it was made so."""
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "account": pa.string(),
    "part": pa.int64(),
    "n": pa.int64(),
    "amount": pa.int64(),
}
_COLUMNS: Final = pa.schema(_TYPES)


@dataclass(frozen=True, slots=True, order=True)
class Taken:
    """A record of the log."""

    partition: int
    offset: int
    account: str
    amount: int

    @property
    def place(self) -> str:
        """Where it stood."""
        return f"{self.partition}:{self.offset}"


@dataclass(frozen=True, slots=True)
class StateEnd:
    """Counts and sums by account; `database` is where it lives, a dsn or a file."""

    state: SqliteState | PostgresState | BackingMapState
    database: str
    is_sink: ClassVar[bool] = False
    sends_later: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Its name in the topology."""
        return self.state.name

    def description(self) -> dict[str, str]:
        """Return what is stored of it."""
        return self.state.description()

    def open(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> Target:
        """Open it."""
        return self.state.open(LAYOUT, ledger_database, timeouts)

    def staged(self, records: Sequence[Taken], *, is_refused: bool) -> None:
        """Return the rows that a batch brings, with one among them that can't be taken; None: it takes sums."""
        return

    def expected(self, records: Iterable[Sequence[Taken]], earlier: Rows = NO_ROWS) -> Rows:
        """Return what it holds after these txids, which came after what was there."""
        sums: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for record in (record for of_txid in records for record in of_txid):
            count, total = sums[record.account]
            sums[record.account] = (count + 1, total + record.amount)
        return dict(sums)

    def seen(self) -> Seen:
        """Look at it."""
        if isinstance(self.state, BackingMapState):
            assert isinstance(self.state.backing_map, SqliteMap)
            return look_in_map(self.state.backing_map)
        found = look(self.database, self.name, "account, n, total")
        return NOTHING if found is None else Seen(found[0], {str(row[0]): row[1:] for row in found[1]})


@dataclass(frozen=True, slots=True)
class RowsEnd:
    """A table of rows: each record, or the last one of each account."""

    store: SqliteTable | PostgresTable
    database: str
    keeps_last: bool = False
    is_sink: ClassVar[bool] = True
    sends_later: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return self.store.name

    def description(self) -> dict[str, str]:
        return {**self._sink.description(), "kind": "sink"}

    def open(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> Target:
        return self._sink.open(ledger_database, timeouts)

    def staged(self, records: Sequence[Taken], *, is_refused: bool) -> pa.Table:
        amounts = [record.amount for record in records]
        if is_refused:
            amounts[-1] = TOO_LARGE  # of an account the last one is kept
        columns: dict[str, list[Any]] = {
            "account": [record.account for record in records],
            "part": [record.partition for record in records],
            "n": [record.offset for record in records],
            "amount": amounts,
        }
        table = pa.table(columns, schema=_COLUMNS)
        return table.append_column(ORDER, _orders(records)) if self.keeps_last else table

    def expected(self, records: Iterable[Sequence[Taken]], earlier: Rows = NO_ROWS) -> Rows:
        found: dict[str, tuple[object, ...]] = dict(earlier)
        for record in (record for of_txid in records for record in sorted(of_txid)):
            before = () if self.keeps_last else found.get(record.account, ())
            found[record.account] = tuple(sorted((*before, record.place), key=str))
        return found

    def seen(self) -> Seen:
        found = look(self.database, self.name, "account, part, n")
        if found is None:
            return NOTHING
        rows: dict[str, list[str]] = defaultdict(list)
        for account, part, n in found[1]:
            rows[str(account)].append(f"{part}:{n}")
        return Seen(found[0], {account: tuple(sorted(places)) for account, places in rows.items()})

    def make(self) -> None:
        """Make its table, which takes no amount that is too large."""
        key = ", PRIMARY KEY (account)" if self.keeps_last else ""
        columns = f"account text NOT NULL, part bigint, n bigint, amount bigint CHECK (amount < {TOO_LARGE}){key}"
        if self.database.startswith("postgres"):
            with psycopg.connect(self.database) as session:
                session.execute(sql.SQL(f"CREATE TABLE {{}} ({columns})").format(sql.Identifier(self.name)))
            return
        with closing(sqlite3.connect(self.database)) as file, file:
            file.execute(f"CREATE TABLE {self.name} ({columns})")

    @property
    def _sink(self) -> RowSink:
        write, keys = (RowWrite.UPSERT, ("account",)) if self.keeps_last else (RowWrite.APPEND, ())
        return RowSink(self.store, row_shape(self.name, self.name, _COLUMNS, write, keys))


@dataclass(frozen=True, slots=True)
class TopicEnd:
    """A topic: the records of each account, in the order in which a consumer reads them."""

    sink: KafkaSink
    topic: str
    sends_later: bool
    is_sink: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return self.sink.name

    def description(self) -> dict[str, str]:
        return {**self.sink.description(), "kind": "sink"}

    def open(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> Target:
        return self.sink.open(ledger_database, timeouts)

    def staged(self, records: Sequence[Taken], *, is_refused: bool) -> pa.Table:
        values = [record.place.encode() for record in records]
        if is_refused:
            values[0] = secrets.token_bytes(6_000)
        count = len(records)
        keys = [record.account.encode() for record in records]
        arrays = map(partial(pa.array), ([self.topic] * count, keys, values, [None] * count), ROWS.types[:4])
        return pa.table([*arrays, _orders(records)], schema=ROWS)

    def expected(self, records: Iterable[Sequence[Taken]], earlier: Rows = NO_ROWS) -> Rows:
        found: dict[str, tuple[object, ...]] = defaultdict(tuple, earlier)
        for record in (record for of_txid in records for record in sorted(of_txid)):
            found[record.account] += (record.place,)
        return dict(found)

    def seen(self) -> Seen:
        rows: dict[str, list[str]] = defaultdict(list)
        for message in committed(self.sink.bootstrap_servers, self.topic):
            rows[(message.key() or b"").decode()].append((message.value() or b"").decode(errors="replace"))
        return Seen(None, {account: tuple(places) for account, places in rows.items()})


End = StateEnd | RowsEnd | TopicEnd
"""All have the same methods; `sends_later` says of one that it may be behind what is done."""


def _orders(records: Sequence[Taken]) -> pa.Array[pa.BinaryScalar]:
    orders = [order_of("t", record.partition, np.array([record.offset], np.int64)) for record in records]
    return pa.concat_arrays(orders) if orders else pa.array([], pa.binary())
