"""Where a partition begins that has no position: as `start` says only in a topic that its group had not begun."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from tests.spouts.queue.test_kafka_member import Client
from trident.base.errors import FatalError
from trident.spouts.base import StartAt
from trident.spouts.queue.kafka.commits import GroupCommits
from trident.spouts.queue.kafka.errors import GroupPlace
from trident.spouts.queue.kafka.exposed import ExposedRecords
from trident.spouts.queue.kafka.member import GroupMember
from trident.spouts.queue.kafka.offsets import TopicPartition
from trident.spouts.queue.kafka.standing import Remembered


class NotingClient(Client):
    """Keeps what is noted beside positions."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.notes: dict[int, str] = {}

    def commit(self, offsets: list[Place], asynchronous: bool = True) -> list[Place] | None:
        self.notes = {**self.notes, **{place.partition: place.metadata or "" for place in offsets}}
        super().commit(offsets, asynchronous=False)
        if asynchronous:
            self.hear(None, offsets)
        return offsets

    def committed(self, places: Sequence[Place], timeout: float) -> list[Place]:
        found = super().committed(places, timeout)
        return [Place("t", place.partition, place.offset, self.notes.get(place.partition, "")) for place in found]

    def close(self) -> None:
        pass


def client_of(partitions: int) -> Client:
    return Client(random.Random(0), [list(range(6))] * partitions, [6] * partitions)


def come(client: Client, partitions: int, start: StartAt = StartAt.LATEST) -> GroupMember:
    """Return a member that has seen so many partitions and has not joined its group yet."""
    member = GroupMember({}, GroupPlace("b", ("t",), "g"), start)
    member._consumer = cast(Consumer, client)
    member._unbegun = member._look_where_it_begins(
        [TopicPartition("t", number) for number in range(partitions)], Remembered()
    )
    return member


def given(member: GroupMember, client: Client, *numbers: int) -> list[int | None]:
    """Assign partitions to a member, and return from where it reads each."""
    member._assigned(cast(Consumer, client), [Place("t", number) for number in numbers])
    return [member.flight.position(TopicPartition("t", number)) for number in numbers]


def test_a_partition_that_came_later_is_read_from_its_beginning_also_where_others_have_all_the_others() -> None:
    client = client_of(3)
    client.positions = {0: 6, 1: 6}
    assert given(come(client, 3), client, 2) == [0]


def test_members_that_begin_together_each_begin_as_they_were_told() -> None:
    client = client_of(2)
    one, two = come(client, 2), come(client, 2)
    assert given(one, client, 0) == [6]
    assert client.positions == {0: 6}
    assert given(two, client, 1) == [6], "that the other one was quicker makes it no partition that came later"


def test_a_partition_that_comes_while_its_members_run_is_read_from_its_beginning() -> None:
    client = client_of(3)
    member = come(client, 2)
    assert given(member, client, 0, 1) == [6, 6]
    member._lost(cast(Consumer, client), [Place("t", 0), Place("t", 1)])
    assert given(member, client, 2) == [0]


def test_a_position_that_goes_is_no_reason_to_begin_at_the_end() -> None:
    client = client_of(1)
    member = come(client, 1)
    assert given(member, client, 0) == [6]
    client.positions.clear()
    member._lost(cast(Consumer, client), [Place("t", 0)])
    assert given(member, client, 0) == [0]


def test_a_position_that_goes_while_it_is_read_is_named_where_records_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    client = NotingClient(random.Random(0), [list(range(6))], [6])
    member = stream(client, 8)
    take(member, 2)
    member.done(TopicPartition("t", 0), 0)
    member._lost(cast(Consumer, client), [Place("t", 0)])
    client.positions.clear()
    monkeypatch.setattr(member._topics, "require_same", lambda topic: None)
    given(member, client, 0)
    with pytest.raises(FatalError, match=r"no position in t:0 any more, .* up to offset 0 .*--to-offset 1 goes on"):
        member._require_well()


def test_a_topic_that_was_made_again_is_read_from_its_beginning() -> None:
    client = NotingClient(random.Random(0), [list(range(6))], [6])
    member = GroupMember({}, GroupPlace("b", ("t",), "g"), StartAt.LATEST)
    member._consumer = cast(Consumer, client)
    member._topics._ids = {"t": "new"}
    remembered = Remembered(known=("t/0/3@old", "of somebody's own"))
    member._unbegun = member._look_where_it_begins([TopicPartition("t", 0)], remembered)
    assert given(member, client, 0) == [0], "the brokers have dropped the position with the topic"


