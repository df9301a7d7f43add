"""A user's own store (`examples/own_store.py`) keeps the same contract as the stores of the library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.own_store import JournalMap, balances_state
from trident.state import StateKind
from trident.testing import BackingMapHarness, StateContract
from trident.testing.state_harness import COUNTS, batch_of, counts, put, ready, seen


class JournalHarness(BackingMapHarness):
    map: JournalMap

    def items(self):
        return self.map.items()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "counts.journal"


class TestJournalMap(StateContract):
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


def test_the_example_is_a_state(journal: Path) -> None:
    assert balances_state(journal).description()["map"] == "JournalMap"
