"""What a map's owner keeps of it in memory: never what a store may not hold."""

from __future__ import annotations

import pytest

from tests.state.harnesses import BackingHarness, ConditionalMap, DictMap
from trident.base.errors import ConfigurationError
from trident.state import BackingMapState, StateKind
from trident.state.maps.cache import MapCache
from trident.testing.state_harness import COUNTS, NEWER, OWNER, batch_of, counts, ready, seen

ANN, BOB, CYD = ("ann", 1, 1), ("bob", 1, 1), ("cyd", 1, 1)
KINDS = [StateKind.OPAQUE, StateKind.TRANSACTIONAL, StateKind.NON_TRANSACTIONAL]


class Asked:
    """A harness whose map notes the rows' keys that are asked for."""

    def __init__(self, backing: DictMap, cached_keys: int, kind: StateKind = StateKind.OPAQUE) -> None:
        self.harness = BackingHarness(backing, cached_keys=cached_keys)
        self.keys: list[str] = []
        original = backing.multi_get

        def noting(keys):
            self.keys += [str(key[0]) for key in keys if len(key) == len(COUNTS.keys)]
            return original(keys)

        backing.multi_get = noting
        self.store = ready(self.harness, kind)

    def put(self, txid: int, *rows: tuple[str, int, int]) -> list[str]:
        """Apply a batch; returns the keys that were asked for."""
        self.keys.clear()
        self.store.apply(batch_of(txid), self.store.stage(batch_of(txid), counts(*rows)))
        return sorted(self.keys)


def test_a_cache_keeps_what_was_used_last():
    cache = MapCache(2)
    cache.note({("a",): (1,), ("b",): (2,)})
    assert cache.known([("a",), ("x",)]) == {("a",): (1,)}
    cache.note({("c",): (3,)})
    assert cache.known([("a",), ("b",), ("c",)]) == {("a",): (1,), ("c",): (3,)}
    cache.forget()
    assert cache.known([("a",), ("c",)]) == {}
    none = MapCache(0)
    none.note({("a",): (1,)})
    assert none.known([("a",)]) == {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [DictMap, ConditionalMap])
def test_keys_that_were_put_are_not_asked_for_again(make, kind):
    asked = Asked(make(), 2, kind)
    assert asked.put(1, ANN, BOB) == ["ann", "bob"]
    assert asked.put(2, ANN, BOB, CYD) == ["cyd"]
    assert asked.put(3, ANN, BOB, CYD) != []
    assert seen(asked.harness) == {"ann": (3, 3), "bob": (3, 3), "cyd": (2, 2)}


def test_without_one_each_key_is_asked_for_each_time():
    asked = Asked(DictMap(), 0)
    assert asked.put(1, ANN) == asked.put(2, ANN) == ["ann"]


@pytest.mark.parametrize("make", [DictMap, ConditionalMap])
@pytest.mark.parametrize("puts", range(3))
def test_after_a_put_that_failed_all_is_asked_for_again(make, puts):
    asked = Asked(make(), 9)
    asked.put(1, ANN, BOB)
    staged = asked.store.stage(batch_of(2), counts(ANN, BOB))
    asked.harness.map.puts_left = puts
    with pytest.raises(KeyboardInterrupt):
        asked.store.apply(batch_of(2), staged)
    asked.harness.map.puts_left = None
    asked.keys.clear()
    asked.store.apply(batch_of(2), staged)
    assert sorted(asked.keys) == ["ann", "bob"]
    assert seen(asked.harness) == {"ann": (2, 2), "bob": (2, 2)}


def test_a_conditional_put_does_not_trust_it():
    """Somebody has corrected a value by hand: what was known of it is refused, and all is asked for anew."""
    asked = Asked(ConditionalMap(), 9)
    asked.put(1, ANN, BOB)
    corrected = Asked(ConditionalMap(), 0)
    corrected.put(1, ("ann", 7, 7))
    asked.harness.map.rows[("ann",)] = corrected.harness.map.rows[("ann",)]
    assert asked.put(2, ANN, BOB) == ["ann"]
    asked.harness.map.rows[("ann",)] = corrected.harness.map.rows[("ann",)]
    assert asked.put(3, ANN) == ["ann"]
    assert seen(asked.harness) == {"ann": (8, 8), "bob": (2, 2)}


def test_a_take_over_begins_with_nothing():
    asked = Asked(DictMap(), 9)
    asked.put(1, ANN)
    other = asked.harness.open(COUNTS, StateKind.OPAQUE)
    other.raise_fence(OWNER, NEWER)
    other.apply(batch_of(2, epoch=NEWER), other.stage(batch_of(2, epoch=NEWER), counts(ANN)))
    asked.store.raise_fence(OWNER, NEWER)
    asked.keys.clear()
    asked.store.apply(batch_of(3, epoch=NEWER), asked.store.stage(batch_of(3, epoch=NEWER), counts(ANN)))
    assert asked.keys == ["ann"]
    assert seen(asked.harness) == {"ann": (3, 3)}


@pytest.mark.parametrize("keys", [-1, True, 2.5, "9", None])
def test_a_number_of_keys_is_a_number(keys):
    with pytest.raises(ConfigurationError, match="cached_keys must be a whole number from zero on"):
        BackingMapState("s", DictMap(), cached_keys=keys)
