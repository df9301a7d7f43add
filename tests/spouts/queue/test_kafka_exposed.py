"""What may be given again is always among the last done ones that are remembered, whoever dies at whatever moment."""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import dataclass, field

import pytest

from trident.spouts.queue.kafka.exposed import ExposedRecords
from trident.spouts.queue.kafka.offsets import OffsetsInFlight, TopicPartition, id_of, place_named

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


def test_what_no_position_covers_and_what_is_under_way_fill_the_horizon() -> None:
    exposed = ExposedRecords(8)
    for offset in (0, 1, 2):
        exposed.take((ONE, offset))
    exposed.done((ONE, 1))
    exposed.done((ONE, 2))
    assert exposed.has_room((ONE, 3))
    exposed.take((ONE, 3))
    assert not exposed.has_room((TWO, 0))
    assert exposed.has_room((ONE, 1)), "it is counted already"
    exposed.cover(ONE, 3)
    assert (exposed.has_room((TWO, 0)), exposed.oldest) == (True, None)


def test_one_that_comes_late_in_the_order_counts_behind_one_that_is_not_covered() -> None:
    exposed = ExposedRecords(6)
    for place in ((ONE, 5), (TWO, 0), (TWO, 1)):
        exposed.take(place)
        exposed.done(place)
    exposed.cover(TWO, 2)
    assert (len(exposed), exposed.has_room((TWO, 2))) == (3, False)
    exposed.cover(ONE, 6)
    assert len(exposed) == 0


def test_what_was_given_back_counts_until_somebody_has_passed_it() -> None:
    exposed = ExposedRecords(1)
    exposed.take((TWO, 7))
    assert not exposed.has_room((ONE, 0))
    assert exposed.of_others(frozenset({ONE})) == {TWO}
    exposed.pass_by(TWO, 8)
    assert exposed.has_room((ONE, 0))


def test_what_is_owed_below_a_known_record_has_its_room_kept() -> None:
    exposed = ExposedRecords(8, [(ONE, 3)])
    assert exposed.of_others(frozenset({TWO})) == {ONE}
    assert not exposed.has_room((TWO, 0)), "three records of before, and the known one"
    assert exposed.has_room((ONE, 0))
    exposed.reach(ONE, 2)
    assert exposed.has_room((TWO, 0))
    exposed.take((ONE, 2))
    exposed.take((TWO, 0))
    assert exposed.has_room((TWO, 1))
    exposed.take((TWO, 1))
    assert not exposed.has_room((TWO, 2))
    assert (exposed.knows(ONE), exposed.knows(TWO)) == (3, None)


def test_without_a_memory_nothing_is_held() -> None:
    exposed = ExposedRecords(0)
    exposed.take((ONE, 0))
    assert exposed.has_room((ONE, 1))
    exposed.done((ONE, 0))
    assert len(exposed) == 0


@pytest.mark.parametrize("id_", ["t/0/7@other", "u/0/7@made", "t/0@made", "t/a/7@made", "t/0/7", "any", "t/0/7/1@made"])
def test_ids_of_other_topics_are_no_places(id_: str) -> None:
    assert place_named(id_, {"t": "made"}) is None


@pytest.mark.parametrize("made", ["", "made"])
def test_an_id_names_its_place(made: str) -> None:
    assert place_named(id_of(TWO, 7, made), {"t": made}) == (TWO, 7)


@dataclass
class Stream:
    """A topic whose records are done in drawn order; deaths and lost commits bring back all above the positions."""

    rng: random.Random
    horizon: int
    ends: dict[TopicPartition, int]
    starved: float
    """How often a life gets to read nothing of a partition."""
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    remembered: OrderedDict[tuple[TopicPartition, int], None] = field(default_factory=OrderedDict)
    applied: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)
    refused: int = 0

    def life(self, steps: int) -> None:
        """One process of the spout: takes what it may, has it done in any order, commits now and then."""
        exposed, flight = ExposedRecords(self.horizon, list(self.remembered)), OffsetsInFlight()
        read = {partition: self.committed.get(partition, 0) for partition in self.ends}
        for partition, position in read.items():
            flight.assign(partition, position)
            exposed.pass_by(partition, position)
        under_way: list[tuple[TopicPartition, int]] = []
        stuck = self.rng.random()
        starved = {partition for partition in self.ends if self.rng.random() < self.starved}
        for _ in range(steps):
            partition = self.rng.choice(list(self.ends))
            place = (partition, read[partition])
            if self.rng.random() < 0.5 and place[1] < self.ends[partition] and partition not in starved:
                if exposed.has_room(place):
                    exposed.take(place)
                    flight.emit(*place)
                    under_way.append(place)
                    read[partition] += 1
                else:
                    self.refused += 1
            elif under_way and self.rng.random() < 0.9:
                done = under_way.pop(self.rng.randrange(len(under_way)) if self.rng.random() < stuck else -1)
                self._do(done)
                flight.ack(*done)
                exposed.done(done)
            elif self.rng.random() < 0.3:
                for partition, offset in flight.to_commit().items():
                    if self.rng.random() < 0.8:
                        flight.note_committed(partition, offset)
                        self.committed[partition] = offset
                        exposed.cover(partition, offset)

    def _do(self, place: tuple[TopicPartition, int]) -> None:
        if place in self.remembered:
            return
        self.applied[place] = self.applied.get(place, 0) + 1
        self.remembered[place] = None
        while len(self.remembered) > self.horizon:
            self.remembered.popitem(last=False)


@pytest.mark.parametrize("seed", range(300))
def test_no_life_doubles_a_record_and_none_is_stuck(seed: int) -> None:
    rng = random.Random(seed)
    ends = {TopicPartition("t", number): rng.randint(0, 60) for number in range(rng.randint(1, 4))}
    stream = Stream(rng, 2 * rng.randint(1, 15), ends, rng.choice((0.0, 0.3, 0.6)))
    for _ in range(400):
        stream.life(rng.randint(1, 200))
        if len(stream.applied) == sum(ends.values()):
            break
    assert set(stream.applied.values()) <= {1}
    assert len(stream.applied) == sum(ends.values()), "a life that holds must come to an end"
