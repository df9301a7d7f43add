"""A member of a group over a client that gives what it likes, when it likes: nothing is passed over, nothing stands."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Place

from trident.base.errors import FatalError, RetryableError
from trident.spouts.base import StartAt
from trident.spouts.queue.kafka.commits import GroupCommits
from trident.spouts.queue.kafka.errors import GroupPlace
from trident.spouts.queue.kafka.exposed import ExposedRecords
from trident.spouts.queue.kafka.member import GroupMember
from trident.spouts.queue.kafka.offsets import TopicPartition

BAD = 3
"""The offset of a record that can't be read, where that matters."""


@dataclass(frozen=True)
class Given:
    """A record, or the end of a partition."""

    number: int
    at: int
    is_end: bool = False

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.at

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self.is_end else None

    def value(self) -> bytes:
        return b"bad" if self.at == BAD else b"good"

    def key(self) -> None:
        return None

    def headers(self) -> None:
        return None


class Client:
    """Logs with holes; a partition that is resumed gives its end anew, as librdkafka does."""

    def __init__(self, rng: random.Random, logs: list[list[int]], ends: list[int]) -> None:
        self.rng, self.logs, self.ends = rng, logs, ends
        self.at: dict[int, int] = {}
        self.paused: set[int] = set()
        self.told: set[int] = set()
        self.positions: dict[int, int] = {}
        self.answers: list[tuple[KafkaError | None, list[Place]]] = []
        self.hear: Callable[[KafkaError | None, Sequence[Place]], None] = lambda *_: None

    def consume(self, most: int, seconds: float) -> list[Given]:
        while self.answers and self.rng.random() < 0.7:
            error, places = self.answers.pop(0)
            if error is None:
                self.positions.update({place.partition: place.offset for place in places})
            self.hear(error, places)
        given: list[Given] = []
        for number in self.rng.sample(sorted(self.at), len(self.at)):
            if number in self.paused or len(given) >= most or self.rng.random() < 0.3:
                continue
            left = [offset for offset in self.logs[number] if offset >= self.at[number]]
            part = left[: self.rng.randint(0, most - len(given))]
            given += [Given(number, offset) for offset in part]
            self.at[number] = part[-1] + 1 if part else self.at[number]
            if len(part) == len(left) and number not in self.told and len(given) < most:
                self.told.add(number)
                given.append(Given(number, self.ends[number], is_end=True))
        return given

    def pause(self, places: Sequence[Place]) -> None:
        self.paused |= {place.partition for place in places}

    def resume(self, places: Sequence[Place]) -> None:
        self.paused -= {place.partition for place in places}
        self.told -= {place.partition for place in places}

    def assign(self, places: Sequence[Place]) -> None:
        self.at = {place.partition: place.offset for place in places}
        self.told = set()  # but what is paused stays paused

    def commit(self, offsets: list[Place], asynchronous: bool = True) -> list[Place] | None:
        if asynchronous:
            error = KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE) if self.rng.random() < 0.3 else None
            self.answers.append((error, offsets))
            return None
        self.positions.update({place.partition: place.offset for place in offsets})
        return offsets

    def committed(self, places: Sequence[Place], timeout: float) -> list[Place]:
        return [Place("t", place.partition, self.positions.get(place.partition, -1001)) for place in places]

    def get_watermark_offsets(self, place: Place, timeout: float) -> tuple[int, int]:
        return 0, self.ends[place.partition]


class Scene:
    """A member from its assignment on."""

    def __init__(self, rng: random.Random, client: Client, horizon: int) -> None:
        self.rng, self.client = rng, client
        self.consumer = cast(Consumer, client)
        self.member = GroupMember({}, GroupPlace("b", ("t",), "g"), StartAt.EARLIEST)
        self.member._consumer = self.consumer
        self.member._topics._look_at = float("inf")
        self.member._exposed = ExposedRecords(horizon)
        self.member._commits = GroupCommits(self.member._place, self.member._flight, self.member._exposed)
        client.hear = self.member._heard_of_commit
        self.all = [Place("t", number) for number in range(len(client.logs))]
        self.member._assigned(self.consumer, self.all)

    def rebalance(self) -> None:
        self.member._revoked(self.consumer, self.all)
        self.member._assigned(self.consumer, self.all)


