"""A member of a Kafka consumer group whose offsets are committed up to what is acked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Final, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Place

from trident.base.errors import TridentError
from trident.spouts.base import StartAt
from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.kafka.clients import admin_of, member_of
from trident.spouts.queue.kafka.commits import GroupCommits, has_position, partition_of, position_in
from trident.spouts.queue.kafka.errors import (
    GroupPlace,
    classify,
    is_away,
    is_denied,
    is_moved,
)
from trident.spouts.queue.kafka.exposed import ExposedRecords
from trident.spouts.queue.kafka.offsets import OffsetsInFlight, TopicPartition, place_named, topic_named
from trident.spouts.queue.kafka.others import OtherMembers
from trident.spouts.queue.kafka.setting import lost_position, never_placed
from trident.spouts.queue.kafka.standing import Remembered, require_placed, require_remembered
from trident.spouts.queue.kafka.watch import TopicWatch

_PATIENCE_S: Final = 10.0
_PATIENCES_S: Final = (1.0, 3.0, _PATIENCE_S)
"""How long the first answer about a group is waited for, one after the other."""
_AT_ONCE: Final = 500
_AGAIN_S: Final = 0.5
_SERVE_S: Final = 1.0
_OTHERS_S: Final = 5.0
"""How often it is asked how far other members are, while nothing new is taken because of them."""


class GroupMember:
    """A consumer of its own, from `open` to `close`; for one thread. Calls raise what `classify` makes of errors."""

    def __init__(self, options: Mapping[str, str], place: GroupPlace, start: StartAt) -> None:
        self._options = options
        self._place = place
        self._start = start
        self._flight = OffsetsInFlight()
        self._exposed = ExposedRecords(0)
        self._commits = GroupCommits(place, self._flight, self._exposed)
        self._why_held = ""
        self._parked: dict[TopicPartition, deque[Message]] = {}
        self._paused: dict[TopicPartition, None] = {}
        self._serve_at = 0.0
        self._ask_others_at = 0.0
        self._has_joined = False
        self._unbegun: set[TopicPartition] = set()
        """Those that `start` is for: the group had no position in their topic when this member came."""
        self._is_new = True
        self._ended: set[TopicPartition] = set()
        self._fetched: deque[Message] = deque()
        self._error: TridentError | None = None
        self._topics = TopicWatch(place)
        self._others = OtherMembers(place)

    @property
    def flight(self) -> OffsetsInFlight:
        """What is under way."""
        return self._flight

    @property
    def is_at_end(self) -> bool:
        """Whether the group was joined and every record was taken that there was in the partitions of this member."""
        return self._has_joined and not self._fetched and not self._parked and self._ended >= self._flight.partitions

    @property
    def why_held(self) -> str:
        """Why nothing new is taken although there are records; empty where it is."""
        return self._why_held if self._parked else ""

    def topic_id(self, topic: str) -> str:
        """Return the id that a topic had when this was opened; empty where the brokers have none."""
        return self._topics.ids[topic]

    def open(self, remembered: Remembered) -> None:
        """Ask for every topic, and join the group."""
        self._consumer = member_of(self._options, self._place, self._hear_of_all, self._heard_of_commit)
        admin = admin_of(self._options)
        partitions = self._require_topics()
        self._topics.open(admin)
        self._others = OtherMembers(self._place, partitions)
        self._is_new = remembered.is_new
        self._unbegun = self._look_where_it_begins(partitions, remembered)
        places = (place_named(id_, self._topics.ids) for id_ in remembered.known)
        self._exposed = ExposedRecords(remembered.horizon, (place for place in places if place is not None))
        ids, progress = self._topics.ids, remembered.progress
        self._commits = GroupCommits(self._place, self._flight, self._exposed, ids, progress)
        self._consumer.subscribe(
            list(self._place.topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def take(self) -> Message | None:
        """Return the next record of a partition that is ours; None where there is none now, or none may be taken."""
        self._topics.look()
        self._commits.now_and_then(self._consumer)
        if not self._fetched:
            self._unpark()
        if not self._fetched:
            self._serve(_AT_ONCE)
        self._require_well()
        while self._fetched:
            found = self._fetched[0]
            if (error := found.error()) is None:
                self._reach(place_of(found), cast("int", found.offset()))
            if error is None and (why := self._why_not(found)):
                self._park(place_of(found), why)
                continue
            self._fetched.popleft()
            if error is not None:
                self._hear(error, found)
            elif place_of(found) in self._flight.partitions:
                return self._taken(found)
        return None

    def reached(self, progress: StreamProgress) -> None:
        """Hear how far the stream is, before each `done` that belongs to it."""
        self._commits.reached(progress)

    def done(self, partition: TopicPartition, offset: int) -> None:
        """Hear that a record is in every result: the group's position moves on where nothing below is under way."""
        self._flight.ack(partition, offset)
        self._commits.acked(partition)
        self._exposed.done((partition, offset))
        self._commits.now_and_then(self._consumer)
        self._require_well()

    def commit(self) -> None:
        """Commit what is acked, and wait until that is done."""
        self._commits.at_once(self._consumer, partial(self._serve, 1, 0.05))
        self._require_well()

    def close(self, *, is_settled: bool = False) -> None:
        """Commit what is acked and leave the group; `is_settled`: it is known what became of each that was taken."""
        try:
            if self._problem is None:  # else it was raised: what is left is read again
                self.commit()
                if is_settled:
                    self._commits.at_the_end(self._consumer)
        finally:
            self._consumer.close()

    def tend(self) -> None:
        """Stay in the group while nothing is taken: a member that does not ask for so long is left out of it."""
        if time.monotonic() >= self._serve_at:
            self._serve(1)
            self._require_well()

    def _serve(self, most: int, seconds: float = 0.0) -> None:
        """Let the client call back, and hear what it has."""
        self._serve_at = time.monotonic() + _SERVE_S
        found = self._consumer.consume(most, seconds)  # who calls back may exchange what is fetched
        self._fetched.extend(found)
        if self._has_joined:
            self._others.look(self._flight.partitions)

    def _taken(self, found: Message) -> Message:
        partition, offset = place_of(found), cast("int", found.offset())
        self._flight.emit(partition, offset)
        self._exposed.take((partition, offset))
        self._ended.discard(partition)
        return found

    def _reach(self, partition: TopicPartition, offset: int) -> None:
        """Hear what is next in a log, or its end: all below it was taken, or is there no more."""
        if partition not in self._parked:  # else what waits lies below it
            self._flight.skip_to(partition, offset)
            self._exposed.reach(partition, offset)

    def _why_not(self, found: Message) -> str:
        """Return why a record must wait; empty where it need not."""
        partition, offset = place_of(found), cast("int", found.offset())
        if partition not in self._flight.partitions:
            return ""
        if partition in self._parked and self._parked[partition][0] is not found:
            return self._why_held
        if not self._commits.is_placed(partition):
            return (
                f"that {partition.topic}[{partition.partition}] is read from its end at {offset} on is not committed "
                "yet, and a process that dies before would begin at a later end"
            )
        if self._exposed.has_room((partition, offset)):
            return ""
        return (
            f"{len(self._exposed)} records were done since {_named(self._exposed.oldest)}, which no committed position "
            f"of the group covers yet, and {self._exposed.under_way} are under way: with more of them some would be "
            "forgotten, and count twice if they were given again. Records that fail again and again, or commits that "
            "the brokers do not take, are the reason; a larger horizon in the spout's class leaves more room"
        )

    def _park(self, partition: TopicPartition, why: str) -> None:
        """Take nothing more of a partition for now: what is fetched of it waits here, and no more is fetched."""
        self._why_held = why
        mine = [each for each in self._fetched if not each.error() and place_of(each) == partition]
        self._parked.setdefault(partition, deque()).extend(mine)
        self._fetched = deque(each for each in self._fetched if each.error() or place_of(each) != partition)
        self._ended.discard(partition)
        if partition not in self._paused:
            self._consumer.pause([Place(*partition)])
            self._paused[partition] = None

    def _unpark(self) -> None:
        """Go on with a partition that has room by now; one that is used up is fetched again, its end heard anew.

        One at a time: where there is room for few, all the others would have to be paused again at once.
        """
        free = next((each for each in self._paused if each not in self._parked), None)
        if free is not None:
            del self._paused[free]
            self._consumer.resume([Place(*free)])
        if not self._parked:
            return
        self._commits.hurry()
        for partition, waiting in self._parked.items():
            if not self._why_not(waiting[0]):
                self._fetched.extend(self._parked.pop(partition))
                return
        others = self._exposed.of_others(self._flight.partitions) if time.monotonic() >= self._ask_others_at else ()
        if others:
            self._ask_others_at = time.monotonic() + _OTHERS_S
            self._ask_of(others)

    def _ask_of(self, others: Iterable[TopicPartition]) -> None:
        """Ask how far other members have come with their partitions, and where the logs of these begin."""
        try:
            for place in self._consumer.committed([Place(*each) for each in others], _PATIENCE_S):
                first, _ = self._consumer.get_watermark_offsets(place, _PATIENCE_S)
                reached = position_in(place, self._topics.ids) if place.error is None else None
                self._exposed.pass_by(partition_of(place), max(first, reached or 0))
        except KafkaException as error:
            if not is_away(error.args[0]) and not is_moved(error.args[0]):
                raise classify(error.args[0], self._place) from None

    def _require_topics(self) -> list[TopicPartition]:
        partitions: list[TopicPartition] = []
        for topic in self._place.topics:
            try:
                found = self._consumer.list_topics(topic, timeout=_PATIENCE_S).topics[topic]
            except KafkaException as error:
                # a login that is refused looks like brokers that are away, but to who is called back
                self._consumer.poll(0)
                self._require_well()
                raise classify(error.args[0], self._place) from None
            if found.error is not None:
                raise classify(found.error, self._place, topic)
            partitions += [TopicPartition(topic, number) for number in found.partitions]
        return partitions

    def _look_where_it_begins(
        self, partitions: Iterable[TopicPartition], remembered: Remembered
    ) -> set[TopicPartition]:
        """Return the partitions that there are of topics in which the group has no position at all.

        One in a topic that had the name before is one, and so is a record of it that is done: nobody was to skip what a
        topic has that was made again.

        To be asked before the group is joined, and of all partitions: of those that a member is given, none may have a
        position because they came later, or because another member has just placed the others. Raises what
        `require_remembered` and `require_placed` do.
        """
        found = self._stand([Place(*each) for each in partitions])
        require_remembered(self._place, found, self._topics.ids, remembered)
        require_placed(self._place, found, self._topics.ids, remembered.known)
        begun = {place.topic for place in found if has_position(place)} | {*map(topic_named, remembered.known)}
        return {partition_of(place) for place in found if place.topic not in begun}

    def _stand(self, partitions: Sequence[Place]) -> Sequence[Place]:
        """Return the group's positions; raises what keeps them back, which the client says to who consumes alone."""
        for patience in _PATIENCES_S:
            try:
                return _committed(self._consumer, partitions, patience)
            except KafkaException as error:
                problem = error.args[0]
                if not is_away(problem):
                    break
                for found in self._consumer.consume(_AT_ONCE, _AGAIN_S):
                    if (said := found.error()) is not None:
                        self._hear(said, found)
                self._require_well()
        raise classify(problem, self._place)

    def _assigned(self, consumer: Consumer, partitions: Sequence[Place]) -> None:
        try:
            found = _committed(consumer, partitions, _PATIENCE_S)
            places = [self._placed(consumer, place) for place in found]
        except KafkaException as error:
            self._error = classify(error.args[0], self._place)
            return
        except TridentError as error:
            self._error = error
            return
        consumer.assign(places)
        consumer.resume(places)  # else the client keeps what was paused before
        self._paused.clear()
        self._has_joined = True
        self._commits.in_rebalance(consumer)  # whoever comes after a crash begins where this one does

    def _placed(self, consumer: Consumer, found: Place) -> Place:
        """Say where a partition is read from: where the group has left it, or where it is to begin.

        A first position is committed before anything is taken. `start` is for a stream that begins: another one leaves
        nothing out where its topic was made again, or its position is gone. One that is missing in a topic that the
        group had begun is of a partition that came later: from its beginning, for nobody was to skip that.
        """
        partition, offset = partition_of(found), position_in(found, self._topics.ids)
        self._ended.discard(partition)
        is_begun = partition not in self._unbegun
        self._unbegun.discard(partition)
        if offset is not None:
            self._flight.assign(partition, offset)
            self._exposed.pass_by(partition, offset)
            self._commits.take_over(partition, found.metadata or "")
            return Place(*partition, offset)
        if (known := self._exposed.knows(partition)) is not None:
            self._topics.require_same(partition.topic)
            raise lost_position(self._place, {partition: known})
        begins_at_end = self._start is StartAt.LATEST and not is_begun
        if begins_at_end and not self._is_new:
            raise never_placed(self._place, partition.topic)
        first, end = consumer.get_watermark_offsets(Place(*partition), _PATIENCE_S)
        offset = end if begins_at_end else first
        self._flight.assign(partition, offset)
        self._commits.place_here(partition)
        return Place(*partition, offset)

    def _revoked(self, consumer: Consumer, partitions: Sequence[Place]) -> None:
        self._commits.in_rebalance(consumer)
        self._lost(consumer, partitions)

    def _lost(self, consumer: Consumer, partitions: Sequence[Place]) -> None:
        gone = {partition_of(place) for place in partitions}
        self._flight.revoke(gone)
        self._commits.revoke(gone)
        self._ended -= gone
        self._parked = {each: waiting for each, waiting in self._parked.items() if each not in gone}
        self._has_joined = False
        self._fetched = deque(each for each in self._fetched if not _is_of(each, gone))

    def _heard_of_commit(self, error: KafkaError | None, places: Sequence[Place]) -> None:
        self._commits.heard(error, places)

    def _hear_of_all(self, error: KafkaError) -> None:
        if is_denied(error) or error.fatal():
            self._error = classify(error, self._place)

    def _hear(self, error: KafkaError, found: Message) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            if place_of(found) in self._flight.partitions:
                self._ended.add(place_of(found))
                self._reach(place_of(found), cast("int", found.offset()))
            return
        if is_moved(error) and not error.fatal():
            return
        if is_away(error) and error.code() != KafkaError._ALL_BROKERS_DOWN:
            return  # one broker of several: the client goes on by itself
        raise classify(error, self._place, f"{found.topic()}[{found.partition()}]" if found.topic() else "")

    def _require_well(self) -> None:
        if self._problem is not None:
            raise self._problem

    @property
    def _problem(self) -> TridentError | None:
        return self._error or self._commits.error


def place_of(record: Message) -> TopicPartition:
    """Return the partition that a record is of."""
    return TopicPartition(cast("str", record.topic()), cast("int", record.partition()))


def _committed(consumer: Consumer, partitions: Sequence[Place], patience: float) -> list[Place]:
    found = consumer.committed(list(partitions), patience)
    problem = next((place.error for place in found if place.error is not None), None)
    if problem is not None:
        raise KafkaException(problem)
    return found


def _named(place: tuple[TopicPartition, int] | None) -> str:
    return "the last commit" if place is None else f"{place[0].topic}[{place[0].partition}] offset {place[1]}"


def _is_of(found: Message, partitions: Set[TopicPartition]) -> bool:
    """Tell whether it is a record or the end of one of these."""
    return found.topic() is not None and place_of(found) in partitions
