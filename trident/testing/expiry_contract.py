# ruff: noqa: D102 - the names of the tests are sentences
"""The contract of a map that finds keys that have expired; public as `trident.testing`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from trident.state.capabilities import expired_keys, staged_at
from trident.state.layout import StateKind
from trident.state.maps.maps import BackingPosition, ExpiringBackingMap
from trident.state.maps.target import MapTarget
from trident.testing.map_harness import BackingMapHarness
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, seen, undoing

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_LIMIT = timedelta(hours=1)
_KINDS = list(StateKind)


class ExpiryContract:
    """What a map with `expired` promises to a state with `expire_after`, beside all that `StateContract` asks.

    Define the fixture `harness`, a `BackingMapHarness`.
    """

    @pytest.mark.parametrize("kind", _KINDS)
    def test_a_key_that_was_not_updated_for_long_starts_from_nothing(
        self, harness: BackingMapHarness, kind: StateKind
    ) -> None:
        store = _begun(harness, kind)
        _put(store, 1, 0, "ann", "bob")
        _put(store, 2, 30, "ann")
        _put(store, 3, 60, "ann", "bob")
        assert seen(harness) == {"ann": (3, 3), "bob": (1, 1)}
        assert expired_keys({"counts": store}, 3) == 1

    @pytest.mark.parametrize("kind", _KINDS)
    def test_what_has_expired_is_found_and_nothing_else(self, harness: BackingMapHarness, kind: StateKind) -> None:
        store = _begun(harness, kind)
        _put(store, 1, 0, "ann", "bob", "cyd", None)
        _put(store, 2, 30, "ann")
        found = harness.map
        assert isinstance(found, ExpiringBackingMap), "the map has expired() and multi_remove_if()"
        assert set(found.expired(_at(0), 9)) == {("bob",), ("cyd",), (None,)}
        assert list(found.expired(_at(-1), 9)) == []
        assert set(found.expired(_at(29), 9)) == {("bob",), ("cyd",), (None,)}
        assert set(found.expired(_at(30), 9)) == {("ann",), ("bob",), ("cyd",), (None,)}
        assert len(set(found.expired(_at(30), 3))) == 3
        assert len(found.expired(_at(30), 1)) == 1

    @pytest.mark.parametrize("kind", _KINDS)
    def test_what_has_expired_is_removed(self, harness: BackingMapHarness, kind: StateKind) -> None:
        store = _begun(harness, kind)
        _put(store, 1, 0, "ann", "bob", "cyd", None)
        _put(store, 2, 30, "cyd")
        _put(store, 3, 75)
        assert set(seen(harness)) == {"ann", "bob", "cyd", None}  # this batch could still be undone
        for txid in (4, 5):  # two keys each
            _put(store, txid, 75)
        assert set(seen(harness)) == {"cyd"}
        _put(store, 6, 76, "ann")
        assert seen(harness) == {"cyd": (2, 2), "ann": (1, 1)}
        assert [1 for _, value in harness.items() if isinstance(value, BackingPosition)] == [1, 1]

    def test_an_undo_brings_back_what_had_expired(self, harness: BackingMapHarness) -> None:
        store = _begun(harness, StateKind.OPAQUE)
        _put(store, 1, 0, "ann")
        staged = staged_at(store, batch_of(2), counts(("ann", 5, 5)), _at(90))
        store.apply(batch_of(2), staged)
        assert seen(harness) == {"ann": (5, 5)}
        undoing(store).undo(batch_of(2), 10, staged)
        assert seen(harness) == {"ann": (1, 1)}
        found = harness.map
        assert isinstance(found, ExpiringBackingMap)
        assert list(found.expired(_at(0), 9)) == [("ann",)]
        _put(store, 2, 59, "ann")
        assert seen(harness) == {"ann": (2, 2)}


def _begun(harness: BackingMapHarness, kind: StateKind) -> MapTarget:
    store = harness.open_expiring(COUNTS, kind, _LIMIT)
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    return store


def _at(minutes: int) -> datetime:
    return _NOON + timedelta(minutes=minutes)


def _put(store: MapTarget, txid: int, minutes: int, *accounts: str | None) -> None:
    batch = batch_of(txid)
    store.apply(batch, staged_at(store, batch, counts(*[(account, 1, 1) for account in accounts]), _at(minutes)))
