"""Who deletes staged updates may stand still before it does: what others have staged meanwhile is not its own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import pytest

from tests.state.harnesses import ConditionalMap
from tests.state.memory_kafka import MemoryKafka, memory_sender
from tests.state.test_kafka_sink import MemoryKafkaHarness
from trident.base.errors import FencedError
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


def map_target(ledger: MemoryDatabase) -> Target:
    return BackingMapState("alerts", ConditionalMap(), kind=StateKind.OPAQUE).open(COUNTS, ledger, DEFAULT_TIMEOUTS)


def kafka_target(ledger: MemoryDatabase) -> Target:
    return KafkaTarget(memory_sender(MemoryKafka("out")), open_blobs("alerts", ledger))


@pytest.mark.parametrize("way", ["clean_up", "forget_staging"])
@pytest.mark.parametrize("open_target", [map_target, kafka_target])
def test_what_is_staged_behind_the_look_at_the_fence_stays(
    open_target: Callable[[MemoryDatabase], Target], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same txid and attempt, of another life: where the ledger is lost and all is cleared, numbers begin again."""
    ledger = MemoryDatabase()
    target = open_target(ledger)
    is_map = open_target is map_target
    updates = counts(("ann", 1, 10)) if is_map else HeldUpdates(MemoryKafkaHarness().rows("a"))
    target.prepare()
    target.raise_fence(OWNER, EPOCH)
    target.register(OWNER, EPOCH, 0)
    target.apply(batch_of(1), target.stage(batch_of(1), updates))
    store = open_blobs("alerts", ledger)
    delete = blobs._MemoryBlobs.delete
    assert len(store.lying("orders")) == 1

    def stand_still(itself: blobs._MemoryBlobs, topology: str, write_ids: Collection[str]) -> None:
        store.put(batch_of(1), updates.rows)
        delete(itself, topology, write_ids)

    monkeypatch.setattr(blobs._MemoryBlobs, "delete", stand_still)
    if way == "clean_up":
        target.clean_up(OWNER, EPOCH, 1)
    else:
        target.forget_staging(OWNER, EPOCH)
    assert len(store.lying("orders")) == 1, "the first one is deleted, the second one is not"


@pytest.mark.parametrize("way", ["clean_up", "forget_staging"])
def test_rows_beside_the_ledger_are_deleted_by_their_own_epoch_only(tmp_path: Path, way: str) -> None:
    """A ledger that was put back to an earlier moment has an older epoch there than whoever lived on."""
    database = SqliteDatabase(tmp_path / "ledger.sqlite")
    target = SqliteState("sums", kind=StateKind.OPAQUE).open(COUNTS, database, DEFAULT_TIMEOUTS)
    target.prepare()
    target.raise_fence(OWNER, EPOCH)
    target.register(OWNER, EPOCH, 0)
    delete = partial(target.clean_up, done=1) if way == "clean_up" else target.forget_staging
    with pytest.raises(FencedError):
        delete(OWNER, NEWER)
