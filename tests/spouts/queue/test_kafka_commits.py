"""Commits of a group: one is out at a time, and a position counts as durable when the brokers have said so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from trident.base.errors import FatalError
from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.kafka.commits import GroupCommits
from trident.spouts.queue.kafka.errors import GroupPlace
from trident.spouts.queue.kafka.exposed import ExposedRecords
from trident.spouts.queue.kafka.notes import note_of, progress_in
from trident.spouts.queue.kafka.offsets import OffsetsInFlight, TopicPartition

ONE = TopicPartition("t", 0)


class FakeConsumer:
    """Keeps what was committed; answers to those that wait at once."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, bool]] = []
        self.refuses: KafkaError | None = None

    def commit(self, offsets: Sequence[Place], asynchronous: bool = True) -> Sequence[Place] | None:
        if self.refuses is not None:
            raise KafkaException(self.refuses)
        self.sent += [(place.offset, asynchronous) for place in offsets]
        return None if asynchronous else offsets


class Scene:
    """Records 0, 1, 2 of one partition are under way."""

    def __init__(self) -> None:
        self.flight, self.exposed, self.fake = OffsetsInFlight(), ExposedRecords(100), FakeConsumer()
        self.consumer = cast(Consumer, self.fake)
        self.commits = GroupCommits(GroupPlace("b", ("t",), "g"), self.flight, self.exposed)
        self.flight.assign(ONE, 0)
        for offset in range(3):
            self.flight.emit(ONE, offset)
            self.exposed.take((ONE, offset))

    def ack(self, offset: int) -> None:
        self.flight.ack(ONE, offset)
        self.exposed.done((ONE, offset))
        self.commits.hurry()
        self.commits.now_and_then(self.consumer)

    def answer(self, offset: int, error: int | None = None) -> None:
        self.commits.heard(None if error is None else KafkaError(error), [Place("t", 0, offset)])


def test_while_one_is_out_no_other_is_sent() -> None:
    scene = Scene()
    scene.ack(0)
    scene.ack(1)
    assert scene.fake.sent == [(1, True)]
    assert len(scene.exposed) == 2, "what was sent may not have come"
    scene.answer(1)
    assert len(scene.exposed) == 1
    scene.commits.now_and_then(scene.consumer)
    assert scene.fake.sent == [(1, True), (2, True)]


def test_one_that_waits_is_sent_behind_the_one_that_is_out() -> None:
    scene = Scene()
    scene.ack(0)
    scene.ack(1)
    served: list[int] = []

    def serve() -> None:
        served.append(len(scene.fake.sent))
        scene.answer(1)

    scene.commits.at_once(scene.consumer, serve)
    assert (served, scene.fake.sent) == ([1], [(1, True), (2, False)])


def test_one_that_was_passed_and_is_carried_out_later_does_not_leave_the_position_there() -> None:
    scene = Scene()
    scene.ack(0)
    scene.ack(1)
    scene.commits.in_rebalance(scene.consumer)
    assert scene.fake.sent == [(1, True), (2, False)]
    scene.answer(1)
    scene.commits.hurry()
    scene.commits.now_and_then(scene.consumer)
    assert scene.fake.sent[2:] == [(2, True)], "the brokers may have taken the first one behind the second"
    scene.answer(2)
    scene.commits.hurry()
    scene.commits.now_and_then(scene.consumer)
    assert len(scene.fake.sent) == 3


def test_one_that_failed_is_sent_again() -> None:
    scene = Scene()
    scene.ack(0)
    scene.answer(1, KafkaError.COORDINATOR_NOT_AVAILABLE)
    scene.commits.hurry()
    scene.commits.now_and_then(scene.consumer)
    assert (scene.fake.sent, len(scene.exposed)) == ([(1, True), (1, True)], 1)
    assert scene.commits.error is None


def test_one_that_is_denied_ends_the_run() -> None:
    scene = Scene()
    scene.fake.refuses = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    scene.ack(0)
    assert isinstance(scene.commits.error, FatalError)


def test_a_partition_that_begins_at_its_end_is_placed_when_that_is_confirmed() -> None:
    scene = Scene()
    two = TopicPartition("t", 1)
    scene.flight.assign(two, 7)
    scene.commits.place_here(two)
    scene.fake.refuses = KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE)
    scene.commits.in_rebalance(scene.consumer)
    assert not scene.commits.is_placed(two)
    scene.fake.refuses = None
    scene.commits.now_and_then(scene.consumer)
    assert not scene.commits.is_placed(two), "it may not have come"
    scene.commits.heard(None, [Place("t", 1, 7)])
    assert scene.commits.is_placed(two)


def test_of_two_moments_that_are_told_the_later_one_is_noted_whichever_comes_first() -> None:
    scene = Scene()
    for done in (2, 1):
        scene.commits.reached(StreamProgress("a" * 16, 0, done))
    scene.flight.ack(ONE, 0)
    scene.commits.acked(ONE)
    notes = [progress_in(place.metadata or "") for place in scene.commits._wanted()]
    assert notes == [StreamProgress("a" * 16, 0, 2)]


def test_who_is_given_again_what_is_done_keeps_the_txid_that_is_noted() -> None:
    life = "a" * 16
    for noted, kept in ((StreamProgress(life, 0, 2, 9), 9), (StreamProgress(life, 3, 2, 9), 0), (None, 0)):
        scene = Scene()
        scene.commits.reached(StreamProgress(life, 0, 2))
        scene.commits.take_over(ONE, note_of("", 100, noted))
        scene.flight.ack(ONE, 0)
        scene.commits.acked(ONE)
        assert [progress_in(each.metadata or "") for each in scene.commits._wanted()] == [
            StreamProgress(life, 0, 2, kept)
        ]
        scene.commits.reached(StreamProgress(life, 0, 3, 11))
        scene.flight.ack(ONE, 1)
        scene.commits.acked(ONE)
        assert progress_in(scene.commits._wanted()[0].metadata or "") == StreamProgress(life, 0, 3, 11)


def test_who_does_not_know_how_far_its_stream_is_takes_no_note_away() -> None:
    scene, note = Scene(), note_of("", 0, StreamProgress("a" * 16, 0, 2))
    scene.commits.take_over(ONE, note)
    (place,) = scene.commits._wanted()
    assert place.metadata == note_of("", 100, StreamProgress("a" * 16, 0, 2)), "with its own horizon"
