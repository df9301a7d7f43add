"""What a user's key-value store goes through when processes die in the middle of a batch."""

from __future__ import annotations

import pytest

from tests.state.harnesses import BackingHarness, ClearableMap, ConditionalMap, DictMap
from trident.base.errors import ConfigurationError, FencedError, RefusedError
from trident.state import BackingMap, BackingMapState, BackingPosition, ConditionalBackingMap, StateKind
from trident.state.capabilities import CannotUndoError
from trident.state.memory.database import MemoryDatabase
from trident.state.postgres.database import PostgresDatabase
from trident.state.sqlite.database import SqliteDatabase
from trident.testing.state_harness import COUNTS, EPOCH, NEWER, OWNER, batch_of, counts, ready, seen, undoing

ROWS = [(f"account {number}", 1, number) for number in range(7)]
EXPECTED = {name: (2 * n, 2 * total) for name, n, total in ROWS}
MAPS = [DictMap, ConditionalMap]


def test_the_protocols_tell_maps_apart():
    assert isinstance(DictMap(), BackingMap)
    assert not isinstance(DictMap(), ConditionalBackingMap)
    assert isinstance(ConditionalMap(), ConditionalBackingMap)


@pytest.mark.parametrize("kind", [StateKind.OPAQUE, StateKind.TRANSACTIONAL])
@pytest.mark.parametrize("make", MAPS)
@pytest.mark.parametrize("puts", range(9))
def test_a_batch_that_dies_after_any_put_is_completed_once(make, kind, puts):
    harness = BackingHarness(make(), chunk_rows=3)
    store = ready(harness, kind)
    store.apply(batch_of(1), store.stage(batch_of(1), counts(*ROWS)))
    staged = store.stage(batch_of(2), counts(*ROWS))
    harness.map.puts_left = puts
    try:
        store.apply(batch_of(2), staged)
    except KeyboardInterrupt:
        assert puts < 8
    else:
        assert puts == 8
    harness.map.puts_left = None
    successor = harness.open(COUNTS, kind)
    successor.prepare()
    successor.raise_fence(OWNER, NEWER)
    successor.apply(batch_of(2, epoch=NEWER), staged)
    assert seen(harness) == EXPECTED


def test_with_conditional_puts_a_stopped_owner_that_wakes_changes_nothing():
    backing = ConditionalMap()
    harness = BackingHarness(backing)
    store = ready(harness)
    staged = store.stage(batch_of(1), counts(*ROWS))
    original = backing.multi_put_if

    def taken_over_meanwhile(changes):
        backing.multi_put_if = original
        successor = harness.open(COUNTS, StateKind.OPAQUE)
        successor.raise_fence(OWNER, NEWER)
        for txid in (1, 2):
            batch = batch_of(txid, epoch=NEWER)
            successor.apply(batch, successor.stage(batch, counts(*ROWS)))
        return original(changes)

    backing.multi_put_if = taken_over_meanwhile
    with pytest.raises(FencedError):
        store.apply(batch_of(1), staged)
    assert seen(harness) == EXPECTED


def test_the_position_lies_under_a_key_that_no_row_can_have():
    harness = BackingHarness(DictMap())
    store = ready(harness)
    store.apply(batch_of(1), store.stage(batch_of(1), counts(*ROWS)))
    reserved = [key for key, value in harness.map.rows.items() if isinstance(value, BackingPosition)]
    assert len(reserved) == 2  # whose map it is, and where it stands
    assert all(len(key) == len(COUNTS.keys) + 1 for key in reserved)


def test_keys_are_asked_for_in_chunks():
    harness = BackingHarness(DictMap(), chunk_rows=3)
    store = ready(harness)
    sizes: list[int] = []
    original = harness.map.multi_get

    def counting(keys):
        sizes.append(len(keys))
        return original(keys)

    harness.map.multi_get = counting
    store.apply(batch_of(1), store.stage(batch_of(1), counts(*ROWS)))
    assert sorted(sizes) == [1, 1, 3, 3]


def test_a_merged_value_that_does_not_fit_is_refused_by_column():
    harness = BackingHarness(DictMap())
    store = ready(harness)
    store.apply(batch_of(1), store.stage(batch_of(1), counts(("ann", 2**63 - 1, 1))))
    with pytest.raises(RefusedError, match="column 'n'"):
        store.apply(batch_of(2), store.stage(batch_of(2), counts(("ann", 1, 1))))


def test_staged_updates_wait_in_the_ledgers_file(tmp_path):
    database = SqliteDatabase(tmp_path / "ledger.db")
    backing = ClearableMap()
    store = BackingMapState("counts", backing).open(COUNTS, database)
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    staged = store.stage(batch_of(1), counts(*ROWS))
    database.close()
    again = BackingMapState("counts", backing).open(COUNTS, SqliteDatabase(tmp_path / "ledger.db"))
    again.prepare()
    again.apply(batch_of(1), staged)
    again.clean_up(OWNER, EPOCH, 1)
    with database.transaction() as transaction:
        left = transaction.connection.exec_driver_sql("SELECT count(*) FROM trident_staged_blob").scalar()
    database.close()
    assert left == 0
    assert len(backing.rows) == len(ROWS) + 2  # and whose map it is, and where it stands


