"""Who stages a batch's updates: the driver, which holds them, or the tasks, which write them to the database."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType

from trident.base.audit import Accounts, AuditWord
from trident.base.control import CONTROL, encode
from trident.base.errors import FatalError
from trident.base.secrets import Secret
from trident.engine.measuring import accounts_of
from trident.operations.arrow import split
from trident.spouts.handing_out import learn
from trident.state.staged import StagingWriter

DEFAULT_THRESHOLD = 64 * 1024 * 1024
WORDS_ONLY = StructType([StructField(CONTROL, StringType())])
"""The schema of a job whose rows were staged by its tasks: nothing comes back but words."""

_VARIABLE_WIDTH = 32


class Staging(StrEnum):
    """How staged updates reach a state."""

    AUTO = "auto"
    """Through the driver up to a size, by executors above it."""
    DRIVER = "driver"
    """The driver holds them; its memory is the limit."""
    EXECUTORS = "executors"
    """Tasks write them to the state's database; refused for states that can't be written to from there."""


@dataclass(frozen=True, slots=True)
class _Seen:
    width: int
    rows: int
    bytes_per_row: float


class StagingChoice:
    """Expects the size of one state's next updates from its last ones; may be called from any thread."""

    def __init__(self, mode: Staging, threshold: int, schema: pa.Schema) -> None:
        self._mode = mode
        self._threshold = threshold
        self._lock = threading.Lock()
        self._last = _Seen(width=1, rows=1, bytes_per_row=float(sum(map(_width, schema.types))))

    def by_executors(self, width: int) -> bool:
        """Whether tasks should stage a batch of so many positions."""
        if self._mode is not Staging.AUTO:
            return self._mode is Staging.EXECUTORS
        return self.expected_bytes(width) > self._threshold

    def expected_bytes(self, width: int) -> float:
        """Return the expected size: as many keys per position as last time, at first one each."""
        with self._lock:
            last = self._last
        return min(width, last.rows * max(1.0, width / last.width)) * last.bytes_per_row

    def learn(self, width: int, rows: int, size: int | None) -> None:
        """Remember what came of a batch; `size` is None where the rows themselves were not seen."""
        with self._lock:
            each = size / rows if size is not None and rows else self._last.bytes_per_row
            self._last = _Seen(max(1, width), rows, each)


def _width(type_: pa.DataType) -> int:
    try:
        return max(1, type_.bit_width // 8)
    except ValueError:
        return _VARIABLE_WIDTH


@dataclass(frozen=True, slots=True)
class StageRows:
    """Runs in a Python task as a job's last step: stages the rows, returns the words of all that it staged or got."""

    writer: StagingWriter
    layout: pa.Schema
    secrets: tuple[Secret, ...] = ()
    """What the writer needs to know in a task."""
    audited_as: str | None = None
    """The step under which it says what it has given to the writer, while the topology is audited."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        learn(self.secrets)
        words: list[str] = []
        staged: list[Accounts] = []
        rows = self._rows(batches, words, staged)
        first = next(rows, None)
        if first is not None:
            words.extend(self.writer(itertools.chain([first], rows)))
            if next(rows, None) is not None:
                raise FatalError("a state's writer left rows unread; nothing of the batch was applied")
        if self.audited_as is not None and staged:
            words.append(encode(AuditWord(self.audited_as, reduce(Accounts.__add__, staged))))
        if words:
            yield pa.RecordBatch.from_arrays([pa.array(words, pa.string())], names=[CONTROL])

    def _rows(
        self, batches: Iterable[pa.RecordBatch], words: list[str], staged: list[Accounts]
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows, control = split(batch)
            if control is not None:
                words.extend(str(word) for word in control.column(CONTROL).to_pylist())
            if rows.num_rows:
                if self.audited_as is not None:
                    staged.append(accounts_of(rows))
                yield rows.select(self.layout.names).cast(self.layout)
