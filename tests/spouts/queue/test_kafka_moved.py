"""Records of a partition that has moved to another member of the group: they are that one's, and nobody waits here."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import TopicPartition as Place

from tests.spouts.queue.test_kafka_commits import ONE, Scene
from tests.spouts.queue.test_kafka_member import started
from trident.spouts import AckingKafkaSpout, RawBody
from trident.spouts.queue.kafka.offsets import TopicPartition
from trident.spouts.queue.message import Message


def given() -> tuple[AckingKafkaSpout, Sequence[Message]]:
    scene = started()
    scene.member._topics._ids = {"t": "made"}
    spout = AckingKafkaSpout("t", group="g", bootstrap_servers="b:1", body=RawBody())
    spout._member = scene.member
    found = [message for _ in range(1_000) if (message := spout.next_tuple()) is not None]
    assert len(found) > 2
    return spout, found


def move(spout: AckingKafkaSpout) -> None:
    member = spout._opened()
    member._revoked(member._consumer, [Place(*each) for each in member.flight.partitions])
    member._assigned(member._consumer, [])


def test_what_fails_behind_the_move_is_not_given_again() -> None:
    spout, found = given()
    move(spout)
    spout.fail(found[0].id)
    assert (spout._again, spout.next_tuple()) == (type(spout._again)(), None)
    assert found[0].id not in spout._emitted


def test_what_had_failed_before_the_move_is_not_given_again() -> None:
    spout, found = given()
    spout.fail(found[0].id)
    move(spout)
    assert spout.next_tuple() is None


def test_a_member_that_has_lost_its_partitions_is_not_at_their_end() -> None:
    spout, _ = given()
    member = spout._opened()
    assert member.is_at_end
    member._lost(member._consumer, [Place(*each) for each in member.flight.partitions])
    assert not member.is_at_end, "it has to join the group again"


def test_an_answer_to_another_commit_is_no_word_on_the_one_that_is_out() -> None:
    scene = Scene()
    scene.ack(0)
    scene.commits.heard(None, [Place("t", 1, 7)])
    scene.ack(1)
    assert scene.fake.sent == [(1, True)], "one is out still"
    scene.answer(1)
    scene.ack(2)
    assert scene.fake.sent == [(1, True), (3, True)]


def test_a_place_that_was_not_committed_is_waited_for_by_the_one_who_has_the_partition() -> None:
    scene = Scene()
    scene.commits.place_here(ONE)
    assert not scene.commits.is_placed(ONE)
    scene.commits.revoke({TopicPartition("t", 1)})
    assert not scene.commits.is_placed(ONE)
    scene.commits.revoke({ONE})
    assert scene.commits.is_placed(ONE)
