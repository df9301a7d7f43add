"""Records that wait in the ledger's database until they are sent: put there by the transaction that pins their batch.

Two tables. A sink's position moves with the pin, as a state's does; its entries are the batches with records that have
not been sent yet. Each entry names the one before it, so that what is sent follows on what was sent, without a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)

from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.capabilities import Transaction
from trident.state.databases.base import SqlDatabase, SqlTransaction
from trident.state.databases.versions import NumberedTables, step_to_missing
from trident.state.kafka.outbox_store import Entry, OutboxRow, owned_row
from trident.state.positions import Position, before_attempt, is_in
from trident.state.tables.place import connection_of

_META = MetaData()
_SINKS: Final = Table(
    "trident_outbox_position",
    _META,
    Column("topology", Text, primary_key=True),
    Column("sink", Text, primary_key=True),
    Column("incarnation", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("token", Text, nullable=False),
    Column("txid", BigInteger, nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("birth_txid", BigInteger, nullable=False),
    Column("newest_txid", BigInteger, nullable=False),
)
_ENTRIES: Final = Table(
    "trident_outbox",
    _META,
    Column("topology", Text, primary_key=True),
    Column("sink", Text, primary_key=True),
    Column("txid", BigInteger, primary_key=True),
    Column("attempt", BigInteger, nullable=False),
    Column("before_txid", BigInteger, nullable=False),
    Column("record_count", BigInteger, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)
_VERSION_1 = {
    "trident_outbox_position": """
        CREATE TABLE trident_outbox_position (
            topology TEXT NOT NULL, sink TEXT NOT NULL, incarnation TEXT NOT NULL, epoch BIGINT NOT NULL,
            token TEXT NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL, birth_txid BIGINT NOT NULL,
            newest_txid BIGINT NOT NULL, PRIMARY KEY (topology, sink))""",
    "trident_outbox": """
        CREATE TABLE trident_outbox (
            topology TEXT NOT NULL, sink TEXT NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
            before_txid BIGINT NOT NULL, record_count BIGINT NOT NULL, payload {bytes} NOT NULL,
            PRIMARY KEY (topology, sink, txid))""",
}
OUTBOX_TABLES: Final = NumberedTables(
    "the tables of records that wait to be sent (trident_outbox, trident_outbox_position)",
    "trident_outbox_schema",
    (step_to_missing(_VERSION_1),),
)
_MOST: Final = 100
_MOST_RECORDS: Final = 20_000
_MOST_BYTES: Final = 4 << 20
"""How many entries are sent together where several wait, with how many records, and how large as they lie there."""
_PUT: Final = text("""
    INSERT INTO trident_outbox (topology, sink, txid, attempt, before_txid, record_count, payload)
    SELECT topology, sink, :txid, :attempt, newest_txid, :record_count, :payload
    FROM trident_outbox_position WHERE topology = :topology AND sink = :sink AND txid = :txid - 1""")


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in one sink's outbox."""

    sink: str
    txids: int
    """How many txids with records; not those that are none of its."""
    records: int
    oldest_txid: int


def standing_in(connection: Connection, topology: str, sink: str) -> tuple[OutboxRow, int] | None:
    """Return where a sink stands and the newest txid that was sent, as its outbox says; reads only, locks nothing."""
    row = _row_in(connection, topology, sink, locked=False)
    return None if row is None else (row, _sent_before_in(connection, topology, sink, row))


def waiting_in(connection: Connection, topology: str) -> tuple[Waiting, ...]:
    """Return what waits in each sink of a topology; nothing where no outbox was ever made. Reads only."""
    if not inspect(connection).has_table(_ENTRIES.name):
        return ()
    counted = (
        select(_ENTRIES.c.sink, func.count(), func.sum(_ENTRIES.c.record_count), func.min(_ENTRIES.c.txid))
        .where(_ENTRIES.c.topology == topology, _ENTRIES.c.record_count > 0)
        .group_by(_ENTRIES.c.sink)
        .order_by(_ENTRIES.c.sink)
    )
    return tuple(Waiting(row[0], row[1], int(row[2]), row[3]) for row in connection.execute(counted))


