"""The rules of update: the numbers are those of Storm's own tests of its opaque and transactional maps."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.errors import MismatchError
from trident.state import OpaqueValue, StaleTxidError, TransactionalValue


def plus(amount: int) -> Callable[[int | None], int]:
    return lambda value: (value or 0) + amount


def forbidden(value: int | None) -> int:
    raise AssertionError("a value that is in must not be computed again")


class TestTransactionalValue:
    def test_first_value_comes_from_nothing(self):
        assert TransactionalValue.first(1, plus(1)) == TransactionalValue(1, 1)

    def test_a_later_txid_updates(self):
        assert TransactionalValue(1, 1).update(2, plus(2)) == TransactionalValue(2, 3)

    def test_a_replay_stays_whatever_it_would_add(self):
        stored = TransactionalValue(2, 3)
        assert stored.update(2, forbidden) is stored

    def test_twice_in_a_batch_then_replayed_then_the_next(self):
        stored = TransactionalValue.first(1, plus(1), plus(2))
        assert stored == TransactionalValue(1, 3)
        assert stored.update(1, plus(1), plus(2)) == TransactionalValue(1, 3)
        assert stored.update(2, plus(1)) == TransactionalValue(2, 4)

    def test_an_earlier_txid_stops(self):
        with pytest.raises(StaleTxidError) as stale:
            TransactionalValue(3, 1).update(2, forbidden)
        assert (stale.value.stored, stale.value.given) == (3, 2)


class TestOpaqueValue:
    def test_first_value_has_nothing_before_it(self):
        assert OpaqueValue.first(1, plus(1)) == OpaqueValue(1, None, 1)

    def test_a_later_txid_keeps_what_was_before(self):
        assert OpaqueValue(1, None, 1).update(2, plus(2)) == OpaqueValue(2, 1, 3)

    def test_a_replay_with_other_records_starts_from_the_previous_value(self):
        assert OpaqueValue(2, 1, 3).update(2, plus(7)) == OpaqueValue(2, 1, 8)

    def test_a_replay_of_the_first_txid_starts_from_nothing(self):
        assert OpaqueValue(1, None, 5).update(1, plus(7)) == OpaqueValue(1, None, 7)

    def test_twice_in_a_batch_then_replayed_then_the_next(self):
        stored = OpaqueValue.first(1, plus(1), plus(2))
        assert stored == OpaqueValue(1, None, 3)
        assert stored.update(1, plus(10)) == OpaqueValue(1, None, 10)
        assert stored.update(2, plus(1), plus(1)) == OpaqueValue(2, 3, 5)

    def test_an_earlier_txid_stops(self):
        with pytest.raises(StaleTxidError, match="txid 3, the update of txid 2"):
            OpaqueValue(3, 0, 1).update(2, forbidden)


def test_an_update_without_a_function_is_a_mistake():
    with pytest.raises(ValueError, match="at least one function"):
        TransactionalValue(1, 1).update(2)


def test_values_and_their_error_survive_pickling():
    for value in (TransactionalValue(1, 2), OpaqueValue(2, None, 3)):
        assert pickle.loads(pickle.dumps(value)) == value
    error = pickle.loads(pickle.dumps(StaleTxidError(3, 2)))
    assert isinstance(error, MismatchError)
    assert isinstance(error, StaleTxidError)
    assert (error.stored, error.given) == (3, 2)


amounts = st.integers(-1000, 1000)
batches = st.lists(st.lists(amounts, min_size=1, max_size=3), min_size=1, max_size=8)
replays = st.lists(st.integers(0, 3), min_size=8, max_size=8)


@given(batches, replays)
def test_replaying_equal_batches_changes_nothing(batches: list[list[int]], replays: list[int]) -> None:
    for kind in (TransactionalValue, OpaqueValue):
        stored = None
        for txid, (batch, times) in enumerate(zip(batches, replays, strict=False), 1):
            functions = [plus(amount) for amount in batch]
            for _ in range(times + 1):
                stored = stored.update(txid, *functions) if stored else kind.first(txid, *functions)
        total = sum(reduce(operator.iadd, batches, []))
        assert stored is not None
        assert (stored.value if isinstance(stored, TransactionalValue) else stored.current) == total


@given(st.lists(st.lists(amounts, min_size=1, max_size=4), min_size=1, max_size=8))
def test_only_the_last_go_at_each_txid_counts_for_an_opaque_value(goes: list[list[int]]) -> None:
    stored = None
    for txid, amounts_tried in enumerate(goes, 1):
        for amount in amounts_tried:
            stored = stored.update(txid, plus(amount)) if stored else OpaqueValue.first(txid, plus(amount))
    assert stored is not None
    assert stored.current == sum(tried[-1] for tried in goes)
    assert (stored.previous or 0) == sum(tried[-1] for tried in goes[:-1])


@given(st.integers(1, 100), st.integers(1, 100), amounts)
def test_the_stored_txid_never_goes_back(stored: int, given_txid: int, amount: int) -> None:
    for value in (TransactionalValue(stored, 1), OpaqueValue(stored, 0, 1)):
        if given_txid < stored:
            with pytest.raises(StaleTxidError):
                value.update(given_txid, plus(amount))
        else:
            assert value.update(given_txid, plus(amount)).txid == given_txid


@given(st.integers(0, 100), st.integers(-9, 9), st.integers(-9, 9))
def test_an_undone_value_is_what_it_was_and_is_updated_from_there(txid: int, first: int, second: int) -> None:
    value = OpaqueValue.first(txid, lambda _: first)
    changed = value.update(txid + 1, lambda old: (old or 0) + second)
    undone = changed.undo(txid + 1)
    assert undone == OpaqueValue(txid, first, first)
    assert undone.undo(txid + 1) == undone
    assert value.undo(txid) is None
    assert value.undo(txid + 1) is value
    again = undone.update(txid + 1, lambda old: (old or 0) - second)
    assert (again.current, again.undo(txid + 1)) == (first - second, undone)
    with pytest.raises(StaleTxidError):
        changed.undo(txid)
