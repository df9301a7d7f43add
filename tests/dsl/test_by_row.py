"""Users' aggregators over single records, and the task that gives them a group's: without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from trident import Aggregator, ConfigurationError, OperationContext, Reducer
from trident.base.order import ORDER
from trident.operations.aggregators.by_row import ByRow
from trident.operations.given import in_order
from trident.operations.going_through import _AT_ONCE, ROWS, GoThrough, Maker


class Joined(Reducer[str | None]):
    """Puts texts behind each other."""

    result_type = "string"

    def init(self) -> str | None:
        return None

    def reduce(self, reduced: str | None, *values: object) -> str | None:
        (value,) = values
        return reduced if value is None else (reduced or "") + str(value)


class Forgets(Reducer[int]):
    result_type = "bigint"

    def init(self) -> int:
        return 0

    def reduce(self, reduced: int, *values: object) -> int:
        return None  # type: ignore[return-value]


class Numbered(Aggregator[list[object]]):
    """A row for each record that is not null, with its number."""

    schema = "number bigint, value bigint"

    def init(self) -> list[object]:
        return []

    def aggregate(self, kept: list[object], *values: object) -> None:
        kept += [value for value in values if value is not None]

    def complete(self, kept: list[object]) -> object:
        return enumerate(kept)


class Says(Aggregator[list[object]]):
    """Completes with what it was made with."""

    schema = "a bigint, b string"

    def __init__(self, result: object, schema: str = "a bigint, b string", kept: object = None) -> None:
        super().__init__()
        self.result, self.made, self.kept = result, tuple(each.split()[0] for each in schema.split(",")), kept

    def init(self) -> list[object]:
        return [] if self.kept is None else self.kept  # type: ignore[return-value]

    def aggregate(self, kept: list[object], *values: object) -> None:
        kept.append(values)

    def complete(self, kept: list[object]) -> object:
        return self.result


class Returns(Says):
    def aggregate(self, kept: list[object], *values: object) -> None:
        return [1]  # type: ignore[return-value]


def test_a_reducer_takes_one_record_after_the_other() -> None:
    assert Joined("f").rows_made([["a"], [None], ["b"]], ["f"]) == [("ab",)]
    assert Joined("f").rows_made([], ["f"]) == [(None,)]
    assert Joined("f").rows_made([[None], [None]], ["f"]) == [(None,)]


def test_a_reducer_that_forgets_to_return_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Forgets\.reduce returned None.*nothing of the batch was applied"):
        Forgets("f").rows_made([[1]], ["f"])
    assert Forgets("f").rows_made([], ["f"]) == [(0,)]


ROWS_OF: dict[str, tuple[object, str, list[Sequence[object]]]] = {
    "none": (None, "a bigint, b string", []),
    "an empty list": ([], "a bigint, b string", []),
    "a tuple": ((1, "x"), "a bigint, b string", [(1, "x")]),
    "a dict": ({"b": "x", "a": 1}, "a bigint, b string", [[1, "x"]]),
    "a list of both": ([(1, "x"), {"a": 2, "b": None}], "a bigint, b string", [(1, "x"), [2, None]]),
    "a generator": (((n, None) for n in range(2)), "a bigint, b string", [(0, None), (1, None)]),
    "bare values of one field": ([1, 2], "a bigint", [(1,), (2,)]),
    "tuples of one field": ([(1,), (2,)], "a bigint", [(1,), (2,)]),
    "a map of one field": ([{"k": 1}], "a map", [({"k": 1},)]),
    "a map whose only key is the field's name": ({"a": 1}, "a map", [({"a": 1},)]),
}


@pytest.mark.parametrize("name", ROWS_OF)
def test_an_aggregator_completes_with_any_number_of_rows(name: str) -> None:
    result, schema, expected = ROWS_OF[name]
    says = Says(result, schema)
    assert says.rows_made([[1]], says.made) == expected


BAD: dict[str, tuple[str, Callable[[], Says]]] = {
    "too few": (
        "Says.complete returned what is no row of its schema: 1 values for the 2 fields a, b",
        lambda: Says((1,)),
    ),
    "bare": ("no row of its schema: a value of the type int", lambda: Says(1)),
    "other names": ("leaves out 'b'", lambda: Says({"a": 1})),
    "kept can't change": ("Says.init returned a value of the type int", lambda: Says(None, kept=5)),
    "a text": ("Says.init returned a value of the type str", lambda: Says(None, kept="x")),
    "aggregate returns": ("Returns.aggregate returned a value of the type list", lambda: Returns(None)),
}


@pytest.mark.parametrize("name", BAD)
def test_what_an_aggregator_can_not_return_is_refused_without_showing_it(name: str) -> None:
    text, make = BAD[name]
    with pytest.raises(ConfigurationError, match=text) as caught:
        make().rows_made([["secret"]], ("a", "b"))
    assert "nothing of the batch was applied" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_rows_are_in_the_order_of_their_records_and_else_in_that_of_their_values() -> None:
    assert in_order([b"b", b"a", b"c"], [(1,), (2,), (3,)]) == [(2,), (1,), (3,)]
    assert in_order([None, None, b"a", None], [(3,), (1,), (9,), (2,)]) == [(1,), (2,), (3,), (9,)]
    assert in_order([b"a", b"a"], [("y",), ("x",)]) == in_order([b"a", b"a"], [("x",), ("y",)]) == [("x",), ("y",)]
    assert in_order([], []) == []


@pytest.mark.parametrize(
    "ordered",
    [
        [None, -2, -1, 8, 9, 10, 11],
        [None, Decimal("-1.5"), Decimal("9"), Decimal("10.25")],
        [None, "", "B", "a", "é", "\U0001f600"],
        [None, float("-inf"), -2.0, 0.5, float("inf"), float("nan")],
        [None, b"", b"\x7f", b"\xff"],
        [None, [], [None], [2], [10]],
        [None, {"n": None}, {"n": 2}, {"n": 10}],
    ],
    ids=str,
)
def test_what_shares_an_order_comes_in_that_of_its_values(ordered: list[object]) -> None:
    """Numbers by their size, not by their digits."""
    rows = [(value,) for value in ordered]
    found = in_order([None] * len(rows), rows[::-1])
    assert list(map(repr, found)) == list(map(repr, rows))


def groups(*several: Sequence[tuple[bytes | None, object]] | None) -> pa.RecordBatch:
    records = pa.list_(pa.struct([pa.field(ORDER, pa.binary()), pa.field("v", pa.int64())]))
    lists = [None if each is None else [{ORDER: order, "v": value} for order, value in each] for each in several]
    return pa.RecordBatch.from_arrays(
        [pa.array(range(len(several)), pa.int64()), pa.array(lists, records)], names=["k", ROWS]
    )


def task(*makers: ByRow, made: Sequence[Sequence[str]], types: Sequence[pa.DataType]) -> GoThrough:
    names = [name for each in made for name in each]
    schema = pa.schema([pa.field("k", pa.int64()), *map(pa.field, names, types)])
    each = [
        Maker(maker, (0,) * len(maker.fields), tuple(own), tuple("bigint" for _ in own))
        for maker, own in zip(makers, made, strict=True)
    ]
    return GoThrough(tuple(each), ("v",), schema, "aggregate")


def made_of(task: GoThrough, *batches: pa.RecordBatch) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for batch in task(batches) for row in batch.to_pylist()]


INTS = [pa.int64(), pa.int64()]


def test_a_task_gives_each_group_its_own_records_in_their_order() -> None:
    numbered = task(Numbered("v"), made=[("number", "value")], types=INTS)
    given = groups([(b"b", 5), (b"a", 6)], [(b"c", None)], None, [(b"d", 7)])
    assert made_of(numbered, given) == [(0, 0, 6), (0, 1, 5), (3, 0, 7)]
    assert made_of(numbered, given.slice(1, 3)) == [(3, 0, 7)]
    assert made_of(numbered, groups()) == []


def test_rows_of_several_are_combined_and_where_one_makes_none_there_are_none() -> None:
    both = task(Numbered("v"), Joined("v"), made=[("number", "value"), ("j",)], types=[*INTS, pa.string()])
    assert made_of(both, groups([(b"b", 5), (b"a", 6)], [(b"c", None)])) == [(0, 0, 6, "65"), (0, 1, 5, "65")]
    twice = task(Numbered("v"), Numbered("v"), made=[("a", "b"), ("c", "d")], types=INTS * 2)
    assert [row[2::2] for row in made_of(twice, groups([(b"a", 1), (b"b", 2)]))] == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_key_that_is_a_null_structure_with_a_required_field_goes_along() -> None:
    """Spark requires the fields of `when(…, struct(lit(1)))`; Arrow casts no null of such a type, not to itself."""
    numbered = task(Numbered("v"), made=[("number", "value")], types=INTS)
    given = groups([(b"a", 1)], [(b"b", 2)])
    schema = numbered.schema.set(0, pa.field("k", pa.struct([pa.field("a", pa.int64(), nullable=False)])))
    optional = [pa.field("a", pa.int64())]
    keys = pa.StructArray.from_arrays([pa.array([7, None])], fields=optional, mask=pa.array([False, True]))
    made = made_of(replace(numbered, schema=schema), given.set_column(0, "k", keys))
    assert made == [({"a": 7}, 0, 1), (None, 0, 2)]


def test_many_rows_leave_in_several_batches() -> None:
    numbered = task(Numbered("v"), made=[("number", "value")], types=INTS)
    given = groups(*([(b"a", n), (b"b", n)] for n in range(_AT_ONCE)))
    batches = list(numbered([given]))
    assert [batch.num_rows for batch in batches] == [_AT_ONCE, _AT_ONCE, 0]
    assert batches[1].column("value").to_pylist()[-1] == _AT_ONCE - 1


def test_a_value_that_the_declared_type_does_not_hold_is_refused() -> None:
    wrong = task(Says([(Decimal("1.5"), "x")]), made=[("a", "b")], types=[pa.int64(), pa.string()])
    with pytest.raises(ConfigurationError, match="Says made a value of the type Decimal for the field 'a', which"):
        made_of(wrong, groups([(b"a", 1)]))


class Watched(Numbered):
    def __init__(self, *fields: str) -> None:
        super().__init__(*fields)
        self.seen: list[object] = []

    def prepare(self, context: OperationContext) -> None:
        self.seen.append(context.verb)

    def cleanup(self) -> None:
        self.seen.append("cleaned")

    def complete(self, kept: list[object]) -> object:
        if kept == [13]:
            raise ArithmeticError("unlucky")
        return super().complete(kept)


def test_objects_are_made_ready_and_cleaned_up_once_per_task() -> None:
    watched = Watched("v")
    ready = task(watched, made=[("number", "value")], types=INTS)
    made_of(ready, groups([(b"a", 1)]), groups([(b"a", 2)]))
    assert watched.seen == ["aggregate", "cleaned"]
    with pytest.raises(ArithmeticError):
        made_of(ready, groups([(b"a", 13)]))
    assert watched.seen == ["aggregate", "cleaned"] * 2


def test_a_generator_is_gone_through_before_the_next_group() -> None:
    class Lazy(Numbered):
        def complete(self, kept: list[object]) -> Iterator[tuple[int, object]]:
            yield from enumerate(kept)

    assert made_of(task(Lazy("v"), made=[("n", "v")], types=INTS), groups([(b"a", 1)])) == [(0, 0, 1)]


class All(Reducer[list[str]]):
    """Keeps the first list that it is given, and changes it."""

    result_type = "array<string>"

    def init(self) -> list[str]:
        return None  # type: ignore[return-value]  # of nothing

    def reduce(self, reduced: list[str], *values: object) -> list[str]:
        (tags,) = values
        assert isinstance(tags, list)
        if reduced is None:
            return tags
        reduced += tags
        return reduced


class HowMany(Reducer[int]):
    result_type = "bigint"

    def init(self) -> int:
        return 0

    def reduce(self, reduced: int, *values: object) -> int:
        (tags,) = values
        assert isinstance(tags, list)
        return reduced + len(tags)


@pytest.mark.parametrize("is_first", [True, False])
def test_what_one_changes_of_what_it_is_given_no_other_sees(*, is_first: bool) -> None:
    makers: list[ByRow] = [All("v"), HowMany("v")]
    made, types = [("all",), ("n",)], [pa.list_(pa.string()), pa.int64()]
    order = slice(None) if is_first else slice(None, None, -1)
    records = [[{ORDER: b"a", "v": ["x", "y"]}, {ORDER: b"b", "v": ["z", "w"]}]]
    lists = pa.array(records, pa.list_(pa.struct([(ORDER, pa.binary()), ("v", pa.list_(pa.string()))])))
    batch = pa.RecordBatch.from_arrays([pa.array([0], pa.int64()), lists], names=["k", ROWS])
    both = task(*makers[order], made=made[order], types=types[order])
    (row,) = [row for made in both([batch]) for row in made.to_pylist()]
    assert (row["all"], row["n"]) == (["x", "y", "z", "w"], 4)
