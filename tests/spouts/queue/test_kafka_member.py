"""A member of a group over a client that gives what it likes, when it likes: nothing is passed over, nothing stands."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Place

from trident.spouts.base import StartAt
from trident.spouts.queue.kafka_commits import GroupCommits
from trident.spouts.queue.kafka_errors import GroupPlace
from trident.spouts.queue.kafka_exposed import ExposedRecords
from trident.spouts.queue.kafka_member import GroupMember
from trident.spouts.queue.kafka_offsets import TopicPartition


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
        self.member._look_at = float("inf")
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
