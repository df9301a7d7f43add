"""Steps of a sink as somebody might get them wrong; `planted.py` plants them.

Each is what the product does but for one thing that is easily overlooked. What a process would remember is kept by the
epoch that it has, since all coordinators of a world share one sink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from tests.simulation.brokers import SimulatedKafka
from tests.state.memory_kafka import Producer
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.kafka.marker import Marker, encode, transactional_id
from trident.state.kafka.markers import Change, Markers
from trident.state.kafka.outbox.relaying import OutboxRelay
from trident.state.kafka.outbox.store import Entry
from trident.state.kafka.records import Record
from trident.state.positions import Position, is_in

_CHANGE, _FIND = Markers.change, Markers._find
_RELAY, _SEND = OutboxRelay.relay, OutboxRelay._send
_BEGUN = SimulatedKafka.begun
Decide = Callable[[Marker | None, str], Change | None]


def keeps_the_session(kafka: SimulatedKafka, transactional_id: str) -> Producer:
    """Go on with the producer that the process has, as long as nothing of it is open: its epoch stays."""
    found = kafka.producers.get(transactional_id)
    is_mine = found is not None and kafka.call.epoch is not None and kafka._writers.get(found) == kafka.call.epoch
    if found is not None and is_mine and not found.open:
        return found
    return _BEGUN(kafka, transactional_id)


def remembers_the_marker(
    markers: Markers, topology: str, here: str, *, briefly: bool = False
) -> tuple[Marker | None, int]:
    """Go by the marker that was read before, until a change of one's own is confirmed."""
    kafka = markers._cluster
    assert isinstance(kafka, SimulatedKafka)
    kept = vars(kafka).setdefault("kept", {})
    if kafka.call.epoch not in kept:
        kept[kafka.call.epoch] = _FIND(markers, topology, here, briefly=briefly)
    found: tuple[Marker | None, int] = kept[kafka.call.epoch]
    return found


def forgets_when_confirmed(markers: Markers, topology: str, decide: Decide, **named: object) -> None:
    """Change the marker, and read it again before the next change."""
    _CHANGE(markers, topology, decide, **named)  # type: ignore[arg-type]
    vars(markers._cluster).setdefault("kept", {}).clear()


def sends_the_marker_afterwards(
    markers: Markers, topology: str, decide: Decide, *, limits: Mapping[str, int] | None = None, txid: int = 0
) -> None:
    """Commit the records, then the marker that says so."""
    id_ = transactional_id(topology, markers._sink)
    session = markers._producers.open(id_, {})
    here = session.cluster_id()
    marker, partition = markers._find(topology, here)
    change = decide(marker, here)
    if change is None:
        return
    for record in change.records:
        session.send(record)
    session.commit()
    session = markers._producers.open(id_, {})
    session.send(Record(markers._topic, id_.encode(), encode(change.marker), ()), partition)
    session.commit()


def is_of_any_epoch(found: Marker | None, epoch: Epoch, name: str) -> Marker:
    """Take a marker whoever has written it."""
    assert found is not None
    return found


def is_not_in(position: Position | None, batch: BatchId, name: str) -> bool:
    """Take what was sent for something that is still to be sent."""
    return is_in(position, batch, name) and False


def sends_what_is_pinned(relay: OutboxRelay, owner: Owner, epoch: Epoch, done: int) -> int:
    """Send what lies there, whether it is done or not."""
    return min(_RELAY(relay, owner, epoch, done + 1), done)


def trims_first(relay: OutboxRelay, owner: Owner, epoch: Epoch, entries: Sequence[Entry], rows: list[pa.Table]) -> None:
    """Delete what waits, then send it."""
    relay._trimmed(owner, epoch, entries[-1].txid, entries[-1].txid)
    _SEND(relay, owner, epoch, entries, rows)


def sends_all_that_lies_there(
    relay: OutboxRelay, mine: Marker, owner: Owner, entries: Sequence[Entry]
) -> Position | None:
    """Send every entry, also what the marker has passed and nobody has trimmed."""
    position = mine.position
    assert position is not None
    return replace(position, txid=entries[0].before_txid)
