"""Whether a batch is read by the coordinator or by tasks, by how much work follows and who could share it."""

from __future__ import annotations

from typing import cast

import pytest
from pyspark.sql import SparkSession

from trident.base.ranges import Edge, OffsetRange, PartitionId
from trident.engine.reading import ONE_TASKS, Readers
from trident.spouts.base import ReadsSmallBatches, SmallBatch, Source

NO_SPARK = cast(SparkSession, None)


class Asked(ReadsSmallBatches):
    """A source that counts how often it is asked for a small batch."""

    def __init__(self) -> None:
        self.times = 0

    def read_small(self, spark: SparkSession, edges: object, *, in_order: bool) -> SmallBatch | None:
        self.times += 1
        return None


@pytest.mark.parametrize(
    ("width", "tasks", "parts", "runs_user_code", "is_asked"),
    [
        (ONE_TASKS, 8, 8, False, True),
        (ONE_TASKS, 8, 8, True, True),
        (ONE_TASKS + 1, 2, 8, False, True),
        (ONE_TASKS + 1, 2, 8, True, False),
        (ONE_TASKS + 1, 3, 8, False, False),
        (ONE_TASKS + 1, 8, 2, False, True),
        (ONE_TASKS + 1, 8, 1, True, True),
    ],
    ids=[
        "one task's",
        "one task's of a user",
        "two tasks",
        "two tasks of a user",
        "three tasks",
        "two partitions",
        "one partition of a user",
    ],
)
def test_what_more_tasks_could_share_is_not_one_tasks(
    width: int, tasks: int, parts: int, runs_user_code: bool, is_asked: bool
) -> None:
    source = Asked()
    readers = Readers(NO_SPARK, {"s": cast(Source, source)}, tasks)
    ranges = [OffsetRange(PartitionId("t", number), "id", 5, 5 + (number == 0) * width) for number in range(parts)]
    edges = [Edge(number, each) for number, each in enumerate(ranges)]
    assert readers.small("s", edges, in_order=False, runs_user_code=runs_user_code) is None
    assert source.times == is_asked
