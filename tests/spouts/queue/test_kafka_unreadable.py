"""A record that can't be read, below and above others: the way on that its error names leaves out nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.spouts.queue.test_kafka_member import BAD, started
from trident.base.errors import FatalError
from trident.spouts import AckingKafkaSpout
from trident.spouts.queue.received import Received, UnreadableError


class _Words:
    schema = "word string"

    def values(self, received: Received) -> Sequence[object]:
        if received.body == b"bad":
            raise UnreadableError("it is bad")
        return (received.body,)


def test_a_record_that_can_not_be_read_ends_the_run_when_what_was_given_before_is_done() -> None:
    scene = started()
    scene.member._topics._ids = {"t": "made"}
    spout = AckingKafkaSpout("t", group="g", bootstrap_servers="b:1", body=_Words())
    spout._member = scene.member
    found = [message for _ in range(1_000) if (message := spout.next_tuple()) is not None]
    assert [message.id for message in found] == [f"t/0/{offset}@made" for offset in range(BAD)]
    assert spout.is_waiting()
    assert f"t[0] offset {BAD} can't be read" in spout.holds_back()
    for message in found[1:]:
        spout.ack(message.id)
    spout.fail(found[0].id)
    again = spout.next_tuple()
    assert again is not None
    assert spout.next_tuple() is None
    spout.ack(again.id)
    with pytest.raises(FatalError, match=rf"can't be read: it is bad.*--execute .*--to-offset {BAD + 1} "):
        spout.next_tuple()
    assert scene.client.positions == {0: BAD}


def test_a_record_that_can_not_be_read_is_its_new_owners_matter() -> None:
    scene = started()
    scene.member._topics._ids = {"t": "made"}
    spout = AckingKafkaSpout("t", group="g", bootstrap_servers="b:1", body=_Words())
    spout._member = scene.member
    for _ in range(1_000):
        spout.next_tuple()
    assert spout.holds_back()
    scene.member._revoked(scene.consumer, scene.all)
    assert spout.next_tuple() is None
    assert spout.holds_back() == ""
