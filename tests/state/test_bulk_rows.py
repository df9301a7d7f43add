"""Rows of a sink that tasks stage as files and several producers send: the contract, and what goes wrong half-way."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import fs

from tests.state.arrays import array
from tests.state.memory_kafka import End, MemoryKafka, memory_sender
from tests.state.test_kafka_sink import MemoryKafkaHarness, until_known
from tests.state.test_outbox import OutboxHarness, SendsAtOnce
from trident.base.control import decode
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import (
    ConfigurationError,
    FencedError,
    MismatchError,
    OutcomeUnknownError,
    RefusedError,
    RetryableError,
)
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.order import order_of
from trident.base.secrets import Secret
from trident.base.writes import WriteManifest, digest_of
from trident.state.capabilities import CannotUndoError, SentInPartError, relaying_of
from trident.state.kafka.bulk import folder as folder_module
from trident.state.kafka.bulk.address import check_folder
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.kafka.bulk.sending import BulkPlace, BulkSender
from trident.state.kafka.bulk.writing import _shares, listed, read_share, share_of, unlisted
from trident.state.kafka.clients.cluster import Cluster
from trident.state.kafka.clients.limits import MessageLimits
from trident.state.kafka.outbox.stored import Outbox
from trident.state.kafka.outbox.target import OutboxTarget
from trident.state.kafka.records import ROWS
from trident.state.kafka.target import KafkaTarget
from trident.state.maps.blobs import open_blobs
from trident.state.staged import HeldUpdates, StagedUpdates, StagingLostError, WrittenUpdates
from trident.state.target import Target
from trident.state.tasks import Work
from trident.testing import SessionSinkContract, SinkHarness
from trident.testing.sink_harness import begun
from trident.testing.state_harness import EPOCH, NEWER, OWNER, batch_of, diverting, resetting, undoing

PRODUCERS = 3


@dataclass(frozen=True)
class MemoryReach:
    """Reaches a cluster in memory; everybody who asks gets the same one."""

    kafka: MemoryKafka

    __hash__ = object.__hash__

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return ()

    @property
    def limit(self) -> timedelta:
        return timedelta(minutes=5)

    def cluster(self) -> MemoryKafka:
        return self.kafka

    def limits(self, cluster: Cluster, *, lineage: bool) -> MessageLimits:
        return MessageLimits(cluster, lineage=lineage)

    def producers(self) -> MemoryKafka:
        return self.kafka


def staged_by_tasks(sink: Target, batch: BatchId, rows: pa.Table) -> WrittenUpdates:
    """Stage rows as two tasks do."""
    writing = sink.capabilities.writing
    assert writing is not None
    half = rows.num_rows // 2
    parts = (part.to_batches() for part in (rows.slice(half), rows.slice(0, half)) if part.num_rows)
    words = [decode(word) for part in parts for word in writing.writer(batch)(iter(part))]
    return WrittenUpdates(tuple(word for word in words if isinstance(word, WriteManifest)))


class BulkHarness(MemoryKafkaHarness):
    """A folder, and a cluster in memory."""

    points: tuple[CrashPoint, ...] = (*MemoryKafkaHarness.points, CrashPoint.AFTER_SHARES)

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def bulk(self) -> BulkSender:
        folder = StagingFolder(self.folder.as_uri(), "alerts")
        return BulkSender(BulkPlace(folder, MemoryReach(self.kafka), "markers", PRODUCERS, lineage=True))

    def open(self) -> Target:
        return KafkaTarget(memory_sender(self.kafka, self.bulk()), open_blobs("alerts", self.ledger))

    def stage(self, sink: Target, batch: BatchId, rows: pa.Table) -> StagedUpdates:
        return staged_by_tasks(sink, batch, rows)

    def keyed(self, *keys: str) -> pa.Table:
        """Return a row per key, that has its number as its value."""
        numbers = [str(number).encode() for number in range(len(keys))]
        columns: list[list[object]] = [
            ["out"] * len(keys),
            [key.encode() or None for key in keys],
            [*numbers],
            [None] * len(keys),
        ]
        arrays = [array(column, field.type) for column, field in zip(columns, ROWS, strict=False)]
        return pa.table([*arrays, order_of("in", 0, np.arange(len(keys), dtype=np.int64))], schema=ROWS)

    def files(self) -> list[str]:
        return sorted(path.parent.name.lstrip("0") for path in self.folder.glob("**/*.parquet"))

    def folders(self) -> list[str]:
        """Return the txids of which a folder is there, with files or without."""
        return sorted(path.name.lstrip("0") for path in self.folder.glob("*/*/*/*") if path.name.isdigit())


class BulkOutboxHarness(OutboxHarness):
    """The same for an outbox."""

    points: tuple[CrashPoint, ...] = (CrashPoint.IN_APPLY, *BulkHarness.points)

    def __init__(self, folder: Path, kind: type[OutboxTarget] = OutboxTarget) -> None:
        super().__init__(folder, kind)
        self.shared = BulkHarness(folder / "staged")
        self.shared.kafka = self.kafka

    def open(self) -> OutboxTarget:
        return self.kind(memory_sender(self.kafka, self.shared.bulk()), Outbox("alerts", self.file))

    def stage(self, sink: Target, batch: BatchId, rows: pa.Table) -> StagedUpdates:
        return staged_by_tasks(sink, batch, rows)


@pytest.fixture
def harness(tmp_path: Path) -> BulkHarness:
    return BulkHarness(tmp_path)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[BulkOutboxHarness]:
    box = BulkOutboxHarness(tmp_path)
    yield box
    box.file.close()


class TestBulkSink(SessionSinkContract):
    """The contract, with a key that one producer has."""


class TestBulkOutboxThatSendsAtOnce(SessionSinkContract):
    """The contract, for entries that name files."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> Iterator[SinkHarness]:
        box = BulkOutboxHarness(tmp_path, SendsAtOnce)
        yield box
        box.file.close()


