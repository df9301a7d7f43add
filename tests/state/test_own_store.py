"""A user's own store (`examples/own_store.py`) keeps the same contract as the stores of the library."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from examples.own_store import JournalMap, balances_state
from trident.state import BackingMapState, StateKind, TimedValue
from trident.state.capabilities import expired_keys, staged_at
from trident.state.memory.database import MemoryDatabase
from trident.testing import BackingMapHarness, ExpiryContract, StateContract
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, put, ready, seen


class JournalHarness(BackingMapHarness):
    map: JournalMap

    def items(self):
        return self.map.items()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "counts.journal"


class TestJournalMap(StateContract, ExpiryContract):
    @pytest.fixture
    def harness(self, journal: Path) -> Iterator[JournalHarness]:
        harness = JournalHarness(JournalMap(journal))
        yield harness
        harness.map.close()


@pytest.mark.parametrize("torn", [0, 1, 20])
def test_a_journal_brings_everything_back_but_a_torn_last_entry(journal: Path, torn: int) -> None:
    first = JournalHarness(JournalMap(journal))
    store = ready(first)
    put(first, store, batch_of(1), counts(("ann", 1, 10), ("bob", 2, 20), ("cyd", 3, 30)))
    first.map.close()
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole[:torn])
    second = JournalHarness(JournalMap(journal))
    assert journal.read_bytes() == whole
    put(second, second.open(COUNTS, StateKind.OPAQUE), batch_of(2), counts(("ann", 1, 10)))
    second.map.close()
    third = JournalHarness(JournalMap(journal))
    assert seen(third) == {"ann": (2, 20), "bob": (2, 20), "cyd": (3, 30)}
    third.map.close()


def test_what_has_expired_is_removed_from_the_journal_too(journal: Path) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    state = BackingMapState("counts", JournalMap(journal), expire_after=timedelta(hours=1))
    store = state.open(COUNTS, MemoryDatabase())
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    for txid, name in enumerate(("ann", "bob", "bob"), 1):
        batch = batch_of(txid)
        staged = staged_at(store, batch, counts((name, 1, 1)), noon + timedelta(hours=txid))
        store.apply(batch, staged)
    assert expired_keys({"counts": store}, 3) == 2  # ann, and bob's value before, which starts anew
    kept = [key for key, value in JournalMap(journal).items() if isinstance(value, TimedValue)]
    assert kept == [("bob",)]


def test_the_example_is_a_state(journal: Path) -> None:
    assert balances_state(journal).description()["map"] == "JournalMap"
