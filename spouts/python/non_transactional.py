"""What a user subclasses for a source that can't be read again: returns the next rows, and hears what is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from trident.base.checks import check_count
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind
from trident.spouts.python.received import Row
from trident.spouts.python.receiving import ReceivingSource


class NonTransactionalSpout(ABC):
    """Base of a spout over what can't be read again, such as a socket, a sensor or a queue; partitioned or not.

    Each row is received once and kept in the coordinator's process until its batch is done. A batch that fails before
    it is pinned is tried again with the same rows, and is applied once, whatever kind its states are. What is not
    promised is exactly once from end to end. When the process ends, rows that it has received and not finished are
    lost (at most once), unless the source gives again what it was not told of by `done` (at least once). What was
    planned of them is recorded as a loss by the next start; what is pinned is finished from what was staged.

    The object stays on the driver and is never pickled, and one thread at a time calls it, so it may hold a connection.
    """

    schema: ClassVar[str]
    """The fields of a row, as Spark DDL; a subclass must set it."""
    max_records_per_batch: int = 10_000
    """How many rows are asked for one batch; several batches may be held in memory (`max_pending`)."""
    on_lost_offsets: LostOffsets = LostOffsets.RESUME_AT_EARLIEST
    """What a start does about rows that died with the process before it: record them and go on, or stop."""
    lives_in_process: ClassVar[bool] = True
    has_moments: ClassVar[bool] = False
    """Nothing can start at a moment."""

    @abstractmethod
    def receive(self, partition: int, most: int) -> Iterable[Row]:
        """Return the rows that have come of a partition, soon: none when there are none; on the driver.

        `most` is how many the next batch has room for. If there are more, it is larger by them. A row that was handed
        over must not be changed any more. What this raises ends the run; what may pass by itself is to be raised as
        `RetryableError`. Rows that it yielded before it raised were received.
        """

    def partitions(self) -> Iterable[int]:
        """Return the partitions' numbers: each has an order of its own. A source that has none is the partition 0."""
        return (0,)

    def done(self, partition: int, rows: Sequence[Row]) -> None:  # noqa: B027 - who can't acknowledge says nothing
        """Hear which rows are in every state and sink (of a sink with an outbox: there), to acknowledge them.

        They are the very objects that `receive` gave, in that order. Called before the next `receive` and when the run
        ends. What it raises ends the run, and of a `RetryableError` they are told again, at the run's end some times;
        if it can't be told then, that is logged. A process that dies before tells nobody.
        """

    def close(self) -> None:  # noqa: B027 - who holds nothing has nothing to give back
        """Hear that a run that has received something ends: what was received and not done is forgotten now.

        Give back to the source what it may give again; `receive` may be called again by a later run.
        """

    def identity(self) -> Mapping[str, str]:
        """Return what must stay the same over restarts, such as a queue's name; kept in the ledger, so no secrets."""
        return {}

    @property
    def kind(self) -> SpoutKind:
        """Opaque: each row succeeds in one txid at most, and a txid that is tried again may have more of them."""
        return SpoutKind.OPAQUE

    @property
    def limits(self) -> Limits:
        """How much of it one batch may take."""
        return Limits(max_records=check_count("max_records_per_batch", self.max_records_per_batch))

    @property
    def on_bad_record(self) -> BadRecord:
        """Fail: a row that does not fit the schema is a mistake of the spout."""
        return BadRecord.FAIL

    def description(self) -> dict[str, str]:
        """Return what the ledger holds a restart to."""
        return {"spout": type(self).__qualname__, **self.identity()}

    def open(self, name: str) -> ReceivingSource:
        """Return the source over it."""
        check_count("max_records_per_batch", self.max_records_per_batch)
        return ReceivingSource(name, self)
