"""At most once: how often a user's function with effects of its own sees each record, without a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from trident import Count, Level, MemoryLedger, Topology
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState


def noting(path: Path) -> Callable[[pa.RecordBatch], None]:
    path.touch()

    def note(batch: pa.RecordBatch) -> None:
        with path.open("a") as file:
            file.write("".join(f"{number}\n" for number in batch.column("amount").to_pylist()))

    return note


@pytest.mark.parametrize("records", [40, 20_000], ids=["small batches", "large ones"])
def test_a_function_is_called_once_wherever_it_stands(spark, tmp_path, records):
    before, behind = tmp_path / "before", tmp_path / "behind"
    topology = Topology("effects", level=Level.AT_MOST_ONCE)
    rows = [(f"a{number % 5}", number) for number in range(records)]
    stream = topology.stream("s", FixedBatchSpout("account string, amount bigint", rows, max_records_per_batch=10_000))
    first = stream.peek(noting(before))
    first.group_by("account").persistent_aggregate(MemoryState("x"), n=Count())
    second = first.filter(F.col("amount") >= 0).peek(noting(behind))
    second.group_by("account").persistent_aggregate(MemoryState("y"), n=Count())
    second.persistent_aggregate(MemoryState("z"), n=Count())
    assert topology.run(spark, ledger=MemoryLedger(), until="caught_up").lost == 0
    assert Counter(before.read_text().split()) == {str(number): 1 for number in range(records)}
    assert Counter(behind.read_text().split()) == {str(number): 1 for number in range(records)}
