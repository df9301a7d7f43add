"""The place of an outbox in the ledger's database: what waits comes and goes with the pin's own transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Table,
    and_,
    delete,
    func,
    insert,
    select,
    text,
    update,
)

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.capabilities import Transaction
from trident.state.databases.base import SqlDatabase, SqlTransaction
from trident.state.kafka.outbox.store import Entry, OutboxRow
from trident.state.kafka.outbox.tables import ENTRIES, LET_GO, OUTBOX_TABLES, POSITIONS, row_in, sent_before_in
from trident.state.positions import before_attempt, is_in
from trident.state.tables.place import connection_of

_MOST: Final = 100
_MOST_RECORDS: Final = 20_000
_MOST_BYTES: Final = 4 << 20
"""How many entries are sent together where several wait, with how many records, and how large as they lie there."""
_PUT: Final = text("""
    INSERT INTO trident_outbox (topology, sink, txid, attempt, before_txid, record_count, payload)
    SELECT topology, sink, :txid, :attempt, newest_txid, :record_count, :payload
    FROM trident_outbox_position WHERE topology = :topology AND sink = :sink AND txid = :txid - 1""")


@dataclass(frozen=True, slots=True)
class Outbox:
    """See `OutboxStore`: the rows of one sink in two tables of the ledger's database."""

    sink: str
    database: SqlDatabase

    def read(self, transaction: Transaction, topology: str) -> OutboxRow | None:
        """See the protocol: a writer at work is waited for."""
        return row_in(connection_of(transaction), topology, self.sink, locked=True)

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
            return row_in(transaction.connection, topology, self.sink, locked=False)

        return rolled_back(self.database.transaction(), found)

    def stamp(self, transaction: Transaction, owner: Owner, epoch: Epoch) -> None:
        """Put a newer epoch beside the position, which stays."""
        self._change(
            transaction, owner.topology, POSITIONS.c.epoch < epoch.number, epoch=epoch.number, token=epoch.token
        )

    def bear(self, transaction: Transaction, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a sink that has never been registered, or bind it to a new life."""
        self._refuse_older(transaction, owner.topology, epoch)
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
            connection_of(transaction).execute(
                insert(POSITIONS).values(topology=owner.topology, sink=self.sink, **values)
            )

    def let_go(self, transaction: Transaction, owner: Owner, epoch: Epoch) -> None:
        """Leave a row without an incarnation, which stands nowhere."""
        gone = {"incarnation": LET_GO, "txid": -1, "attempt": 0, "birth_txid": -1, "newest_txid": -1}
        self._change(transaction, owner.topology, **gone, epoch=epoch.number, token=epoch.token)

    def _refuse_older(self, transaction: Transaction, topology: str, epoch: Epoch) -> None:
        mine = self._of(POSITIONS, topology, POSITIONS.c.incarnation == LET_GO, POSITIONS.c.epoch > epoch.number)
        newer = connection_of(transaction).execute(select(POSITIONS.c.epoch).where(mine).with_for_update()).scalar()
        if newer is not None:
            raise FencedError(
                f"epoch {newer} has let go of sink {self.sink!r}, this is epoch {epoch.number}; nothing done", newer
            )

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
        stands_before = (POSITIONS.c.incarnation == batch.owner.incarnation, POSITIONS.c.txid == batch.txid - 1)
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
            self._trim(transaction, batch.owner.topology, ENTRIES.c.txid == batch.txid)
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
        mine = self._of(ENTRIES, topology, ENTRIES.c.txid <= done)
        size = func.length(ENTRIES.c.payload)
        sizes = select(ENTRIES.c.txid, ENTRIES.c.record_count, size).where(mine).order_by(ENTRIES.c.txid)
        last, records, bytes_ = 0, 0, 0
        for txid, count, length in connection_of(transaction).execute(sizes.limit(_MOST)):
            records, bytes_ = records + count, bytes_ + length
            if last and (records > _MOST_RECORDS or bytes_ > _MOST_BYTES):
                break
            last = txid
        return self._entries(transaction, topology, last, _MOST) if last else ()

    def sent_before(self, transaction: Transaction, topology: str, row: OutboxRow) -> int:
        """Return the newest txid with records before those that wait."""
        return sent_before_in(connection_of(transaction), topology, self.sink, row)

    def has_waiting(self, transaction: Transaction, topology: str, done: int) -> bool:
        """Tell whether there is an entry of a txid up to `done`; looks into none."""
        mine = self._of(ENTRIES, topology, ENTRIES.c.txid <= done)
        return connection_of(transaction).execute(select(ENTRIES.c.txid).where(mine).limit(1)).first() is not None

    def empty(self, transaction: Transaction, topology: str, txid: int, payload: bytes) -> None:
        """Take the records out of an entry, which keeps its place."""
        mine = self._of(ENTRIES, topology, ENTRIES.c.txid == txid)
        connection_of(transaction).execute(update(ENTRIES).where(mine).values(record_count=0, payload=payload))

    def trim(self, transaction: Transaction, topology: str, sent: int) -> None:
        """Delete the entries of txids up to one that was sent."""
        self._trim(transaction, topology, ENTRIES.c.txid <= sent)

    def _entries(
        self, transaction: Transaction, topology: str, to_txid: int, most: int, from_txid: int = 0
    ) -> list[Entry]:
        asked = select(ENTRIES).where(
            self._of(ENTRIES, topology, ENTRIES.c.txid >= from_txid, ENTRIES.c.txid <= to_txid)
        )
        rows = connection_of(transaction).execute(asked.order_by(ENTRIES.c.txid).limit(most)).mappings()
        return [
            Entry(row["txid"], row["attempt"], row["before_txid"], row["record_count"], bytes(row["payload"]))
            for row in rows
        ]

    def _trim(self, transaction: Transaction, topology: str, which: ColumnElement[bool]) -> None:
        connection_of(transaction).execute(delete(ENTRIES).where(self._of(ENTRIES, topology, which)))

    def _change(
        self, transaction: Transaction, topology: str, *conditions: ColumnElement[bool], **values: object
    ) -> bool:
        mine = self._of(POSITIONS, topology, *conditions)
        return connection_of(transaction).execute(update(POSITIONS).where(mine).values(**values)).rowcount == 1

    def _of(self, table: Table, topology: str, *more: ColumnElement[bool]) -> ColumnElement[bool]:
        return and_(table.c.topology == topology, table.c.sink == self.sink, *more)
