"""H5, H7, H17: what a topology is built with, and what is open since it is not there at all."""

from __future__ import annotations

import inspect
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ByteType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
    StructField,
    StructType,
)

import trident
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import memory_place, run
from trident import Combiner, ConfigurationError, FieldError, Max, Min, Sum
from trident.language.grouped import GroupedStream
from trident.language.stream import Stream
from trident.language.trident_state import TridentState
from trident.operations.aggregate import fold
from trident.operations.aggregators.nested import Settling
from trident.operations.base import Fields
from trident.state.folding import merged_with
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn

LANGUAGE = (trident.Topology, Stream, GroupedStream, TridentState)


def words(*classes: type) -> set[str]:
    """Return every public name that a topology is built with."""
    named = {name for class_ in classes for name, _ in inspect.getmembers(class_) if not name.startswith("_")}
    return named | set(trident.__all__)


def test_h05_there_are_no_windows_yet():
    """Open. Storm counts a replayed batch twice in its windows and loses what they gave: neither 1 nor 2 is promised.

    Windows are not built: this fails as soon as they are, and is to be replaced by a replay of the row.
    """
    assert not [name for name in words(*LANGUAGE) if "window" in name.lower()]


def test_h07_two_states_of_one_stream_commit_in_one_turn():
    """What can be written ends: both states follow the same txids, none waits for the other's."""
    place = memory_place()
    job = make_job(Topic([[("ann", 1)] * 30]), place.state("balances"), place.state("totals"))
    assert run(job, place.ledger()).batches == 3
    assert place.rows("balances") == place.rows("totals") == {"ann": (30, 30)}


FIELDS = Fields(
    StructType(
        [
            StructField("float", FloatType()),
            StructField("double", DoubleType()),
            StructField("byte", ByteType()),
            StructField("long", LongType()),
            StructField("money", DecimalType(20, 2)),
            StructField("text", StringType()),
        ]
    )
)


@pytest.mark.parametrize("field", ["float", "double"])
def test_h17_a_sum_of_floats_is_refused_when_it_is_built(field: str) -> None:
    """Storm's Sum cuts a Float down to a long: 0.5 + 0.5 is 0 instead of 1."""
    with pytest.raises(ConfigurationError, match=r"cast it first, say to decimal\(38,2\)"):
        Sum(field).check("total", FIELDS)


@pytest.mark.parametrize("field", ["byte", "long", "money"])
def test_h17_exact_numbers_can_be_summed(field: str) -> None:
    Sum(field).check("total", FIELDS)


def test_h17_what_has_no_sum_or_is_not_there_is_refused_when_it_is_built():
    """Storm fails late, in the batch that first reads the field."""
    with pytest.raises(ConfigurationError, match="needs integers or decimals"):
        Sum("text").check("total", FIELDS)
    for aggregator in (Sum("nobody"), Min("nobody"), Max("nobody")):
        with pytest.raises(FieldError, match="nobody"):
            aggregator.check("total", FIELDS)


class Positive(Combiner[int]):
    """A combiner without an identity: it has no value of nothing, and none of what is not above zero."""

    result_type = "bigint"

    def init(self, *values: object) -> int | None:
        (value,) = values
        return value if isinstance(value, int) and value > 0 else None

    def combine(self, left: int, right: int) -> int:
        assert left > 0
        assert right > 0
        return left * right


def test_h17_a_combiner_needs_no_zero_and_no_value_of_nothing():
    """Storm starts from zero(), which must be an identity: a product is 0 instead of 6; an empty emitter crashes."""
    records = [[{"f0": 2}, {"f0": -1}, {"f0": 3}], [], [{"f0": None}], [{"f0": 0}]]
    lists = pa.array(records, pa.list_(pa.struct([("f0", pa.int64())])))
    given = cast("pa.ListArray[Any]", lists)
    assert fold(cast(Combiner[object], Positive("x")), given, Settling(pa.int64())) == [
        6,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize("merge", [Merge.ADD, Merge.LEAST, Merge.GREATEST])
def test_h17_a_missing_value_is_left_out_on_either_side(merge: Merge) -> None:
    """Storm's Min and Max emit a null of an empty partition, which crashes where it is read; Sum crashes on a null."""
    layout = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("v", pa.int64(), merge),))
    assert merged_with(layout, (None,))((7,)) == (7,)
    assert merged_with(layout, (7,))((None,)) == (7,)
    assert merged_with(layout, (None,))((None,)) == (None,)
    assert merged_with(layout, (None,))(None) == (None,)
