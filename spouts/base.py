"""What a spout is: a set of partitioned logs with positions, and a way to read ranges of them.

Positions are offsets; a range is half-open, `[start, stop)`, so an empty one is `start == stop` and never names a
record. The coordinator plans ranges from `Source.bounds()` and stores them before anything is read; `Source.read()`
only ever reads what was planned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.failure import Failure
from trident.base.logs import LogCut
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.offsets import StartOffsets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class SpoutKind(StrEnum):
    """What a new attempt at a txid may read."""

    TRANSACTIONAL = "transactional"
    """A txid always holds the same records."""
    OPAQUE = "opaque"
    """Each record succeeds in exactly one txid, but an attempt may hold others than the one before."""


class LostOffsets(StrEnum):
    """What to do when planned or wanted offsets are gone from the source (retention)."""

    STOP = "stop"
    """Stop the topology; nothing is skipped."""
    RESUME_AT_EARLIEST = "resume_at_earliest"
    """Record the lost range in the transaction of the plan that skips it (opaque spouts only)."""


class BadRecord(StrEnum):
    """What to do with a record that does not decode."""

    FAIL = "fail"
    """Stop the topology with topic, partition and offset; nothing of the batch is applied."""
    DEAD_LETTER = "dead_letter"
    """Keep the record in the ledger's dead letters, pinned with its batch, and count it."""


class StartAt(StrEnum):
    """Where a new incarnation starts to read."""

    EARLIEST = "earliest"
    LATEST = "latest"


Start = StartAt | datetime | StartOffsets
"""A start policy; a datetime means the first record at or after it, to the microsecond; all of them up to 1970."""


class OffsetsLostError(RetryableError):
    """The beginning of planned ranges is gone from the source; nothing of them was applied.

    Retryable because the coordinator plans again: it stops there, or records the loss, as the
    spout's `on_lost_offsets` says. `ranges` are the planned ranges that can't be read any more.
    """

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(ranges)
        self.ranges = ranges

    def __str__(self) -> str:
        listed = ", ".join(f"{r.id.topic}[{r.id.partition}] {r.start}..{r.stop}" for r in self.ranges)
        return f"the source no longer holds the beginning of what was planned: {listed}; nothing of it was applied"


