"""Sending what waits in an outbox: several txids in one transaction where several wait, trimmed when it is in."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from trident.base.advice import DIVERT, RESET_CLEARING
from trident.base.crash_points import CrashPoint, reached
from trident.base.digest import Digest
from trident.base.errors import MismatchError, RefusedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import CannotUndoError, SentInPartError, Transaction, WaitingRows
from trident.state.kafka.bulk.writing import unlisted
from trident.state.kafka.marker import Marker, Sent
from trident.state.kafka.markers import Change, owned
from trident.state.kafka.outbox.store import Entry, OutboxStore, owned_in
from trident.state.kafka.records import ROWS, Record, records_of, shown
from trident.state.kafka.sender import KafkaSender
from trident.state.packing import pack, unpack
from trident.state.positions import Position, stands
from trident.state.staged import StagingLostError


@dataclass(frozen=True, slots=True)
class OutboxRelay:
    """See `Relays`; for one thread."""

    sender: KafkaSender
    outbox: OutboxStore

    def relay(self, owner: Owner, epoch: Epoch, done: int) -> int:
        """Send the oldest entries, then delete them; returns the txid up to which nothing waits any more."""
        entries = self._waiting(owner, epoch, done)
        return self._relay(owner, epoch, done, entries) if entries else done

    def waiting(self, owner: Owner, epoch: Epoch, txid: int, without_lost: bool = False) -> WaitingRows | None:
        """Look into the outbox; what the marker has passed is not waiting."""
        marker = self.sender.marker(owner.topology, epoch)
        with self.outbox.work_on(owner.topology) as transaction:
            entry = self.outbox.entry(transaction, owner.topology, txid)
        is_sent = marker.position is not None and marker.position.owner == owner and marker.position.txid >= txid
        if entry is None or is_sent:
            return None
        rows, batch = unpack(entry.payload), entry.batch(owner, epoch)
        writes = unlisted(self.sender.name, rows)
        if not writes:
            return WaitingRows(entry.attempt, shown(rows))
        self._require_unsent(batch)
        try:
            rows = self.sender.staged_rows(batch, writes, without_lost=without_lost)
        except StagingLostError as error:
            raise self._lost(entry, 0, error) from None
        return WaitingRows(entry.attempt, shown(rows), sum(write.rows for write in writes) - rows.num_rows)

    def divert_in(self, transaction: Transaction, owner: Owner, epoch: Epoch, txid: int) -> None:
        """Empty the entry; it is passed as one without records."""
        owned_in(self.outbox, transaction, owner, epoch)
        self.outbox.empty(transaction, owner.topology, txid, pack(ROWS.empty_table(), "lz4"))

    def _relay(self, owner: Owner, epoch: Epoch, done: int, entries: Sequence[Entry]) -> int:
        rows = [unpack(entry.payload) for entry in entries]
        files = [number for number, table in enumerate(rows) if unlisted(self.sender.name, table)]
        if files:  # by itself: its producers send it each in a transaction of its own
            entries, rows = entries[: files[0] or 1], rows[: files[0] or 1]
        try:
            self._send(owner, epoch, entries, rows)
        except RefusedError as error:
            if len(entries) > 1:  # alone, the one that is refused can be told
                return self._relay(owner, epoch, done, entries[:1])
            sent = self.sender.sent_of(entries[0].batch(owner, epoch)) if files else 0
            raise self._refused(entries[0], sent, error) from None
        except StagingLostError as error:
            raise self._lost(entries[0], self.sender.sent_of(entries[0].batch(owner, epoch)), error) from None
        upto = self._trimmed(owner, epoch, entries[-1].txid, done)
        if files:
            self.sender.forget_soon(owner, entries[-1].txid)
        return upto

    def _refused(self, entry: Entry, sent: int, error: RefusedError) -> RefusedError:
        waits = (
            f"{error}. Txid {entry.txid} is done, and what it has for {self.sender} waits in the ledger's database, "
            "with all behind it"
        )
        if sent:
            return SentInPartError(
                f"{waits}; {sent} records of it were sent by some of its producers, so it can't be taken out as a "
                f"whole. Mend the cause and start the topology again, or {RESET_CLEARING}."
            )
        return RefusedError(
            f"{waits}. Mend the cause and start the topology again, or take it out ({entry.record_count} records): "
            f"{DIVERT} {entry.txid} --state {shlex.quote(self.sender.name)}"
        )

    def _lost(self, entry: Entry, sent: int, error: StagingLostError) -> StagingLostError:
        waits = f"{error}. Txid {entry.txid} is done, and all behind it waits as well. Put the folder back as it was"
        if sent:
            return StagingLostError(f"{waits}; where that can't be, {RESET_CLEARING}. {sent} records of it were sent.")
        return StagingLostError(
            f"{waits}, or, where that can't be, take out what is left of it and give up the rest: "
            f"{DIVERT} {entry.txid} --state {shlex.quote(self.sender.name)} --rows-lost"
        )

    def _send(self, owner: Owner, epoch: Epoch, entries: Sequence[Entry], rows: list[pa.Table]) -> None:
        reached(CrashPoint.BEFORE_RELAY, entries[-1].txid)

        def has_passed(found: Marker | None) -> bool:
            return self._following(owned(found, epoch, self.sender.name), owner, entries) is None

        if writes := unlisted(self.sender.name, rows[0]):
            rows = [ROWS.empty_table()]
            self.sender.send_staged(entries[0].batch(owner, epoch), writes, has_passed)

        def send(found: Marker | None, _: str) -> Change | None:
            mine = owned(found, epoch, self.sender.name)
            position = self._following(mine, owner, entries)
            if position is None:
                return None
            last = entries[-1]
            stood = Position(owner, last.txid, last.attempt, position.birth_txid)
            left = [(entry, table) for entry, table in zip(entries, rows, strict=True) if entry.txid > position.txid]
            count = sum(entry.record_count for entry, _ in left)
            return Change(mine.moved(stood, epoch, Sent(count, Digest())), self._records(owner, epoch, left))

        self.sender.send(owner.topology, send, rows, entries[-1].txid)

    def _require_unsent(self, batch: BatchId) -> None:
        if count := self.sender.sent_of(batch):
            raise CannotUndoError(
                f"{batch}: some producers of {self.sender} have sent their share of it, {count} records, so "
                "it can't be taken out as a whole. Mend what keeps the others from it and start the topology again"
            )

    def _waiting(self, owner: Owner, epoch: Epoch, done: int) -> Sequence[Entry]:
        with self.outbox.work_for(owner.topology, epoch) as transaction:
            return self.outbox.waiting(transaction, owner.topology, done)

    def _following(self, mine: Marker, owner: Owner, entries: Sequence[Entry]) -> Position | None:
        """Return where the marker stands, None where all is sent; raises MismatchError where nothing follows on it."""
        position = mine.position
        if position is None or position.owner != owner:
            where = "was never registered" if position is None else stands(position)
            raise MismatchError(f"{self.sender} {where} in its marker topic; nothing was sent")
        same = [entry.attempt for entry in entries if entry.txid == position.txid]
        if same and same[0] != position.attempt:
            raise MismatchError(
                f"{self.sender} has sent txid {position.txid} as attempt {position.attempt}, and attempt "
                f"{same[0]} waits: the ledger's database was put back to another moment. Nothing was sent: restore "
                "both to one moment"
            )
        left = [entry for entry in entries if entry.txid > position.txid]
        if left and left[0].before_txid != position.txid:
            raise MismatchError(
                f"{self.sender} has sent txid {position.txid} last, as its marker says, and what waits "
                f"follows on txid {left[0].before_txid}: the marker topic or the ledger's database was put back to "
                "another moment. Nothing was sent: restore both to one moment"
            )
        return position if left else None

    def _records(self, owner: Owner, epoch: Epoch, entries: Sequence[tuple[Entry, pa.Table]]) -> Iterator[Record]:
        for entry, table in entries:
            yield from records_of(table, entry.batch(owner, epoch), lineage=self.sender.lineage)

    def _trimmed(self, owner: Owner, epoch: Epoch, sent: int, done: int) -> int:
        with self.outbox.work_for(owner.topology, epoch) as transaction:
            owned_in(self.outbox, transaction, owner, epoch)
            self.outbox.trim(transaction, owner.topology, sent)
            is_left = self.outbox.has_waiting(transaction, owner.topology, done)
            reached(CrashPoint.IN_TRIM, sent)
        reached(CrashPoint.AFTER_TRIM, sent)
        return sent if is_left else done
