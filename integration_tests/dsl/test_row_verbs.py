"""Verbs over single rows, against plain Python; control words come out once each, since `run` checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import add_sink, rows_of, sent_rows
from integration_tests.dsl.fakes import BATCH_TIME, edges_of, manifest, run, small_spout
from trident import Equals, FilterNull, Negate, OperationContext, Split, Topology, batch_time
from trident.base.errors import ConfigurationError, FatalError, FieldError, RetryableError
from trident.language.stream import Stream

FIELDS = "account string, amount bigint, price decimal(10,2), at timestamp, tags array<string>, more map<string,bigint>"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS = [
    ("ann", 5, Decimal("1.50"), NOON, ["x", "y"], {"k": 1}),
    ("bob", None, None, None, [], {}),
    (None, 7, Decimal("0.00"), NOON, None, None),
    ("ann", -1, Decimal("-2.25"), NOON, ["z"], {"k": 2, "l": None}),
]


def stream(*partitions: Sequence[tuple[object, ...]]) -> Stream:
    return Topology("t").stream("payments", small_spout(FIELDS, *(partitions or (ROWS[:3], ROWS[3:]))))


def given(function: Callable[[dict[str, object]], object], schema: str, verb: str) -> list[tuple[object, ...]]:
    return rows_of(getattr(stream().project("account", "amount"), verb)(function, schema))


def test_a_row_has_pythons_own_values(spark: SparkSession) -> None:
    def told(row: dict[str, object]) -> str:
        return repr(tuple(row.values()))

    utc = repr(UTC)
    made = rows_of(stream().map_row(told, "told string"))
    found = [str(each).replace("zoneinfo.ZoneInfo(key='UTC')", utc) for (each,) in made]
    assert found == [repr(row) for row in ROWS]


def test_each_row_adds_drops_and_repeats(spark: SparkSession) -> None:
    def spread(row: dict[str, object]) -> Iterator[tuple[int, str]] | list[object]:
        amount = row["amount"]
        if not isinstance(amount, int):
            return []
        return ((number, "n") for number in range(max(amount, 0) % 4))

    expected = [(*row[:2], number, "n") for row in ROWS if row[1] for number in range(max(row[1], 0) % 4)]
    assert given(spread, "number bigint, letter string", "each_row") == expected


@pytest.mark.parametrize(
    ("result", "rows"),
    [([], []), ((1,), [(1,)]), (1, [(1,)]), ({"n": 1}, [(1,)]), ([1, (2,), {"n": 3}], [(1,), (2,), (3,)])],
    ids=repr,
)
def test_what_a_function_over_rows_may_return(spark: SparkSession, result: object, rows: list[object]) -> None:
    only = Topology("t").stream("s", small_spout("x bigint", [(9,)]))
    assert rows_of(only.flat_map_row(lambda row: result, "n bigint")) == rows


def test_filter_row_keeps_what_is_true(spark: SparkSession) -> None:
    kept = rows_of(stream().filter_row(lambda row: row["account"] == "ann").project("amount"))
    assert kept == [(5,), (-1,)]


def test_nothing_comes_of_nothing(spark: SparkSession) -> None:
    empty = Topology("t").stream("s", small_spout("x bigint", []))
    assert rows_of(empty.each_row(lambda row: 1, "n bigint")) == []


def uneven(batch: pa.RecordBatch) -> list[pa.Array[pa.Scalar[pa.DataType]]]:
    return [pa.array([[1]] * batch.num_rows), pa.array([[1, 2]] * batch.num_rows)]


BAD: dict[str, tuple[str, Callable[[Stream], Stream]]] = {
    "None of a map": ("returned None", lambda s: s.map_row(lambda row: None, "n bigint")),
    "a tuple too long": ("tuple of 2", lambda s: s.map_row(lambda row: (1, 2), "n bigint")),
    "other names": ("dict of other names", lambda s: s.map_row(lambda row: {"m": 1, "o": 2}, "n bigint, k bigint")),
    "nothing for rows": (
        r"None for a row \(a missing return\?\).*\[\] for none",
        lambda s: s.each_row(lambda row: None, "n bigint"),
    ),
    "nothing for other rows": (r"missing return", lambda s: s.flat_map_row(lambda row: None, "n bigint")),
    "another name alone": ("a dict of other names", lambda s: s.map_row(lambda row: {"m": 1}, "n bigint")),
    "a fraction": ("does not hold", lambda s: s.each_row(lambda row: 2.5, "n bigint")),
    "no truth": ("neither True nor False", lambda s: s.filter_row(lambda row: row["amount"])),  # type: ignore[arg-type, return-value]
    "lists of two lengths": (
        "lists of different lengths",
        lambda s: s.flat_each(
            lambda b: [pa.array([[1]] * b.num_rows), pa.array([[1, 2]] * b.num_rows)], "n int, m int"
        ),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_a_function_must_not_return_is_said(spark: SparkSession, name: str) -> None:
    text, build = BAD[name]
    with pytest.raises(FatalError, match=f"{text}.*nothing of the batch was applied"):
        rows_of(build(stream()))


def test_flat_each_keeps_the_records_own_fields(spark: SparkSession) -> None:
    expected = [(row[0], tag) for row in ROWS for tag in row[4] or []]
    assert rows_of(stream().flat_each(tag=F.col("tags")).project("account", "tag")) == expected

    def tags(batch: pa.RecordBatch) -> list[pa.Array[pa.Scalar[pa.DataType]]]:
        return [batch.column("tags")]

    assert rows_of(stream().flat_each(tags, "tag string").project("account", "tag")) == expected


def test_flat_each_knows_the_time_of_the_batch(spark: SparkSession) -> None:
    times = F.array(batch_time())
    assert rows_of(stream(ROWS[:1]).flat_each(at2=times).project("at2")) == [(BATCH_TIME,)]


def test_names_may_change_places(spark: SparkSession) -> None:
    swapped = stream().project("account", "amount").rename({"account": "amount", "amount": "account"})
    assert swapped.fields == ("amount", "account")
    assert rows_of(swapped)[0] == ("ann", 5)
    assert stream().rename(account="name").fields[0] == "name"


def test_peek_is_shown_records_and_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "seen"

    def look(batch: pa.RecordBatch) -> None:
        with file.open("a") as seen:
            seen.write("".join(f"{name}\n" for name in batch.column("account").to_pylist()))

    before = rows_of(stream())
    assert rows_of(stream().peek(look)) == before
    assert sorted(file.read_text().split()) == sorted(str(row[0]) for row in ROWS)


def test_ready_made_conditions(spark: SparkSession) -> None:
    two = Topology("t").stream("s", small_spout("a double, b double", [(1.0, 1.0), (None, None), (1.0, None)]))
    nan = float("nan")
    with_nan = Topology("t").stream("s", small_spout("a double, b double", [(nan, nan), (0.0, -0.0)]))
    assert len(rows_of(two.filter(Equals("a", "b")))) == 2
    assert rows_of(_two().filter(Negate(Equals("a", "b")))) == [(1.0, None)]
    assert len(rows_of(with_nan.filter(Equals("a", "b")))) == 2
    assert rows_of(_two().filter(FilterNull("a", "b"))) == [(1.0, 1.0)]
    assert rows_of(_two().filter(Negate(F.col("b") > 0))) == [(None, None), (1.0, None)]
    words = Topology("t").stream("s", small_spout("text string", [("  the  cow\tjumped ",), (None,), ("",)]))
    assert rows_of(words.flat_map(word=Split("text"))) == [("the",), ("cow",), ("jumped",)]


def _two() -> Stream:
    return Topology("t").stream("s", small_spout("a double, b double", [(1.0, 1.0), (None, None), (1.0, None)]))


class Told:
    """Writes down what is asked of it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.ready = False

    def prepare(self, context: OperationContext) -> None:
        self.ready = True
        self._write(f"prepare {context.verb}")

    def cleanup(self) -> None:
        self._write("cleanup")

    def __call__(self, row: dict[str, object]) -> int:
        assert self.ready
        if row["x"] == 13:
            raise ValueError("a user's own")
        return 1

    def _write(self, text: str) -> None:
        with Path(self.file).open("a") as file:
            file.write(text + "\n")


