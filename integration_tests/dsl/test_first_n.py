"""FirstN against plain Python: as records come and by a field, of a batch and of its groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import placed, rows_of
from integration_tests.dsl.fakes import small_spout
from trident import Count, FirstN, Topology
from trident.base.errors import ConfigurationError
from trident.language.stream import Stream

NAN = math.nan
FIELDS = "k string, x double, price decimal(5,2), tags map<string,int>"
Record = tuple[str | None, float | None, Decimal, dict[str, int]]
RECORDS: list[Record] = [
    ("a", 2.0, Decimal("1.00"), {"t": 1}),
    ("b", None, Decimal("2.00"), {}),
    ("a", NAN, Decimal("3.00"), {"t": 2}),
    (None, -0.0, Decimal("4.00"), {}),
    ("a", 2.0, Decimal("5.00"), {"u": 1}),
    (None, 0.0, Decimal("6.00"), {}),
    ("b", 1.0, Decimal("7.00"), {}),
    ("a", None, Decimal("8.00"), {}),
]


def stream(*partitions: Sequence[Record]) -> Stream:
    return Topology("t", partitions=3).stream("s", small_spout(FIELDS, *partitions)).project("k", "x", "price", "tags")


def rank(record: Record) -> tuple[bool, float]:
    assert record[1] is not None
    return (math.isnan(record[1]), 0.0 if math.isnan(record[1]) else record[1])


def first(records: Sequence[Record], n: int, *, by: bool = False, reverse: bool = False) -> list[Record]:
    """What is taken, in the order of the records."""
    known = [(place, each) for place, each in enumerate(records) if not by or each[1] is not None]
    if by:
        known.sort(key=lambda pair: rank(pair[1]))
        if reverse:  # of equal ones still the first
            known.sort(key=lambda pair: tuple(-value for value in map(float, rank(pair[1]))))
    return [each for _, each in sorted(known[:n], key=lambda pair: pair[0])]


def prices(records: Sequence[Sequence[object]]) -> list[object]:
    return [record[2] for record in records]


CUTS = {"one": (RECORDS,), "two": (RECORDS[:3], RECORDS[3:]), "single": (RECORDS[:1],), "none": ([],)}
WAYS: dict[str, tuple[FirstN, Callable[[Sequence[Record]], list[Record]]]] = {
    "as they come": (FirstN(3), lambda records: first(records, 3)),
    "least": (FirstN(3, by="x"), lambda records: first(records, 3, by=True)),
    "greatest": (FirstN(2, by="x", reverse=True), lambda records: first(records, 2, by=True, reverse=True)),
    "all": (FirstN(100), lambda records: list(records)),
}


@pytest.mark.parametrize("cut", CUTS)
def test_of_a_batch_and_of_its_groups(spark: SparkSession, cut: str) -> None:
    records = [each for part in CUTS[cut] for each in part]
    for name, (assembly, expected) in WAYS.items():
        found = rows_of(stream(*CUTS[cut]).apply_assembly(assembly))
        assert prices(found) == prices(expected(records)), name
        grouped = rows_of(stream(*CUTS[cut]).group_by("k").apply_assembly(assembly))
        keys = {record[0] for record in records}
        wanted = [each for key in keys for each in expected([record for record in records if record[0] == key])]
        assert sorted(map(str, prices(grouped))) == sorted(map(str, prices(wanted))), name


def test_what_is_taken_stays_a_record_in_its_order_and_place(spark: SparkSession) -> None:
    taken = stream(RECORDS[:3], RECORDS[3:]).each(n=F.col("price").cast("int")).apply_assembly(FirstN(4, by="price"))
    assert placed(taken) == {0: [1, 2, 3], 1: [4]}
    assert rows_of(stream(RECORDS).apply_assembly(FirstN(5)).aggregate(n=Count()), ordered=False) == [(5,)]


def test_rows_of_no_record_are_in_the_order_of_their_values(spark: SparkSession) -> None:
    counted = stream(RECORDS).group_by("k").aggregate(n=Count())
    assert rows_of(counted.apply_assembly(FirstN(1, by="n", reverse=True)), ordered=False) == [("a", 4)]
    counted = stream(RECORDS).group_by("k").aggregate(n=Count())
    assert rows_of(counted.apply_assembly(FirstN(1, by="n")), ordered=False) == [(None, 2)]


REFUSED: dict[str, tuple[str, Callable[[Stream], object]]] = {
    "none": ("FirstN: n must be a whole number above zero", lambda s: s.apply_assembly(FirstN(0))),
    "no field": ("stream 's': FirstN for 'by' names a field", lambda s: s.apply_assembly(FirstN(1, by="nothing"))),
    "no order": ("needs a field with an order", lambda s: s.apply_assembly(FirstN(1, by="tags"))),
    "no key": ("names a field", lambda s: s.project("x").group_by("k").apply_assembly(FirstN(1))),
    "greatest by nothing": ("reverse needs by", lambda s: s.apply_assembly(FirstN(1, reverse=True))),
    "no stream": ("must be a stream", lambda s: FirstN(1)("s")),  # type: ignore[arg-type]
    "no assembly": ("apply_assembly takes a function", lambda s: s.group_by("k").apply_assembly(FirstN)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    with pytest.raises(ConfigurationError, match=text):
        build(stream(RECORDS))


@pytest.mark.parametrize("grouped", [False, True])
def test_a_stream_that_was_declared_direct_stays_so(spark: SparkSession, grouped: bool) -> None:
    rows = [("a", 3), ("b", 1), ("a", 2)]
    stream = Topology("t").stream("s", small_spout("k string, wish int", rows)).declare_direct("wish")
    found = (stream.group_by("k") if grouped else stream).apply_assembly(FirstN(1, by="wish")).direct()
    assert placed(found, "wish") == ({1: [1], 2: [2]} if grouped else {1: [1]})
