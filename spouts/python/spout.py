"""What a user subclasses: says which positions there are, and yields the rows of a range of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from trident.base.checks import check_limit
from trident.base.policies import policy_of
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind
from trident.spouts.python.source import PythonSource

Row = Mapping[str, object] | Sequence[object]


class PythonSpout(ABC):
    """Base of a spout in plain Python, partitioned or not (then it has one partition, 0).

    A partition is a log: its records stand at positions that only grow, and a position never gets another record. The
    library plans ranges of positions, writes them down before they are read, replays them, and accounts for every one;
    it holds a read to its range. `kind` says what a txid that is tried again reads: the same range (transactional), or
    what is there by then (opaque). Both need a source that can be read again: nothing else is exactly once.

    The object is made once on the driver and pickled to tasks: `bounds` runs on the driver, `read` in a task, and may
    run twice at once. It is slower than Kafka's readers: each row is a Python object.
    """

    schema: ClassVar[str]
    """The fields of a row, as Spark DDL; a subclass must set it."""
    kind: SpoutKind = SpoutKind.TRANSACTIONAL
    max_records_per_batch: int | None = None
    has_moments: ClassVar[bool] = False
    """Positions have no time: nothing can start at a moment."""

    @abstractmethod
    def bounds(self) -> Mapping[int, tuple[int, int]]:
        """Return for each partition, by its number, the first position that can be read and the one behind the last.

        Integers only. Asked before each plan. A partition that is found later begins at its first position. One that is
        missing for a while keeps where it stood. What it raises ends the run before anything is planned; what may pass
        by itself is to be raised as `RetryableError`.
        """

    @abstractmethod
    def read(self, partition: int, start: int, stop: int) -> Iterable[Row | None]:
        """Yield the rows of the positions from `start` up to and without `stop`, in order, one for each.

        None stands for a position without a record. Fewer rows fail the attempt, which is tried again, so that nothing
        is skipped; more are an error. What it raises fails the attempt.
        """

    def identity(self) -> Mapping[str, str]:
        """Return what must stay the same over restarts, such as a path; kept in the ledger, so no secrets."""
        return {}

    @property
    def limits(self) -> Limits:
        """How much of it one batch may take."""
        check_limit("max_records_per_batch", self.max_records_per_batch)
        return Limits(max_records=self.max_records_per_batch)

    @property
    def on_lost_offsets(self) -> LostOffsets:
        """Stop: what is gone was never counted."""
        return LostOffsets.STOP

    @property
    def on_bad_record(self) -> BadRecord:
        """Fail: a row that does not fit the schema is a mistake of the spout."""
        return BadRecord.FAIL

    def description(self) -> dict[str, str]:
        """Return what the ledger holds a restart to."""
        kind = policy_of(SpoutKind, self.kind, "kind")
        return {"spout": type(self).__qualname__, **self.identity(), "kind": kind.value}

    def open(self, name: str) -> PythonSource:
        """Return the source over it."""
        return PythonSource(name, self)
