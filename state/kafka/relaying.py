"""Sending what waits in an outbox: several txids in one transaction where several wait, trimmed when it is in."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from trident.base.advice import DIVERT
from trident.base.digest import Digest
from trident.base.errors import MismatchError, RefusedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import Transaction
from trident.state.databases.base import SqlDatabase
from trident.state.kafka.limits import MessageLimits
from trident.state.kafka.marker import Marker, Sent
from trident.state.kafka.markers import Change, Markers, owned
from trident.state.kafka.outbox import Entry, Outbox
from trident.state.kafka.records import ROWS, Record, records_of, shown
from trident.state.packing import pack, unpack
from trident.state.positions import Position, stands
from trident.state.tables.place import connection_of


@dataclass(frozen=True, slots=True)
class OutboxRelay:
    """See `Relays`; for one thread."""

    name: str
    database: SqlDatabase
    outbox: Outbox
    markers: Markers
    limits: MessageLimits
    lineage: bool

    def relay(self, owner: Owner, epoch: Epoch, done: int) -> int:
        """Send the oldest entries, then delete them; returns the txid up to which nothing waits any more."""
        entries = self._waiting(owner, epoch, done)
        return self._relay(owner, epoch, done, entries) if entries else done

    def waiting(self, owner: Owner, epoch: Epoch, txid: int) -> tuple[int, pa.Table] | None:
        """Look into the outbox; what the marker has passed is not waiting."""
        marker = owned(self.markers.read(owner.topology), epoch, self.name)
        with self.database.transaction() as transaction:
            entry = self.outbox.entry(transaction.connection, owner.topology, txid)
        is_sent = marker.position is not None and marker.position.owner == owner and marker.position.txid >= txid
        return None if entry is None or is_sent else (entry.attempt, shown(unpack(entry.payload)))

    def take_out_in(self, transaction: Transaction, owner: Owner, epoch: Epoch, txid: int) -> None:
        """Empty the entry; it is passed as one without records."""
        connection = connection_of(transaction)
        self.outbox.owned(connection, owner, epoch)
        self.outbox.empty(connection, owner.topology, txid, pack(ROWS.empty_table(), "lz4"))

    def _relay(self, owner: Owner, epoch: Epoch, done: int, entries: Sequence[Entry]) -> int:
        try:
            self._send(owner, epoch, entries)
        except RefusedError as error:
            if len(entries) > 1:  # alone, the one that is refused can be told
                return self._relay(owner, epoch, done, entries[:1])
            raise self._refused(entries[0], error) from None
        return self._trimmed(owner, epoch, entries[-1].txid, done)

    def _refused(self, entry: Entry, error: RefusedError) -> RefusedError:
        return RefusedError(
            f"{error}. Txid {entry.txid} is done, and its {entry.record_count} records for sink {self.name!r} wait in "
            "the ledger's database, with all behind them. Mend the cause and start the topology again, or take them "
            f"out: {DIVERT} {entry.txid} --state {shlex.quote(self.name)}"
        )

    def _send(self, owner: Owner, epoch: Epoch, entries: Sequence[Entry]) -> None:
        rows = [unpack(entry.payload) for entry in entries]

        def send(found: Marker | None, _: str) -> Change | None:
            mine = owned(found, epoch, self.name)
            position = self._following(mine, owner, entries)
            if position is None:
                return None
            last = entries[-1]
            stood = Position(owner, last.txid, last.attempt, position.birth_txid)
            left = [(entry, table) for entry, table in zip(entries, rows, strict=True) if entry.txid > position.txid]
            count = sum(entry.record_count for entry, _ in left)
            return Change(mine.moved(stood, epoch, Sent(count, Digest())), self._records(owner, epoch, left))

        self.markers.change(owner.topology, send, limits=self.limits.of(rows), txid=entries[-1].txid)

    def _waiting(self, owner: Owner, epoch: Epoch, done: int) -> Sequence[Entry]:
        with self.database.transaction() as transaction:
            transaction.work_for(owner.topology, epoch)
            return self.outbox.waiting(transaction.connection, owner.topology, done)

    def _following(self, mine: Marker, owner: Owner, entries: Sequence[Entry]) -> Position | None:
        """Return where the marker stands, None where all is sent; raises MismatchError where nothing follows on it."""
        position = mine.position
        if position is None or position.owner != owner:
            where = "was never registered" if position is None else stands(position)
            raise MismatchError(f"sink {self.name!r} {where} in its marker topic; nothing was sent")
        same = [entry.attempt for entry in entries if entry.txid == position.txid]
        if same and same[0] != position.attempt:
            raise MismatchError(
                f"sink {self.name!r} has sent txid {position.txid} as attempt {position.attempt}, and attempt "
                f"{same[0]} waits: the ledger's database was put back to another moment. Nothing was sent: restore "
                "both to one moment"
            )
        left = [entry for entry in entries if entry.txid > position.txid]
        if left and left[0].before_txid != position.txid:
            raise MismatchError(
                f"sink {self.name!r} has sent txid {position.txid} last, as its marker says, and what waits follows on "
                f"txid {left[0].before_txid}: the marker topic or the ledger's database was put back to another "
                "moment. Nothing was sent: restore both to one moment"
            )
        return position if left else None

    def _records(self, owner: Owner, epoch: Epoch, entries: Sequence[tuple[Entry, pa.Table]]) -> Iterator[Record]:
        for entry, table in entries:
            yield from records_of(table, BatchId(owner, epoch, entry.txid, entry.attempt), lineage=self.lineage)

    def _trimmed(self, owner: Owner, epoch: Epoch, sent: int, done: int) -> int:
        with self.database.transaction() as transaction:
            transaction.work_for(owner.topology, epoch)
            self.outbox.owned(transaction.connection, owner, epoch)
            self.outbox.trim(transaction.connection, owner.topology, sent)
            is_left = self.outbox.has_waiting(transaction.connection, owner.topology, done)
        return sent if is_left else done
