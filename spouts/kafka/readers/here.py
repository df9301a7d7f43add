"""A small batch, read in the coordinator's own process: starting a task of Python's costs more than its records."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from confluent_kafka import KafkaException, Message

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

MOST_RECORDS: Final = 20_000
"""More would keep the driver, and the lock of its interpreter, from all else for tens of milliseconds."""
_MOST_FETCHED: Final = 4 << 20
MOST_BYTES: Final = 900 << 10
"""More than that goes from tasks: a task that is sent with a megabyte is a warning of Spark's."""
_OF_A_READ: Final = (KafkaException, pa.ArrowException, ArithmeticError, OSError, SystemError, TypeError, ValueError)
"""What client and decoder may raise; in a task it would fail that task, and the attempt, without a word of a record."""
_LARGE_BATCHES: Final = 50
"""After a batch of few records that were large so many are left to tasks at once."""


@dataclass(slots=True)
class SmallReads:
    """Reads the small batches of one source here; called from several threads at once.

    What is read is what tasks would return, words and all: whoever acknowledges it finds no difference.
    """

    most_bytes: int = MOST_BYTES
    _left_to_tasks: int = 0
    _options: ConsumerOptions | None = None
    _is_closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, task: ReadRanges, edges: Sequence[Edge], most_records: int) -> SmallBatch | None:
        """Return what the ranges hold; None where tasks are to read them."""
        width = sum(edge.range.width for edge in edges)
        if not 0 < width <= most_records or not runs_here(task.decoder) or not self._takes_turn():
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
                self._left_to_tasks = _LARGE_BATCHES
            return None
        return SmallBatch(rows, task.decoder.task_schema)

    def close(self) -> None:
        """Close the consumers that were kept; those of reads that are under way once these have ended."""
        with self._lock:
            self._is_closed = True
            options = self._options
        if options is not None:
            close_kept(options.whole())

    def _takes_turn(self) -> bool:
        """Whether it is not one of those that are left to tasks; counts these down, so it is asked last."""
        with self._lock:
            left, self._left_to_tasks = self._left_to_tasks, max(0, self._left_to_tasks - 1)
        return not left


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
        for batch in task.read(edges, _Fetched(_MOST_FETCHED)):
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
        self._left -= sum(len(message.value() or b"") for message in messages if message.error() is None)
        if self._left < 0:
            raise _TooMuchError


def _is_undecoded(batch: pa.RecordBatch) -> bool:
    words = batch.column(CONTROL).drop_null().to_pylist()
    return any(isinstance(decode(str(word)), Undecoded) for word in words)


def _told(error: Exception) -> str:
    """Return what was raised: a text may quote a record or a login."""
    if isinstance(error, KafkaException):
        return f"{type(error).__name__} ({error.args[0].name()})"
    return type_and_place(error)
