"""A small batch, read in the coordinator's own process: starting a task of Python's costs more than its records."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from confluent_kafka import KafkaException, Message
from pyspark.sql import SparkSession

from trident.base.control import CONTROL, Undecoded, decode
from trident.base.errors import RetryableError
from trident.base.ranges import Edge
from trident.base.user_code import type_and_place
from trident.spouts.base import SmallBatch
from trident.spouts.decoders.base import RunsHere, TaskDecoder
from trident.spouts.kafka.consumers import close_kept
from trident.spouts.kafka.hiding import ConsumerOptions
from trident.spouts.kafka.readers.arrow_task import ReadRanges
from trident.spouts.wanted import require_wanted

MOST_RECORDS: Final = 50_000
"""More keeps the driver's interpreter from all else for a tenth of a second, and tasks are as quick."""
MOST_BYTES: Final = 2 << 20
"""What lies beyond is better not sent to a task by way of the driver: each end of a batch has its own copy."""
BYTES_UNWARNED: Final = 960 << 10
"""So much where Spark would warn, of each batch, of a task that it is sent with."""
_WARNS: Final = "org.apache.spark.scheduler.TaskSetManager"
_FETCHED: Final = 4
"""So many times what it may be once it is decoded: names and marks of JSON are fetched and not kept."""
_OF_A_READ: Final = (KafkaException, pa.ArrowException, ArithmeticError, OSError, SystemError, TypeError, ValueError)
"""What client and decoder may raise; in a task it would fail that task, and the attempt, without a word of a record."""
_LARGE_BATCHES: Final = 50
"""After a batch of records that were large so many are left to tasks at once, of those that are not much smaller."""


@dataclass(slots=True)
class SmallReads:
    """Reads the small batches of one source here; called from several threads at once.

    What is read is what tasks would return, words and all: whoever acknowledges it finds no difference.
    """

    most_bytes: int = MOST_BYTES
    _too_many: int = 0
    """From so many positions on a batch is left to tasks, as long as any are."""
    _left_to_tasks: int = 0
    _options: ConsumerOptions | None = None
    _is_closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, task: ReadRanges, edges: Sequence[Edge], most_records: int) -> SmallBatch | None:
        """Return what the ranges hold; None where tasks are to read them."""
        width = sum(edge.range.width for edge in edges)
        if not 0 < width <= most_records or not runs_here(task.decoder) or not self._takes_turn(width):
            return None
        rows = read_here(task, edges, self.most_bytes)
        with self._lock:
            self._options = task.options
            is_closed = self._is_closed
        if is_closed:
            self.close()
        require_wanted()
        if rows is None:
            with self._lock:
                # by how much it did not fit nobody knows: half as many are worth a look
                self._too_many, self._left_to_tasks = (width + 1) // 2, _LARGE_BATCHES
            return None
        return SmallBatch(rows, task.decoder.task_schema)

    def close(self) -> None:
        """Close the consumers that were kept; those of reads that are under way once these have ended."""
        with self._lock:
            self._is_closed = True
            options = self._options
        if options is not None:
            close_kept(options.whole())

    def _takes_turn(self, width: int) -> bool:
        """Whether it is not one of those that are left to tasks; counts these down, so it is asked last."""
        with self._lock:
            is_left = self._left_to_tasks > 0 and width >= self._too_many
            self._left_to_tasks -= is_left
        return not is_left


def most_bytes_of(spark: SparkSession) -> int:
    """Return how much may go to Spark from here without a warning in its log that nobody can do anything about."""
    # a session of Spark Connect says nothing of its server's log
    jvm = getattr(spark, "_jvm", None)
    if jvm is None or jvm.org.slf4j.LoggerFactory.getLogger(_WARNS).isWarnEnabled():
        return BYTES_UNWARNED
    return MOST_BYTES


def runs_here(decoder: TaskDecoder) -> bool:
    """Whether a decoder says that it may run in the coordinator's process."""
    return isinstance(decoder, RunsHere) and decoder.runs_here


def read_here(task: ReadRanges, edges: Sequence[Edge], most_bytes: int) -> pa.RecordBatch | None:
    """Return all rows and words of the ranges; None, with nothing kept, where they are larger.

    It ends at the first record that the quick way can't decode: with that word all has to be read again.
    """
    batches: list[pa.RecordBatch] = []
    size = 0
    try:
        for batch in task.read(edges, _Fetched(_FETCHED * most_bytes)):
            batches.append(batch)
            size += batch.nbytes
            if size > most_bytes:
                return None
            if _is_undecoded(batch):
                break
        table = pa.Table.from_batches(batches)
        return pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], schema=table.schema)
    except _TooMuchError:
        return None
    except _OF_A_READ as error:
        raise RetryableError(f"reading raised {_told(error)}; nothing of the batch was applied") from None


class _TooMuchError(Exception):
    """Ends a read of which more is fetched than should pass through here."""


class _Fetched:
    """Counts what was fetched, whatever is decoded of it."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def __call__(self, messages: Sequence[Message]) -> None:
        """Take what one fetch has brought; raises RetryableError once nobody wants it."""
        require_wanted()
        self._left -= sum(map(_size, messages))
        if self._left < 0:
            raise _TooMuchError


def _size(message: Message) -> int:
    # headers can be asked for once, which is the decoder's to do
    return 0 if message.error() is not None else len(message.value() or b"") + len(message.key() or b"")


def _is_undecoded(batch: pa.RecordBatch) -> bool:
    words = batch.column(CONTROL).drop_null().to_pylist()
    return any(isinstance(decode(str(word)), Undecoded) for word in words)


def _told(error: Exception) -> str:
    """Return what was raised: a text may quote a record or a login."""
    if isinstance(error, KafkaException):
        return f"{type(error).__name__} ({error.args[0].name()})"
    return type_and_place(error)