KEYS = [f"k{number % 7}" for number in range(40)] + [""] * 5


def values_of(harness: BulkHarness) -> dict[str, list[int]]:
    """Return what each key's reader sees, in its order."""
    found: dict[str, list[int]] = {}
    for record in harness.kafka.seen("out"):
        found.setdefault((record.key or b"").decode(), []).append(int(record.value or b""))
    return found


def expected_of(*batches: list[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for keys in batches:
        for number, key in enumerate(keys):
            found.setdefault(key, []).append(number)
    return found


def in_any_order(found: dict[str, list[int]]) -> dict[str, list[int]]:
    """Leave out the order of what has no key."""
    return {key: numbers if key else sorted(numbers) for key, numbers in found.items()}


def test_each_key_is_sent_in_its_order_by_one_producer(harness: BulkHarness) -> None:
    sink = begun(harness)
    for txid in (1, 2):
        updates = staged_by_tasks(sink, batch_of(txid), harness.keyed(*KEYS))
        assert {share_of(write) for write in updates.writes} == set(range(PRODUCERS))
        sink.apply(batch_of(txid), updates)
    assert in_any_order(values_of(harness)) == in_any_order(expected_of(KEYS, KEYS))
    small = sink.stage(batch_of(3), held(harness, "k1"))
    sink.apply(batch_of(3), small)
    assert values_of(harness)["k1"][-1] == 0


def held(harness: BulkHarness, *keys: str) -> HeldUpdates:
    return HeldUpdates(harness.keyed(*keys))


@given(st.lists(st.lists(st.tuples(st.sampled_from(End), st.booleans()), max_size=8), min_size=1, max_size=4))
@settings(max_examples=20, deadline=None)
def test_whatever_becomes_of_its_commits_each_record_is_there_once(ends: list[list[tuple[End, bool]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        harness = BulkHarness(Path(folder))
        sink = begun(harness)
        for txid, mine in enumerate(ends, 1):
            updates = staged_by_tasks(sink, batch_of(txid), harness.keyed(*KEYS))
            harness.kafka.ends = [end for end, _ in mine]
            for _, is_delivered in mine:
                if is_delivered:
                    harness.kafka.deliver()
            until_known(sink, txid, updates, EPOCH)
            harness.kafka.deliver()
            assert in_any_order(values_of(harness)) == in_any_order(expected_of(*[KEYS] * txid))


@pytest.mark.parametrize("after", [1, 2])
def test_a_txid_that_is_sent_in_part_is_finished_and_not_taken_back(harness: BulkHarness, after: int) -> None:
    sink = begun(harness)
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    harness.kafka.ends = [End.ANSWERED] * after + [End.REQUEST_LOST]
    with pytest.raises(OutcomeUnknownError):
        sink.apply(batch_of(1), updates)
    successor = harness.open()
    successor.prepare()
    successor.raise_fence(OWNER, NEWER)
    position = successor.position("orders")
    assert position is not None
    assert position.txid == 0
    sent = len(harness.kafka.seen("out"))
    assert 0 < sent < len(KEYS)
    for call in (undoing(successor).check_undo, lambda batch, staged: undoing(successor).undo(batch, 0, staged)):
        with pytest.raises(CannotUndoError, match=f"have sent their share of it, {sent} records"):
            call(batch_of(1, epoch=NEWER), updates)
    assert resetting(successor).check_adopt("orders") == 1
    with pytest.raises(FencedError):
        sink.apply(batch_of(1), updates)
    successor.apply(batch_of(1, epoch=NEWER), updates)
    assert in_any_order(values_of(harness)) == in_any_order(expected_of(KEYS))
    other = batch_of(1, attempt=99, epoch=NEWER)
    with pytest.raises(MismatchError, match="attempt 10"):
        successor.apply(other, staged_by_tasks(successor, other, harness.keyed(*KEYS)))


def test_a_task_that_comes_late_sends_nothing_for_an_older_epoch(harness: BulkHarness) -> None:
    """A stopped owner's task begins when its successor has raised the fence, and before it has sent anything."""
    sink, successor = begun(harness), harness.open()
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    late: list[Work] = []

    class Late:
        def run(self, works: Sequence[Work], secrets: Sequence[Secret], what: str, limit: timedelta) -> None:
            late.extend(works)
            raise RefusedError("stopped here")

    tasking = sink.capabilities.tasking
    assert tasking is not None
    tasking.use(Late())
    with pytest.raises(RefusedError):
        sink.apply(batch_of(1), updates)
    successor.prepare()
    successor.raise_fence(OWNER, NEWER)
    undoing(successor).undo(batch_of(1, epoch=NEWER), 0, updates)
    for work in late:
        with pytest.raises(FencedError):
            work()
    assert values_of(harness) == {}


def test_the_same_task_twice_sends_once(harness: BulkHarness) -> None:
    sink = begun(harness)
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))

    class Twice:
        def run(self, works: Sequence[Work], secrets: Sequence[Secret], what: str, limit: timedelta) -> None:
            for work in [*works, *works]:
                work()

    tasking = sink.capabilities.tasking
    assert tasking is not None
    tasking.use(Twice())
    sink.apply(batch_of(1), updates)
    assert in_any_order(values_of(harness)) == in_any_order(expected_of(KEYS))


@pytest.mark.parametrize("harm", ["gone", "broken", "cut"])
def test_files_that_are_not_what_was_accepted_stop(harness: BulkHarness, harm: str) -> None:
    sink = begun(harness)
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    for path in harness.folder.glob("**/*.parquet"):
        if harm == "gone":
            path.unlink()
        elif harm == "cut":
            path.write_bytes(path.read_bytes()[:-40])
        else:
            data = bytearray(path.read_bytes())
            data[30] ^= 0xFF
            path.write_bytes(data)
    with pytest.raises(StagingLostError, match="nothing of it was sent"):
        sink.apply(batch_of(1), updates)
    assert values_of(harness) == {}


def test_a_file_with_other_rows_than_were_accepted_stops(harness: BulkHarness) -> None:
    sink = begun(harness)
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    first, *others = updates.writes
    more = replace(first, digest=digest_of(first.write_id, first.rows + 1))
    with pytest.raises(StagingLostError, match=f"{first.rows} rows are staged .*, {first.rows + 1} rows were accepted"):
        sink.apply(batch_of(1), WrittenUpdates((more, *others)))
    sink.apply(batch_of(1), updates)
    assert in_any_order(values_of(harness)) == in_any_order(expected_of(KEYS))


def test_what_a_task_wrote_twice_is_read_once(harness: BulkHarness) -> None:
    sink = begun(harness)
    staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    sink.apply(batch_of(1), updates)
    assert in_any_order(values_of(harness)) == in_any_order(expected_of(KEYS))


def test_files_that_will_never_be_sent_go_with_the_sink(harness: BulkHarness) -> None:
    sink = begun(harness)
    sink.apply(batch_of(1), staged_by_tasks(sink, batch_of(1), harness.keyed("a")))
    staged_by_tasks(sink, batch_of(2), harness.keyed("a"))
    sink.forget_staging(OWNER, EPOCH)
    assert harness.files() == []
    assert values_of(harness) == {"a": [0]}


def test_files_that_come_while_a_sink_is_given_up_stay(harness: BulkHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = begun(harness)
    sink.apply(batch_of(1), staged_by_tasks(sink, batch_of(1), harness.keyed("a")))
    staged_by_tasks(sink, batch_of(2), harness.keyed("a"))
    staged: list[StagedUpdates] = []
    delete = StagingFolder.delete

    def stand_still(folder: StagingFolder, places: Collection[str], *, are_sent: bool) -> None:
        staged.append(staged_by_tasks(sink, batch_of(2), harness.keyed("a")))
        delete(folder, places, are_sent=are_sent)

    monkeypatch.setattr(StagingFolder, "delete", stand_still)
    sink.forget_staging(OWNER, EPOCH)
    sink.apply(batch_of(2), *staged)
    assert values_of(harness) == {"a": [0, 0]}


def test_files_that_come_behind_the_look_at_the_fence_stay(
    box: BulkOutboxHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = begun(box)
    look = OutboxTarget._sent

    def stand_still(itself: OutboxTarget, owner: Owner, epoch: Epoch) -> int | None:
        found = look(itself, owner, epoch)
        staged_by_tasks(sink, batch_of(1), box.shared.keyed("a"))
        return found

    staged_by_tasks(sink, batch_of(1), box.shared.keyed("a", "b"))
    before = len(box.shared.files())
    monkeypatch.setattr(OutboxTarget, "_sent", stand_still)
    sink.forget_staging(OWNER, EPOCH)
    assert 0 < len(box.shared.files()) < before + 1


def test_a_file_that_is_gone_keeps_no_other_one_from_being_deleted(harness: BulkHarness) -> None:
    sink = begun(harness)
    staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    folder = StagingFolder(harness.folder.as_uri(), "alerts")
    gone, *others = [place for place in folder.files_of(OWNER) if Path(place).is_file()]
    assert others
    Path(gone).unlink()
    folder.delete([gone, *others], are_sent=True)
    assert harness.files() == []


@pytest.mark.parametrize("is_local", [True, False])
def test_folders_of_txids_go_with_what_was_sent(
    harness: BulkHarness, monkeypatch: pytest.MonkeyPatch, is_local: bool
) -> None:
    """Each would be listed with every batch, for ever; a drop leaves an empty one where others may write meanwhile."""
    monkeypatch.setattr(folder_module, "_is_local", lambda _: is_local)
    sink = begun(harness)
    for txid in (1, 2):
        sink.apply(batch_of(txid), staged_by_tasks(sink, batch_of(txid), harness.keyed("a")))
    staged_by_tasks(sink, batch_of(3), harness.keyed("a"))
    assert harness.folders() == ["3"]
    sink.forget_staging(OWNER, EPOCH)
    assert harness.folders() == ([] if is_local else ["3"])
    assert harness.files() == []


@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize("fails_at", range(6))
def test_what_a_call_that_failed_has_left_goes_with_the_next(
    harness: BulkHarness, monkeypatch: pytest.MonkeyPatch, is_local: bool, fails_at: int
) -> None:
    monkeypatch.setattr(folder_module, "_is_local", lambda _: is_local)
    begun(harness)
    folder = StagingFolder(harness.folder.as_uri(), "alerts")
    for name in ("x", "y"):
        with folder.writing(batch_of(1), name) as file:
            file.write(b"rows")
    real, calls = fs.FileSystem.from_uri, []

    class Failing:
        """A file system of which one call is not answered."""

        def __init__(self, files: fs.FileSystem) -> None:
            self._files = files

        def __getattr__(self, name: str) -> object:
            calls.append(name)
            if len(calls) == fails_at + 1:
                raise OSError("slow down")
            return getattr(self._files, name)

    with monkeypatch.context() as patched:
        patched.setattr(fs, "FileSystem", SimpleNamespace(from_uri=lambda it: (Failing(real(it)[0]), real(it)[1])))
        with suppress(RetryableError):
            folder.delete(folder.files_of(OWNER), are_sent=True)
    folder.delete(folder.files_of(OWNER), are_sent=True)
    assert harness.folders() == harness.files() == []


def test_a_folder_that_is_away_ends_no_clean_up_and_deletes_nothing_later(
    harness: BulkHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sink = begun(harness)
    sink.apply(batch_of(1), staged_by_tasks(sink, batch_of(1), harness.keyed("a")))
    staged_by_tasks(sink, batch_of(1), harness.keyed("a"))

    def away(*_: object, **__: object) -> None:
        raise OSError("slow down")

    with monkeypatch.context() as patched:
        patched.setattr(StagingFolder, "_listed", away)
        sink.clean_up(OWNER, EPOCH, 1)
        with pytest.raises(FencedError):
            sink.clean_up(OWNER, Epoch(0, "older"), 1)
    assert "could not look into" in caplog.text
    assert len(harness.files()) == 1
    sink.clean_up(OWNER, EPOCH, 1)
    assert harness.files() == []


@pytest.mark.parametrize(
    "error", [PermissionError(), OSError("AWS Error ACCESS_DENIED during ListObjectsV2 operation: Access Denied")]
)
@pytest.mark.parametrize(
    "where", [(folder_module, "_gone_is_well"), (StagingFolder, "_listed")], ids=["deleting", "listing"]
)
def test_files_of_another_user_end_no_clean_up_and_a_drop_says_whose_right_is_missing(
    where: tuple[object, str],
    error: OSError,
    harness: BulkHarness,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = begun(harness)
    sink.apply(batch_of(1), staged_by_tasks(sink, batch_of(1), harness.keyed("a")))
    staged_by_tasks(sink, batch_of(1), harness.keyed("a"))

    def refuse(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(*where, refuse)
        sink.apply(batch_of(2), staged_by_tasks(sink, batch_of(2), harness.keyed("b")))
        assert caplog.text.count("may not look into or delete") == 1  # with the first batch
        sink.clean_up(OWNER, EPOCH, 1)
        assert caplog.text.count("may not look into or delete") == 2
        with pytest.raises(
            ConfigurationError,
            match=r"umask 002.* all that waited is sent, delete what lies in file:.*/orders/alerts/first-life yourself",
        ):
            sink.forget_staging(OWNER, EPOCH)
        assert staged_by_tasks(sink, batch_of(3), harness.keyed("a"))  # what earlier attempts left is no matter
    for path in harness.folder.glob("**/*.parquet"):
        path.unlink()
    sink.forget_staging(OWNER, EPOCH)


def test_a_file_that_may_not_be_deleted_keeps_no_other_one(
    harness: BulkHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = begun(harness)
    staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    staged_by_tasks(sink, batch_of(2), harness.keyed(*KEYS))
    folder = StagingFolder(harness.folder.as_uri(), "alerts")
    files, delete = folder.files_of(OWNER), folder_module._refusal_of
    kept = sorted(place for place in files if place.endswith(".parquet"))[0]

    def refuse(system: fs.FileSystem, place: str) -> OSError | None:
        return PermissionError() if place == kept else delete(system, place)

    monkeypatch.setattr(folder_module, "_refusal_of", refuse)
    with pytest.raises(ConfigurationError, match="may not look into or delete"):
        folder.delete(files, are_sent=True)
    assert harness.files() == ["1"]


def test_files_are_deleted_once_they_are_sent(harness: BulkHarness) -> None:
    sink = begun(harness)
    first = staged_by_tasks(sink, batch_of(1), harness.keyed("a"))
    staged_by_tasks(sink, batch_of(2), harness.keyed("a"))
    sink.clean_up(OWNER, EPOCH, 2)
    assert harness.files() == ["1", "2"]
    sink.apply(batch_of(1), first)
    assert harness.files() == ["2"]
    sink.clean_up(OWNER, EPOCH, 2)
    assert harness.files() == ["2"]
    sink.apply(batch_of(1), first)
    assert values_of(harness) == {"a": [0]}


def test_what_can_never_be_sent_is_refused_by_the_task(harness: BulkHarness) -> None:
    sink = begun(harness)
    harness.kafka.largest = 200
    rows = harness.keyed("a" * 300)
    with pytest.raises(RefusedError, match=r"too large for topic 'out'"):
        staged_by_tasks(sink, batch_of(1), rows)
    assert harness.files() == []


def check(sink: Target, epoch: Epoch = EPOCH) -> None:
    """Ask what a start asks."""
    counting = sink.capabilities.counting
    assert counting is not None
    counting.check_rows(OWNER, epoch, pinned=1)


def test_a_producer_whose_marker_is_gone_stops_the_start_and_is_healed_by_a_reset(harness: BulkHarness) -> None:
    sink = begun(harness)
    check(sink)
    for log in harness.kafka.logs["markers"]:
        log[:] = [entry for entry in log if entry.record.key != b"orders.alerts.1"]
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    with pytest.raises(MismatchError, match="no marker any more"):
        sink.apply(batch_of(1), updates)
    successor = harness.open()
    successor.raise_fence(OWNER, NEWER)
    with pytest.raises(MismatchError, match=r"producer 1 .* has no marker any more.*--states clear"):
        check(successor, NEWER)
    second = replace(OWNER, incarnation="second-life")
    resetting(successor).clear(second, NEWER, 7)
    batch = batch_of(8, epoch=NEWER, owner=second)
    before = len(harness.kafka.seen("out"))
    successor.apply(batch, staged_by_tasks(successor, batch, harness.keyed(*KEYS)))
    assert len(harness.kafka.seen("out")) - before == len(KEYS)


def test_a_share_under_the_same_numbers_of_a_ledger_that_was_put_back_is_not_taken_for_this_one(
    harness: BulkHarness,
) -> None:
    sink = begun(harness)
    first = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    harness.kafka.ends = [End.ANSWERED, End.REQUEST_LOST]
    with pytest.raises(OutcomeUnknownError):
        sink.apply(batch_of(1), first)
    again = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS, *KEYS))
    with pytest.raises(MismatchError, match=r"other records as this txid and attempt: the ledger was put back"):
        sink.apply(batch_of(1), again)
    sink.apply(batch_of(1), first)
    assert in_any_order(values_of(harness)) == in_any_order(expected_of(KEYS))


def test_a_producer_that_is_ahead_of_what_may_have_been_sent_stops_the_start(harness: BulkHarness) -> None:
    sink = begun(harness)
    for txid in (1, 2):
        sink.apply(batch_of(txid), staged_by_tasks(sink, batch_of(txid), harness.keyed(*KEYS)))
    check(sink)
    for log in harness.kafka.logs["markers"]:
        newest = [entry for entry in log if entry.record.key == b"orders.alerts"][-2:]
        log[:] = [entry for entry in log if entry not in newest]
    with pytest.raises(MismatchError, match=r"stands at txid 2 .* newest that it can have sent"):
        check(sink)


def test_two_that_share_a_folder_under_one_name_keep_their_files(harness: BulkHarness, tmp_path: Path) -> None:
    sink = begun(harness)
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    other = BulkHarness(tmp_path)
    theirs = other.open()
    theirs.prepare()
    owner = replace(OWNER, incarnation="of-another-ledger")
    theirs.raise_fence(owner, EPOCH)
    theirs.register(owner, EPOCH, 0)
    for txid in (1, 2):
        batch = batch_of(txid, owner=owner)
        theirs.apply(batch, staged_by_tasks(theirs, batch, other.keyed(*KEYS)))
        theirs.clean_up(owner, EPOCH, txid)
    sink.apply(batch_of(1), updates)
    assert in_any_order(values_of(harness)) == in_any_order(expected_of(KEYS))


def test_what_is_left_of_a_life_is_deleted_with_it(harness: BulkHarness) -> None:
    sink = begun(harness)
    staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    resetting(sink).clear(replace(OWNER, incarnation="second-life"), EPOCH, 7)
    assert harness.files() == []


def test_attempts_that_failed_leave_no_files(harness: BulkHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trident.state.kafka.bulk.writing._ROWS", 1)
    sink = begun(harness)
    for attempt in (10, 11, 12):
        staged_by_tasks(sink, batch_of(1, attempt=attempt), harness.keyed("a"))
    assert harness.files() == ["1"]

    def broken() -> Iterator[pa.RecordBatch]:
        for _ in range(2):
            yield from harness.keyed("a").to_batches()
        raise OSError("no space left")

    writing = sink.capabilities.writing
    assert writing is not None
    with pytest.raises(RetryableError):
        list(writing.writer(batch_of(2))(broken()))
    assert harness.files() == ["1"]


def test_a_txid_that_all_have_sent_is_finished_without_its_files(harness: BulkHarness) -> None:
    sink = begun(harness)
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    harness.kafka.ends = [End.ANSWERED] * PRODUCERS + [End.REQUEST_LOST]
    with pytest.raises(OutcomeUnknownError):
        sink.apply(batch_of(1), updates)
    for path in harness.folder.glob("**/*.parquet"):
        path.unlink()
        path.mkdir()  # what can't be read for now, and is not gone
    sink.apply(batch_of(1), updates)
    assert in_any_order(values_of(harness)) == in_any_order(expected_of(KEYS))


def test_a_share_above_two_gigabytes_can_be_sent() -> None:
    """Without so many bytes: types whose columns hold them, in what is sorted before it is sent."""
    with tempfile.TemporaryDirectory() as folder:
        harness = BulkHarness(Path(folder))
        sink = begun(harness)
        (write, *_) = staged_by_tasks(sink, batch_of(1), harness.keyed("a", "a")).writes
        rows = read_share(StagingFolder(harness.folder.as_uri(), "alerts"), batch_of(1), write)
    assert rows.schema.field("value").type == pa.large_binary()
    assert rows.schema.field("key").type == pa.large_binary()


def test_a_limit_that_was_raised_is_asked_for_before_a_record_is_refused(harness: BulkHarness) -> None:
    harness.kafka.largest = 1_000
    limits = MessageLimits(harness.kafka, lineage=True)
    limits.check(harness.keyed("a"), batch_of(1))
    harness.kafka.largest = 10_000
    limits.check(harness.keyed("a" * 5_000), batch_of(1))


def test_files_without_a_folder_are_told(harness: BulkHarness) -> None:
    updates = staged_by_tasks(begun(harness), batch_of(1), harness.keyed(*KEYS))
    plain = KafkaTarget(memory_sender(harness.kafka), open_blobs("alerts", harness.ledger))
    with pytest.raises(MismatchError, match="no staging_folder any more; nothing was sent"):
        plain.apply(batch_of(1), updates)


def test_an_outbox_holds_the_names_of_files_and_sends_them_alone(box: BulkOutboxHarness) -> None:
    sink = begun(box)
    assert isinstance(sink, OutboxTarget)
    for txid, is_bulk in enumerate([False, True, True, False], 1):
        rows = box.shared.keyed(*KEYS)
        batch, small = batch_of(txid), held(box.shared, *KEYS)
        sink.apply(batch, staged_by_tasks(sink, batch, rows) if is_bulk else small)
    sink.clean_up(OWNER, EPOCH, 4)
    assert box.shared.files() == ["2", "2", "3", "3"]
    assert [relaying_of(sink).relay(OWNER, EPOCH, 4) for _ in range(2)] == [1, 2]
    assert box.shared.files() == ["3", "3"]
    sink.clean_up(OWNER, EPOCH, 4)
    assert box.shared.files() == ["3", "3"]
    assert [relaying_of(sink).relay(OWNER, EPOCH, 4) for _ in range(2)] == [3, 4]
    assert in_any_order(values_of(box.shared)) == in_any_order(expected_of(*[KEYS] * 4))
    assert box.shared.files() == []


def test_what_waits_as_files_is_shown_and_taken_out_unless_it_was_sent_in_part(box: BulkOutboxHarness) -> None:
    sink = begun(box)
    assert isinstance(sink, OutboxTarget)
    for txid in (1, 2):
        sink.apply(batch_of(txid), staged_by_tasks(sink, batch_of(txid), box.shared.keyed(*KEYS)))
    found = relaying_of(sink).waiting(OWNER, EPOCH, 1)
    assert found is not None
    assert (found.rows.num_rows, found.lost) == (len(KEYS), 0)
    with box.file.transaction() as transaction:
        relaying_of(sink).divert_in(transaction, OWNER, EPOCH, 1)
    assert relaying_of(sink).relay(OWNER, EPOCH, 2) == 1
    assert values_of(box.shared) == {}
    box.kafka.ends = [End.ANSWERED, End.REQUEST_LOST]
    with pytest.raises(OutcomeUnknownError):
        relaying_of(sink).relay(OWNER, EPOCH, 2)
    sink.raise_fence(OWNER, NEWER)
    with pytest.raises(CannotUndoError, match="can't be taken out as a whole"):
        relaying_of(sink).waiting(OWNER, NEWER, 2)
    assert relaying_of(sink).relay(OWNER, NEWER, 2) == 2
    assert in_any_order(values_of(box.shared)) == in_any_order(expected_of(KEYS))


@pytest.mark.parametrize("gone", [1, 2])
def test_what_waits_as_files_that_are_gone_is_given_up_by_name_and_the_rest_kept(
    box: BulkOutboxHarness, gone: int
) -> None:
    sink = begun(box)
    for txid in (1, 2):
        sink.apply(batch_of(txid), staged_by_tasks(sink, batch_of(txid), box.shared.keyed(*KEYS)))
    files = sorted(box.shared.folder.glob("**/*01/*.parquet"))
    assert len(files) == 2
    for path in files[:gone]:
        path.unlink()
    relaying = relaying_of(sink)
    said = rf"{gone} of 2 files that tasks have staged .*divert MODULE:TOPOLOGY 1 --state alerts --rows-lost"
    for _ in range(2):
        with pytest.raises(StagingLostError, match=said):
            relaying.relay(OWNER, EPOCH, 2)
    with pytest.raises(StagingLostError, match="--rows-lost"):
        relaying.waiting(OWNER, EPOCH, 1)
    assert values_of(box.shared) == {}, "no share is sent of what can't be sent as a whole"
    found = relaying.waiting(OWNER, EPOCH, 1, without_lost=True)
    assert found is not None
    assert (found.rows.num_rows > 0, found.rows.num_rows + found.lost) == (gone < 2, len(KEYS))
    with box.file.transaction() as transaction:
        relaying.divert_in(transaction, OWNER, EPOCH, 1)
    assert relaying.relay(OWNER, EPOCH, 2) == 1
    assert relaying.relay(OWNER, EPOCH, 2) == 2
    assert in_any_order(values_of(box.shared)) == in_any_order(expected_of(KEYS))


def test_files_that_the_driver_does_not_see_are_no_reason_to_pin(harness: BulkHarness) -> None:
    """A folder of each machine's own is none that is shared."""
    sink = begun(harness)
    writing = sink.capabilities.writing
    assert writing is not None
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    writing.check_written(batch_of(1), updates.writes)
    writing.check_written(batch_of(2), ())
    for path in harness.folder.glob("**/*.parquet"):
        path.unlink()
    with pytest.raises(StagingLostError, match=r"are not in .* as this process sees it.*need to reach one folder"):
        writing.check_written(batch_of(1), updates.writes)


@pytest.mark.parametrize("keeps", [False, True])
def test_what_waits_and_is_sent_in_part_names_the_reset_that_goes_on(
    box: BulkOutboxHarness, keeps: bool, caplog: pytest.LogCaptureFixture
) -> None:
    sink = begun(box)
    rows = box.shared.keyed(*KEYS)
    sink.apply(batch_of(1), staged_by_tasks(sink, batch_of(1), rows))
    shares = list(_shares(rows, PRODUCERS))
    box.kafka.refuses = str(shares.index(max(shares))).encode()  # as `keyed` numbers them
    for _ in range(2):
        with pytest.raises(SentInPartError, match=r"sent by some of its producers, so it can't be .*--states clear"):
            relaying_of(sink).relay(OWNER, EPOCH, 1)
    second = replace(OWNER, incarnation="second-life")
    sink.raise_fence(OWNER, NEWER)
    (resetting(sink).adopt if keeps else resetting(sink).clear)(second, NEWER, 7)
    assert ("the reset deletes it" in caplog.text) is keeps
    box.kafka.refuses = b""
    batch = batch_of(8, epoch=NEWER, owner=second)
    sink.apply(batch, staged_by_tasks(sink, batch, box.shared.keyed("a")))
    assert relaying_of(sink).relay(second, NEWER, 8) == 8
    assert values_of(box.shared)["a"][-1] == 0


def test_manifests_lie_where_rows_do(harness: BulkHarness) -> None:
    writes = staged_by_tasks(begun(harness), batch_of(1), harness.keyed(*KEYS)).writes
    assert unlisted("alerts", listed(writes)) == writes
    assert unlisted("alerts", ROWS.empty_table()) is None


def test_staged_rows_are_shown_in_their_order(harness: BulkHarness) -> None:
    sink = begun(harness)
    rows = harness.keyed(*KEYS)
    updates = staged_by_tasks(sink, batch_of(1), rows)
    found = diverting(sink).staged_rows(batch_of(1), updates)
    assert found.column("value").to_pylist() == rows.column("value").to_pylist()


@pytest.mark.parametrize(
    "given_",
    [
        "relative/folder",
        "",
        "s3://key:hunter2@bucket/folder",
        "s3://AKIA:hun/ter2@bucket/x",
        "abfss://box@account.dfs.core.windows.net/x?client_secret=hunter2",
        "hdfs://user:hunter2@host/x",
        7,
        None,
        "no-path://",
    ],
)
def test_a_folder_that_is_not_the_same_everywhere_or_names_a_secret_is_refused(given_: object) -> None:
    with pytest.raises(ConfigurationError) as raised:
        check_folder("staging_folder", given_)
    assert "ter2" not in str(raised.value)


@pytest.mark.parametrize(
    "given_", ["s3://bucket/x?region=eu-west-1", "abfss://box@account.dfs.core.windows.net/x", "hdfs://me@host:8020/x"]
)
def test_a_folder_that_names_nothing_secret_is_taken(given_: str) -> None:
    assert check_folder("staging_folder", given_) == given_


def test_a_folder_that_can_not_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for address in ((tmp_path / "file" / "x").as_uri(), "gopher://host/path"):
        with pytest.raises(ConfigurationError, match="can't write to its staging_folder"):
            StagingFolder(address, "alerts").prepare()


def test_names_stay_inside_the_folder(tmp_path: Path) -> None:
    batch = replace(batch_of(1), owner=replace(OWNER, topology="../../x/y"))
    with StagingFolder(tmp_path.as_uri(), "..").writing(batch, "name") as file:
        file.write(b"x")
    (found,) = tmp_path.rglob("*.parquet")
    assert found.relative_to(tmp_path).parts[:2] == ("%2E%2E%2F%2E%2E%2Fx%2Fy", "%2E%2E")


def test_producers_that_are_ahead_of_what_the_ledger_has_pinned_stop_the_start(harness: BulkHarness) -> None:
    """The ledger was put back to a moment before it was pinned: it would be sent again under its next number."""
    sink = begun(harness)
    updates = staged_by_tasks(sink, batch_of(1), harness.keyed(*KEYS))
    ended: list[CrashPoint] = []

    def die(reached: CrashPoint, _: int) -> None:
        if reached is CrashPoint.AFTER_END_OF_TRANSACTION:
            ended.append(reached)
            raise KeyboardInterrupt

    with armed(die), pytest.raises(KeyboardInterrupt):
        sink.apply(batch_of(1), updates)
    assert ended == [CrashPoint.AFTER_END_OF_TRANSACTION], "one producer has sent its share"
    counting = harness.open().capabilities.counting
    assert counting is not None
    counting.check_rows(OWNER, EPOCH, pinned=1)
    with pytest.raises(MismatchError, match=r"txid 0 is the newest that it can have sent.*Nothing was sent"):
        counting.check_rows(OWNER, EPOCH)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(one=NAMES, other=NAMES)
@example(one="Alerts", other="alerts")
@example(one="\u00c9", other="\u00e9")
@example(one="%41", other="A")
def test_no_two_names_lie_in_one_folder_where_the_file_system_folds_case_neither(one: str, other: str) -> None:
    """One sink's clean-up deleted what the other had still to send."""
    if one != other:
        assert folder_module._plain(one).casefold() != folder_module._plain(other).casefold()
