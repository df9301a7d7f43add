"""Records that wait in the ledger's database: laid down with the pin, sent afterwards, once and in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.state.memory_kafka import End, MemoryKafka, memory_sender
from tests.state.test_kafka_sink import MemoryKafkaHarness
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FencedError, MismatchError, OutcomeUnknownError, RefusedError
from trident.base.identity import BatchId, Epoch
from trident.state.capabilities import CannotUndoError, beside_of, relaying_of
from trident.state.kafka.clients.cluster import TopicSettings
from trident.state.kafka.clients.limits import MessageLimits
from trident.state.kafka.outbox.stored import Outbox
from trident.state.kafka.outbox.tables import Waiting, waiting_in
from trident.state.kafka.outbox.target import OutboxTarget
from trident.state.sqlite.database import SqliteDatabase
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.testing import SessionSinkContract
from trident.testing.sink_harness import begun, staged
from trident.testing.state_harness import EPOCH, NEWER, OWNER, batch_of, resetting, undoing


class SendsAtOnce(OutboxTarget):
    """An outbox that is relayed with each batch, so that the contract of sinks holds of the two together."""

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        super().apply(batch, updates)
        relaying_of(self).relay(batch.owner, batch.epoch, batch.txid)


class OutboxHarness(MemoryKafkaHarness):
    """A SQLite file, and a cluster in memory."""

    points: tuple[CrashPoint, ...] = (
        CrashPoint.IN_APPLY,
        *MemoryKafkaHarness.points,
        CrashPoint.BEFORE_RELAY,
        CrashPoint.IN_TRIM,
        CrashPoint.AFTER_TRIM,
    )

    def __init__(self, folder: Path, kind: type[OutboxTarget] = OutboxTarget) -> None:
        super().__init__()
        self.file = SqliteDatabase(folder / "ledger.sqlite")
        self.kind = kind

    def open(self) -> OutboxTarget:
        return self.kind(memory_sender(self.kafka), Outbox("alerts", self.file))

    def waiting(self) -> list[int]:
        """Return the txids that wait, past the sink."""
        with self.file.transaction() as transaction:
            rows = transaction.connection.exec_driver_sql("SELECT txid FROM trident_outbox ORDER BY txid")
            return [row[0] for row in rows]

    def by_hand(self, statement: str) -> None:
        with self.file.transaction() as transaction:
            transaction.connection.exec_driver_sql(statement)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[OutboxHarness]:
    harness = OutboxHarness(tmp_path)
    yield harness
    harness.file.close()


class TestOutboxThatSendsAtOnce(SessionSinkContract):
    """The contract."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> Iterator[OutboxHarness]:
        harness = OutboxHarness(tmp_path, SendsAtOnce)
        yield harness
        harness.file.close()


def lay_down(box: OutboxHarness, sink: OutboxTarget, txid: int, *words: str, epoch: Epoch = EPOCH) -> None:
    """Do as a pin does: all in one transaction of the ledger's."""
    batch = batch_of(txid, epoch=epoch)
    ready = beside_of(sink).ready(batch, staged(box, sink, batch, *words))
    with box.file.transaction() as transaction:
        beside_of(sink).copy_in(transaction, batch, ready)
        beside_of(sink).apply_in(transaction, batch, ready)


def check(sink: OutboxTarget) -> None:
    """Ask what a start asks."""
    counting = sink.capabilities.counting
    assert counting is not None
    counting.check_rows(OWNER, EPOCH)


def relay(sink: OutboxTarget, done: int, epoch: Epoch = EPOCH) -> int:
    return relaying_of(sink).relay(OWNER, epoch, done)


def opened(box: OutboxHarness) -> OutboxTarget:
    sink = begun(box)
    assert isinstance(sink, OutboxTarget)
    return sink


def test_what_is_laid_down_waits_until_it_is_done(box: OutboxHarness) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a", "b")
    lay_down(box, sink, 2)
    lay_down(box, sink, 3, "c")
    assert box.words() == []
    assert relay(sink, 2) == 2
    assert box.words() == ["a", "b"]
    assert relay(sink, 3) == 3
    assert box.words() == ["a", "b", "c"]
    assert box.waiting() == []
    assert relay(sink, 3) == 3


def test_several_txids_that_wait_leave_in_one_transaction(box: OutboxHarness) -> None:
    sink = opened(box)
    for txid in range(1, 6):
        lay_down(box, sink, txid, f"{txid}")
    before = box.kafka.producers["orders.alerts"].epoch
    relay(sink, 5)
    assert box.words() == ["1", "2", "3", "4", "5"]
    assert box.kafka.producers["orders.alerts"].epoch == before + 1


