"""What a decoder is: a description for the user, a compiled form that tasks run, and a last step in the JVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

Headers = Sequence[tuple[str, bytes | None]] | None
"""A record's headers in order; None when it has none."""
NO_TIMESTAMP: Final = -1
"""Kafka's own number for a record that has none."""


@dataclass(frozen=True, slots=True)
class UnreadableHeaders:
    """Headers that a reader's client can't give out, and why: a decoder that wants them makes a bad record of it."""

    reason: str


class RawRecords(Protocol):
    """Some consecutive records of one partition, as a reading task holds them."""

    @property
    def edge(self) -> int:
        """The id of the edge that they are read under."""

    @property
    def topic(self) -> str:
        """The topic of all of them."""

    @property
    def partition(self) -> int:
        """The partition of all of them."""

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Ascending, with holes."""

    @property
    def timestamps(self) -> npt.NDArray[np.int64]:
        """Milliseconds since the epoch, `NO_TIMESTAMP` for a record without one; any number that a producer wrote."""

    @property
    def values(self) -> Sequence[bytes | None]:
        """One value per offset."""

    def keys(self, rows: Sequence[int]) -> list[bytes | None]:
        """Return the keys of the given rows."""

    def headers(self, rows: Sequence[int]) -> Sequence[Headers | UnreadableHeaders]:
        """Return the headers of the given rows; may be asked once of each."""


class TaskDecoder(Protocol):
    """A decoder bound to a Spark session's types; can be pickled, runs in any number of tasks at once."""

    @property
    def schema(self) -> StructType:
        """The fields of a decoded record."""

    @property
    def task_schema(self) -> StructType:
        """The fields that a reading task yields, the control column included; `finish` makes them into `schema`."""

    @property
    def wants_headers(self) -> bool:
        """Whether `decode` asks for headers; a reader need not fetch them otherwise."""

    def decode(self, records: RawRecords) -> Iterator[pa.RecordBatch]:
        """Return batches in `task_schema` that hold each of the records exactly once; never raises for bad ones."""

    def quick(self) -> TaskDecoder:
        """Return a form that needs nothing of `finish`: of records that it can't decode it says `Undecoded`.

        Of all others it makes exactly what this one does. It is this one where nothing is ever left to the JVM.
        """

    def finish(self, frame: DataFrame) -> DataFrame:
        """Add what the JVM does to a task's frame: the result has `schema` and the control column."""


@runtime_checkable
class KnowsRecords(Protocol):
    """A `TaskDecoder` that can say which record a row is of; needed only where rows leave a topology one by one."""

    def ordered(self) -> TaskDecoder:
        """Return a form with one more column, `ORDER` (`base.order`), in `task_schema` and in what `finish` returns."""


@runtime_checkable
class RunsHere(Protocol):
    """A `TaskDecoder` that small batches may be decoded with in the coordinator's process, in several threads at once.

    One that does not say so, as a user's own, only ever runs in tasks. No batch that was decoded here passes through
    `finish`: one that needs it must not say so.
    """

    @property
    def runs_here(self) -> bool:
        """Whether this one does."""


class Decoder(Protocol):
    """How a record's bytes become fields: an immutable description that a spout is built with."""

    def describe(self) -> str:
        """Return what must stay the same over restarts."""

    def compile(self, spark: SparkSession) -> TaskDecoder:
        """Resolve the types; raises `ConfigurationError` when the description is not valid."""
