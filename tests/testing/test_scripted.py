"""Rows that a test gives a stream: held exactly or refused by stream and field, at positions of their own."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType, TimestampType

from trident.base.control import CONTROL, decode
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER, origin_of
from trident.base.ranges import Edge, OffsetRange, PartitionId, RangeManifest
from trident.spouts.base import KnowsOrder, ReadsSmallBatches, SpoutKind
from trident.testing.scripted import Script, ScriptedSpout

FIELDS = StructType([StructField("account", StringType()), StructField("amount", LongType())])


def script(*rows: object) -> Script:
    made = Script("payments", FIELDS)
    made.offer(made.checked(rows))  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"acount": "ann", "amount": 1}, "names 'acount', no field of it and leaves out 'account'"),
        ({"account": "ann"}, "leaves out 'amount'"),
        (("ann",), "1 values for the 2 fields account, amount"),
        (("ann", "5"), "a value of the type str for the field 'amount', which bigint does not hold"),
        (("ann", 2.5), "a value of the type float for the field 'amount'"),
        (("ann", 2**63), "a value of the type int for the field 'amount'"),
        ("ann", "a value of the type str"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_stream_and_field(row: object, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        script(row)
    assert str(refused.value).startswith("rows of stream 'payments': ")
    assert said in str(refused.value)
    assert "it has the fields account:string,amount:bigint" in str(refused.value)


def test_values_are_held_as_they_are() -> None:
    schema = StructType([StructField("price", DecimalType(10, 2)), StructField("at", TimestampType())])
    moment = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    rows = Script("s", schema).checked([(Decimal("0.10"), moment), (None, None)])
    assert rows.table.to_pylist() == [{"price": Decimal("0.10"), "at": moment}, {"price": None, "at": None}]


def read(made: Script, start: int, stop: int, *, in_order: bool = True) -> list[dict[str, object]]:
    source = ScriptedSpout(made, SpoutKind.OPAQUE).open("payments")
    assert isinstance(source, KnowsOrder | ReadsSmallBatches)
    edge = Edge(7, OffsetRange(PartitionId("payments", 0), "scripted", start, stop))
    batch = source.read_small(None, [edge], in_order=in_order)  # type: ignore[arg-type]
    assert batch.rows.schema.names == batch.schema.names
    found: list[dict[str, object]] = batch.rows.to_pylist()
    word = decode(str(found.pop()[CONTROL]))
    assert isinstance(word, RangeManifest)
    assert (word.edge, word.count, word.position) == (7, stop - start, stop)
    return found


def test_a_batch_is_read_whole_and_lies_behind_those_before() -> None:
    made = script(("ann", 1), ("bob", None))
    (bounds,) = ScriptedSpout(made, SpoutKind.OPAQUE).open("payments").bounds()
    assert (bounds.id, bounds.earliest, bounds.stop) == (PartitionId("payments", 0), 0, 2)
    rows = read(made, 0, 2)
    assert [(row["account"], row["amount"]) for row in rows] == [("ann", 1), ("bob", None)]
    assert [origin_of(row[ORDER]).offset for row in rows] == [0, 1]  # type: ignore[arg-type]
    made.offer(made.checked([("cid", 3)]))
    assert made.end == 3
    assert [row["account"] for row in read(made, 2, 3, in_order=False)] == ["cid"]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_batch_that_is_replaced_stands_where_it_stood(count: int) -> None:
    made = script(("ann", 1))
    made.offer(made.checked([("bob", 2), ("cid", 3)]))
    made.replace(made.checked([("dan", number) for number in range(count)]))
    assert made.end == 1 + count
    assert [row["amount"] for row in read(made, 1, 1 + count)] == list(range(count))
