"""The contract refuses stores that break it: each of these lacks one guard, and a test of the suite says so."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import product

import pyarrow as pa
import pytest

import trident.state.maps.ageing
import trident.state.maps.place
import trident.state.maps.target
import trident.state.memory.parts
import trident.state.memory.place
import trident.state.memory.target
import trident.state.positions
from tests.state.harnesses import BackingHarness, ConditionalMap, DictMap, ExpiringMap, MemoryHarness
from trident.base.errors import FencedError
from trident.state.capabilities import Found
from trident.state.folding import check_fit, key_rows, updated
from trident.state.layout import StateKind, StateLayout
from trident.state.maps.target import MapTarget
from trident.state.memory.database import MemoryDatabase, MemoryTransaction
from trident.state.memory.staged import ArrowRows
from trident.state.memory.target import MemoryTarget
from trident.state.positions import Position
from trident.state.target import Target
from trident.state.values import OpaqueValue, TransactionalValue
from trident.testing import ExpiryContract, StateContract, StateHarness

Failures = set[str]
MEMORY = (trident.state.memory.target, trident.state.memory.place)
MAPS = (trident.state.maps.target, trident.state.maps.place, trident.state.maps.ageing)


class MemoryContract(StateContract):
    def leave_rows_without_owner(self, harness: StateHarness) -> None:
        assert isinstance(harness, MemoryHarness)
        with harness.database.transaction() as transaction:
            transaction.table("state counts rows")["ann",] = (1, 1)


def cases(test: Callable[..., None]) -> Iterator[dict[str, object]]:
    """Return the keyword arguments of every case that pytest would run."""
    choices = []
    for mark in getattr(test, "pytestmark", []):
        names, values = mark.args
        names = [names] if isinstance(names, str) else list(names)
        choices.append([dict(zip(names, value if len(names) > 1 else (value,), strict=True)) for value in values])
    for chosen in product(*choices):
        yield {name: value for part in chosen for name, value in part.items()}


def failures_of(contract: StateContract | ExpiryContract, make: Callable[[], StateHarness]) -> Failures:
    """Return the names of the tests that fail, or end with an error, on fresh harnesses."""
    failed: Failures = set()
    for name, test in inspect.getmembers(contract, inspect.ismethod):
        if not name.startswith("test_"):
            continue
        for arguments in cases(test):
            try:
                test(make(), **arguments)
            except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever ends a test is a failure of it
                failed.add(name)
    return failed


def memory_failures(make: Callable[[], StateHarness] = MemoryHarness) -> Failures:
    return failures_of(MemoryContract(), make)


def map_failures(make: Callable[[], DictMap]) -> Failures:
    return failures_of(StateContract(), lambda: BackingHarness(make(), chunk_rows=2))


class Broken(MemoryHarness):
    store = MemoryTarget

    def open(self, layout: StateLayout, kind: StateKind) -> Target:
        return self.store(self.database, "counts", kind, layout)


def replace_in(monkeypatch: pytest.MonkeyPatch, modules: Sequence[object], name: str, new: object) -> None:
    """Replace a function in those of the modules that use it."""
    users = [module for module in modules if hasattr(module, name)]
    assert users
    for module in users:
        monkeypatch.setattr(module, name, new)


def test_the_stores_of_the_library_keep_the_contract() -> None:
    assert memory_failures() == set()
    assert map_failures(ConditionalMap) == set()


def test_a_store_without_txid_check_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_in(monkeypatch, MEMORY, "is_in", lambda position, batch, name: False)
    assert {
        "test_the_same_batch_again_is_skipped",
        "test_another_attempt_at_an_applied_txid_is_refused",
        "test_a_gap_is_refused",
        "test_an_older_txid_is_refused",
    } <= memory_failures()


def test_a_store_that_compares_txids_but_not_attempts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def compares_txids_only(position, batch, name):
        return position.txid == batch.txid or is_in(position, batch, name)

    is_in = trident.state.positions.is_in
    replace_in(monkeypatch, MEMORY, "is_in", compares_txids_only)
    assert "test_another_attempt_at_an_applied_txid_is_refused" in memory_failures()


@pytest.mark.parametrize("modules", [MEMORY, MAPS], ids=["memory", "per key"])
def test_a_store_without_fence_is_found(monkeypatch: pytest.MonkeyPatch, modules: Sequence[object]) -> None:
    replace_in(monkeypatch, modules, "check_epoch", lambda stored, given, name: None)
    failed = memory_failures() if modules is MEMORY else map_failures(ConditionalMap)
    assert {"test_an_old_epoch_writes_nothing", "test_an_old_epoch_can_neither_clear_nor_adopt"} <= failed


def test_a_store_that_ignores_an_epochs_token_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers_only(stored, given, name):
        if stored is not None and stored.number > given.number:
            raise FencedError(name)

    replace_in(monkeypatch, MEMORY, "check_epoch", numbers_only)
    assert memory_failures() == {"test_two_epochs_of_one_number_are_told_apart"}


def test_a_store_that_leaves_half_a_refused_batch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTransaction, "roll_back", lambda self: None)
    monkeypatch.setattr(ArrowRows, "check_fit", lambda self, changed: None)

    class LateRefusal(MemoryTarget):
        def apply_in(self, transaction, batch, updates):
            super().apply_in(transaction, batch, updates)
            check_fit(self._layout, transaction.table(f"state {self.name} rows"))

    class LateHarness(Broken):
        store = LateRefusal

    assert "test_an_overflow_is_refused_and_changes_nothing" in memory_failures(LateHarness)


@pytest.mark.parametrize("modules", [MEMORY, MAPS], ids=["memory", "per key"])
def test_a_store_that_forgets_the_previous_value_is_found(
    monkeypatch: pytest.MonkeyPatch, modules: Sequence[object]
) -> None:
    def forgetful(kind, stored, txid, update):
        row = updated(kind, stored, txid, update)
        return OpaqueValue(row.txid, None, row.current) if isinstance(row, OpaqueValue) else row

    replace_in(monkeypatch, modules, "updated", forgetful)
    failed = memory_failures() if modules is MEMORY else map_failures(DictMap)
    assert "test_opaque_values_keep_what_was_before" in failed


def test_a_store_that_forgets_the_txid_of_a_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def timeless(kind, stored, txid, update):
        row = updated(kind, stored, txid, update)
        return TransactionalValue(0, row.value) if isinstance(row, TransactionalValue) else row

    replace_in(monkeypatch, MEMORY, "updated", timeless)
    assert memory_failures() == {"test_transactional_values_keep_their_txid"}


def test_a_store_that_does_not_look_at_what_was_accepted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTarget, "_is_accepted", lambda self, staged, batch, write: True)
    assert memory_failures() == {
        "test_written_updates_must_be_what_was_accepted",
        "test_staged_rows_can_be_read_back",
    }


def test_a_map_that_loses_nulls_or_puts_is_found() -> None:
    class NoNulls(ConditionalMap):
        def multi_put_if(self, changes):
            return super().multi_put_if([change for change in changes if None not in change[0]])

    class Deaf(ConditionalMap):
        def multi_put_if(self, changes):
            return [True for _ in changes]

    class Careless(ConditionalMap):
        def multi_put_if(self, changes):
            self.multi_put([(key, new) for key, _, new in changes])
            return [False for _ in changes]

    assert "test_null_is_a_key_like_any_other" in map_failures(NoNulls)
    assert "test_batches_add_up" in map_failures(Deaf)
    assert "test_batches_add_up" in map_failures(Careless)


def test_a_harness_over_another_database_each_time_is_found() -> None:
    class Forgetful(MemoryHarness):
        def open(self, layout: StateLayout, kind: StateKind) -> Target:
            self.database = MemoryDatabase()
            return super().open(layout, kind)

    assert "test_registering_and_preparing_again_change_nothing" in memory_failures(Forgetful)


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        (lambda layout, keys: [()], "test_keys_are_found_with_their_current_values"),
        (lambda layout, keys: [key for key in key_rows(layout, keys) if None not in key], "test_keys_of_several"),
        (lambda layout, keys: [*key_rows(layout, keys), ("ann",)], "test_no_key_finds_nothing"),
    ],
    ids=["no key", "no null", "another key"],
)
def test_a_query_that_finds_too_little_or_too_much_is_found(
    monkeypatch: pytest.MonkeyPatch, broken: object, found: str
) -> None:
    monkeypatch.setattr(trident.state.memory.parts, "key_rows", broken)
    assert any(name.startswith(found) for name in memory_failures())


def test_a_query_that_says_another_position_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(position: Position, rows: pa.Table) -> Found:
        return Found(replace(position, txid=position.txid + 1), rows)

    monkeypatch.setattr(trident.state.memory.parts, "Found", late)
    assert "test_keys_are_found_with_their_current_values" in memory_failures()


@pytest.mark.parametrize("target", [MemoryTarget, MapTarget], ids=["memory", "per key"])
def test_a_store_that_keeps_to_its_own_order_is_found(
    monkeypatch: pytest.MonkeyPatch, target: type[MemoryTarget | MapTarget]
) -> None:
    monkeypatch.setattr(target, "keep", lambda self, columns: None)
    failed = memory_failures() if target is MemoryTarget else map_failures(ConditionalMap)
    assert {
        "test_an_order_changes_nothing_of_what_is_stored_or_staged",
        "test_an_undo_knows_what_another_order_has_left",
        "test_keys_may_stand_in_another_order_too",
    } <= failed


@pytest.mark.parametrize("modules", [MEMORY, MAPS], ids=["memory", "per key"])
def test_a_store_that_takes_new_values_for_those_before_is_found(
    monkeypatch: pytest.MonkeyPatch, modules: Sequence[object]
) -> None:
    replace_in(monkeypatch, modules, "held_layout", lambda layout, columns: layout)
    failed = memory_failures() if modules is MEMORY else map_failures(ConditionalMap)
    assert "test_a_new_value_holds_what_comes_after_it_and_nothing_of_what_is_pinned" in failed


class _Early(ExpiringMap):
    """Finds what expired a moment before, and not now."""

    def expired(self, before, most):
        return super().expired(before - timedelta(microseconds=1), most)


class _Endless(ExpiringMap):
    def expired(self, before, most):
        return super().expired(before, most + 1)


class _Loose(ExpiringMap):
    def multi_remove_if(self, items):
        return [True for _ in items]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (ExpiringMap, set()),
        (_Early, {"test_what_has_expired_is_found_and_nothing_else", "test_an_undo_brings_back_what_had_expired"}),
        (_Endless, {"test_what_has_expired_is_found_and_nothing_else"}),
        (_Loose, {"test_what_has_expired_is_removed"}),
    ],
)
def test_a_map_that_finds_or_removes_other_keys_than_those_that_expired_is_found(
    make: Callable[[], DictMap], expected: Failures
) -> None:
    failed = failures_of(ExpiryContract(), lambda: BackingHarness(make(), chunk_rows=2))
    assert failed >= expected
    assert bool(failed) == bool(expected)
