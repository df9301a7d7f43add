"""What is read of a state's description, and what is not told apart is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.coordinators.ledger.rules.columns import keys_in, text_of, values_in
from trident.coordinators.ledger.rules.evolving import evolved
from trident.coordinators.ledger.rules.specs import merged_spec
from trident.coordinators.registered import LEVEL, Birth, TopologySpec
from trident.state.layout import Merge

TYPES = ["int64", "decimal(20, 2)", "timestamp[us, tz=UTC]", "struct<a: int64, b: list<element: string>>"]
NAMES = ["n", "the total", "sum(amount)", "f(a, b)", "é", "x[1]"]
MERGES = [merge.value for merge in Merge]
columns = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(TYPES), st.sampled_from(MERGES)),
    min_size=1,
    max_size=5,
    unique_by=lambda column: column[0],
)


@given(columns)
def test_names_and_merges_are_told_apart_from_types(given_: list[tuple[str, str, str]]) -> None:
    found = values_in(", ".join(map(" ".join, given_)))
    assert found is not None
    assert [(column.name, column.merge.value) for column in found] == [(name, merge) for name, _, merge in given_]
    assert text_of(found) == ", ".join(map(" ".join, given_))
    keys = keys_in(", ".join(f"{name} {type_}" for name, type_, _ in given_))
    assert keys is not None
    assert [column.name for column in keys] == [name for name, _, _ in given_]


@pytest.mark.parametrize(
    "text",
    [
        "a, b int64 add",
        "n int64 add, n int64 add",
        "n( int64 add",
        "n) int64 add",
        "n int64",
        "n int64 average",
        "add",
        "the n (x int64 add",
    ],
)
def test_what_can_not_be_told_apart_is_not_guessed(text: str) -> None:
    assert values_in(text) is None


def spec(values: str, **more: str) -> TopologySpec:
    return TopologySpec("t", {}, {"s": {"kind": "opaque", "keys": "k string", "values": values, **more}})


@given(columns, st.randoms(use_true_random=False))
def test_any_order_is_the_same_state(given_: list[tuple[str, str, str]], random: object) -> None:
    turned = list(given_)
    random.shuffle(turned)  # type: ignore[attr-defined]
    stored, now = (spec(", ".join(map(" ".join, each))) for each in (given_, turned))
    found = evolved(stored, (Birth("s", 0),), 5, 6, now)
    assert merged_spec(found.stored, found.given) == stored
    assert found.births == (Birth("s", 0),)
    assert bool(found.columns) == (turned != given_)
    assert all(held.values == tuple(name for name, _, _ in given_) for _, held in found.columns)


@pytest.mark.parametrize("more", [{LEVEL: "at_least_once"}, {"kind": "sink"}])
def test_what_stands_at_no_txid_may_not_change(more: dict[str, str]) -> None:
    stored, now = spec("n int64 add, m int64 add", **more), spec("m int64 add, n int64 add, x int64 add", **more)
    found = evolved(stored, (Birth("s", 0),), 5, None, now)
    assert (found.stored, found.given, found.columns) == (stored, now, ())


def test_what_has_no_birth_yet_may_have_another_order_and_nothing_else() -> None:
    stored = spec("n int64 add, m int64 add")
    turned = evolved(stored, (), 0, None, spec("m int64 add, n int64 add"))
    assert turned.given == stored
    assert [name for name, _ in turned.columns] == ["s"]
    grown = spec("n int64 add, m int64 add, x int64 add")
    assert evolved(stored, (), 0, None, grown).given == grown


def test_one_that_came_with_others_goes_with_them_only() -> None:
    """Nobody knows of one of a mean's columns what it is without the other; the old ones stay refused."""
    stored = spec("n int64 add, m int64 add")
    now = spec("m int64 add, x int64 add")
    found = evolved(stored, (Birth("s", 0),), 5, None, now)
    assert found.given == now
