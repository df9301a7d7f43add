"""Random lives of every store that needs no server, beside a perfect model."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import pytest

import trident.state.memory.place
import trident.state.memory.target
from tests.effort import effort
from tests.state.harnesses import BackingHarness, ClearableMap, ConditionalMap, DictMap, MemoryHarness, SqliteHarness
from tests.state.machine import Bench, Crash, live_long
from trident.base.errors import TridentError
from trident.base.identity import BatchId
from trident.state.capabilities import SharesTransaction
from trident.state.folding import updated
from trident.state.layout import StateKind
from trident.state.memory.database import MemoryTransaction
from trident.state.staged import StagedUpdates
from trident.state.target import Target
from trident.state.values import OpaqueValue


def in_transaction(store: Target) -> SharesTransaction:
    """Say what these stores have, also those apart, which do not offer it."""
    return cast("SharesTransaction", store)


class MemoryBench(Bench):
    harness: MemoryHarness

    def __init__(self, apart: bool) -> None:
        self.apart = apart
        self.harness = MemoryHarness(beside=not apart)

    def crash(self, store: Target, batch: BatchId, updates: StagedUpdates, after: int) -> bool:
        updates = in_transaction(store).ready(batch, updates)
        with suppress(Crash), self.harness.database.transaction() as transaction:
            in_transaction(store).copy_in(transaction, batch, updates)
            in_transaction(store).apply_in(transaction, batch, updates)
            raise Crash
        return True


class SqliteBench(Bench):
    harness: SqliteHarness

    def __init__(self, apart: bool) -> None:
        self.apart = apart
        self.folder = Path(tempfile.mkdtemp(prefix="trident-lives-"))
        self.harness = SqliteHarness(self.folder, beside=not apart)

    def crash(self, store: Target, batch: BatchId, updates: StagedUpdates, after: int) -> bool:
        """Drop the connection in the middle of the transaction, without a rollback."""
        updates = in_transaction(store).ready(batch, updates)
        with suppress(Crash), self.harness.database.transaction() as transaction:
            in_transaction(store).copy_in(transaction, batch, updates)
            if after:
                in_transaction(store).apply_in(transaction, batch, updates)
            transaction.connection.invalidate()
            raise Crash
        return True

    def close(self) -> None:
        self.harness.close()
        shutil.rmtree(self.folder)


class MapBench(Bench):
    harness: BackingHarness
    atomic = False

    def __init__(self, backing_map: DictMap) -> None:
        self.harness = BackingHarness(backing_map, chunk_rows=2, cached_keys=3)

    def crash(self, store: Target, batch: BatchId, updates: StagedUpdates, after: int) -> bool:
        """Die after so many puts."""
        through = False
        with self.dying(after):
            store.apply(batch, updates)
            through = True
        return not through

    @contextmanager
    def dying(self, after: int) -> Iterator[None]:
        self.harness.map.puts_left = after
        try:
            yield
        except KeyboardInterrupt:
            pass
        finally:
            self.harness.map.puts_left = None


BENCHES = {
    "memory beside the ledger": lambda: MemoryBench(apart=False),
    "memory apart": lambda: MemoryBench(apart=True),
    "map": lambda: MapBench(DictMap()),
    "map that can be cleared": lambda: MapBench(ClearableMap()),
    "map with conditional puts": lambda: MapBench(ConditionalMap()),
}


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("kind", list(StateKind))
@pytest.mark.parametrize("make", BENCHES.values(), ids=BENCHES)
def test_a_long_life_ends_with_the_models_values(make: Callable[[], Bench], kind: StateKind) -> None:
    live_long(kind, make, examples=effort().state_lives, steps=effort().state_steps)


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("kind", list(StateKind))
@pytest.mark.parametrize("apart", [False, True], ids=["beside the ledger", "apart"])
def test_a_long_life_in_sqlite_ends_with_the_models_values(apart: bool, kind: StateKind) -> None:
    live_long(kind, lambda: SqliteBench(apart), examples=effort().server_lives, steps=effort().state_steps)


def forgetful(kind, stored, txid, update):
    row = updated(kind, stored, txid, update)
    return OpaqueValue(row.txid, None, row.current) if isinstance(row, OpaqueValue) else row


BROKEN = {
    "no txid check": (trident.state.memory.target, "is_in", lambda position, batch, name: False),
    "no fence": (trident.state.memory.place, "check_epoch", lambda stored, given, name: None),
    "no previous value": (trident.state.memory.target, "updated", forgetful),
    "no undo": (OpaqueValue, "undo", lambda self, txid: self),
    "no rollback": (MemoryTransaction, "roll_back", lambda self: None),
}


@pytest.mark.parametrize(("place", "name", "instead"), BROKEN.values(), ids=BROKEN)
def test_a_broken_store_does_not_live_long(
    monkeypatch: pytest.MonkeyPatch, place: object, name: str, instead: object
) -> None:
    monkeypatch.setattr(place, name, instead)
    with pytest.raises((AssertionError, pytest.fail.Exception, TridentError)):
        live_long(StateKind.OPAQUE, lambda: MemoryBench(apart=True), examples=effort().searched_lives, shrink=False)
