"""Which names a state may have, what becomes of what bears them, and when a rename is likely."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.digest import Digest
from trident.base.errors import MismatchError
from trident.base.writes import WriteManifest
from trident.coordinators.ledger.rules.renaming import (
    are_done,
    as_before,
    likely_renames,
    refuse_former,
    rename_way,
    states_renamed,
    with_renamed,
)
from trident.coordinators.pinned import StatePin
from trident.coordinators.registered import LEVEL, Birth, ColumnBirth, Dropped, Renamed, TopologySpec

NAMES = ["a", "b", "c", "d"]


def what(table: str = "kept", **more: str) -> dict[str, str]:
    known = {"store": "sqlite", "kind": "opaque", "table": table, "keys": "k string", "values": "n int64 add"}
    return {**known, **more}


def spec(states: dict[str, dict[str, str]], **more: object) -> TopologySpec:
    return replace(TopologySpec("t", {}, states), **more)  # type: ignore[arg-type]


def test_a_version_is_compared_under_the_names_that_are_stored() -> None:
    stored = spec({"a": what(), "b": what("other")})
    given_ = spec({"b": what("other"), "c": what(values="n int64 add, m int64 add"), "new": what("third")})
    before = as_before(stored, given_, {"a": "c"})
    assert before.states == {"b": what("other"), "a": given_.states["c"], "new": what("third")}


@pytest.mark.parametrize(
    ("states", "renames", "why"),
    [
        ({"c": what()}, {"a": "d"}, "no state 'd' .there are: 'c'.; it is the version with the new name"),
        ({"a": what(), "c": what()}, {"a": "c"}, "has 'a' as well; what is new in it needs a third name"),
        ({"c": what()}, {"x": "c"}, "the ledger knows no state of that name"),
        ({"a": what()}, {"a": "a"}, "that is its name"),
        ({"B": what()}, {"a": "B"}, "the topology has 'b'; give it another name"),
        ({"GONE": what()}, {"a": "GONE"}, "'gone' was taken out of .*used up; give it another name"),
        ({"old": what()}, {"a": "old"}, "'old' is the former name of 'b'; give it another name"),
        ({"c": what("c")}, {"a": "c"}, "its rows stay in table 'kept', .* are in 'c': give 'c' table='kept'"),
        ({"c": what(kind="sink")}, {"s": "c"}, "only a state of a topology at level exactly_once"),
        ({"c": what(**{LEVEL: "at_least_once"})}, {"a": "c"}, "only a state of a topology at level exactly_once"),
    ],
)
def test_what_can_not_be_says_why_and_what_to_do(
    states: dict[str, dict[str, str]], renames: dict[str, str], why: str
) -> None:
    gone = Dropped("gone", what(), Birth("gone", 0), "life", 3)
    all_ = {"a": what(), "b": what("other"), "s": what("s", kind="sink")}
    stored = spec(all_, dropped=(gone,), renamed=(Renamed("old", "b", 2),))
    with pytest.raises(MismatchError, match=f"{why}.*Nothing was changed"):
        as_before(stored, spec(states), renames)


def test_two_states_do_not_become_one() -> None:
    stored = spec({"a": what(), "b": what()})
    with pytest.raises(MismatchError, match="can't have one name"):
        as_before(stored, spec({"c": what()}), {"a": "c", "b": "c"})
    with pytest.raises(MismatchError, match="can't have one name"):
        with_renamed(stored, (), {"a": "c", "b": "c"}, 1)


def test_new_names_that_differ_in_case_only_are_one() -> None:
    stored, renames = spec({"a": what(), "b": what("other")}), {"a": "SUMS", "b": "sums"}
    with pytest.raises(MismatchError, match="can't have one name"):
        as_before(stored, spec({"SUMS": what(), "sums": what("other")}), renames)
    with pytest.raises(MismatchError, match="can't have one name"):
        with_renamed(stored, (), renames, 1)


def test_a_former_name_in_another_case_is_used_up_too() -> None:
    stored, _ = with_renamed(spec({"a": what()}), (), {"a": "b"}, 4)
    with pytest.raises(MismatchError, match=r"'A': that is, but for its case, 'a', the former name of .* another name"):
        refuse_former(stored, spec({"A": what("new"), "b": what()}))
    with pytest.raises(MismatchError, match=r"--rename-state b=A\)"):
        refuse_former(stored, spec({"A": what()}))
    as_before(stored, spec({"A": what()}), {"b": "A"})
    own, _ = with_renamed(spec({"a": what()}), (), {"a": "A"}, 4)
    refuse_former(own, spec({"A": what()}))


def test_all_that_bears_the_name_bears_the_new_one() -> None:
    birth = Birth("a", 3, True, (ColumnBirth("n", 5),), ("m",))
    stored = spec({"a": what(), "b": what("other")})
    known, births = with_renamed(stored, (birth, Birth("b", 0)), {"a": "c"}, 7)
    assert known == replace(stored, states={"c": what(), "b": what("other")}, renamed=(Renamed("a", "c", 7),))
    assert births == (Birth("b", 0), replace(birth, state="c"))
    written = StatePin("a", 2, (WriteManifest("a", "w", Digest(2, 1, 1, 1)),))
    assert states_renamed((written, StatePin("b", 1)), {"a": "c"}) == (replace(written, state="c"), StatePin("b", 1))


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=8))
def test_every_former_name_leads_to_the_present_one(steps: list[tuple[str, str]]) -> None:
    """Whatever is renamed how often: each name that was, is, or is used up, and leads to where it is."""
    stored, were, place = spec({"a": what("first"), "b": what("second")}), {"a", "b"}, {"first": "a", "second": "b"}
    bore = {"first": {"a"}, "second": {"b"}}
    for number, (former, name) in enumerate(steps, start=1):
        try:
            changed, _ = with_renamed(stored, (), {former: name}, number)
        except MismatchError:
            mine = next((table for table, known in place.items() if known == former), None)
            taken = {each for table, known in bore.items() if table != mine for each in known}
            assert mine is None or name == former or name in taken
            continue
        stored = changed
        table = next(table for table, known in place.items() if known == former)
        place[table] = name
        bore[table].add(name)
        were.add(name)
        assert {each.former for each in stored.renamed} | set(stored.states) == were
        assert all(stored.states[each.state]["table"] == table_of(bore, each.former) for each in stored.renamed)
        assert {known["table"]: state for state, known in stored.states.items()} == place
        assert are_done(stored.renamed, {former: name})


def table_of(bore: dict[str, set[str]], name: str) -> str:
    return next(table for table, names in bore.items() if name in names)


def test_a_rename_back_is_not_done_by_the_one_before() -> None:
    stored, _ = with_renamed(spec({"a": what()}), (), {"a": "b"}, 1)
    assert are_done(stored.renamed, {"a": "b"})
    back, _ = with_renamed(stored, (), {"b": "a"}, 2)
    assert not are_done(back.renamed, {"a": "b"})
    assert back.renamed == (Renamed("b", "a", 2),)


def test_a_version_under_a_former_name_is_told_both_ways() -> None:
    stored, _ = with_renamed(spec({"a": what()}), (), {"a": "b"}, 4)
    with pytest.raises(MismatchError, match=r"former name of state 'b', .* after txid 4.*--rename-state b=a\)"):
        refuse_former(stored, spec({"a": what()}))
    with pytest.raises(MismatchError, match="Give what is new another name"):
        refuse_former(stored, spec({"a": what("new"), "b": what()}))
    refuse_former(stored, spec({"b": what()}))
    gone = replace(stored, states={}, dropped=(Dropped("b", what(), Birth("b", 0), "life", 5),))
    with pytest.raises(MismatchError, match="Give what is new another name"):
        refuse_former(gone, spec({"a": what()}))


@pytest.mark.parametrize(
    ("new", "is_likely"),
    [
        (what(), True),
        (what("c"), True),
        (what(values="m int64 add, n int64 add"), True),
        (what(values="m int64 add"), False),
        (what(values="n int32 add"), False),
        (what(keys="k int64"), False),
        (what(kind="transactional"), False),
        (what(database="elsewhere"), False),
        (what(kind="sink"), False),
    ],
)
def test_only_what_is_like_it_is_likely_the_same(new: dict[str, str], is_likely: bool) -> None:
    stored = spec({"a": what(), "b": what("other")})
    found = likely_renames(stored, spec({"b": what("other"), "c": new}))
    assert found == ({"a": "c"} if is_likely else {})


def test_a_new_state_is_likely_one_of_those_that_are_missing() -> None:
    stored = spec({"a": what(), "b": what("other")})
    assert likely_renames(stored, spec({"c": what()})) == {"a": "c"}
    assert likely_renames(stored, spec({"c": what(), "d": what("other")})) == {"a": "c", "b": "d"}
    assert likely_renames(stored, spec({"a": what(), "b": what("other"), "c": what()})) == {}
    mapped = {"store": "a map", "kind": "opaque"}
    assert likely_renames(spec({"a": mapped}), spec({"c": mapped})) == {}
    plain = what(**{LEVEL: "at_least_once"})
    assert likely_renames(spec({"a": plain}), spec({"c": plain})) == {}


def test_who_names_the_table_of_a_state_is_that_one_in_whatever_order() -> None:
    stored = spec({"a": what("first"), "b": what("second")})
    assert likely_renames(stored, spec({"d": what("second"), "c": what("first")})) == {"a": "c", "b": "d"}
    assert likely_renames(stored, spec({"new": what("third"), "d": what("second")})) == {"a": "new", "b": "d"}
    assert likely_renames(stored, spec({"new": what("third"), "c": what("first")})) == {"a": "c", "b": "new"}
    others = what("second", values="n int32 add")
    assert likely_renames(stored, spec({"d": others})) == {}, "it is changed, and in the table of another one"


def test_where_several_are_alike_nobody_is_told_which_is_which() -> None:
    stored = spec({"a": what("first"), "b": what("second")})
    assert likely_renames(stored, spec({"b": what("second"), "c": what("c"), "d": what("d")})) == {}
    assert likely_renames(stored, spec({"c": what("c"), "d": what("d")})) == {}
    assert likely_renames(stored, spec({"c": what("c")})) == {}
    held = {"store": "memory", "kind": "opaque"}
    assert likely_renames(spec({"a": held, "b": held}), spec({"c": held, "d": held})) == {}
    assert likely_renames(spec({"a": held, "b": held}), spec({"a": held, "d": held})) == {"b": "d"}


def test_names_are_quoted_for_a_shell() -> None:
    way = rename_way({"the sums": "it's"})
    assert way == """trident evolve MODULE:TOPOLOGY --rename-state 'the sums=it'"'"'s'"""