@pytest.mark.parametrize("value", [1, 13])
def test_an_object_is_made_ready_and_cleaned_up_also_after_an_error(
    spark: SparkSession, tmp_path: Path, value: int
) -> None:
    told = Told(str(tmp_path / "told"))
    only = Topology("t").stream("s", small_spout("x bigint", [(value,)]))
    made = only.each_row(told, "n bigint")
    if value == 13:
        with pytest.raises(RetryableError):
            rows_of(made)
    else:
        assert rows_of(made) == [(1, 1)]
    lines = (tmp_path / "told").read_text().splitlines()
    assert lines.count("prepare each_row") == lines.count("cleanup") >= 1
    assert not told.ready, "what it keeps is the task's own"


@pytest.mark.parametrize("verb", ["filter_row", "map_row"])
def test_an_object_is_told_the_verb_that_it_was_given_to(spark: SparkSession, tmp_path: Path, verb: str) -> None:
    told = Told(str(tmp_path / "told"))
    only = Topology("t").stream("s", small_spout("x bigint", [(1,)]))
    with pytest.raises(FatalError, match=f"the function given to {verb} "):
        rows_of(only.filter_row(told) if verb == "filter_row" else only.map_row(told, "n string"))  # type: ignore[arg-type]
    assert f"prepare {verb}" in (tmp_path / "told").read_text().splitlines()


def test_an_assembly_is_a_function_of_a_stream(spark: SparkSession) -> None:
    def above(stream: Stream, least: int, *, field: str) -> Stream:
        return stream.filter(F.col(field) > least)

    assert rows_of(stream().apply_assembly(above, 5, field="amount").project("amount")) == [(7,)]


