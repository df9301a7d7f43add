"""Who deletes staged updates may stand still before it does: what others have staged meanwhile is not its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

import pytest

from tests.state.harnesses import ConditionalMap
from tests.state.memory_kafka import MemoryKafka, memory_sender
from tests.state.test_kafka_sink import MemoryKafkaHarness
from trident.base.errors import MismatchError
from trident.base.identity import Epoch
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.state import BackingMapState, SqliteState, StateKind
from trident.state.kafka.target import KafkaTarget
from trident.state.maps import blobs
from trident.state.maps.blobs import open_blobs
from trident.state.memory.database import MemoryDatabase
from trident.state.sqlite.database import SqliteDatabase
from trident.state.staged import HeldUpdates
from trident.state.target import Target
from trident.testing.state_harness import COUNTS, EPOCH, NEWER, OWNER, batch_of, counts

WAYS = ["clean_up", "forget_staging"]


def map_target(ledger: MemoryDatabase) -> Target:
    return BackingMapState("alerts", ConditionalMap(), kind=StateKind.OPAQUE).open(COUNTS, ledger, DEFAULT_TIMEOUTS)


def kafka_target(ledger: MemoryDatabase) -> Target:
    return KafkaTarget(memory_sender(MemoryKafka("out")), open_blobs("alerts", ledger))


@pytest.fixture(params=[map_target, kafka_target])
def scene(request: pytest.FixtureRequest) -> Scene:
    return Scene(request.param)


class Scene:
    """A target whose first batch is applied, and has left a blob."""

    def __init__(self, open_target: Callable[[MemoryDatabase], Target]) -> None:
        ledger = MemoryDatabase()
        is_map = open_target is map_target
        self.updates = counts(("ann", 1, 10)) if is_map else HeldUpdates(MemoryKafkaHarness().rows("a"))
        self.target = open_target(ledger)
        self.store = open_blobs("alerts", ledger)
        self.target.prepare()
        self.target.raise_fence(OWNER, EPOCH)
        self.target.register(OWNER, EPOCH, 0)
        self.target.apply(batch_of(1), self.target.stage(batch_of(1), self.updates))
        assert self.staged == 1

    @property
    def staged(self) -> int:
        return len(self.store.lying("orders"))

    def delete(self, way: str, epoch: Epoch = EPOCH) -> None:
        if way == "clean_up":
            self.target.clean_up(OWNER, epoch, 1)
        else:
            self.target.forget_staging(OWNER, epoch)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", ["behind the look", "before the deletion"])
def test_what_is_staged_behind_the_look_at_the_fence_stays(
    scene: Scene, moment: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same txid and attempt, of another life: where the ledger is lost and all is cleared, numbers begin again."""
    look, delete = type(scene.target)._held_position, blobs._MemoryBlobs.delete  # type: ignore[attr-defined]

    def look_and_stand_still(*given: object) -> object:
        found = look(*given)
        scene.store.put(batch_of(1), scene.updates.rows)
        return found

    def stand_still_and_delete(itself: blobs._MemoryBlobs, topology: str, write_ids: Collection[str]) -> None:
        scene.store.put(batch_of(1), scene.updates.rows)
        delete(itself, topology, write_ids)

    if moment == "behind the look":
        monkeypatch.setattr(type(scene.target), "_held_position", look_and_stand_still)
    else:
        monkeypatch.setattr(blobs._MemoryBlobs, "delete", stand_still_and_delete)
    scene.delete(way)
    assert scene.staged == 1, "the first one is deleted, the second one is not"


@pytest.mark.parametrize("way", WAYS)
def test_what_is_staged_is_deleted_by_the_epoch_that_holds_the_fence_only(scene: Scene, way: str) -> None:
    with nullcontext() if way == "clean_up" else pytest.raises(MismatchError, match="give the command again"):
        scene.delete(way, NEWER)
    assert scene.staged == 1


@pytest.mark.parametrize("way", WAYS)
def test_rows_beside_the_ledger_are_deleted_by_their_own_epoch_only(tmp_path: Path, way: str) -> None:
    """A ledger that was put back to an earlier moment has an older epoch there than whoever lived on."""
    database = SqliteDatabase(tmp_path / "ledger.sqlite")
    target = SqliteState("sums", kind=StateKind.OPAQUE).open(COUNTS, database, DEFAULT_TIMEOUTS)
    target.prepare()
    target.raise_fence(OWNER, EPOCH)
    target.register(OWNER, EPOCH, 0)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection, connection:
        columns = "trident_txid, trident_attempt, trident_write_id, trident_digest"
        connection.execute(f"INSERT INTO trident_staging_sums ({columns}) VALUES (0, 1, 'w', 0)")
    with nullcontext() if way == "clean_up" else pytest.raises(MismatchError, match="give the command again"):
        (partial(target.clean_up, done=0) if way == "clean_up" else target.forget_staging)(OWNER, NEWER)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM trident_staging_sums").fetchall() == [(1,)]
