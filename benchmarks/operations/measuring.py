"""Runs both forms of an operation on the same records, turn by turn, and compares what they return."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.operations.cases import SCHEMA, Case
from trident import Topology
from trident.base.control import CONTROL
from trident.base.order import ORDER
from trident.engine.lowering import from_source
from trident.graph.nodes import Node, RecordOperationNode, SourceNode, walk
from trident.operations.base import BatchContext
from trident.spouts import FixedBatchSpout

_ACCOUNTS = 10_000
_RANGES = 4
_CONTEXT = BatchContext(datetime(2026, 1, 1, tzinfo=UTC))
_DIGEST_MODULUS = 1_000_000_007


@dataclass(frozen=True, slots=True)
class Result:
    """What one case showed."""

    case: Case
    ours_s: float
    """Median of a run."""
    plain_s: float
    ratio: float
    """The median, over the rounds, of the plain one's time divided by ours of the same round."""
    exact: bool

    @property
    def is_reached(self) -> bool:
        """Whether ours has the wanted share of the plain one's rate."""
        return self.ratio >= self.case.goal


class Bench:
    """Payments in Spark's storage, as a source's frame is, and without what exactly-once adds."""

    def __init__(self, spark: SparkSession, records: int) -> None:
        # each task has the word of its range beside its records, as a reading job's frame has it
        numbers = spark.range(0, records + _RANGES, 1, _RANGES)
        is_word = F.col("id") % (records // _RANGES + 1) == 0
        payment = {
            "account": F.concat(F.lit("account-"), F.col("id") * 7919 % _ACCOUNTS),
            "amount": F.col("id") * 31 % 1009 - 100,
            "note": F.concat(F.lit("note "), F.col("id") % 97, F.lit(" of "), F.col("id") % 13),
        }
        parts = [F.when(~is_word, column).alias(name) for name, column in payment.items()]
        word = F.when(is_word, F.concat(F.lit("word "), F.col("id"))).alias(CONTROL)
        place = F.when(
            ~is_word, F.concat(F.lit("payments\0").cast("binary"), F.unhex(F.lpad(F.hex("id"), 24, "0")))
        ).alias(ORDER)
        self._source = numbers.select(*parts, word).persist()
        self._ordered = numbers.select(*parts, place, word).persist()
        self._plain = self._source.filter(F.col(CONTROL).isNull()).drop(CONTROL).persist()
        for frame in (self._plain, self._source, self._ordered):
            frame.count()
        topology = Topology("operations")
        self._stream = topology.stream("payments", FixedBatchSpout(SCHEMA, []))

    def measure(self, case: Case, rounds: int) -> Result:
        """Run both, once to warm up and once in each round."""
        # a topology is built and checked once; what a batch costs is that its graph is lowered, and run
        node = case.ours(self._stream)._node
        pairs = [self._pair(case, node, ours_first=bool(number % 2)) for number in range(rounds + 1)][1:]
        return Result(
            case,
            statistics.median(ours for ours, _ in pairs),
            statistics.median(plain for _, plain in pairs),
            statistics.median(plain / ours for ours, plain in pairs),
            self._is_exact(case, node),
        )

    def _pair(self, case: Case, node: Node, *, ours_first: bool) -> tuple[float, float]:
        if ours_first:
            return _seconds(lambda: self._ours(node)), _seconds(lambda: case.plain(self._plain))
        plain = _seconds(lambda: case.plain(self._plain))
        return _seconds(lambda: self._ours(node)), plain

    def _ours(self, node: Node) -> DataFrame:
        source = self._stream._node
        assert isinstance(source, SourceNode)
        records = self._ordered if _wants_order(node) else self._source
        return from_source(source, records, _CONTEXT).frame(node)

    def _is_exact(self, case: Case, node: Node) -> bool:
        ours = self._ours(node)
        records = ours.filter(F.col(CONTROL).isNull()).drop(CONTROL, ORDER)
        words = ours.filter(F.col(CONTROL).isNotNull()).count()
        return words == _RANGES and _digest(records) == _digest(case.plain(self._plain))


def _wants_order(node: Node) -> bool:
    """Tell whether a source would be read with its records' places, as some operation of the graph needs them."""
    return any(isinstance(each, RecordOperationNode) and each.operation.wants_order for each in walk(node))


def _seconds(form: Callable[[], DataFrame]) -> float:
    started = time.perf_counter()
    form().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def _digest(frame: DataFrame) -> Sequence[object]:
    """Return what tells two bags of rows apart: their number, and sums over hashes of whole rows."""
    hashed = frame.select(F.xxhash64(*(F.col(name) for name in frame.columns)).alias("hash"))
    (row,) = hashed.agg(F.count(F.lit(1)), F.sum(F.pmod("hash", F.lit(_DIGEST_MODULUS))), F.bit_xor("hash")).collect()
    return (*frame.columns, *row)
