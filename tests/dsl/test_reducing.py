"""Reducers that go on from what a state has, without Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident import OperationContext, Reducer
from trident.base.errors import ConfigurationError
from trident.operations.asking import Key, StoredRows
from trident.operations.reducing import Reducing
from trident.operations.row_functions import Row

CONTEXT = OperationContext("persistent_aggregate", 0, 0)


class Seen(Reducer[list[object]]):
    """What it was given, and changes what it was given."""

    result_type = "array<string>"

    def init(self) -> list[object]:
        return ["begun"]

    def reduce(self, reduced: list[object], *values: object) -> list[object]:
        for value in values:
            if isinstance(value, list):
                value.append("taken")
        return [*reduced, *(str(value) for value in values)]


class Total(Reducer[Decimal | None]):
    result_type = "decimal(10,2)"

    def init(self) -> None:
        return None

    def reduce(self, reduced: Decimal | None, *values: object) -> Decimal | None:
        (value,) = values
        return reduced if value is None else (reduced or Decimal(0)) + Decimal(str(value))


def changes(
    stored: dict[Key, dict[str, object] | None], rows: Sequence[Row], *, keys: tuple[str, ...] = ("k",)
) -> dict[Key, object]:
    types: dict[str, pa.DataType] = {"seen": pa.list_(pa.string()), "total": pa.decimal128(10, 2)}
    both: dict[str, Any] = {"seen": Seen("n", "tags"), "total": Total("n")}
    updater = Reducing(keys, both, types)
    made = updater.update(StoredRows(stored), rows)
    assert not list(made.rows)
    return dict(made.writes)


def row(k: str | None, n: int | None) -> Row:
    return {"k": k, "n": n, "tags": []}


def test_each_key_goes_on_from_what_is_stored() -> None:
    stored: dict[Key, dict[str, object] | None] = {("a",): {"seen": ["old"], "total": Decimal("1.50")}, (None,): None}
    made = changes(stored, [row("a", 2), row(None, 3), row("a", None)])
    assert made == {
        ("a",): {"seen": ["old", "2", "['taken']", "None", "['taken']"], "total": Decimal("3.50")},
        (None,): {"seen": ["begun", "3", "['taken']"], "total": Decimal("3.00")},
    }
    assert str(made[("a",)]) == str(made[("a",)]).replace("3.5'", "3.50'")  # of the type's scale, as a state gives it


def test_without_keys_there_is_one_row() -> None:
    assert list(changes({(): None}, [row("a", 1), row("b", 2)], keys=())) == [()]


def test_a_column_that_is_null_begins_anew() -> None:
    made = changes({("a",): {"seen": None, "total": Decimal(1)}}, [row("a", 1)])
    assert made[("a",)] == {"seen": ["begun", "1", "['taken']"], "total": Decimal(2)}


def test_a_key_for_which_all_have_none_is_not_written() -> None:
    alone: dict[str, Any] = {"total": Total("n")}
    updater = Reducing(("k",), alone, {"total": pa.decimal128(10, 2)})
    assert not updater.update(StoredRows({("a",): None}), [row("a", None)]).writes


def test_what_one_changes_of_a_record_no_other_sees() -> None:
    types: dict[str, pa.DataType] = {"first": pa.list_(pa.string()), "second": pa.list_(pa.string())}
    both: dict[str, Any] = {"first": Seen("tags"), "second": Seen("tags")}
    updater = Reducing(("k",), both, types)
    made = updater.update(StoredRows({("a",): None}), [row("a", 1)]).writes
    assert made == {("a",): {"first": ["begun", "['taken']"], "second": ["begun", "['taken']"]}}


def test_a_value_that_the_type_does_not_hold_is_refused_without_being_shown() -> None:
    with pytest.raises(
        ConfigurationError, match=r"Total for 'total' made a value that is not of its result_type"
    ) as said:
        changes({("a",): None}, [row("a", 10**12)])
    assert "1000000000000" not in str(said.value)


class Prepared(Total):
    def __init__(self, told: list[str], *, fails: bool = False) -> None:
        super().__init__("n")
        self._told = told
        self._fails = fails

    def prepare(self, context: OperationContext) -> None:
        if self._fails:
            raise ValueError
        self._told.append(context.verb)

    def cleanup(self) -> None:
        self._told.append("cleaned up")


def test_all_are_made_ready_and_those_that_are_cleaned_up_again() -> None:
    told: list[str] = []
    types: dict[str, pa.DataType] = {"a": pa.decimal128(10, 2), "b": pa.decimal128(10, 2)}
    good: dict[str, Any] = {"a": Prepared(told), "b": Prepared(told)}
    updater = Reducing((), good, types)
    updater.prepare(CONTEXT)
    updater.cleanup()
    assert told == ["persistent_aggregate"] * 2 + ["cleaned up"] * 2
    told.clear()
    with pytest.raises(ValueError, match=r"^$") as failed:
        Reducing((), good | {"b": Prepared(told, fails=True)}, types).prepare(CONTEXT)
    assert told == ["persistent_aggregate", "cleaned up"]
    assert failed.value  # which has held all that was open: nothing was cleaned up by being forgotten


class Turns(Reducer[object]):
    """Makes an int, a text or a float of what it is given, whatever its type says."""

    result_type = "decimal(20,0)"

    def __init__(self, start: object, step: Callable[[Any, Any], object]) -> None:
        super().__init__("n")
        self._start = start
        self._step = step

    def init(self) -> object:
        return self._start

    def reduce(self, reduced: object, *values: object) -> object:
        return self._step(reduced, values[0])


TURNS: dict[str, tuple[pa.DataType, object, Callable[[Any, Any], object]]] = {
    "ints for a decimal": (pa.decimal128(20, 0), 0, lambda before, n: (before - n) % 7),
    "ints for a double": (pa.float64(), 1, lambda before, n: before // n + 1),
    "truths for an int": (pa.int64(), 0, lambda before, n: (before == n) if n % 2 else before * 2 + n),
    "a float that is exact": (pa.float32(), 0.0, lambda before, n: before * 0.5 + n),
    "whole": (pa.int32(), 0, lambda before, n: before * 3 - n),
}


@pytest.mark.parametrize("name", TURNS)
@given(values=st.lists(st.integers(1, 9), min_size=1, max_size=8), cuts=st.sets(st.integers(1, 7)))
def test_no_cut_into_batches_shows(name: str, values: list[int], cuts: set[int]) -> None:
    type_, start, step = TURNS[name]
    one: dict[str, Any] = {"v": Turns(start, step)}
    updater = Reducing((), one, {"v": type_})

    def after(batches: list[list[int]]) -> object:
        stored: dict[str, object] | None = None
        for batch in batches:
            ((_, made),) = updater.update(StoredRows({(): stored}), [row("a", n) for n in batch]).writes.items()
            assert isinstance(made, dict)
            stored = {"v": pa.array([made["v"]], type_)[0].as_py()}
        return stored

    ends = [0, *sorted(cut for cut in cuts if cut < len(values)), len(values)]
    try:
        whole = after([values])
    except ConfigurationError:
        with pytest.raises(ConfigurationError):
            after([values[start:stop] for start, stop in itertools.pairwise(ends)])
        return
    assert after([values[start:stop] for start, stop in itertools.pairwise(ends)]) == whole


def test_a_value_in_between_that_the_type_does_not_hold_is_refused_too() -> None:
    one: dict[str, Any] = {"v": Turns(2**31 - 1, lambda before, n: before + n)}
    updater = Reducing((), one, {"v": pa.int32()})
    with pytest.raises(ConfigurationError, match="made a value that is not of its result_type"):
        updater.update(StoredRows({(): None}), [row("a", 5), row("a", -100)])
