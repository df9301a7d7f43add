"""Asking the leaders where an epoch ends in their logs (KIP-320): kafka-python has the request, but no method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.consumer.offsets import OffsetForLeaderEpochRequest

from trident.base.errors import RetryableError
from trident.base.logs import EpochEnd
from trident.base.ranges import OffsetRange, PartitionId

_ANY_LEADER: Final = -1
_CONSUMER: Final = -1
_Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
_Partition = _Topic.OffsetForLeaderPartition


def epoch_ends(admin: KafkaAdminClient, known: Sequence[OffsetRange]) -> list[EpochEnd]:
    """Return for each range what its partition's leader says of its epoch; one request per broker.

    A partition may be there more than once. Raises Kafka's own errors, and `RetryableError` for a leader that has
    never been in the epoch: one that was replaced and does not know it yet, or one of a restored cluster.
    """
    found: dict[tuple[PartitionId, int | None], EpochEnd] = {}
    left = list(known)
    while left:  # one epoch of a partition per request
        round_ = {item.id: item for item in reversed(left)}
        left = [item for item in left if round_[item.id] is not item]
        answers = admin._manager.run(_ask, admin, tuple(round_.values()))
        found.update({(id_, round_[id_].epoch): answer for id_, answer in answers.items()})
    return [_known(item, found[item.id, item.epoch]) for item in known]


def _known(item: OffsetRange, answer: EpochEnd) -> EpochEnd:
    if answer.end < 0:
        raise RetryableError(
            f"partition {item.id.partition} of topic {item.id.topic!r} was in leader epoch {item.epoch} when it was "
            "read, and the leader that answers now has never been in that one: it was replaced and does not know it "
            "yet, or the cluster was restored from a backup. Nothing more was read"
        )
    return answer


async def _ask(admin: KafkaAdminClient, known: Iterable[OffsetRange]) -> dict[PartitionId, EpochEnd]:
    epochs = {TopicPartition(item.id.topic, item.id.partition): item.epoch for item in known}
    answers: dict[PartitionId, EpochEnd] = {}
    for leader, places in (await admin._async_get_leader_for_partitions(set(epochs))).items():
        request = _request({place: epochs[place] for place in places})
        answers.update(_answers(await admin._manager.send(request, node_id=leader)))
    return answers


def _request(epochs: dict[TopicPartition, int | None]) -> OffsetForLeaderEpochRequest:
    topics: dict[str, list[Any]] = defaultdict(list)
    for place, epoch in epochs.items():
        asked = _Partition(partition=place.partition, current_leader_epoch=_ANY_LEADER, leader_epoch=epoch)
        topics[place.topic].append(asked)
    named = [_Topic(topic=name, partitions=parts) for name, parts in topics.items()]
    return OffsetForLeaderEpochRequest(replica_id=_CONSUMER, topics=named)


def _answers(response: Any) -> dict[PartitionId, EpochEnd]:
    answers: dict[PartitionId, EpochEnd] = {}
    for topic in response.topics:
        for item in topic.partitions:
            if item.error_code:
                raise kafka_errors.for_code(item.error_code)()
            answers[PartitionId(topic.topic, item.partition)] = EpochEnd(item.leader_epoch, item.end_offset)
    return answers
