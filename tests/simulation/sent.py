"""What readers of a sink's topics have read, compared with what the ledger says was decided and done.

Looked at is each transaction of the cluster that takes effect: whole, behind what was sent before, of one txid
that may be sent, with a marker that names it. At the end the topics are read as a reader with
`isolation.level=read_committed` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.simulation.accounts import TOPOLOGY, Batch, Records, Rows, ViolationError, require
from tests.simulation.brokers import MARKERS, SimulatedKafka
from tests.simulation.data import OUT, amount_of, good_of, key_of
from tests.state.memory_kafka import seen_in
from trident.state.kafka.marker import Marker, decode
from trident.state.kafka.records import Record
from trident.state.positions import Position, Standing

Source = tuple[int, int]
"""Partition and offset of the record that one is of."""


@dataclass(frozen=True)
class SentTxid:
    """What one txid has brought to the topics."""

    txid: int
    attempt: int
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class SinkAccount:
    """What was sent so far."""

    sent: tuple[SentTxid, ...] = ()
    marker: Marker | None = None
    rows: Mapping[tuple[object, ...], tuple[int, int]] = field(default_factory=dict)
    """What was sent since the life began that the sink is in, counted and summed as a state would."""
    due: tuple[SentTxid, ...] = ()
    """What is done and waits to be sent, the oldest first; nothing where it is sent before done."""
    has_left_out: bool = False
    """Whether a person has taken something out since the life began."""

    @property
    def last_txid(self) -> int:
        """The newest txid with records."""
        return self.sent[-1].txid if self.sent else 0

    def standing(self) -> Standing | None:
        """Return what the newest marker says."""
        return None if self.marker is None else Standing(self.marker.position, self.marker.epoch)

    def emptied(self) -> SinkAccount:
        """Return it at the beginning of a life that counts from nothing; what was sent stays."""
        return replace(self, rows={})

    def after(self, records: Sequence[Record]) -> SinkAccount:
        """Return it after a transaction of the cluster: records of whole txids in their order, then one marker."""
        *sent, last = records
        kinds = [record.topic for record in records]
        require(kinds == [OUT] * len(sent) + [MARKERS], f"a transaction has taken effect with {kinds}")
        assert last.value is not None
        marker = decode(last.value, "a transaction")
        txids = tuple(_txids(sent))
        for before, after in zip((SentTxid(self.last_txid, 0, ()), *txids), txids, strict=False):
            require(after.txid > before.txid, f"txid {after.txid} was sent after txid {before.txid}")
        if txids:
            stands = marker.position
            require(stands is not None and stands.txid >= txids[-1].txid, f"{txids[-1]} was sent with {marker}")
        return replace(self, sent=(*self.sent, *txids), marker=marker, rows=_added(self.rows, txids))

    def with_due(self, due: tuple[SentTxid, ...], *, has_left_out: bool) -> SinkAccount:
        """Return it with something else to be sent."""
        return replace(self, due=due, has_left_out=self.has_left_out or has_left_out)

    def new_since(self, before: SinkAccount) -> tuple[SentTxid, ...]:
        """Return what was sent since then."""
        return self.sent[len(before.sent) :]

    def check_read(self, kafka: SimulatedKafka) -> None:
        """A reader of the topics sees every record that was sent, each partition's in order, and no other one."""
        for number, log in enumerate(kafka.logs[OUT]):
            wanted = [
                (each.txid, each.attempt, source)
                for each in self.sent
                for source in each.sources
                if kafka.partition_of(key_bytes(source), OUT) == number
            ]
            found = [_told(record) for record in seen_in(log)]
            require(found == wanted, f"a reader of partition {number} has read {found} instead of {wanted}")


def check_one_batch(sent: Sequence[SentTxid], position: Position, batch: Batch, *, is_diverted: bool) -> None:
    """What was sent with a txid's marker is what the txid has read, in order, or nothing where that was diverted."""
    wanted = () if is_diverted else sources_of(batch.read)
    found = [(each.txid, each.attempt, each.sources) for each in sent]
    expected = [(position.txid, position.attempt, wanted)] if wanted else []
    require(found == expected, f"with {position} was sent {found} instead of {expected}")


def sources_of(read: Records) -> tuple[Source, ...]:
    """Return the records that decode, in the order in which they leave."""
    return tuple((partition, offset) for partition, offset in good_of(sorted(read)))


def key_bytes(source: Source) -> bytes:
    return str(key_of(*source)[0]).encode()


def diverted_sums(rows: Iterable[str]) -> Rows:
    """Return what records that were taken out of a sink, as the ledger keeps them, would count as in a state."""
    sources = [json.loads(row)["source"].removeprefix("t[").split("]@") for row in rows]
    return sums_of([SentTxid(0, 0, tuple((int(partition), int(offset)) for partition, offset in sources))])


def sums_of(sent: Iterable[SentTxid]) -> Rows:
    """Return what records would count as in a state."""
    return _added({}, sent)


def _added(rows: Mapping[tuple[object, ...], tuple[int, int]], sent: Iterable[SentTxid]) -> Rows:
    more = dict(rows)
    for each in sent:
        for partition, offset in each.sources:
            key = key_of(partition, offset)
            n, total = more.get(key, (0, 0))
            more[key] = (n + 1, total + amount_of(partition, offset))
    return more


def _txids(records: Sequence[Record]) -> Iterable[SentTxid]:
    """Yield the txids that records say they are of, as they come."""
    found: list[tuple[int, int, list[Source]]] = []
    for record in records:
        txid, attempt, source = _told(record)
        if not found or found[-1][:2] != (txid, attempt):
            found.append((txid, attempt, []))
        found[-1][2].append(source)
    return [SentTxid(txid, attempt, tuple(sources)) for txid, attempt, sources in found]


def _told(record: Record) -> tuple[int, int, Source]:
    """Return what a record says of itself: txid and attempt by its headers, its source by its value and its headers."""
    headers = {name: (value or b"").decode() for name, value in record.headers}
    partition, _, offset = (record.value or b"").decode().partition("/")
    if headers["trident-topology"] != TOPOLOGY or headers["trident-source"] != f"t[{partition}]@{offset}":
        raise ViolationError(f"the record of {record.value!r} was sent with {headers}")
    return int(headers["trident-txid"]), int(headers["trident-attempt"]), (int(partition), int(offset))