@pytest.mark.parametrize("seed", range(300))
def test_all_is_read_and_no_position_passes_what_is_not_done(seed: int) -> None:
    rng = random.Random(seed)
    logs = [sorted(rng.sample(range(60), rng.randint(0, 40))) for _ in range(rng.randint(1, 4))]
    client = Client(rng, logs, [60 + rng.randint(0, 2) for _ in logs])
    scene = Scene(rng, client, 2 * rng.randint(1, 20))
    under_way: list[tuple[int, int]] = []
    done: set[tuple[int, int]] = set()
    everything = {(number, offset) for number, log in enumerate(logs) for offset in log}
    for step in range(60_000):
        if rng.random() < 0.6:
            found = scene.member.take()
            if found is not None:
                under_way.append((cast(int, found.partition()), cast(int, found.offset())))
        elif under_way:
            place = under_way.pop(rng.randrange(len(under_way)))
            done.add(place)
            scene.member.done(TopicPartition("t", place[0]), place[1])
        elif rng.random() < 0.02 and step < 2_000:
            scene.rebalance()
        for number, position in client.positions.items():
            assert not [place for place in everything - done if place[0] == number and place[1] < position]
        if done == everything and scene.member.is_at_end and not under_way:
            break
    assert done == everything
    assert scene.member.is_at_end
    scene.member.commit()
    assert client.positions == dict(enumerate(client.ends))


def test_an_end_behind_records_that_wait_is_no_end_yet() -> None:
    rng = random.Random(0)
    client = Client(rng, [list(range(30))], [30])
    scene = Scene(rng, client, 4)
    scene.member._fetched.extend(cast(list[Message], [*(Given(0, n) for n in range(30)), Given(0, 30, is_end=True)]))
    client.at[0] = 30
    assert [scene.member.take() is not None for _ in range(4)] == [True, True, False, False]
    assert not scene.member.is_at_end
    for offset in (0, 1):
        scene.member.done(TopicPartition("t", 0), offset)
    scene.member.commit()
    assert client.positions == {0: 2}


def started(horizon: int = 20, count: int = 6) -> Scene:
    """Return a member of one partition with as many records."""
    rng = random.Random(0)
    return Scene(rng, Client(rng, [list(range(count))], [count]), horizon)


def taken(scene: Scene, count: int) -> list[int]:
    found: list[int] = []
    for _ in range(1_000):
        if len(found) < count and (record := scene.member.take()) is not None:
            found.append(cast(int, record.offset()))
    return found


def test_what_a_call_gives_in_which_a_rebalance_is_heard_of_is_not_passed_over() -> None:
    scene = started()
    real = scene.client.consume

    def rebalanced(most: int, seconds: float) -> list[Given]:
        scene.client.consume = real
        scene.rebalance()
        scene.client.at[0] = 2
        return [Given(0, 0), Given(0, 1)]

    scene.client.consume = rebalanced
    assert taken(scene, 6) == list(range(6))


def answered(id_: str) -> Future[object]:
    future: Future[object] = Future()
    future.set_result(SimpleNamespace(topic_id=id_))
    return future


@pytest.mark.parametrize(
    ("found", "said"), [("made", r"no position in t:0 any more.* offset 2 "), ("new", "made again")]
)
def test_a_position_that_is_lost_while_it_is_read_is_named(found: str, said: str) -> None:
    scene = started()
    scene.member._topics._ids = {"t": "made"}
    scene.member._topics._describe = lambda: {"t": answered(found)}
    for offset in taken(scene, 3):
        scene.member.done(TopicPartition("t", 0), offset)
    scene.member.commit()
    scene.client.positions.clear()
    scene.rebalance()
    with pytest.raises(FatalError, match=said):
        scene.member.take()


def test_brokers_that_leave_several_looks_unanswered_are_away() -> None:
    scene = started()
    unanswered: Future[object] = Future()
    unanswered.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
    scene.member._topics._ids = {"t": "made"}
    for answer in (unanswered, unanswered, answered("made"), unanswered, unanswered):
        scene.member._topics._asked = {"t": answer}
        scene.member.take()
    scene.member._topics._asked = {"t": unanswered}
    with pytest.raises(RetryableError, match="the brokers are away"):
        scene.member.take()


@pytest.mark.parametrize(
    ("noted", "first"),
    [
        ("topic id made", 4),
        ("topic id old", 0),
        ("horizon 9, topic id made", 4),
        ("horizon 9, topic id old", 0),
        ("horizon 9", 4),
        ("", 4),
        ("a tool's own", 4),
    ],
)
def test_a_position_in_an_older_topic_of_the_name_is_none(noted: str, first: int) -> None:
    scene = started()
    scene.member._topics._ids = {"t": "made"}
    scene.client.committed = lambda places, timeout: [Place("t", 0, 4, noted)]
    scene.rebalance()
    assert taken(scene, 1) == [first]


def test_a_position_says_which_topic_it_is_of() -> None:
    scene = started()
    commits = GroupCommits(scene.member._place, scene.member._flight, scene.member._exposed, {"t": "made"})
    for offset in taken(scene, 2):
        scene.member.flight.ack(TopicPartition("t", 0), offset)
    sent: list[Place] = []

    def commit(offsets: list[Place], asynchronous: bool = True) -> list[Place]:
        sent.extend(offsets)
        return offsets

    scene.client.commit = commit
    commits.in_rebalance(scene.consumer)
    assert [(place.offset, place.metadata) for place in sent] == [(2, "horizon 20, topic id made")]
