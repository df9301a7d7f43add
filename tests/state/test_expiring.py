"""A map whose keys expire by the times of batches: the same after any crash, take-over or undo, removed or not."""

from __future__ import annotations

import pickle
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.state.harnesses import BackingHarness, ConditionalMap, DictMap, ExpiringMap
from trident.base.errors import ConfigurationError, FatalError, RetryableError
from trident.base.identity import Epoch
from trident.base.timeouts import Timeouts
from trident.state import BackingMapState, BackingPosition, StateKind, TimedPosition, TimedValue
from trident.state.capabilities import expired_keys, staged_at
from trident.state.maps.target import MapTarget
from trident.state.memory.database import MemoryDatabase
from trident.state.staged import StagedUpdates, WrittenUpdates
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, diverting, ready, seen, undoing

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
KINDS = list(StateKind)
MAPS = [DictMap, ConditionalMap, ExpiringMap]
Given = tuple[str, int, int]


def moment(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


def ann(n: int = 1) -> Given:
    return ("ann", n, n)


def bob(n: int = 1) -> Given:
    return ("bob", n, n)


@dataclass
class Life:
    """A state in a map, and words for what happens to it; epochs rise with each take-over."""

    map: DictMap
    kind: StateKind = StateKind.OPAQUE
    after: timedelta | None = HOUR
    chunk_rows: int = 1_000
    cached_keys: int = 0
    epoch: Epoch = EPOCH
    harness: BackingHarness = field(init=False)
    store: MapTarget = field(init=False)

    def __post_init__(self) -> None:
        self.harness = BackingHarness(self.map, self.chunk_rows, self.cached_keys, self.after)
        self.store = ready(self.harness, self.kind)  # type: ignore[assignment]

    def staged(self, txid: int, minutes: int, *rows: Given, attempt: int | None = None) -> StagedUpdates:
        batch = batch_of(txid, attempt, epoch=self.epoch)
        return staged_at(self.store, batch, counts(*rows), moment(minutes))

    def put(self, txid: int, minutes: int, *rows: Given, attempt: int | None = None) -> StagedUpdates:
        staged = self.staged(txid, minutes, *rows, attempt=attempt)
        self.store.apply(batch_of(txid, attempt, epoch=self.epoch), staged)
        return staged

    def taken_over(self) -> None:
        self.epoch = self.epoch.next("x")
        self.harness.expire_after = self.after
        self.store = self.harness.open(COUNTS, self.kind)
        self.store.prepare()
        self.store.raise_fence(OWNER, self.epoch)

    def found(self, minutes: int, *keys: str) -> dict[str, int]:
        """Return what a batch of that time finds of these keys."""
        asked = pa.table({"account": pa.array(keys, pa.string())})
        expiring = self.store.capabilities.expiring
        querying = self.store.capabilities.querying
        assert querying is not None
        rows = expiring.find_at("orders", asked, moment(minutes)) if expiring else querying.find("orders", asked)
        return {row["account"]: row["n"] for row in rows.rows.to_pylist()}

    @property
    def keys(self) -> set[object]:
        return {key[0] for key, value in self.map.rows.items() if not isinstance(value, BackingPosition)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", MAPS)
@pytest.mark.parametrize("cached_keys", [0, 9])
def test_a_key_that_was_not_updated_for_long_starts_from_nothing(make, kind, cached_keys):
    life = Life(make(), kind, cached_keys=cached_keys)
    life.put(1, 0, ann(), bob())
    life.put(2, 59, ann())
    life.put(3, 60, bob())
    assert expired_keys({"s": life.store}, 3) == 1
    assert expired_keys({"s": life.store}, 2) == 0
    assert seen(life.harness) == {"ann": (2, 2), "bob": (1, 1)}
    life.put(4, 118, ann())
    assert expired_keys({"s": life.store}, 4) == 0
    assert seen(life.harness) == {"ann": (3, 3), "bob": (1, 1)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_does_not_find_what_has_expired_and_asking_keeps_nothing_alive(kind):
    life = Life(DictMap(), kind)
    life.put(1, 0, ann(), bob())
    assert life.found(59, "ann", "bob", "cyd") == {"ann": 1, "bob": 1}
    life.put(2, 30, bob())
    assert life.found(60, "ann", "bob") == {"bob": 2}
    assert life.found(90, "ann", "bob") == {}
    querying = life.store.capabilities.querying
    assert querying is not None
    assert querying.find("orders", pa.table({"account": ["ann"]})).rows.num_rows == 1  # without a time all is found


@pytest.mark.parametrize("kind", [StateKind.OPAQUE, StateKind.TRANSACTIONAL])
@pytest.mark.parametrize("make", MAPS)
@pytest.mark.parametrize("puts", range(8))
def test_whoever_finishes_a_batch_comes_to_the_same_whatever_option_it_has(make, kind, puts):
    """The time and the limit lie with the staged rows: the successor's own are those of its own batches."""
    life = Life(make(), kind, chunk_rows=2)
    life.put(1, 0, ann(), bob(), ("cyd", 1, 1))
    life.put(2, 30, ann())
    staged = life.staged(3, 75, ann(), bob(), ("cyd", 1, 1), ("dan", 1, 1))
    life.map.puts_left = puts
    try:
        life.store.apply(batch_of(3), staged)
    except KeyboardInterrupt:
        assert puts < 8
    life.map.puts_left = None
    for after in (None, timedelta(minutes=1), timedelta(days=9)):
        life.after = after
        life.taken_over()
        life.store.apply(batch_of(3, epoch=life.epoch), staged)
        assert seen(life.harness) == {"ann": (3, 3), "bob": (1, 1), "cyd": (1, 1), "dan": (1, 1)}


@pytest.mark.parametrize("make", [ConditionalMap, ExpiringMap])
@pytest.mark.parametrize("minutes", [59, 60])
def test_an_undone_batch_is_decided_anew_for_the_time_of_the_next_attempt(make, minutes):
    life = Life(make())
    life.put(1, 0, ann(), bob())
    life.put(2, 0, bob())
    staged = life.put(3, 90, ann(5), attempt=30)
    assert seen(life.harness) == {"ann": (5, 5), "bob": (2, 2)}
    undoing(life.store).undo(batch_of(3, 30), 20, staged)
    assert seen(life.harness) == {"ann": (1, 1), "bob": (2, 2)}
    life.put(3, minutes, ann(7), bob(), attempt=31)
    expected = {59: {"ann": (8, 8), "bob": (3, 3)}, 60: {"ann": (7, 7), "bob": (1, 1)}}
    assert seen(life.harness) == expected[minutes]


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_gets_the_option_later_and_loses_it_again(kind):
    life = Life(ConditionalMap(), kind, after=None)
    assert life.store.capabilities.expiring is None
    life.put(1, 0, ann(), bob())
    assert not any(isinstance(value, TimedValue | TimedPosition) for value in life.map.rows.values())
    life.after = HOUR
    life.taken_over()
    assert life.found(10_000, "ann") == {"ann": 1}
    life.put(2, 10_000, ann())
    assert life.found(10_059, "ann", "bob") == {"ann": 2, "bob": 1}
    life.put(3, 10_060, ann(), bob())
    assert seen(life.harness) == {"ann": (1, 1), "bob": (2, 2)}
    life.after = None
    life.taken_over()
    life.put(4, 99_999, ann())
    assert life.found(99_999, "ann", "bob") == {"ann": 2, "bob": 2}
    assert isinstance(life.map.rows["bob",], TimedValue)
    assert not isinstance(life.map.rows["ann",], TimedValue)


def test_what_expired_before_the_txid_that_is_done_is_removed_and_nothing_else():
    life = Life(ExpiringMap())
    life.put(1, 0, ann(), bob())
    life.put(2, 60, bob())  # ann has expired, but this txid may be undone and be of an earlier time
    assert life.keys == {"ann", "bob"}
    life.put(3, 60)
    assert life.keys == {"bob"}
    assert expired_keys({"s": life.store}, 3) == 1
    life.put(4, 61)
    assert expired_keys({"s": life.store}, 4) == 0


def test_a_key_that_is_removed_and_comes_with_the_same_txid_counts_once():
    life = Life(ExpiringMap(), cached_keys=9)
    life.put(1, 0, ann())
    life.put(2, 90, bob())
    staged = life.put(3, 91, ann(), bob())
    assert expired_keys({"s": life.store}, 3) == 1
    assert seen(life.harness) == {"ann": (1, 1), "bob": (2, 2)}
    undoing(life.store).undo(batch_of(3), 20, staged)
    assert seen(life.harness) == {"bob": (1, 1)}


class PlainExpiringMap(DictMap):
    """Removes what is as expected, and puts without looking."""

    multi_remove_if = ConditionalMap.multi_remove_if
    expired = ExpiringMap.expired


def test_what_was_removed_is_not_known_from_before():
    life = Life(PlainExpiringMap(), cached_keys=9)
    life.put(1, 0, ann())
    life.put(2, 90)
    life.put(3, 91, ann())
    assert expired_keys({"s": life.store}, 3) == 1
    (value,) = [value for value in life.map.rows.values() if isinstance(value, TimedValue)]
    assert value.before is None


def test_a_successor_removes_too():
    life = Life(ExpiringMap())
    life.put(1, 0, ann())
    life.put(2, 90, bob())
    life.taken_over()
    life.put(3, 90)
    assert life.keys == {"bob"}


def test_after_an_undo_nothing_is_removed_by_the_time_of_what_was_undone():
    life = Life(ExpiringMap())
    life.put(1, 0, ann())
    undoing(life.store).undo(batch_of(2), 10, life.put(2, 90, bob()))
    life.put(2, 59, bob(), attempt=21)
    life.put(3, 59, ann())
    assert seen(life.harness) == {"ann": (2, 2), "bob": (1, 1)}


@pytest.mark.parametrize(("keys", "chunk_rows", "left"), [(9, 2, 7), (9, 100, 0), (4, 2, 2)])
def test_a_batch_removes_a_chunk_or_as_many_as_it_puts(keys, chunk_rows, left):
    life = Life(ExpiringMap(), chunk_rows=chunk_rows)
    life.put(1, 0, *[(f"k{n}", 1, 1) for n in range(keys)])
    life.put(2, 90)
    life.put(3, 90)
    assert len(life.keys) == left
    life.put(4, 90, *[(f"n{n}", 1, 1) for n in range(keys)])
    assert {str(key)[0] for key in life.keys} == {"n"}


def test_what_a_map_says_of_expired_keys_is_looked_at():
    life = Life(ExpiringMap())
    life.put(1, 0, ann())
    life.put(2, 90, bob())
    reserved = [key for key, value in life.map.rows.items() if isinstance(value, BackingPosition)]
    life.map.expired = lambda before, most: [["bob"], ("nobody",), *reserved, ("ann",)]  # type: ignore[attr-defined]
    life.put(3, 91)
    assert life.keys == {"bob"}
    assert expired_keys({"s": life.store}, 3) == 1
    assert len([1 for value in life.map.rows.values() if isinstance(value, BackingPosition)]) == 2


def test_a_map_that_says_the_same_for_ever_ends_the_asking():
    life = Life(ExpiringMap(), chunk_rows=1)
    life.put(1, 0, ann())
    life.put(2, 90)
    asked = []

    def saying_the_same(before, most):
        asked.append(before)
        return [("nobody",)]

    life.map.expired = saying_the_same  # type: ignore[attr-defined]
    life.put(3, 90, *[(f"k{n}", 1, 1) for n in range(9)])
    assert asked == [moment(30)]


@pytest.mark.parametrize("method", ["expired", "multi_remove_if"])
def test_what_a_map_raises_there_ends_the_run_and_the_batch_is_applied_by_the_next_one(method):
    life = Life(ExpiringMap())
    life.put(1, 0, ann())
    life.put(2, 90, bob())
    staged = life.staged(3, 91, ann())

    def raising(*_):
        raise OSError("ann's secret")

    setattr(life.map, method, raising)
    said = f"{method} of the map of state 'counts' for expired keys before.*raised OSError"
    with pytest.raises(FatalError, match=said) as error:
        life.store.apply(batch_of(3), staged)
    assert "secret" not in str(error.value)
    assert "The batch is pinned, and applied by the next start" in str(error.value)
    delattr(life.map, method)
    life.taken_over()
    life.store.apply(batch_of(3, epoch=life.epoch), staged)
    assert seen(life.harness) == {"ann": (1, 1), "bob": (1, 1)}


@pytest.mark.parametrize("method", ["expired", "multi_remove_if"])
def test_what_does_not_return_there_is_left_behind(method):
    """What it still does is harmless: what has expired counts as not there, and is looked at before it is removed."""
    kept, gate = ExpiringMap(), threading.Event()
    brief = Timeouts(batch_timeout=timedelta(seconds=0.3))
    state = BackingMapState("counts", kept, expire_after=HOUR)
    store = state.open(COUNTS, MemoryDatabase(), brief)
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    for txid, minutes, row in ((1, 0, ann()), (2, 90, bob())):
        store.apply(batch_of(txid), staged_at(store, batch_of(txid), counts(row), moment(minutes)))
    original = getattr(kept, method)

    def waiting(*arguments):
        gate.wait(15)
        return original(*arguments)

    setattr(kept, method, waiting)
    staged = staged_at(store, batch_of(3), counts(bob()), moment(91))
    with pytest.raises(FatalError, match=rf"{method} of the map of state 'counts'.* has not returned for 0\.3 s"):
        store.apply(batch_of(3), staged)
    gate.set()


def test_a_removal_that_is_repeated_goes_on_counting():
    life = Life(ExpiringMap(), chunk_rows=1)
    life.put(1, 0, ann(), bob())
    life.put(2, 90)
    staged = life.staged(3, 90, ("x", 1, 1), ("y", 1, 1), ("z", 1, 1))
    original, calls = life.map.expired, []  # type: ignore[attr-defined]

    def once(before, most):
        calls.append(most)
        if len(calls) == 2:
            raise RetryableError("busy")
        return original(before, most)

    life.map.expired = once  # type: ignore[attr-defined]
    with pytest.raises(RetryableError):
        life.store.apply(batch_of(3), staged)
    life.store.apply(batch_of(3), staged)
    assert expired_keys({"s": life.store}, 3) == 2
    assert life.keys == {"x", "y", "z"}


def test_a_stopped_owner_that_wakes_makes_no_removed_key_anew():
    """Its put expects nothing and finds nothing, since the key is gone; but what it puts bears its own, old time."""
    life = Life(ExpiringMap())
    late: list[Any] = []
    original = life.map.multi_put_if  # type: ignore[attr-defined]

    def noting(changes):
        late.extend(change for change in changes if change[0] == ("ann",))
        return original(changes)

    life.map.multi_put_if = noting  # type: ignore[attr-defined]
    life.put(1, 0, ann())
    life.taken_over()
    life.put(2, 90)
    life.put(3, 90)
    assert life.keys == set()
    assert original(late[:1]) == [True]
    assert life.found(91, "ann") == {}
    life.put(4, 91, ann(5))
    assert seen(life.harness) == {"ann": (5, 5)}


def test_a_batch_without_rows_says_its_time_too():
    life = Life(ExpiringMap())
    staged = life.staged(1, 7)
    assert isinstance(staged, WrittenUpdates)
    assert (len(staged.writes), staged.count) == (1, 0)
    life.store.apply(batch_of(1), staged)
    life.store.clean_up(OWNER, EPOCH, 1)
    (position,) = [value for value in life.map.rows.values() if isinstance(value, TimedPosition)]
    assert (position.txid, position.at) == (1, moment(7))
    assert pickle.loads(pickle.dumps(position)) == position


def test_diverted_rows_show_nothing_of_the_time():
    life = Life(ExpiringMap())
    rows = diverting(life.store).staged_rows(batch_of(1), life.staged(1, 7, ann()))
    assert not rows.schema.metadata


def test_a_row_without_keys_expires_too():
    from trident.state.layout import Merge, StateLayout, ValueColumn
    from trident.testing.state_harness import held

    layout = StateLayout((), (ValueColumn("n", pa.int64(), Merge.ADD),))
    harness = BackingHarness(ExpiringMap(), expire_after=HOUR)
    store = ready(harness, StateKind.OPAQUE, layout)
    for txid, minutes in ((1, 0), (2, 10), (3, 70)):
        store.apply(batch_of(txid), staged_at(store, batch_of(txid), held(layout, (1,)), moment(minutes)))
    assert harness.rows(layout)[0]["n"] == 1


@pytest.mark.parametrize(
    "given", [timedelta(0), timedelta(seconds=-1), timedelta(days=36_526), timedelta.max, 60, "1h"]
)
def test_a_time_is_a_duration_above_zero(given):
    with pytest.raises(ConfigurationError, match=r"expire_after must be .*; nothing was started or changed"):
        BackingMapState("s", DictMap(), expire_after=given)


class FindsOnly(DictMap):
    def expired(self, before, most):
        raise NotImplementedError


def test_a_map_that_finds_expired_keys_can_remove_them():
    with pytest.raises(ConfigurationError, match="multi_remove_if beside expired"):
        BackingMapState("s", FindsOnly(), expire_after=HOUR)
    BackingMapState("s", FindsOnly())  # it may mean something else there


def test_the_option_may_come_and_go_over_restarts():
    plain, timed = (BackingMapState("s", DictMap(), expire_after=after).description() for after in (None, HOUR))
    assert plain == timed


ROWS = st.dictionaries(st.sampled_from(["ann", "bob", "cyd"]), st.integers(1, 9), max_size=3)
STEP = st.tuples(
    st.integers(0, 70), ROWS, st.sampled_from(["applied", "dies", "undone", "taken over"]), st.integers(0, 5)
)
Reference = dict[str, tuple[int, int]]


def after_batch(before: Reference, minutes: int, rows: dict[str, int]) -> Reference:
    """Return sum and time of each key, by the plain meaning; it shares no code with the state."""
    now = dict(before)
    for key, n in rows.items():
        is_there = key in before and minutes - before[key][1] < 60
        now[key] = (n + before[key][0] if is_there else n, minutes)
    return now


@settings(deadline=None, max_examples=150)
@given(st.lists(STEP, max_size=14), st.sampled_from([ConditionalMap, ExpiringMap]), st.sampled_from([0, 9]))
def test_any_life_comes_to_the_plain_meaning(steps, make, cached_keys):
    """Deaths after any put, take-overs, undos after which the txid holds other records at another time."""
    life, reference, minutes, attempt = Life(make(), chunk_rows=1, cached_keys=cached_keys), Reference(), 0, 0
    for txid, (later, rows, fate, puts) in enumerate(steps, 1):
        before_attempt, attempt = attempt, attempt + 1
        given_rows = [(key, n, n) for key, n in rows.items()]
        if fate == "undone":
            undone = life.put(txid, minutes + 70, ("ann", 3, 3), ("dan", 4, 4), attempt=attempt)
            undoing(life.store).undo(batch_of(txid, attempt, epoch=life.epoch), before_attempt, undone)
            attempt += 1
        minutes += later
        assert life.found(minutes, "ann", "bob", "cyd", "dan") == {
            key: n for key, (n, at) in reference.items() if minutes - at < 60
        }
        staged = life.staged(txid, minutes, *given_rows, attempt=attempt)
        if fate == "taken over":
            life.taken_over()
        if fate == "dies":
            life.map.puts_left = puts
            with suppress(KeyboardInterrupt):
                life.store.apply(batch_of(txid, attempt, epoch=life.epoch), staged)
            life.map.puts_left = None
            life.taken_over()
        life.store.apply(batch_of(txid, attempt, epoch=life.epoch), staged)
        reference = after_batch(reference, minutes, rows)
        shown = {str(key): row[0] for key, row in seen(life.harness).items()}
        expected = {key: n for key, (n, _) in reference.items()}
        assert {**expected, **shown} == expected  # what is there is right
        assert all(minutes - reference[key][1] >= 60 for key in expected.keys() - shown.keys())  # the rest has expired
