"""Users' aggregators over single records, in every form of an aggregation, against plain Python."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import add_sink, rows_of, sent_rows
from integration_tests.dsl.fakes import run, small_spout
from trident import Aggregator, Combiner, Count, Mean, Reducer, SqliteLedger, Sum, TopN, Topology
from trident.base.errors import ConfigurationError, FatalError, RetryableError
from trident.language.stream import Stream
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState, SqliteTable

FIELDS = "k string, n bigint, price decimal(10,2)"
Record = tuple[str | None, int | None, Decimal | None]
RECORDS: list[Record] = [
    ("a", 3, Decimal("1.50")),
    ("b", None, None),
    ("a", 1, None),
    (None, 7, Decimal("9.00")),
    ("a", 3, Decimal("-0.25")),
    (None, None, Decimal("1.00")),
    ("c", 2, Decimal("0.10")),
]


class InOrder(Reducer[str]):
    """All values behind each other: another order of the records would make another text."""

    result_type = "string"

    def init(self) -> str:
        return ""

    def reduce(self, reduced: str, *values: object) -> str:
        return f"{reduced}|{'/'.join(str(value) for value in values)}"


def in_order(records: Sequence[Record], *places: int) -> str:
    return "".join("|" + "/".join(str(record[place]) for place in places) for record in records)


class Total(Reducer[Decimal | None]):
    result_type = "decimal(20,2)"

    def init(self) -> Decimal | None:
        return None

    def reduce(self, reduced: Decimal | None, *values: object) -> Decimal | None:
        (price,) = values
        if price is None:
            return reduced
        assert isinstance(price, Decimal)
        return price if reduced is None else reduced + price


def total(records: Sequence[Record]) -> Decimal | None:
    prices = [record[2] for record in records if record[2] is not None]
    return sum(prices[1:], prices[0]) if prices else None


class Steps(Aggregator[list[object]]):
    """A row for each value that is not null, with its number and the one before; none where there is none."""

    schema = "step int, before bigint, after bigint"

    def init(self) -> list[object]:
        return []

    def aggregate(self, kept: list[object], *values: object) -> None:
        kept += [value for value in values if value is not None]

    def complete(self, kept: list[object]) -> object:
        for step, pair in enumerate(itertools.pairwise([None, *kept])):
            yield (step, *pair)


def steps(records: Sequence[Record]) -> list[tuple[object, ...]]:
    known = [record[1] for record in records if record[1] is not None]
    return [(place, known[place - 1] if place else None, value) for place, value in enumerate(known)]


class Often(Aggregator[dict[str, int]]):
    """How often there was a record: one row also of nothing, as in Trident."""

    schema = "records bigint"

    def init(self) -> dict[str, int]:
        return {"n": 0}

    def aggregate(self, kept: dict[str, int], *values: object) -> None:
        kept["n"] += 1

    def complete(self, kept: dict[str, int]) -> object:
        return kept["n"]


class Longest(Combiner[str]):
    result_type = "string"

    def init(self, *values: object) -> str | None:
        return None if values[0] is None else f"{values[0]}!"

    def combine(self, left: str, right: str) -> str:
        return max(left, right, key=lambda each: (len(each), each))


class LongestOrNothing(Longest):
    def zero(self) -> str:
        return ""


def stream(*partitions: Sequence[Record], partitions_there: int = 4) -> Stream:
    return Topology("t", partitions=partitions_there).stream("s", small_spout(FIELDS, *partitions))


def by_key(records: Sequence[Record]) -> dict[str | None, list[Record]]:
    return {key: [each for each in records if each[0] == key] for key in {record[0] for record in records}}


def same(found: Sequence[object], wanted: Sequence[object]) -> bool:
    return sorted(found, key=repr) == sorted(wanted, key=repr)


CUTS: dict[str, tuple[Sequence[Record], ...]] = {
    "one": (RECORDS,),
    "two": (RECORDS[:3], RECORDS[3:]),
    "single": (RECORDS[:1],),
    "none": ([],),
}


@pytest.mark.parametrize("cut", CUTS)
def test_of_groups_beside_aggregators_of_spark(spark: SparkSession, cut: str) -> None:
    made = stream(*CUTS[cut]).group_by("k")
    aggregated = made.aggregate(
        Steps("n"), n=Count(), all=InOrder("n", "price"), mean=Mean("n"), total=Total("price"), most=Longest("n")
    )
    expected = [
        (
            key,
            *step,
            len(mine),
            in_order(mine, 1, 2),
            sum(known) / len(known),
            total(mine),
            max((f"{n}!" for n in known), key=lambda each: (len(each), each)),
        )
        for key, mine in by_key([each for part in CUTS[cut] for each in part]).items()
        if (known := [record[1] for record in mine if record[1] is not None])
        for step in steps(mine)
    ]
    assert aggregated.fields == ("k", "step", "before", "after", "n", "all", "mean", "total", "most")
    assert same(rows_of(aggregated, ordered=False), expected)


@pytest.mark.parametrize("cut", CUTS)
def test_of_a_whole_batch_also_of_one_without_records(spark: SparkSession, cut: str) -> None:
    records = [each for part in CUTS[cut] for each in part]
    made = stream(*CUTS[cut]).aggregate(Often("k"), n=Count(), least=TopN("n", 1), all=InOrder("k", "n"))
    least = sorted((record[1] for record in records if record[1] is not None), reverse=True)[:1]
    expected = (len(records), len(records), least if records else None, in_order(records, 0, 1))
    assert rows_of(made, ordered=False) == [expected]


def test_a_single_reducer_of_a_batch(spark: SparkSession) -> None:
    assert rows_of(stream(RECORDS).aggregate(total=Total("price")), ordered=False) == [(total(RECORDS),)]
    assert rows_of(stream([]).aggregate(total=Total("price")), ordered=False) == [(None,)]
    assert rows_of(stream(RECORDS).aggregate(Steps("n")).aggregate(n=Count()), ordered=False) == [(5,)]


def test_the_value_of_nothing_is_the_combiners_own(spark: SparkSession) -> None:
    assert rows_of(stream([]).aggregate(n=Count()), ordered=False) == []
    assert rows_of(stream([]).aggregate(n=Longest("n")), ordered=False) == []
    assert rows_of(stream([]).aggregate(n=LongestOrNothing("n"), m=Count()), ordered=False) == [("", 0)]
    grouped = stream(RECORDS).group_by("k").aggregate(n=LongestOrNothing("n"), m=Longest("n"))
    assert same(
        rows_of(grouped, ordered=False), [("a", "3!", "3!"), ("b", "", None), ("c", "2!", "2!"), (None, "7!", "7!")]
    )


def test_of_each_partition_also_of_those_without_records(spark: SparkSession) -> None:
    made = stream(RECORDS[:3], RECORDS[3:]).partition_aggregate(
        Often("k"), n=Count(), all=InOrder("n"), zero=LongestOrNothing("n"), none=Longest("n"), sum=Sum("n")
    )
    expected = [
        (3, 3, in_order(RECORDS[:3], 1), "3!", "3!", 4),
        (4, 4, in_order(RECORDS[3:], 1), "7!", "7!", 12),
        *[(0, 0, "", "", None, None)] * 2,
    ]
    assert same(rows_of(made, ordered=False), expected)
    shown = stream(RECORDS[:3], RECORDS[3:]).partition_aggregate(Steps("n"))
    assert same(rows_of(shown, ordered=False), [*steps(RECORDS[:3]), *steps(RECORDS[3:])])


def test_records_come_in_their_order_also_out_of_others(spark: SparkSession) -> None:
    made = stream(RECORDS[:3], RECORDS[3:]).flat_map(m=F.array("n", F.lit(0))).aggregate(all=InOrder("m"))
    assert rows_of(made, ordered=False) == [("".join(f"|{record[1]}|0" for record in RECORDS),)]
    topology = Topology("t")
    one = topology.stream("s", small_spout(FIELDS, RECORDS))
    twice = topology.merge(one.project("n"), one.map(n=-F.col("n")))
    wanted = "".join(f"|{n}" for record in RECORDS for n in (record[1], _minus(record[1])))
    assert rows_of(twice.aggregate(all=InOrder("n")), ordered=False) == [(wanted,)]


def _minus(number: int | None) -> int | None:
    return None if number is None else -number


def test_two_ways_over_one_read_say_the_same(spark: SparkSession) -> None:
    topology = Topology("t")
    one = topology.stream("s", small_spout(FIELDS, RECORDS[:3], RECORDS[3:]))
    add_sink(one.aggregate(all=InOrder("n")), "first", ordered=False)
    add_sink(one.group_by("k").aggregate(all=InOrder("n")).aggregate(n=Count()), "second", ordered=False)
    result = run(topology.compile(), spark)
    assert sent_rows(result, "first") == [(in_order(RECORDS, 1),)]
    assert sent_rows(result, "second") == [(4,)]


def test_over_batches_into_a_table(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topology = Topology("t")
    given = topology.stream("s", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=3))
    given.aggregate(Often(), all=InOrder("n")).to_table(SqliteTable("seen"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        rows = connection.execute('SELECT records, "all" FROM seen').fetchall()
    cuts = [RECORDS[:3], RECORDS[3:6], RECORDS[6:]]
    assert same(rows, [(len(each), in_order(each, 1)) for each in cuts])


def test_a_stream_that_has_nothing_in_a_txid_is_asked_in_it_too(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topology = Topology("t", partitions=2)
    short = topology.stream("short", FixedBatchSpout(FIELDS, RECORDS[:2], max_records_per_batch=1))
    topology.stream("long", FixedBatchSpout(FIELDS, RECORDS[:3], max_records_per_batch=1)).to_table(SqliteTable("rows"))
    short.partition_aggregate(Often()).to_table(SqliteTable("seen"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        rows = connection.execute("SELECT records FROM seen").fetchall()
    assert sorted(rows) == [(0,)] * 4 + [(1,)] * 2


class Fails(InOrder):
    def reduce(self, reduced: str, *values: object) -> str:
        raise ArithmeticError("unlucky")


class Wrong(Reducer[object]):
    result_type = "int"

    def init(self) -> object:
        return 2.5

    def reduce(self, reduced: object, *values: object) -> object:
        return 2.5


class Untyped(Reducer[int]):
    def init(self) -> int:
        return 0

    def reduce(self, reduced: int, *values: object) -> int:
        return 0


class OfLength(Untyped):
    result_type = "array<varchar(3)>"


class Unfinished(Often):
    schema = None  # type: ignore[assignment]


class Misspelt(Often):
    schema = "records bigit"


class Same(Often):
    schema = "k bigint"


class Reserved(Often):
    schema = "__trident_x bigint"


class NoSuper(InOrder):
    def __init__(self) -> None:
        pass


class Connected(InOrder):
    def __init__(self) -> None:
        super().__init__("n")
        self.lock = threading.Lock()


REFUSED: dict[str, tuple[str, Callable[[Stream], object]]] = {
    "a field that is not there": (
        "stream 's': InOrder for 'x' names a field that the stream does not have",
        lambda s: s.aggregate(x=InOrder("m")),
    ),
    "a field that is not there, by place": (
        "stream 's': Often names a field",
        lambda s: s.group_by("k").aggregate(Often("m")),
    ),
    "a key that is not there": ("nothing", lambda s: s.group_by("nothing").aggregate(Often("k"))),
    "texts of a length": ("holds texts of a length", lambda s: s.aggregate(x=OfLength("n"))),
    "no type": ("Untyped for 'x' must set result_type", lambda s: s.aggregate(x=Untyped("n"))),
    "no schema": ("Unfinished must set schema", lambda s: s.aggregate(Unfinished("n"))),
    "no types": ("Misspelt", lambda s: s.aggregate(Misspelt("n"))),
    "the name of a key": ("names the field 'k' twice", lambda s: s.group_by("k").aggregate(Same("n"))),
    "a name twice": ("names the field 'records' twice", lambda s: s.aggregate(Often(), records=Count())),
    "the name of what is kept": (
        "names the field 'm_sum' twice",
        lambda s: s.aggregate(m=Mean("n"), m_sum=InOrder("n")),
    ),
    "a reserved name": ("reserved", lambda s: s.partition_aggregate(Reserved("n"))),
    "no call of super": ("must call super", lambda s: s.aggregate(x=NoSuper())),
    "what can't be sent": ("Connected for 'x' can't be sent.*'lock'", lambda s: s.aggregate(x=Connected())),
    "a reducer by place": ("by place.*must be an Aggregator object", lambda s: s.aggregate(InOrder("n"))),
    "a count by place": ("by place.*must be an Aggregator object", lambda s: s.partition_aggregate(Count())),  # type: ignore[arg-type]
    "a class": ("by place.*must be an Aggregator object", lambda s: s.aggregate(Often)),  # type: ignore[arg-type]
    "an aggregator by name": (
        "Often for 'x' names its fields itself",
        lambda s: s.group_by("k").aggregate(x=Often("n")),
    ),
    "nothing": ("at least one result", lambda s: s.partition_aggregate()),
    "nothing of all": ("at least one result", lambda s: s.aggregate()),
    "in a state": (
        "'x' is of a Often, which makes rows of the records of one batch.*Write a Combiner",
        lambda s: s.group_by("k").persistent_aggregate(MemoryState("s"), x=Often("n")),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    with pytest.raises(ConfigurationError, match=text):
        build(stream(RECORDS))


def test_what_fails_in_a_task_fails_the_batch_and_shows_no_value(spark: SparkSession) -> None:
    with pytest.raises(FatalError, match="Wrong made a value of the type float for the field 'x'") as caught:
        rows_of(stream(RECORDS).aggregate(x=Wrong("n")), ordered=False)
    assert "2.5" not in str(caught.value)
    with pytest.raises(RetryableError, match=r"Python code raised ArithmeticError.*Nothing of the batch was applied"):
        rows_of(stream(RECORDS).group_by("k").aggregate(x=Fails("n")), ordered=False)