def test_a_stream_that_has_begun_leaves_nothing_out() -> None:
    client = NotingClient(random.Random(0), [list(range(6))], [6])
    member = come(client, 1)
    member._is_new = False
    given(member, client, 0)
    with pytest.raises(FatalError, match=r"no position in t, and start=.latest. is for a stream that b.*--to-earli"):
        member._require_well()
    earliest = come(client, 1, StartAt.EARLIEST)
    earliest._is_new = False
    assert given(earliest, client, 0) == [0]


def test_from_the_beginning_is_from_the_beginning() -> None:
    client = client_of(2)
    assert given(come(client, 2, StartAt.EARLIEST), client, 0, 1) == [0, 0]


def test_a_group_that_can_not_be_asked_about_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(1)
    answer = type("Answer", (), {"topic": "t", "partition": 0, "offset": -1001, "metadata": None})()
    answer.error = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    monkeypatch.setattr(client, "committed", lambda places, timeout: [answer])
    with pytest.raises(FatalError, match="Read on the group"):
        come(client, 1)


def stream(client: Client, horizon: int) -> GroupMember:
    """Return a member that has its one partition, of a stream that remembers so many records."""
    member = GroupMember({}, GroupPlace("b", ("t",), "g"), StartAt.EARLIEST)
    member._consumer = cast(Consumer, client)
    member._exposed = ExposedRecords(horizon)
    member._commits = GroupCommits(member._place, member._flight, member._exposed)
    member._topics._look_at = float("inf")
    client.hear = member._heard_of_commit
    member._unbegun = member._look_where_it_begins([TopicPartition("t", 0)], Remembered(horizon))
    given(member, client, 0)
    return member


def take(member: GroupMember, count: int) -> None:
    for _ in range(1_000):
        if count and member.take() is not None:
            count -= 1
    assert not count


def test_who_remembers_fewer_than_may_be_done_above_the_positions_is_refused() -> None:
    client = NotingClient(random.Random(0), [list(range(6))], [6])
    member = stream(client, 8)
    take(member, 4)
    for offset in (1, 2, 3):
        member.done(TopicPartition("t", 0), offset)
    with pytest.raises(FatalError, match=r"the last 8 records .* would remember 2\. Up to 4 .*a horizon of 8 "):
        stream(client, 2)
    stream(client, 8)
    stream(client, 20)


def test_a_partition_of_which_nothing_is_committed_yet_says_so_too() -> None:
    client = NotingClient(random.Random(0), [list(range(6))], [6])
    member = stream(client, 2)
    member.close(is_settled=True)
    stream(client, 8)  # and dies with its first record under way, so that no position ever moves
    with pytest.raises(FatalError, match="would remember 2"):
        stream(client, 2)


@pytest.mark.parametrize(("done", "is_settled", "is_let"), [(4, True, True), (4, False, False), (3, True, True)])
def test_who_has_ended_with_nothing_done_above_the_positions_says_so(done: int, is_settled: bool, is_let: bool) -> None:
    client = NotingClient(random.Random(0), [list(range(6))], [6])
    member = stream(client, 8)
    take(member, 4)
    for offset in range(done):
        member.done(TopicPartition("t", 0), offset)
    member.close(is_settled=is_settled)
    assert client.positions == {0: done}
    if is_let:
        stream(client, 2)
    else:
        with pytest.raises(FatalError, match="would remember 2"):
            stream(client, 2)


def test_what_is_done_above_a_position_at_the_end_is_said() -> None:
    client = NotingClient(random.Random(0), [list(range(6))], [6])
    member = stream(client, 8)
    take(member, 2)
    member.done(TopicPartition("t", 0), 1)
    member.close(is_settled=True)  # record 0 goes back
    with pytest.raises(FatalError, match="would remember 2"):
        stream(client, 2)


def test_an_end_while_the_brokers_are_away_waits_for_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    client = NotingClient(random.Random(0), [list(range(6))], [6])
    member = stream(client, 8)

    def away(*_: object) -> list[Place]:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    with monkeypatch.context() as patched:
        patched.setattr(client, "committed", away)
        patched.setattr(client, "commit", lambda *_, **__: pytest.fail("the client would wait for the brokers"))
        member.close(is_settled=True)
    with pytest.raises(FatalError, match="would remember 2"):
        stream(client, 2)
