"""What a query function is given and what becomes of its results, without Spark."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from trident.base.errors import ConfigurationError
from trident.operations.asking import FOUND, Asking, Key, QueryFunction, StoredRows
from trident.operations.user_objects import OperationContext

ROWS = pa.schema([pa.field("friend", pa.string())])
CONTEXT = OperationContext("state_query", 0, 0)


class Friends(QueryFunction[Mapping[Any, object]]):
    schema = "friend string"

    def __init__(self, *fields: str) -> None:
        super().__init__(*fields)
        self.asked: list[list[Key]] = []

    def batch_retrieve(self, state: Mapping[Any, object], keys: Sequence[Key]) -> Sequence[object]:
        self.asked.append(list(keys))
        return [state.get(key[0] if key else None) for key in keys]


FRIENDS = {"ann": ["bob", "cat"], "bob": "ann", "eve": None, None: ["nobody"]}


def asked(names: Sequence[str | None], function: QueryFunction[Any] | None = None) -> list[Any]:
    batch = pa.record_batch({"person": pa.array(names, pa.string())})
    return made(Asking(function or Friends("person"), ("person",), ROWS, FRIENDS), batch)


def made(asking: Asking, batch: pa.RecordBatch) -> list[Any]:
    (lists,) = asking(batch)
    return list(lists.to_pylist())  # type: ignore[misc]  # the stubs know it for single types only


def test_each_record_gets_the_rows_of_its_key() -> None:
    found = asked(["ann", "zoe", "bob", None, "eve", "ann"])
    assert found == [["bob", "cat"], [], ["ann"], ["nobody"], [], ["bob", "cat"]]
    assert asked([]) == []


def test_no_key_is_asked_for_twice_in_a_call_and_all_are_in_one() -> None:
    function = Friends("person")
    asked(["bob", "ann", "bob", None, None, "ann"], function=function)
    assert function.asked == [[("bob",), ("ann",), (None,)]]


class Nothing(Friends):
    def batch_retrieve(self, state: Mapping[Any, object], keys: Sequence[Key]) -> Sequence[object]:
        self.asked.append(list(keys))
        return [None for _ in keys]


def test_keys_that_are_equal_in_a_state_are_one_key_here() -> None:
    function = Nothing("x")
    batch = pa.record_batch({"x": pa.array([-0.0, 0.0, math.nan, -math.nan, None])})
    Asking(function, ("x",), ROWS, {})(batch)
    ((zero, nan, none),) = function.asked
    assert (zero, none) == ((0.0,), (None,))
    assert math.copysign(1, zero[0]) == 1.0  # type: ignore[arg-type]
    assert str(nan[0]) == "nan"


def test_keys_may_be_lists_and_structures() -> None:
    function = Nothing("x")
    values: list[Any] = [{"a": [1.0, -0.0]}, {"a": [1.0, 0.0]}, {"a": [math.nan]}, {"a": [math.nan]}, {"a": None}]
    Asking(function, ("x",), ROWS, {})(pa.record_batch({"x": pa.array(values)}))
    assert [len(keys) for keys in function.asked] == [3]


def test_a_function_of_no_fields_is_asked_once() -> None:
    function = Friends()
    batch = pa.record_batch({"person": ["ann", "bob"]})
    assert made(Asking(function, (), ROWS, FRIENDS), batch) == [["nobody"], ["nobody"]]
    assert function.asked == [[()]]


class Returns(Friends):
    def __init__(self, result: object) -> None:
        super().__init__("person")
        self.result = result

    def batch_retrieve(self, state: Mapping[Any, object], keys: Sequence[Key]) -> Sequence[object]:
        return self.result  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, "returned NoneType, not a list with a result for each key"),
        ("ab", "returned str"),
        (iter("ab"), "returned str_"),
        (["a"], "returned 1 results for 2 keys"),
        (["a", "b", "c"], "returned 3 results for 2 keys"),
        ([5, "b"], "field 'friend'"),
        ([("a", "b"), "c"], "a tuple of 2"),
    ],
)
def test_what_is_no_result_for_each_key_is_refused(result: object, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{text}.*nothing of the batch was applied"):
        asked(["ann", "bob", "ann"], function=Returns(result))


def found_batch() -> pa.RecordBatch:
    type_ = pa.struct([pa.field("n", pa.int64()), pa.field("last", pa.string())])
    found = pa.array([{"n": 1, "last": None}, None, {"n": None, "last": None}, {"n": 1, "last": None}], type_)
    return pa.record_batch({"person": pa.array(["ann", "bob", None, "ann"]), FOUND: found})


class Seen(QueryFunction[StoredRows]):
    schema = "friend string"
    wanted: Sequence[Key] = ()

    def batch_retrieve(self, state: StoredRows, keys: Sequence[Key]) -> Sequence[object]:
        return [repr(row) for row in state.multi_get(self.wanted or keys)]


def test_a_function_is_given_what_the_state_has_and_null_rows_are_there() -> None:
    known, nulls = ["{'n': 1, 'last': None}"], ["{'n': None, 'last': None}"]
    assert made(Asking(Seen("person"), ("person",), ROWS), found_batch()) == [known, ["None"], nulls, known]


def test_a_key_that_no_record_names_was_not_asked_for() -> None:
    function = Seen("person")
    function.wanted = [("ann",), ("zoe",), (None,)]
    with pytest.raises(ConfigurationError, match=r"none of the records names.*nothing of the batch was applied"):
        Asking(function, ("person",), ROWS)(found_batch())


class Part:
    """A part of a query that says what it was told, and fails where it is told to."""

    def __init__(self, name: str, told: list[str], fails: str = "") -> None:
        self.name, self.told, self.fails = name, told, fails

    def prepare(self, context: OperationContext) -> None:
        self._say(f"prepare {self.name}")

    def cleanup(self) -> None:
        self._say(f"cleanup {self.name}")

    def _say(self, word: str) -> None:
        self.told.append(word)
        if word == self.fails:
            raise OSError(word)


class Prepared(Part, Friends):
    def __init__(self, told: list[str], fails: str) -> None:
        Friends.__init__(self, "person")
        Part.__init__(self, "function", told, fails)


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        ("", ["prepare source", "prepare function", "cleanup function", "cleanup source"]),
        ("prepare source", ["prepare source"]),
        ("prepare function", ["prepare source", "prepare function", "cleanup source"]),
        ("cleanup function", ["prepare source", "prepare function", "cleanup function", "cleanup source"]),
    ],
)
def test_source_and_function_are_made_ready_and_cleaned_up(fails: str, told: list[str]) -> None:
    heard: list[str] = []
    asking = Asking(Prepared(heard, fails), ("person",), ROWS, Part("source", heard, fails))
    try:
        asking.prepare(CONTEXT)
        asking.cleanup()
    except OSError as error:
        assert str(error) == fails  # noqa: PT017 - that none is raised is as right
    assert heard == told


def test_it_can_be_sent_to_a_task() -> None:
    asking = pickle.loads(pickle.dumps(Asking(Friends("person"), ("person",), ROWS, FRIENDS)))
    assert made(asking, pa.record_batch({"person": ["bob"]})) == [["ann"]]
