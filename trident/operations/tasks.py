"""How operations run: in how many tasks, with what resources, with how many records per call. Never what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pyarrow as pa
from pyspark.resource import ExecutorResourceRequests, ResourceProfile, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from trident.operations.accounting import Account
from trident.operations.base import BatchContext, Fields

_PROFILES: Final = 64
InArrow = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class InTasks:
    """Spreads records and control rows evenly over so many tasks; what they are, and their partitions, stay."""

    tasks: int

    verb = "parallelism"
    makes_groups = False
    account = Account.KEEPS
    runs_user_code = False

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def told(self) -> str:
        """Return the number."""
        return f"of {self.tasks} task{'s' if self.tasks > 1 else ''}"

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """Spark deals sorted rows round, so that a task that is run again gets the same ones."""
        return frame.repartition(self.tasks)


def in_python(
    frame: DataFrame, function: InArrow, schema: StructType, batch: BatchContext, *, by_group: bool = False
) -> DataFrame:
    """Return what a function of Arrow batches makes of a frame in Python tasks, as its stream needs them.

    `by_group` says that a row is a group of records, so that none is cut.
    """
    needs = batch.needs
    work = function if needs.records_per_call is None or by_group else Sliced(function, needs.records_per_call)
    if not needs.wants_profile:
        return frame.mapInArrow(work, schema)
    application = frame.sparkSession.conf.get("spark.app.id", "")
    return frame.mapInArrow(work, schema, profile=profile_of(needs.cpus, needs.memory, application or ""))


@lru_cache(maxsize=_PROFILES)
def profile_of(cpus: int | None, memory: str | None, application: str) -> ResourceProfile:
    """Return Spark's profile, one for all batches of an application: Spark keeps each that it is given."""
    builder = ResourceProfileBuilder()
    if cpus is not None:
        builder.require(TaskResourceRequests().cpus(cpus))
    if memory is not None:
        builder.require(ExecutorResourceRequests().pysparkMemory(memory))
    return builder.build


@dataclass(frozen=True, slots=True)
class Sliced:
    """Gives a function so many rows at once at most."""

    function: InArrow
    most: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run in a Python task."""
        return self.function(self._cut(batches))

    def _cut(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, max(batch.num_rows, 1), self.most):
                yield batch.slice(start, self.most)