def test_a_description_and_a_repr_show_nothing_of_the_map():
    state = BackingMapState("counts", DictMap())
    assert "DictMap object" not in repr(state)
    assert state.description()["map"] == "DictMap"


@pytest.mark.parametrize("chunk_rows", [0, -1])
def test_a_chunk_holds_at_least_one_row(chunk_rows):
    with pytest.raises(ConfigurationError, match="chunk_rows"):
        BackingMapState("counts", DictMap(), chunk_rows=chunk_rows)


def test_any_ledger_of_this_library_can_hold_staged_updates(tmp_path):
    databases: list[MemoryDatabase | SqliteDatabase | PostgresDatabase] = [
        MemoryDatabase(),
        SqliteDatabase(tmp_path / "x.db"),
        PostgresDatabase("postgresql://localhost/x"),
    ]
    for database in databases:
        assert BackingMapState("counts", DictMap()).open(COUNTS, database).capabilities.beside is None
        database.close()


def refused_in_the_middle(harness, kind=StateKind.OPAQUE):
    """Put txid 1, then die in the middle of txid 2; returns the successor's store and what it finds staged."""
    store = ready(harness, kind)
    store.apply(batch_of(1), store.stage(batch_of(1), counts(*ROWS[:5])))
    staged = store.stage(batch_of(2), counts(*ROWS))
    harness.map.puts_left = 6
    with pytest.raises(KeyboardInterrupt):
        store.apply(batch_of(2), staged)
    harness.map.puts_left = None
    successor = harness.open(COUNTS, kind)
    successor.prepare()
    successor.raise_fence(OWNER, NEWER)
    return successor, staged


@pytest.mark.parametrize("puts", range(9))
def test_an_undo_that_dies_after_any_change_is_completed(puts):
    harness = BackingHarness(ConditionalMap(), chunk_rows=3)
    store = ready(harness)
    store.apply(batch_of(1), store.stage(batch_of(1), counts(*ROWS[:5])))
    staged = store.stage(batch_of(2), counts(*ROWS))
    store.apply(batch_of(2), staged)
    harness.map.puts_left = puts
    try:
        undoing(store).undo(batch_of(2), 10, staged)
    except KeyboardInterrupt:
        assert puts < 8
    else:
        assert puts == 8
    harness.map.puts_left = None
    successor = harness.open(COUNTS, StateKind.OPAQUE)
    successor.raise_fence(OWNER, NEWER)
    for _ in range(2):
        undoing(successor).undo(batch_of(2, epoch=NEWER), 10, staged)
    assert seen(harness) == {name: (n, total) for name, n, total in ROWS[:5]}
    position = successor.position("orders")
    assert position is not None
    assert position.txid == 1


def test_what_a_cut_off_batch_left_is_undone_although_the_position_says_that_it_is_not_in():
    harness = BackingHarness(ConditionalMap(), chunk_rows=3)
    successor, staged = refused_in_the_middle(harness)
    expected = {name: (n, total) for name, n, total in ROWS[:5]}
    assert seen(harness) != expected
    undoing(successor).undo(batch_of(2, epoch=NEWER), 10, staged)
    assert seen(harness) == expected
    again = successor.stage(batch_of(2, attempt=21, epoch=NEWER), counts(*ROWS))
    successor.apply(batch_of(2, attempt=21, epoch=NEWER), again)
    assert seen(harness) == {
        name: (n * (1 + (i < 5)), total * (1 + (i < 5))) for i, (name, n, total) in enumerate(ROWS)
    }


@pytest.mark.parametrize("kind", [StateKind.TRANSACTIONAL, StateKind.NON_TRANSACTIONAL])
def test_what_a_cut_off_batch_left_in_another_kind_is_never_taken_for_nothing(kind):
    harness = BackingHarness(ConditionalMap(), chunk_rows=3)
    successor, staged = refused_in_the_middle(harness, kind)
    found = seen(harness)
    with pytest.raises(CannotUndoError, match="or part of it"):
        undoing(successor).undo(batch_of(2, epoch=NEWER), 10, staged)
    assert seen(harness) == found


def test_a_transactional_map_that_has_nothing_of_a_batch_needs_no_undo():
    harness = BackingHarness(ConditionalMap())
    store = ready(harness, StateKind.TRANSACTIONAL)
    store.apply(batch_of(1), store.stage(batch_of(1), counts(*ROWS)))
    staged = store.stage(batch_of(2), counts(*ROWS))
    undoing(store).undo(batch_of(2), 10, staged)
    assert seen(harness) == {name: (n, total) for name, n, total in ROWS}
