"""What the positions of a group say about the stream that is about to read on from them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import TopicPartition as Place

from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.kafka.commits import has_position, partition_of, position_in
from trident.spouts.queue.kafka.errors import GroupPlace, smaller_horizon
from trident.spouts.queue.kafka.notes import horizon_in, progress_in
from trident.spouts.queue.kafka.offsets import TopicPartition, place_named
from trident.spouts.queue.kafka.setting import ledger_behind, lost_position, of_another_topic

_log = logging.getLogger("trident.spouts")


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a stream remembers of the records that are done when its group is joined."""

    horizon: int = 0
    known: Sequence[str] = field(default=(), repr=False)
    """Ids of `id_of`, oldest first, within the horizon."""
    progress: StreamProgress | None = None
    is_new: bool = True
    """Whether the stream has begun in this run."""


def require_remembered(
    place: GroupPlace, positions: Sequence[Place], topic_ids: Mapping[str, str], remembered: Remembered
) -> None:
    """Raise `FatalError` where more was acked, or may be done above these positions, than is remembered now.

    What is noted beside one in another topic of the name says as much of the ledger, and is asked before
    `require_placed` has a person set that position: which takes the note away.
    """
    progress = remembered.progress
    if progress is not None and remembered.is_new and (others := _of_others(positions, progress)):
        _log.warning(
            "%s: the group's positions in %s were committed by another stream of this library: of another topology, or "
            "of a ledger that is lost or at another address. What that has done is in no result of this stream, which "
            "goes on behind it. To have it given again end the run, and set the group back (%s ...)",
            place,
            ", ".join(others),
            place.setting,
        )
    if progress is not None and (passed := _passed(positions, progress)):
        known = [id_ for id_ in remembered.known if place_named(id_, topic_ids) is not None]
        raise ledger_behind(place, passed, progress, known, _moved(positions, topic_ids))
    placed = (each for each in positions if position_in(each, topic_ids) is not None)
    before = max((horizon_in(each.metadata or "") for each in placed), default=0)
    if 0 < remembered.horizon < before:
        raise smaller_horizon(place, before, remembered.horizon)


def require_placed(
    place: GroupPlace, positions: Sequence[Place], topic_ids: Mapping[str, str], known: Sequence[str]
) -> None:
    """Raise `FatalError` where records are done in a partition that has no position: the group has lost some.

    Then one of which nothing is remembered may have lost its own as well. `positions` are of all partitions. Raises it
    as well where they are in other topics of these names.
    """
    if moved := _moved(positions, topic_ids):
        raise of_another_topic(place, moved)
    newest: dict[TopicPartition, int] = {}
    for named in (place_named(id_, topic_ids) for id_ in known):
        if named is not None:
            newest[named[0]] = max(named[1], newest.get(named[0], 0))
    nowhere = [partition_of(each) for each in positions if position_in(each, topic_ids) is None]
    lost = {each: newest[each] for each in nowhere if each in newest}
    if lost:
        raise lost_position(place, lost, [each for each in nowhere if each not in newest])


def _moved(positions: Sequence[Place], topic_ids: Mapping[str, str]) -> list[TopicPartition]:
    """Return the partitions whose positions were committed in another topic of the name."""
    moved = (each for each in positions if has_position(each) and position_in(each, topic_ids) is None)
    return [partition_of(each) for each in moved]


def _of_others(positions: Sequence[Place], progress: StreamProgress) -> list[str]:
    """Return the partitions whose positions a stream of another topology, or under another ledger, has committed."""
    theirs = (partition for partition, noted in _noted(positions).items() if noted.life != progress.life)
    return [f"{topic}:{number}" for topic, number in sorted(theirs)]


def _passed(positions: Sequence[Place], progress: StreamProgress) -> dict[TopicPartition, StreamProgress]:
    """Return the partitions whose positions were committed when more was done than the ledger says, and how much.

    A note is committed behind what it says, and a ledger takes nothing back of such a stream: it was put back, maybe
    to before a reset. What another stream has noted, or this one before its last reset, says nothing. Where a note says
    no more than the ledger, all that lies below its position was done by then: it is acked before that position is
    committed.
    """
    return {partition: noted for partition, noted in _noted(positions).items() if progress.is_behind(noted)}


def _noted(positions: Sequence[Place]) -> dict[TopicPartition, StreamProgress]:
    """Return how far whose stream was when positions were committed, of those where that is noted."""
    notes = ((partition_of(each), progress_in(each.metadata or "")) for each in positions)
    return {partition: noted for partition, noted in notes if noted is not None}
