"""When a key counts as not there, as rules without a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trident.state.folding import Row
from trident.state.layout import StateKind
from trident.state.maps.ageing import Ageing, aged, ageing_of, last_before, marked, taken_back, without_time
from trident.state.maps.maps import BackingValue, TimedValue
from trident.state.packing import pack, unpack
from trident.state.values import OpaqueValue, StaleTxidError, TransactionalValue, Update

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
KINDS = list(StateKind)


def add(n: int) -> Update[Row]:
    return lambda before: (n,) if before is None else (int(str(before[0])) + n,)


def at(minutes: int, after: timedelta = HOUR) -> Ageing:
    return Ageing(NOON + minutes * MINUTE, after)


def value_of(stored: BackingValue | None) -> object:
    plain = without_time(stored)
    if isinstance(plain, OpaqueValue):
        return plain.current
    return plain.value if isinstance(plain, TransactionalValue) else plain


def first(kind: StateKind, n: int = 1) -> BackingValue:
    return aged(kind, None, 1, add(n), at(0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("minutes", "expected"), [(0, 3), (59, 3), (60, 2), (61, 2)])
def test_a_key_is_there_for_less_than_its_time(kind: StateKind, minutes: int, expected: int) -> None:
    stored = first(kind)
    assert isinstance(stored, TimedValue)
    assert stored.at == NOON
    after = aged(kind, stored, 2, add(2), at(minutes))
    assert value_of(after) == (expected,)
    assert after == TimedValue(without_time(after), NOON + minutes * MINUTE, NOON)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [StateKind.OPAQUE, StateKind.TRANSACTIONAL])
@pytest.mark.parametrize("minutes", [30, 90])
def test_a_txid_that_comes_again_changes_nothing(kind: StateKind, minutes: int) -> None:
    once = aged(kind, first(kind), 2, add(2), at(minutes))
    assert aged(kind, once, 2, add(2), at(minutes)) == once


def test_another_attempt_of_another_time_decides_anew() -> None:
    """What had expired for the attempt before may be there for this one: the previous value is still known."""
    stored = first(StateKind.OPAQUE)
    late = aged(StateKind.OPAQUE, stored, 2, add(2), at(60))
    assert value_of(late) == (2,)
    assert aged(StateKind.OPAQUE, late, 2, add(5), at(59)) == aged(StateKind.OPAQUE, stored, 2, add(5), at(59))
    assert value_of(aged(StateKind.OPAQUE, late, 2, add(5), at(59))) == (6,)


def test_an_undo_brings_back_what_had_expired_with_its_time() -> None:
    stored = first(StateKind.OPAQUE)
    back = taken_back(aged(StateKind.OPAQUE, stored, 2, add(2), at(90)), 2)
    assert back == TimedValue(OpaqueValue(1, (1,), (1,)), NOON, NOON)
    assert taken_back(stored, 2) is stored  # it never had that txid
    assert taken_back(stored, 1) is None  # it was made by that one
    with pytest.raises(StaleTxidError):
        taken_back(aged(StateKind.OPAQUE, stored, 3, add(2), at(9)), 2)


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_time_has_not_expired_before_it_is_touched(kind: StateKind) -> None:
    old = aged(kind, None, 1, add(1), None)
    assert not isinstance(old, TimedValue)
    touched = aged(kind, old, 2, add(1), at(10_000))
    assert value_of(touched) == (2,)
    assert isinstance(touched, TimedValue)
    assert touched.before is None
    assert value_of(aged(kind, touched, 3, add(1), at(10_060))) == (1,)
    if kind is StateKind.OPAQUE:
        assert taken_back(touched, 2) == OpaqueValue(1, (1,), (1,))


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_option_a_time_is_left_behind(kind: StateKind) -> None:
    after = aged(kind, first(kind), 2, add(1), None)
    assert not isinstance(after, TimedValue)
    assert value_of(after) == (2,)
    assert last_before(after, 3) is None


@settings(deadline=None)
@given(st.datetimes(datetime(1900, 1, 1), datetime(9000, 1, 1)), st.integers(1, 10**15), st.integers(-12, 12))  # noqa: DTZ001
def test_a_time_goes_with_the_rows_to_the_microsecond(naive: datetime, after: int, zone: int) -> None:
    moment = naive.replace(tzinfo=timezone(timedelta(hours=zone)))
    ageing = Ageing(moment, timedelta(microseconds=after))
    rows = pa.table({"k": ["a", None]})
    staged = unpack(pack(marked(rows, ageing)))
    assert ageing_of(staged) == ageing
    assert staged.equals(rows)
    assert ageing_of(unpack(pack(marked(rows.slice(0, 0), ageing)))) == ageing


def test_rows_of_an_earlier_version_have_no_time() -> None:
    assert ageing_of(pa.table({"k": ["a"]})) is None
    assert ageing_of(pa.table({"k": ["a"]}).replace_schema_metadata({"pandas": "x"})) is None


Batch = tuple[int, int, int, bool]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(1, 9), st.integers(1, 9), st.booleans()), max_size=12),
    st.sampled_from([HOUR, MINUTE, timedelta(days=1)]),
)
def test_an_opaque_key_is_the_sum_since_the_last_gap(batches: list[Batch], after: timedelta) -> None:
    """Each batch: minutes later, what an attempt adds that is undone or replaced, what counts, which of the two."""
    stored: BackingValue | None = None
    expected: Row | None = None
    minutes, last = 0, None
    for txid, (later, other, n, is_undone) in enumerate(batches, 1):
        minutes += later
        tried = aged(StateKind.OPAQUE, stored, txid, add(other), at(minutes + 30, after))
        before = taken_back(tried, txid) if is_undone else tried
        stored = aged(StateKind.OPAQUE, before, txid, add(n), at(minutes, after))
        is_over = last is not None and (minutes - last) * MINUTE >= after
        expected = (n,) if is_over or expected is None else (int(str(expected[0])) + n,)
        last = minutes
        assert value_of(stored) == expected