def test_errors_say_which_stream(spark: SparkSession) -> None:
    with pytest.raises(FieldError, match=r"stream 'payments': project names a field"):
        stream().project("nothing")
    with pytest.raises(FieldError, match=r"stream 'large ones': project names a field"):
        stream().filter(F.col("amount") > 5).name("large ones").project("nothing")


REFUSED: dict[str, tuple[str, Callable[[Stream], object]]] = {
    "nothing to rename": ("at least one field", lambda s: s.rename()),
    "renamed to what is there": ("twice", lambda s: s.rename(account="amount")),
    "no text": ("rename: a field", lambda s: s.rename(account=5)),  # type: ignore[arg-type]
    "no mapping": ("rename takes names", lambda s: s.rename(["account"])),  # type: ignore[arg-type]
    "added field is there": ("there already", lambda s: s.each_row(lambda row: 1, "amount bigint")),
    "added column is there": ("there already", lambda s: s.flat_each(amount=F.col("tags"))),
    "no function": ("needs a Python function", lambda s: s.map_row("row", "n bigint")),  # type: ignore[arg-type]
    "two arguments": ("must take one argument", lambda s: s.map_row(lambda a, b: 1, "n bigint")),  # type: ignore[arg-type, misc]
    "peek at a column": ("needs a Python function", lambda s: s.peek(F.col("amount"))),  # type: ignore[arg-type]
    "no assembly": ("apply_assembly takes a function", lambda s: s.apply_assembly(5)),  # type: ignore[arg-type]
    "one field to compare": ("at least two", lambda s: s.filter(Equals("amount"))),
    "other types to compare": (
        "stream 'payments': Equals: the field 'amount' is bigint, the field 'account' string; cast one",
        lambda s: s.filter(Negate(Equals("account", "amount"))),
    ),
    "maps to compare": ("Equals: the field 'more' holds maps", lambda s: s.filter(Equals("more", "more"))),
    "nothing to compare": ("Equals names a field", lambda s: s.filter(Equals("account", "nobody"))),
    "nothing to look at": ("FilterNull names a field", lambda s: s.filter(FilterNull("nobody"))),
    "no truth": (
        "filter needs a condition that is true or false, but amount is bigint$",
        lambda s: s.filter(F.col("amount")),
    ),
    "no array": ("flat_map needs an array, but amount is bigint$", lambda s: s.flat_map(x=F.col("amount"))),
    "a sum in a condition": (r"condition \"\(sum\(amount\) > 1\)\"", lambda s: s.filter(F.sum("amount") > 1)),
    "a column to compare": ("Equals takes the name", lambda s: s.filter(Equals("amount", F.col("a")))),  # type: ignore[arg-type]
    "no field to look at": ("one field", lambda s: s.filter(FilterNull())),
    "no condition": ("Negate: condition", lambda s: s.filter(Negate("amount"))),  # type: ignore[arg-type]
    "two arrays": ("one array column", lambda s: s.flat_each(x=F.col("tags"), y=F.col("tags"))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    with pytest.raises(ConfigurationError, match=text):
        build(stream())


def test_each_control_word_comes_out_once(spark: SparkSession) -> None:
    made = stream().each_row(lambda row: [1, 2], "n bigint").rename(n="m").flat_each(t=F.col("tags")).peek(len)
    add_sink(made)
    topology = made._topology
    result = run(topology.compile(), spark)
    source = topology._spouts["payments"].open("payments")
    expected = [("payments", manifest(edge)) for edge in edges_of(source)]
    assert sorted(result.manifests, key=repr) == sorted(expected, key=repr)
    assert len(sent_rows(result)) == 2 * sum(len(row[4] or []) for row in ROWS)


def test_a_null_structure_goes_through_functions_whether_its_fields_are_required_or_not(spark: SparkSession) -> None:
    """Spark requires the field of `struct(lit(1))`; of a structure that is not there it requires nothing."""
    rows = Topology("t").stream("s", small_spout("n bigint", [(1,), (2,)]))
    made = F.when(F.col("n") > 1, F.struct(F.lit(1).alias("a")))
    given = rows.map(m=made, ms=F.array(made), at=F.struct(F.lit(0).cast("timestamp").alias("t")))
    through = (
        given.each(lambda batch: batch.column("m"), "own struct<a: bigint not null>")
        .each_row(lambda row: [row["m"]], "by_row struct<a: int not null>")
        .flat_map(lambda batch: batch.select(["own", "by_row", "ms"]), "own struct<a: bigint>, by_row struct<a: int>, "
                  "ms array<struct<a: int>>")
        .filter(lambda batch: pa.array([True] * batch.num_rows))
    )  # fmt: skip
    assert rows_of(through) == [(None, None, [None]), ({"a": 1}, {"a": 1}, [{"a": 1}])]
