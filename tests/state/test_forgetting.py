"""Targets that are let go of, in stores that need no server."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.state.forgetting import LATER, NEXT, ForgettingContract, Forgotten
from tests.state.harnesses import MemoryHarness, SqliteHarness
from tests.state.memory_kafka import memory_sender
from tests.state.test_bulk_rows import PRODUCERS, MemoryReach
from tests.state.test_kafka_sink import MemoryKafkaHarness
from tests.state.test_outbox import OutboxHarness, SendsAtOnce
from tests.state.test_row_sinks import SqliteRowHarness
from trident.base.errors import FencedError, MismatchError
from trident.state.forgetting import forgetting_of
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.kafka.bulk.sending import BulkPlace, BulkSender
from trident.state.kafka.target import KafkaTarget
from trident.state.layout import StateKind
from trident.state.maps.blobs import open_blobs
from trident.state.memory.database import MemoryDatabase
from trident.state.staged import HeldUpdates
from trident.testing.state_harness import COUNTS, EPOCH, NEWER, OWNER, counts


def tables_of(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


class TestTable(ForgettingContract):
    """A SQLite state, beside its ledger and apart."""

    @pytest.fixture(params=[True, False], ids=["beside", "apart"])
    def place(self, request: pytest.FixtureRequest, tmp_path: Path) -> Forgotten:
        harness = SqliteHarness(tmp_path, request.param)

        def read() -> object:
            rows = harness.rows(COUNTS) if "counts" in tables_of(harness.path) else []
            return sorted(str(row) for row in rows) or None

        return Forgotten(
            lambda: harness.open(COUNTS, StateKind.OPAQUE), lambda: counts(("ann", 1, 10), ("bob", 2, 5)), read
        )

    def test_nothing_of_it_is_left_but_the_fence(self, place: Forgotten, tmp_path: Path) -> None:
        place.begin()
        place.forget(drops=True)
        assert not {"counts", "trident_staging_counts"} & tables_of(tmp_path / "state.db")
        with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
            assert connection.execute("SELECT * FROM trident_applied").fetchall() == []
            fences = connection.execute("SELECT topology, epoch, token FROM trident_state_fence").fetchall()
        noted = ("orders\ncounts", NEWER.number, OWNER.incarnation)  # that the state was let go of, and of which life
        assert sorted(fences) == [("orders", NEWER.number, NEWER.token), noted]


class TestMemory(ForgettingContract):
    """A memory state, beside its ledger and apart."""

    @pytest.fixture(params=[True, False], ids=["beside", "apart"])
    def place(self, request: pytest.FixtureRequest) -> Forgotten:
        harness = MemoryHarness(request.param)
        return Forgotten(
            lambda: harness.open(COUNTS, StateKind.OPAQUE),
            lambda: counts(("ann", 1, 10)),
            lambda: sorted(str(row) for row in harness.rows(COUNTS)) or None,
        )

    def test_a_topology_of_another_name_has_the_state_then(self, place: Forgotten) -> None:
        place.begin()
        with pytest.raises(MismatchError, match="belongs to another topology"):
            place.open().look("others")
        place.forget(drops=True)
        assert place.open().look("others", registers=True) is None


class TestRows(ForgettingContract):
    """A sink that writes rows to a table."""

    sinks = True

    @pytest.fixture
    def place(self, tmp_path: Path) -> Forgotten:
        harness = SqliteRowHarness(tmp_path / "rows.db")
        return Forgotten(
            harness.open,
            lambda: HeldUpdates(harness.rows("a", "b")),
            lambda: harness.query("SELECT word FROM words ORDER BY n"),
        )


class TestKafka(ForgettingContract):
    """A Kafka sink that sends before done."""

    sinks = True

    @pytest.fixture
    def place(self) -> Forgotten:
        harness = MemoryKafkaHarness()
        return Forgotten(harness.open, lambda: HeldUpdates(harness.rows("a")), harness.words)

    def test_what_is_staged_goes_with_it(self) -> None:
        ledger, harness = MemoryDatabase(), MemoryKafkaHarness()
        target, blobs = (
            KafkaTarget(memory_sender(harness.kafka), open_blobs("alerts", ledger)),
            open_blobs("alerts", ledger),
        )
        place = Forgotten(lambda: target, lambda: HeldUpdates(harness.rows("a")), harness.words)
        place.begin()
        assert blobs.lying("orders")
        place.forget(drops=False)
        assert not blobs.lying("orders")


class TestBulk(ForgettingContract):
    """A Kafka sink with several producers, each with a marker of its own."""

    sinks = True

    @pytest.fixture
    def place(self, tmp_path: Path) -> Forgotten:
        harness, ledger = MemoryKafkaHarness(), MemoryDatabase()
        folder = StagingFolder((tmp_path / "staged").as_uri(), "alerts")

        def opened() -> KafkaTarget:
            bulk = BulkSender(BulkPlace(folder, MemoryReach(harness.kafka), "markers", PRODUCERS, True))
            return KafkaTarget(memory_sender(harness.kafka, bulk), open_blobs("alerts", ledger))

        return Forgotten(opened, lambda: HeldUpdates(harness.rows("a")), harness.words)

    def test_no_producer_stands_anywhere_then(self, place: Forgotten) -> None:
        place.begin()
        target = place.forget(drops=False)
        assert isinstance(target, KafkaTarget)
        bulk = target.capabilities.tasking
        assert isinstance(bulk, BulkSender)
        assert bulk.newest_txid("orders") == 0
        with pytest.raises(MismatchError, match="producer 0"):
            bulk.check_markers(OWNER, 9)


class TestOutbox(ForgettingContract):
    """A Kafka sink whose records wait beside the ledger."""

    sinks = True
    idle = frozenset({"clean up", "forget what is staged"})

    @pytest.fixture
    def place(self, tmp_path: Path) -> Forgotten:
        harness = OutboxHarness(tmp_path, SendsAtOnce)
        return Forgotten(harness.open, lambda: HeldUpdates(harness.rows("a")), harness.words)

    def test_what_waits_is_not_deleted(self, tmp_path: Path) -> None:
        harness = OutboxHarness(tmp_path)
        place = Forgotten(harness.open, lambda: HeldUpdates(harness.rows("a")), harness.words)
        target = place.begin()
        for drops in (True, False):
            with pytest.raises(MismatchError, match="records waiting that were not sent"):
                forgetting_of(target).forget(OWNER, EPOCH, drops)
        assert harness.waiting() == [1]
        assert target.position("orders") is not None

    def test_an_old_owner_that_has_read_its_birth_is_not_born_beside_the_ledger(self, place: Forgotten) -> None:
        """It stood still between the two places of a birth."""
        old = place.begin()
        place.forget(drops=False)
        assert isinstance(old, SendsAtOnce)
        outbox = old._outbox
        with pytest.raises(FencedError, match="has let go of sink"), outbox.work_for("orders", EPOCH) as transaction:
            outbox.bear(transaction, OWNER, EPOCH, 0)
        with outbox.work_for("orders", LATER) as transaction:
            outbox.bear(transaction, NEXT, LATER, 1)
        assert place.open().position("orders") is not None
