"""The Kafka sink over a cluster in memory: its contract, and what commits that come late or twice can do."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.state.arrays import array
from tests.state.memory_kafka import End, MemoryKafka, MemorySession, memory_sender
from trident.base.crash_points import CrashPoint
from trident.base.errors import ConfigurationError, FencedError, MismatchError, OutcomeUnknownError, RetryableError
from trident.base.identity import Epoch
from trident.base.order import order_of
from trident.state import KafkaSink
from trident.state.kafka.records import ROWS, Record
from trident.state.kafka.target import KafkaTarget
from trident.state.maps.blobs import open_blobs
from trident.state.memory.database import MemoryDatabase
from trident.state.staged import StagedUpdates
from trident.state.target import Target
from trident.testing import SessionSinkContract, SinkHarness
from trident.testing.sink_harness import begun, send, staged
from trident.testing.state_harness import NEWER, OWNER, batch_of


class MemoryKafkaHarness(SinkHarness):
    """One topic and its markers in one cluster in memory."""

    points: tuple[CrashPoint, ...] = (
        CrashPoint.AFTER_SESSION,
        CrashPoint.AFTER_READING_MARKER,
        CrashPoint.SENDING,
        CrashPoint.BEFORE_MARKER,
        CrashPoint.BEFORE_END_OF_TRANSACTION,
        CrashPoint.AFTER_END_OF_TRANSACTION,
    )

    def __init__(self) -> None:
        self.kafka = MemoryKafka("out")
        self.ledger = MemoryDatabase()

    def open(self) -> Target:
        return KafkaTarget(memory_sender(self.kafka), open_blobs("alerts", self.ledger))

    def rows(self, *words: str) -> pa.Table:
        orders = order_of("in", 0, np.arange(len(words), dtype=np.int64))
        count = len(words)
        columns: list[list[object]] = [
            ["out"] * count,
            [b"k"] * count,
            [word.encode() for word in words],
            [None] * count,
        ]
        arrays = [array(column, field.type) for column, field in zip(columns, ROWS, strict=False)]
        return pa.table([*arrays, orders], schema=ROWS)

    def words(self) -> list[str]:
        return [(record.value or b"").decode() for record in self.kafka.seen("out")]


@pytest.fixture
def harness() -> MemoryKafkaHarness:
    return MemoryKafkaHarness()


class TestKafkaSink(SessionSinkContract):
    """The contract."""


def until_known(sink: Target, txid: int, updates: StagedUpdates, epoch: Epoch) -> None:
    """Apply a batch as the coordinator does: again until the outcome is known."""
    for _ in range(20):
        try:
            sink.apply(batch_of(txid, epoch=epoch), updates)
        except (OutcomeUnknownError, RetryableError):
            continue
        return
    raise AssertionError("never known")


@given(st.lists(st.tuples(st.sampled_from(End), st.booleans()), max_size=40), st.lists(st.booleans(), max_size=12))
@settings(max_examples=300, deadline=None)
def test_whatever_becomes_of_commits_each_txid_is_there_once(
    ends: list[tuple[End, bool]], takeovers: list[bool]
) -> None:
    harness = MemoryKafkaHarness()
    sink, epoch = begun(harness), Epoch(3, "first.c")
    zombies: list[tuple[Target, Epoch]] = []
    expected = []
    for txid, takes_over in enumerate([*takeovers, False], 1):
        mine, ends = ends[:3], ends[3:]
        harness.kafka.ends = [end for end, _ in mine]
        updates = staged(harness, sink, batch_of(txid), f"{txid}a", f"{txid}b")
        if takes_over:
            zombies.append((sink, epoch))
            sink, epoch = harness.open(), Epoch(epoch.number + 1, f"first.{epoch.number + 1}")
            while True:
                try:
                    sink.raise_fence(OWNER, epoch)
                    break
                except (OutcomeUnknownError, RetryableError):
                    continue
        for zombie, old in zombies:
            with pytest.raises((FencedError, MismatchError)):
                until_known(zombie, txid, updates, old)
        if any(is_delivered for _, is_delivered in mine):
            harness.kafka.deliver()
        until_known(sink, txid, updates, epoch)
        expected += [f"{txid}a", f"{txid}b"]
        assert harness.words() == expected
    harness.kafka.deliver()
    assert harness.words() == expected


def test_what_another_id_has_open_is_waited_for_by_who_looks_too(harness: MemoryKafkaHarness) -> None:
    sink = begun(harness)
    send(harness, sink, 1, "a")
    other = harness.kafka.open("orders.other", {})
    other.send(Record("markers", b"orders.other", b"2", ()), 0)
    with pytest.raises(RetryableError, match="open"):
        harness.open().look("orders")
    other.commit()
    assert harness.open().look("orders") is not None


def test_a_commit_that_comes_late_ends_no_other_transaction(harness: MemoryKafkaHarness) -> None:
    sink = begun(harness)
    first, second = (staged(harness, sink, batch_of(txid), f"{txid}a", f"{txid}b") for txid in (1, 2))
    harness.kafka.ends = [End.SENT_TWICE]
    sink.apply(batch_of(1), first)
    assert harness.kafka.late

    send, sent = type(harness.kafka.open("other", {})).send, 0

    def late_in_the_middle(session: object, *args: object) -> None:
        nonlocal sent
        sent += 1
        send(session, *args)  # type: ignore[arg-type]
        if sent == 1:
            harness.kafka.deliver()
            assert harness.words() == ["1a", "1b"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.state.memory_kafka.MemorySession.send", late_in_the_middle)
        sink.apply(batch_of(2), second)
    assert sent == 3
    assert harness.words() == ["1a", "1b", "2a", "2b"]


def test_what_was_sent_just_before_a_session_begins_is_seen(harness: MemoryKafkaHarness) -> None:
    """Two takers of one batch: the second one's session begins when the first one has committed."""
    sink, other = begun(harness), harness.open()
    updates = staged(harness, sink, batch_of(1), "a")
    begin, overtaken = harness.kafka.open, False

    def open_late(id_: str, limits: Mapping[str, int]) -> MemorySession:
        nonlocal overtaken
        if not overtaken:
            overtaken = True
            other.apply(batch_of(1), updates)
        return begin(id_, limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harness.kafka, "open", open_late)
        sink.apply(batch_of(1), updates)
    assert overtaken
    assert harness.words() == ["a"]


