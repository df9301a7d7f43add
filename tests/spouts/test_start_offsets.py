"""Offsets that a person names to begin at: their text, and what is wrong with them."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trident.base.errors import ConfigurationError
from trident.base.ranges import PartitionBounds, PartitionId
from trident.coordinators.holding.starts import start_policy
from trident.spouts import OpaqueKafkaSpout, StartAt
from trident.spouts.base import Spout
from trident.spouts.memory import FixedBatchSpout
from trident.spouts.offsets import StartOffsets, takes_offsets
from trident.spouts.ticks import TickSpout

HELD = tuple(PartitionBounds(PartitionId("t", n), "id", 10, 20, 3) for n in range(3))
TOPICS = some.text("abcXYZ019._-", min_size=1, max_size=12)
NUMBERS = some.integers(0, 2**62)


@given(some.dictionaries(TOPICS, some.dictionaries(NUMBERS, NUMBERS, min_size=1, max_size=4), min_size=1, max_size=3))
def test_what_is_written_is_read_again(offsets: dict[str, dict[int, int]]) -> None:
    named = StartOffsets.of(offsets)
    assert start_policy(str(named)) == named
    assert named.topics == tuple(sorted(offsets))


@pytest.mark.parametrize(
    "text", ["t:0=", "t=5", ":0=5", "t:0=-1", "t:x=1", "t:0=1,", "t:0=1,t:0=2", "t:0=1;t:1=2", "t:0=1.5", "="]
)
def test_another_text_is_no_offsets(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not topic:partition=offset|is there twice"):
        start_policy(text)


def test_each_partition_begins_at_its_offset() -> None:
    named = StartOffsets.of({"t": {0: 10, 1: 15, 2: 20}, "another": {7: 1}})
    begun = named.begun("s", HELD)
    assert [(item.id.partition, item.earliest, item.stop, item.epoch) for item in begun] == [
        (0, 10, 20, 3),
        (1, 15, 20, 3),
        (2, 20, 20, 3),
    ]


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ({0: 9, 1: 10, 2: 10}, r"t\[0\]: offset 9 is below the log's start \(its log holds 10 to 20\)"),
        ({0: 10, 1: 10, 2: 21}, r"t\[2\]: offset 21 is above the log's end \(its log holds 10 to 20\)"),
        ({0: 10, 1: 10}, r"t\[2\] has no offset \(its log holds 10 to 20\)"),
        ({0: 10, 1: 10, 2: 10, 3: 10}, r"t\[3\] is not there"),
        ({0: 1, 3: 10}, r"t\[0\]: .*; t\[1\] has no .*; t\[2\] has no .*; t\[3\] is not there"),
    ],
)
def test_all_that_is_wrong_is_said_at_once(offsets: dict[int, int], said: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"stream 's' can't begin .*{said}.*Nothing was read"):
        StartOffsets.of({"t": offsets}).begun("s", HELD)


def test_a_spout_of_kafka_takes_a_mapping() -> None:
    spout = OpaqueKafkaSpout("t", bootstrap_servers="h:9", start={"t": {1: 7, 0: 5}})
    assert str(spout.start) == "t:0=5,t:1=7"
    assert spout == OpaqueKafkaSpout("t", bootstrap_servers="h:9", start={"t": {0: 5, 1: 7}})
    assert pickle.loads(pickle.dumps(spout)).start == spout.start
    assert takes_offsets(spout)


@pytest.mark.parametrize("pattern", [None, "t.*"])
def test_offsets_of_a_topic_that_is_not_read_are_refused(pattern: str | None) -> None:
    topics = "t" if pattern is None else ()
    with pytest.raises(ConfigurationError, match="start must be offsets of topics that this spout reads"):
        OpaqueKafkaSpout(topics, pattern=pattern, bootstrap_servers="h:9", start={"u": {0: 5}})


@pytest.mark.parametrize("spout", [FixedBatchSpout("a string", [("x",)]), TickSpout(timedelta(seconds=5))])
def test_what_is_not_of_kafka_has_no_offsets(spout: Spout) -> None:
    assert not takes_offsets(spout)
    source = spout.open("s")
    with pytest.raises(ConfigurationError, match="has no offsets of Kafka to begin at"):
        source.starts(StartOffsets.of({"s": {0: 5}}))


def test_other_policies_are_what_they_were() -> None:
    assert start_policy("latest") is StartAt.LATEST
    assert start_policy("2026-01-31T00:00:00+00:00") == datetime(2026, 1, 31, tzinfo=UTC)
