"""Which ends of a topology keep a done txid from being taken back, each by its name."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.ledger.making import pin_of, plan_of, range_of
from trident.base.digest import Digest
from trident.base.ranges import PartitionId, RangeManifest
from trident.coordinators.decisions.taking_back import prospect_of_undo, why_not_these
from trident.coordinators.pinned import StatePin
from trident.coordinators.registered import SINK, TopologySpec

PLAN = plan_of(5, 52, 41, range_of(0, 15, 25), range_of(1, 7, 7), range_of(2, 0, 3))
PIN = replace(pin_of(PLAN), states=(StatePin("balances", 2), StatePin("totals", 0)))
OPAQUE = {"kind": "opaque", "values": "n int64 add, replaced int64 add"}


def target(*, expires: bool = False, undoes: object = None) -> Any:
    can = SimpleNamespace(expiring=object() if expires else None, undoing=undoes or SimpleNamespace(undoes_done=True))
    return SimpleNamespace(capabilities=can)


def why(described: dict[str, str], given: Any, name: str = "totals") -> str | None:
    spec = TopologySpec("payments", {}, {"balances": OPAQUE, name: described})
    return why_not_these(spec, {"balances": target(), name: given}, PIN)


def test_opaque_states_in_tables_can_be_taken_back() -> None:
    assert why(OPAQUE, target()) is None


@pytest.mark.parametrize(
    ("described", "given", "word"),
    [
        ({"kind": SINK}, target(), "what sink 'totals' was given can't be taken back"),
        ({**OPAQUE, "kind": "transactional"}, target(), "state 'totals' is transactional: only an opaque one knows"),
        ({**OPAQUE, "kind": "non-transactional"}, target(), "is non-transactional: only an opaque one knows"),
        (OPAQUE, target(expires=True), "keys of state 'totals' expire"),
        ({**OPAQUE, "values": "n int64 add, m int64 replace"}, target(), "is kept by an updater"),
        ({**OPAQUE, "values": "m int64 replace, n int64 add"}, target(), "is kept by an updater"),
        (OPAQUE, target(undoes=object()), "is in a store that takes back only what is pinned"),
        (OPAQUE, target(undoes=SimpleNamespace(undoes_done=False)), "is in a store that takes back only what is"),
    ],
)
def test_an_end_that_can_not_be_taken_back_is_named(described: dict[str, str], given: Any, word: str) -> None:
    assert word in (why(described, given) or "")


def test_a_state_that_the_txid_knows_nothing_of_is_named() -> None:
    assert "state 'more' has not been in the topology all the time" in (why(OPAQUE, target(), "more") or "")


def test_records_are_counted_by_partition_where_the_readers_said_that() -> None:
    told = prospect_of_undo(PIN)
    assert [(item.range.id.partition, item.records) for item in told.ranges] == [(0, 10), (2, 3)]
    assert (told.records, told.keys) == ((("in", 13),), (("balances", 2), ("totals", 0)))
    one = RangeManifest(1, None, None, Digest(4, 1, 2, 3))
    other = RangeManifest(2, PartitionId("t", 2), 3, Digest(3, 1, 2, 3))
    told = prospect_of_undo(replace(PIN, manifests=(("in", one), ("in", other))))
    assert [item.records for item in told.ranges] == [None, 3]
    assert told.records == (("in", 7),)