def _row_in(connection: Connection, topology: str, sink: str, *, locked: bool) -> OutboxRow | None:
    asked = select(_SINKS).where(_SINKS.c.topology == topology, _SINKS.c.sink == sink)
    row = connection.execute(asked.with_for_update() if locked else asked).mappings().one_or_none()
    if row is None:
        return None
    position = Position(Owner(topology, row["incarnation"]), row["txid"], row["attempt"], row["birth_txid"])
    return OutboxRow(position, Epoch(row["epoch"], row["token"]), row["newest_txid"])


def _sent_before_in(connection: Connection, topology: str, sink: str, row: OutboxRow) -> int:
    mine = (_ENTRIES.c.topology == topology, _ENTRIES.c.sink == sink)
    oldest = select(_ENTRIES.c.before_txid).where(*mine).order_by(_ENTRIES.c.txid).limit(1)
    found: int | None = connection.execute(oldest).scalar()
    return row.newest_txid if found is None else found


@dataclass(frozen=True, slots=True)
class Outbox:
    """See `OutboxStore`: the rows of one sink in two tables of the ledger's database."""

    sink: str
    database: SqlDatabase

    def read(self, transaction: Transaction, topology: str) -> OutboxRow | None:
        """See the protocol: a writer at work is waited for."""
        return _row_in(connection_of(transaction), topology, self.sink, locked=True)

    def prepare(self) -> None:
        """Make the tables, or bring them to this version."""
        with self.database.transaction() as transaction:
            OUTBOX_TABLES.migrate(transaction.connection, self.database.schema_terms)

    @contextmanager
    def work_for(self, topology: str, epoch: Epoch) -> Iterator[Transaction]:
        """Open a transaction that says for whom it works."""
        with self.database.transaction() as transaction:
            transaction.work_for(topology, epoch)
            yield transaction

    @contextmanager
    def work_on(self, topology: str) -> Iterator[Transaction]:
        """Open one where the epoch is not at hand."""
        with self.database.transaction() as transaction:
            transaction.work_on(topology)
            yield transaction

    def look(self, topology: str) -> OutboxRow | None:
        """Return where the sink stands; missing tables are made for that, and rolled back."""

        def found(transaction: SqlTransaction) -> OutboxRow | None:
            OUTBOX_TABLES.migrate(transaction.connection, self.database.schema_terms)
            return _row_in(transaction.connection, topology, self.sink, locked=False)

        return rolled_back(self.database.transaction(), found)

    def owned(self, transaction: Transaction, owner: Owner, epoch: Epoch) -> OutboxRow | None:
        """Return the locked row after checking that no newer epoch has written it."""
        return owned_row(self.read(transaction, owner.topology), self.sink, epoch)

    def stamp(self, transaction: Transaction, owner: Owner, epoch: Epoch) -> None:
        """Put a newer epoch beside the position, which stays."""
        self._change(transaction, owner.topology, _SINKS.c.epoch < epoch.number, epoch=epoch.number, token=epoch.token)

    def bear(self, transaction: Transaction, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a sink that has never been registered, or bind it to a new life."""
        values = {
            "incarnation": owner.incarnation,
            "epoch": epoch.number,
            "token": epoch.token,
            "txid": birth_txid,
            "attempt": 0,
            "birth_txid": birth_txid,
            "newest_txid": birth_txid,
        }
        if not self._change(transaction, owner.topology, **values):
            connection_of(transaction).execute(insert(_SINKS).values(topology=owner.topology, sink=self.sink, **values))

    def put(self, transaction: Transaction, batch: BatchId, record_count: int, payload: bytes) -> None:
        """Lay a batch's records down behind the newest ones; nothing where the sink does not stand before the batch."""
        values = {
            "topology": batch.owner.topology,
            "sink": self.sink,
            "txid": batch.txid,
            "attempt": batch.attempt,
            "record_count": record_count,
            "payload": payload,
        }
        connection_of(transaction).execute(_PUT, values)

    def move(self, transaction: Transaction, batch: BatchId, *, has_records: bool) -> bool:
        """Step from txid - 1 to the batch's txid; False where the batch is in; raises MismatchError otherwise."""
        values: dict[str, object] = {"txid": batch.txid, "attempt": batch.attempt}
        values |= {"epoch": batch.epoch.number, "token": batch.epoch.token}
        if has_records:
            values["newest_txid"] = batch.txid
        stands_before = (_SINKS.c.incarnation == batch.owner.incarnation, _SINKS.c.txid == batch.txid - 1)
        if self._change(transaction, batch.owner.topology, *stands_before, **values):
            return True
        row = self.read(transaction, batch.owner.topology)
        if not is_in(row.position if row else None, batch, self.sink):
            raise MismatchError(f"{batch}: sink {self.sink!r} moved while it was read; nothing was applied")
        return False

    def move_back(self, transaction: Transaction, batch: BatchId, row: OutboxRow, before: int) -> None:
        """Take a batch that is in away again, with the records that it has laid down."""
        found = self.entry(transaction, batch.owner.topology, batch.txid)
        if found is not None:
            self._trim(transaction, batch.owner.topology, _ENTRIES.c.txid == batch.txid)
        self._change(
            transaction,
            batch.owner.topology,
            txid=batch.txid - 1,
            attempt=before_attempt(row.position, batch, before),
            newest_txid=row.newest_txid if found is None else found.before_txid,
            epoch=batch.epoch.number,
            token=batch.epoch.token,
        )

    def entry(self, transaction: Transaction, topology: str, txid: int) -> Entry | None:
        """Return what a batch has laid down."""
        found = self._entries(transaction, topology, txid, 1, from_txid=txid)
        return found[0] if found else None

    def waiting(self, transaction: Transaction, topology: str, done: int) -> Sequence[Entry]:
        """Return the oldest entries of txids up to `done`: as many as go well into one transaction, at least one."""
        mine = self._of(_ENTRIES, topology, _ENTRIES.c.txid <= done)
        size = func.length(_ENTRIES.c.payload)
        sizes = select(_ENTRIES.c.txid, _ENTRIES.c.record_count, size).where(mine).order_by(_ENTRIES.c.txid)
        last, records, bytes_ = 0, 0, 0
        for txid, count, length in connection_of(transaction).execute(sizes.limit(_MOST)):
            records, bytes_ = records + count, bytes_ + length
            if last and (records > _MOST_RECORDS or bytes_ > _MOST_BYTES):
                break
            last = txid
        return self._entries(transaction, topology, last, _MOST) if last else ()

    def sent_before(self, transaction: Transaction, topology: str, row: OutboxRow) -> int:
        """Return the newest txid with records before those that wait."""
        return _sent_before_in(connection_of(transaction), topology, self.sink, row)

    def has_waiting(self, transaction: Transaction, topology: str, done: int) -> bool:
        """Tell whether there is an entry of a txid up to `done`; looks into none."""
        mine = self._of(_ENTRIES, topology, _ENTRIES.c.txid <= done)
        return connection_of(transaction).execute(select(_ENTRIES.c.txid).where(mine).limit(1)).first() is not None

    def empty(self, transaction: Transaction, topology: str, txid: int, payload: bytes) -> None:
        """Take the records out of an entry, which keeps its place."""
        mine = self._of(_ENTRIES, topology, _ENTRIES.c.txid == txid)
        connection_of(transaction).execute(update(_ENTRIES).where(mine).values(record_count=0, payload=payload))

    def trim(self, transaction: Transaction, topology: str, sent: int) -> None:
        """Delete the entries of txids up to one that was sent."""
        self._trim(transaction, topology, _ENTRIES.c.txid <= sent)

    def _entries(
        self, transaction: Transaction, topology: str, to_txid: int, most: int, from_txid: int = 0
    ) -> list[Entry]:
        asked = select(_ENTRIES).where(
            self._of(_ENTRIES, topology, _ENTRIES.c.txid >= from_txid, _ENTRIES.c.txid <= to_txid)
        )
        rows = connection_of(transaction).execute(asked.order_by(_ENTRIES.c.txid).limit(most)).mappings()
        return [
            Entry(row["txid"], row["attempt"], row["before_txid"], row["record_count"], bytes(row["payload"]))
            for row in rows
        ]

    def _trim(self, transaction: Transaction, topology: str, which: ColumnElement[bool]) -> None:
        connection_of(transaction).execute(delete(_ENTRIES).where(self._of(_ENTRIES, topology, which)))

    def _change(
        self, transaction: Transaction, topology: str, *conditions: ColumnElement[bool], **values: object
    ) -> bool:
        mine = self._of(_SINKS, topology, *conditions)
        return connection_of(transaction).execute(update(_SINKS).where(mine).values(**values)).rowcount == 1

    def _of(self, table: Table, topology: str, *more: ColumnElement[bool]) -> ColumnElement[bool]:
        return and_(table.c.topology == topology, table.c.sink == self.sink, *more)