class TopicsMissingError(ConfigurationError):
    """A spout's topics are not where they are looked for; whether they ever were only the coordinator knows."""

    def __init__(self, topics: tuple[str, ...], server: str) -> None:
        super().__init__(topics, server)
        self.topics = topics
        self.server = server

    def __str__(self) -> str:
        return f"no topic {', '.join(map(repr, self.topics))} at {self.server}; create it, or correct the name"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a spout one batch may take, shared over its partitions; None means no limit.

    A limit below the number of partitions that have something is shared out over several batches. The byte limit is
    planned from the average record size of the batches before, so a batch can overshoot it by what its records deviate
    from that average. Since a start knows no average, its first batch takes one record per MiB of the limit (at least
    one), and no batch more than four times the offsets that were read since then.
    """

    max_records: int | None = None
    max_bytes: int | None = None
    max_records_per_partition: int | None = None
    """Of each partition by itself, beside what they share: a hot one then takes no batch for itself."""


class Source(Protocol):
    """An opened spout in the coordinator's process; called from one thread at a time unless said otherwise.

    Every method raises `RetryableError` when the source can't be reached now, `FatalError`
    when a person has to decide, and of these `TopicsMissingError` for topics that are not there.
    """

    def schema(self, spark: SparkSession) -> StructType:
        """Return the fields of a decoded record (without the control column)."""

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Return what every partition holds now, at the isolation level of the read."""

    def ends(self, ids: Sequence[PartitionId]) -> Mapping[PartitionId, int]:
        """Return where the logs of these partitions end, with what a read may not have yet (open transactions)."""

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Resolve a start policy (None: the spout's own) to numbers: `earliest` is the position to start at."""

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return a frame: the decoded rows of the ranges and their control rows.

        What it holds is read when it is run. Run again, it holds the same records.

        A `quick` read may answer with an `Undecoded` word instead of decoding a record; then its rows are
        not all there, and the caller throws them away and reads the ranges again without `quick`.

        The frame has the fields of `schema()` and the control column (`base.control`): null for
        a record, an encoded `RangeManifest` (one per range, also for a range without rows) or
        `BadRecordWord` otherwise. `tasks` is how many Spark tasks to spread the ranges over.
        May be called from several threads, once per attempt.
        """

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Check after a read that log starts, topic ids and the logs up to the stops still are those of the plan.

        Raises `OffsetsLostError` for a range whose beginning is gone, `RetryableError` for a log that was cut
        below a stop, `FatalError` for a topic that was created anew. May be called from several threads.
        """

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return the logs that do not hold any more what they held up to the stops of these ranges.

        A range is what was read or planned, with the epoch in which its log held it.
        """

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Hear that a txid is done; may be called again for the same txid after a restart."""

    def close(self) -> None:
        """Let go of connections; may be called again."""


@runtime_checkable
class FollowsPositions(Protocol):
    """A source that has to know where it is read from before it can say what there is."""

    def follow(self, positions: Mapping[PartitionId, OffsetRange]) -> None:
        """Hear, before `Source.bounds`, of every partition ever seen the range at whose stop it is read on."""


@runtime_checkable
class FollowsBatchTime(Protocol):
    """A source whose records come of the time alone: what there is follows from the time of the batch."""

    def come_to(self, batch_time: datetime) -> None:
        """Hear, before `Source.bounds`, the time of the batch that is planned; it never goes back in a topology."""


@runtime_checkable
class ProvesPositions(Protocol):
    """A source whose logs have no leader epochs, and which makes for each position what later proves it."""

    def proof(self, id_: PartitionId, position: int) -> int | None:
        """Return what stands as the epoch of a range that stops there, until `Source.recognize` compares it.

        None where nothing is to be proven.
        """


@runtime_checkable
class MovesStops(Protocol):
    """A source with positions that a plan should not end at, wherever its limit would."""

    def moved(self, id_: PartitionId, stop: int) -> int:
        """Return where a new plan ends instead: there or behind, and not behind the log's end."""


@runtime_checkable
class Receives(Protocol):
    """A source that has to be asked for what will be planned: it keeps it in this process."""

    def receive(self, positions: Mapping[PartitionId, int]) -> None:
        """Take in what has come, before `Source.bounds` and only for a plan that will read it.

        `positions` are, for every partition ever seen, where the plan before stops.
        """


@runtime_checkable
class NamesMessages(Receives, Protocol):
    """A source whose messages have ids, and are given again by whoever gave them until they are acked.

    A message is known by its id, never by its position, which may get another one in a later process if it is not done.
    """

    @property
    def horizon(self) -> int:
        """How many ids of done messages it remembers."""

    @property
    def given_again(self) -> int:
        """How many messages came again although they were done: acked, and without effect."""

    def belong_to(self, line: str, birth: int) -> None:
        """Hear, before `begin_from`, to which line of epochs the run belongs, and after which txid positions began."""

    def begin_from(
        self, positions: Mapping[PartitionId, int], done: Mapping[str, str], pinned: Mapping[str, str]
    ) -> None:
        """Hear, once and before the first `receive`, where all that is done stops, and which messages it was.

        `pinned` are those of the txid behind it: they will be done, and are not read again. Each id has its digest.
        """

    def set_active(self, active: bool) -> None:
        """Hear whether messages are wanted, once begun; any number of times, from any thread."""

    @property
    def is_caught_up(self) -> bool:
        """Whether it knows that its queue had nothing more when it was last asked; else something may be on its way."""

    def fills_a_batch(self, positions: Mapping[PartitionId, int]) -> bool:
        """Return whether `receive` would have a full batch behind these positions; receives nothing."""

    def ids(self, range_: OffsetRange) -> tuple[str, ...]:
        """Return the ids of the messages of a range that is about to be planned."""

    def digests(self, range_: OffsetRange) -> tuple[str, ...]:
        """Return, in the same order, what tells each from another message with its id; empty where nothing does."""

    def planned(self, range_: OffsetRange) -> None:
        """Hear that a plan with this range is stored: one that begins there again has taken its place."""


@runtime_checkable
class TakesMessagesBack(NamesMessages, Protocol):
    """A source of messages, each of which can be given back by itself."""

    def give_back(self, positions: Mapping[PartitionId, int]) -> None:
        """Give back what was failed, as `receive` does before it takes in more: to be called where nothing more is."""

    def fail_messages(self, reasons: Mapping[str, Failure]) -> None:
        """Hear of messages that can't be in their batch, by their ids, and why; of none for those of another stream.

        They go back to where they came from when the batch is planned again: without them, and with nothing that it
        had not. To be called before that, from any thread; an id that is not held any more is nobody's.
        """


@runtime_checkable
class ReceivesRows(Receives, Protocol):
    """A source whose rows can't be read again: it keeps them in this process, at positions of its own, until done.

    A position that was planned once never gets another row, in this process or a later one; what another process had
    received and not finished is where no plan reads any more, and is recorded as lost.
    """

    def begin(self, used: Mapping[PartitionId, int]) -> None:
        """Hear, once and before the first `receive`, up to where positions were ever planned: rows go behind them."""


@runtime_checkable
class HoldsForLater(Protocol):
    """Has what it hands out in memory until it is done; at level at_most_once it is done before it is read."""

    def hold(self, ranges: Sequence[OffsetRange]) -> None:
        """Keep what stands in these ranges readable, also once they are done, until it is let go of."""

    def let_go(self, ranges: Sequence[OffsetRange]) -> None:
        """Forget what was held of these ranges; any thread."""


@runtime_checkable
class NamesPlaces(Protocol):
    """A source whose users know its records by other places than topic, partition and offset."""

    @property
    def way_to_mend(self) -> str:
        """Say what a person may do about a record that does not decode, as the beginning of a sentence."""

    def places_of(self, id_: PartitionId, positions: Sequence[int]) -> list[str]:
        """Return how people name records of one partition, such as by lines of files; never raises for what was read.

        The positions ascend, and may be many: each place is not looked for by itself.
        """


@runtime_checkable
class ReportsPositions(Protocol):
    """A source that lets others see how far a topology is; nothing is ever read back from there."""

    def report(self, topology: str, ranges: Sequence[OffsetRange]) -> None:
        """Hear up to where all is done; returns at once and never raises."""


@runtime_checkable
class KeepsRecords(Protocol):
    """A source whose records stay where they are once they are done, so that a person can have them read again."""

    def why_gone(self, ranges: Sequence[OffsetRange]) -> str | None:
        """Return why not all that these ranges held can be read again as it was, None where it can; changes nothing.

        To be told apart from what was never there, a log must not leave out records on its own.
        """


@runtime_checkable
class KnowsOrder(Protocol):
    """A source that can say which record a row is of; needed only where rows leave a topology one by one."""

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the frame of `Source.read` with one more column, `ORDER` (`base.order`)."""


@dataclass(frozen=True, slots=True)
class SmallBatch:
    """A small batch as it was read: all rows and words that the frame of `Source.read` would have."""

    rows: pa.RecordBatch
    schema: StructType
    """The fields, `ORDER` where that was asked for, and the control column."""

    @property
    def words(self) -> pa.StringArray:
        """The control column."""
        return cast("pa.StringArray", self.rows.column(CONTROL))


@runtime_checkable
class ReadsSmallBatches(Protocol):
    """A source that may read small batches in the coordinator's process, without a task."""

    def read_small(self, spark: SparkSession, edges: Sequence[Edge], *, in_order: bool) -> SmallBatch | None:
        """Return what a quick `read`, or `read_in_order`, of the ranges holds; None where tasks are to read them.

        It is read at once, by the calling thread, which asks `require_wanted` as it goes on: Spark ends what runs in
        tasks only. Raises what a task would. May be called from several threads, once per attempt.
        """


class Spout(Protocol):
    """Where batches come from: an immutable description that a topology is built with; its repr shows no secret."""

    @property
    def kind(self) -> SpoutKind:
        """What a new attempt at a txid may read."""

    @property
    def limits(self) -> Limits:
        """How much one batch may take."""

    @property
    def on_lost_offsets(self) -> LostOffsets:
        """What to do when offsets are gone."""

    @property
    def on_bad_record(self) -> BadRecord:
        """What to do with a record that does not decode."""

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts, to be stored in the ledger; no secrets."""

    def open(self, name: str) -> Source:
        """Connect; `name` is the stream's name in its topology."""


def lives_in_process(spout: Spout) -> bool:
    """Tell whether a spout's rows are lost with the process that received them: it says `lives_in_process = True`."""
    return bool(getattr(spout, "lives_in_process", False))


def takes_messages_back(spout: Spout) -> bool:
    """Tell whether a spout's records are messages that it takes back: it says `takes_messages_back = True`."""
    return bool(getattr(spout, "takes_messages_back", False))


def has_moments(spout: Spout) -> bool:
    """Tell whether a stream can start at a moment: one of bare positions says `has_moments = False`."""
    return bool(getattr(spout, "has_moments", True))
