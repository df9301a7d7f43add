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
from trident import Stream, Topology
from trident.base.control import CONTROL
from trident.engine.lowering import from_source
from trident.graph.nodes import SourceNode
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
        self._source = numbers.select(*parts, word).persist()
        self._plain = self._source.filter(F.col(CONTROL).isNull()).drop(CONTROL).persist()
        for frame in (self._plain, self._source):
            frame.count()
        topology = Topology("operations")
        self._stream = topology.stream("payments", FixedBatchSpout(SCHEMA, []))

    def measure(self, case: Case, rounds: int) -> Result:
        """Run both, once to warm up and once in each round."""
        pairs = [self._pair(case, ours_first=bool(number % 2)) for number in range(rounds + 1)][1:]
        return Result(
            case,
            statistics.median(ours for ours, _ in pairs),
            statistics.median(plain for _, plain in pairs),
            statistics.median(plain / ours for ours, plain in pairs),
            self._is_exact(case),
        )

    def _pair(self, case: Case, *, ours_first: bool) -> tuple[float, float]:
        if ours_first:
            return _seconds(lambda: self._ours(case)), _seconds(lambda: case.plain(self._plain))
        plain = _seconds(lambda: case.plain(self._plain))
        return _seconds(lambda: self._ours(case)), plain

    def _ours(self, case: Case) -> DataFrame:
        stream: Stream = case.ours(self._stream)
        source = self._stream._node
        assert isinstance(source, SourceNode)
        return from_source(source, self._source, _CONTEXT).frame(stream._node)

    def _is_exact(self, case: Case) -> bool:
        ours = self._ours(case)
        records = ours.filter(F.col(CONTROL).isNull()).drop(CONTROL)
        words = ours.filter(F.col(CONTROL).isNotNull()).count()
        return words == _RANGES and _digest(records) == _digest(case.plain(self._plain))


def _seconds(form: Callable[[], DataFrame]) -> float:
    started = time.perf_counter()
    form().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def _digest(frame: DataFrame) -> Sequence[object]:
    """Return what tells two bags of rows apart: their number, and sums over hashes of whole rows."""
    hashed = frame.select(F.xxhash64(*(F.col(name) for name in frame.columns)).alias("hash"))
    (row,) = hashed.agg(F.count(F.lit(1)), F.sum(F.pmod("hash", F.lit(_DIGEST_MODULUS))), F.bit_xor("hash")).collect()
    return (*frame.columns, *row)
