"""What the positions of a group say about the stream that is about to read on from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from confluent_kafka import TopicPartition as Place

from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.kafka.commits import partition_of
from trident.spouts.queue.kafka.errors import GroupPlace, ledger_behind, smaller_horizon
from trident.spouts.queue.kafka.notes import horizon_in, progress_in
from trident.spouts.queue.kafka.offsets import TopicPartition


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a stream remembers of the records that are done when its group is joined."""

    horizon: int = 0
    known: Sequence[str] = field(default=(), repr=False)
    """Ids of `id_of`, oldest first, within the horizon."""
    progress: StreamProgress | None = None
    is_new: bool = True
    """Whether the stream has begun in this run."""


def require_remembered(place: GroupPlace, positions: Sequence[Place], remembered: Remembered) -> None:
    """Raise `FatalError` where more was acked, or may be done above these positions, than is remembered now."""
    progress = remembered.progress
    if progress is not None and (passed := _passed(positions, progress)):
        raise ledger_behind(place, passed, progress, remembered.known)
    before = max((horizon_in(each.metadata or "") for each in positions), default=0)
    if 0 < remembered.horizon < before:
        raise smaller_horizon(place, before, remembered.horizon)


def _passed(positions: Sequence[Place], progress: StreamProgress) -> dict[TopicPartition, StreamProgress]:
    """Return the partitions whose positions were committed when more was done than the ledger says, and how much.

    A note is committed behind what it says, and a ledger takes nothing back of such a stream: it was put back, maybe
    to before a reset. What another stream has noted, or this one before its last reset, says nothing. Where a note says
    no more than the ledger, all that lies below its position was done by then: it is acked before that position is
    committed.
    """
    notes = {partition_of(each): progress_in(each.metadata or "") for each in positions}
    return {partition: noted for partition, noted in notes.items() if noted is not None and progress.is_behind(noted)}