def test_who_was_replaced_hears_so_though_its_rows_are_cleaned_up_by_now(harness: MemoryKafkaHarness) -> None:
    sink, successor = begun(harness), harness.open()
    updates = staged(harness, sink, batch_of(1), "a")
    successor.raise_fence(OWNER, NEWER)
    successor.apply(batch_of(1, epoch=NEWER), updates)
    successor.apply(batch_of(2, epoch=NEWER), staged(harness, successor, batch_of(2, epoch=NEWER), "b"))
    successor.clean_up(OWNER, NEWER, 2)
    with pytest.raises(FencedError):
        sink.apply(batch_of(1), updates)
    assert harness.words() == ["a", "b"]


def test_a_look_begins_a_session_only_where_something_is_open(harness: MemoryKafkaHarness) -> None:
    sink = begun(harness)
    sink.apply(batch_of(1), staged(harness, sink, batch_of(1), "a"))
    epoch = harness.kafka.producers["orders.alerts"].epoch
    assert harness.open().look("orders") == sink.position("orders")
    assert harness.kafka.producers["orders.alerts"].epoch == epoch
    lives = harness.kafka.open("orders.alerts", {})
    lives.begin()
    lives.send(Record("markers", b"orders.alerts", b"of another ledger's topology", ()), 0)
    assert harness.open().look("orders") == sink.position("orders")
    with pytest.raises(OutcomeUnknownError):
        lives.commit()


def test_a_sink_in_another_cluster_is_told(harness: MemoryKafkaHarness) -> None:
    begun(harness)
    harness.kafka.name = "cluster-2"
    with pytest.raises(MismatchError, match=r"is in Kafka cluster 'cluster-1', and the one that answers.*'cluster-2'"):
        harness.open().look("orders")


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_marker_topic_that_forgets_is_refused(harness: MemoryKafkaHarness, policy: str) -> None:
    begun(harness)
    harness.kafka.policy = policy
    for call in (lambda: harness.open().look("orders"), lambda: harness.open().prepare()):
        with pytest.raises(MismatchError, match=f"cleanup.policy={policy}.*nothing was sent"):
            call()
    assert harness.words() == []


def test_a_marker_topic_that_is_gone_stops(harness: MemoryKafkaHarness) -> None:
    sink = begun(harness)
    updates = staged(harness, sink, batch_of(1), "a")
    del harness.kafka.logs["markers"]
    assert harness.open().look("orders") is None
    with pytest.raises(MismatchError, match="marker topic 'markers' is gone"):
        sink.apply(batch_of(1), updates)
    harness.kafka.make_marker_topic("markers")
    with pytest.raises(MismatchError, match="no marker any more"):
        sink.apply(batch_of(1), updates)
    assert harness.words() == []


def test_several_producers_need_a_folder() -> None:
    with pytest.raises(ConfigurationError, match=r"producers=8 needs a staging_folder.*has one producer"):
        KafkaSink("alerts", bootstrap_servers="h:9", producers=8)
    assert len(KafkaSink("alerts", bootstrap_servers="h:9", producers=8, staging_folder="/shared").shares) == 8