def test_what_waits_is_sent_a_part_at_a_time(box: OutboxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trident.state.kafka.outbox.stored._MOST", 2)
    sink = opened(box)
    for txid in range(1, 6):
        lay_down(box, sink, txid, f"{txid}")
    assert [relay(sink, 5) for _ in range(3)] == [2, 4, 5]
    monkeypatch.setattr("trident.state.kafka.outbox.stored._MOST_BYTES", 1)
    lay_down(box, sink, 6, "6")
    lay_down(box, sink, 7, "7")
    assert [relay(sink, 7) for _ in range(2)] == [6, 7]
    assert box.words() == [str(txid) for txid in range(1, 8)]


def test_the_same_batch_is_laid_down_once(box: OutboxHarness) -> None:
    sink = opened(box)
    for _ in range(2):
        lay_down(box, sink, 1, "a")
    relay(sink, 1)
    lay_down(box, sink, 1, "a")
    relay(sink, 1)
    assert box.words() == ["a"]
    assert box.waiting() == []


@pytest.mark.parametrize("end", [End.ANSWER_LOST, End.REQUEST_LOST, End.LATE, End.SENT_TWICE])
def test_an_end_that_is_lost_or_late_sends_once(box: OutboxHarness, end: End) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")
    box.kafka.ends.append(end)
    for _ in range(3):
        try:
            assert relay(sink, 1) == 1
            break
        except OutcomeUnknownError:
            box.kafka.deliver()
    box.kafka.deliver()
    lay_down(box, sink, 2, "b")
    relay(sink, 2)
    assert box.words() == ["a", "b"]


@pytest.mark.parametrize(
    ("point", "left"),
    [
        (CrashPoint.AFTER_READING_MARKER, [1]),
        (CrashPoint.AFTER_END_OF_TRANSACTION, [1]),
        (CrashPoint.AFTER_TRIM, []),
    ],
)
def test_who_dies_before_or_after_it_has_trimmed_sends_nothing_twice(
    box: OutboxHarness, point: CrashPoint, left: list[int]
) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")

    def die(reached: CrashPoint, _: int) -> None:
        if reached is point:
            raise KeyboardInterrupt

    with armed(die), pytest.raises(KeyboardInterrupt):
        relay(sink, 1)
    assert box.waiting() == left
    successor = box.open()
    successor.prepare()
    successor.raise_fence(OWNER, NEWER)
    assert successor.position("orders") is not None
    lay_down(box, successor, 2, "b", epoch=NEWER)
    relay(successor, 2, NEWER)
    assert box.words() == ["a", "b"]


def test_who_was_replaced_sends_nothing(box: OutboxHarness) -> None:
    sink, successor = opened(box), box.open()
    lay_down(box, sink, 1, "a")
    successor.raise_fence(OWNER, NEWER)
    with pytest.raises(FencedError):
        relay(sink, 1)
    assert box.words() == []
    relay(successor, 1, NEWER)
    assert box.words() == ["a"]


def test_what_waits_can_be_taken_back(box: OutboxHarness) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")
    relay(sink, 1)
    lay_down(box, sink, 2, "b")
    undoing(sink).check_undo(batch_of(2), AppliedUpdates(1))
    for _ in range(2):
        undoing(sink).undo(batch_of(2), 10, AppliedUpdates(1))
    assert box.waiting() == []
    position = sink.position("orders")
    assert position is not None
    assert (position.txid, position.attempt) == (1, 10)
    lay_down(box, sink, 2, "c")
    relay(sink, 2)
    assert box.words() == ["a", "c"]
    with pytest.raises(CannotUndoError, match="has sent it"):
        undoing(sink).check_undo(batch_of(2), AppliedUpdates(1))


@pytest.mark.parametrize("states", ["clear", "adopt"])
def test_a_new_life_begins_behind_what_waits(box: OutboxHarness, states: str) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")
    second = replace(OWNER, incarnation="second")
    for _ in range(2):
        (resetting(sink).clear if states == "clear" else resetting(sink).adopt)(second, EPOCH, 7)
    assert box.words() == (["a"] if states == "adopt" else []), "what is done was sent before a reset that clears"
    assert box.waiting() == []
    position = sink.position("orders")
    assert position is not None
    assert (position.owner, position.txid) == (second, 7)


@pytest.mark.parametrize(
    "what",
    [
        "DELETE FROM trident_outbox WHERE txid = 2",
        "UPDATE trident_outbox_position SET newest_txid = 1",
    ],
)
def test_an_outbox_that_was_put_back_stops(box: OutboxHarness, what: str) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")
    relay(sink, 1)
    lay_down(box, sink, 2, "b")
    if "UPDATE" in what:
        relay(sink, 2)
    box.by_hand(what)
    with pytest.raises(MismatchError, match="put back to another moment"):
        check(sink)


def test_a_marker_that_was_put_back_stops_before_anything_is_sent(box: OutboxHarness) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")
    kept = box.kafka.logs["markers"]
    old = [list(log) for log in kept]
    relay(sink, 1)
    box.kafka.logs["markers"] = old
    lay_down(box, sink, 2, "b")
    for call in (lambda: relay(sink, 2), lambda: check(sink)):
        with pytest.raises(MismatchError, match="another moment"):
            call()
    assert box.words() == ["a"]


def test_markers_that_are_gone_stop(box: OutboxHarness) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")
    box.kafka.logs["markers"] = [[] for _ in box.kafka.logs["markers"]]
    for call in (lambda: relay(sink, 1), lambda: check(sink)):
        with pytest.raises(MismatchError, match="has no marker any more"):
            call()
    assert box.words() == []


def test_a_status_says_what_waits(box: OutboxHarness) -> None:
    with box.file.transaction() as transaction:
        assert waiting_in(transaction.connection, "orders") == ()
    sink = opened(box)
    for txid, words in enumerate((["a"], [], ["b", "c"]), 1):
        lay_down(box, sink, txid, *words)
    with box.file.transaction() as transaction:
        assert waiting_in(transaction.connection, "orders") == (Waiting("alerts", 2, 3, 1),)
        assert waiting_in(transaction.connection, "others") == ()


def test_what_a_person_takes_out_is_passed_and_not_sent(box: OutboxHarness) -> None:
    sink = opened(box)
    for txid in (1, 2, 3):
        lay_down(box, sink, txid, f"{txid}")
    relay(sink, 1)
    relaying = relaying_of(sink)
    assert relaying.waiting(OWNER, EPOCH, 1) is None, "it was sent"
    found = relaying.waiting(OWNER, EPOCH, 2)
    assert found is not None
    assert (found.attempt, found.rows.num_rows) == (20, 1)
    for _ in range(2):
        with box.file.transaction() as transaction:
            relaying.divert_in(transaction, OWNER, EPOCH, 2)
    relay(sink, 3)
    assert box.words() == ["1", "3"]
    assert relaying.waiting(OWNER, EPOCH, 2) is None


def test_of_several_txids_the_one_that_is_refused_is_told(box: OutboxHarness) -> None:
    sink = opened(box)
    for txid, word in ((1, "a"), (2, "refused"), (3, "b")):
        lay_down(box, sink, txid, word)
    box.kafka.refuses = b"refused"
    assert relay(sink, 3) == 1
    for _ in range(2):
        with pytest.raises(RefusedError, match=r"Txid 2 is done.*trident divert MODULE:TOPOLOGY 2 --state alerts"):
            relay(sink, 3)
    assert box.words() == ["a"]
    box.kafka.refuses = b""
    relay(sink, 3)
    assert box.words() == ["a", "refused", "b"]


def test_a_birth_that_was_cut_off_is_finished(box: OutboxHarness) -> None:
    def die(point: CrashPoint, _: int) -> None:
        if point is CrashPoint.BETWEEN_BIRTHS:
            raise KeyboardInterrupt

    with armed(die), pytest.raises(KeyboardInterrupt):
        begun(box, birth_txid=4)
    again = box.open()
    found = again.look("orders")
    assert found is not None
    assert (found.owner, found.txid) == (OWNER, 4)
    again.prepare()
    again.raise_fence(OWNER, NEWER)
    assert again.position("orders") == found
    again.register(OWNER, NEWER, 4)
    lay_down(box, again, 5, "a", epoch=NEWER)
    relay(again, 5, NEWER)
    assert box.words() == ["a"]


def test_a_sink_that_another_ledger_has_is_seen_before_anything_is_changed(box: OutboxHarness, tmp_path: Path) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")
    relay(sink, 1)
    (tmp_path / "other").mkdir()
    other = OutboxHarness(tmp_path / "other")
    other.kafka = box.kafka
    found = other.open().look("orders")
    assert found is not None
    assert found.owner == OWNER
    other.file.close()


def test_another_attempt_than_the_one_that_was_sent_stops(box: OutboxHarness) -> None:
    sink = opened(box)
    lay_down(box, sink, 1, "a")

    def die(point: CrashPoint, _: int) -> None:
        if point is CrashPoint.AFTER_END_OF_TRANSACTION:
            raise KeyboardInterrupt

    with armed(die), pytest.raises(KeyboardInterrupt):
        relay(sink, 1)
    box.by_hand("UPDATE trident_outbox SET attempt = 9")
    for call in (lambda: relay(sink, 1), lambda: check(sink)):
        with pytest.raises(MismatchError, match="another moment"):
            call()
    assert box.waiting() == [1]


def test_limits_are_asked_once_in_a_while_and_of_missing_topics_each_time(box: OutboxHarness) -> None:
    asked: list[list[str]] = []

    class Counting(MemoryKafka):
        def settings(self, topics: Collection[str]) -> Mapping[str, TopicSettings]:
            asked.append(sorted(topics))
            return super().settings(topics)

    limits = MessageLimits(Counting("out"), lineage=True)
    for _ in range(100):
        assert limits.of([box.rows("a")]) == {"out": 1_000_000}
    assert asked == [["out"]]
    missing = box.rows("a").set_column(0, "topic", pa.array(["missing"]))
    for _ in range(3):
        assert limits.of([missing]) == {}
    assert asked == [["out"], *[["missing"]] * 3]


def test_an_outbox_begins_empty(box: OutboxHarness) -> None:
    sink = box.open()
    assert sink.look("orders") is None
    sink.prepare()
    assert sink.position("orders") is None
    assert isinstance(box.kafka, MemoryKafka)
