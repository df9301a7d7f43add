"""What a ledger says to people and their tools: a view that only reads, in frozen rows.

A row has the fields of its table, in their order. A memory ledger keeps no moments, and of a txid
whose history it let go no attempt: these are None there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Protocol

import msgspec

from trident.base.latency import CompleteLatency
from trident.base.levels import Level
from trident.base.ranges import RangeManifest
from trident.coordinators.decided import Decision, DecisionKind, Refusal
from trident.coordinators.lifecycle import Activity
from trident.coordinators.pinned import StatePin
from trident.coordinators.planned import Loss, Plan, ReceivedIds, SpoutRange, StartPosition
from trident.coordinators.registered import Birth, ColumnBirth, TopologySpec
from trident.state.kafka.outbox.tables import Waiting


@dataclass(frozen=True, slots=True)
class TopologyStatus:
    """Where a topology stands, who holds it, and what waits for a person."""

    name: str
    incarnation: str
    birth_txid: int
    """The incarnation begins after it: what its streams held from their starts on is in the txids that follow."""
    done: int
    pinned: int | None
    live: int
    """How many attempts are planned and not done."""
    last_txid: int
    last_attempt: int
    epoch: int
    holder: str
    is_held: bool
    """Whether a coordinator's heartbeat is fresh."""
    done_at: datetime | None
    refusal: Refusal | None
    decisions: tuple[str, ...]
    """What was decided and is not finished."""
    open_reset: str | None
    losses: int
    lost_offsets: int
    """How many offsets all losses have together; records were at most as many."""
    dead_letters: int
    diverted_rows: int
    births: tuple[Birth, ...]
    """Since which txid it has each state: a state holds what came after it."""
    waiting: tuple[Waiting, ...] = ()
    """What sinks have to send of txids that are done."""
    sinks: tuple[str, ...] = ()
    """Which of these are sinks: what has left by them stays where it went."""
    dropped: tuple[str, ...] = ()
    """What was taken out, each with the txid after which it was."""
    renamed: tuple[str, ...] = ()
    """Former names of states, each with the one that it has since a txid."""
    activity: Activity = Activity.ACTIVE
    commands: tuple[str, ...] = ()
    """The life-cycle commands that wait, each with its number."""
    received: tuple[str, ...] = ()
    """Streams whose rows end with the process that has received them, unless they are pinned."""
    recent_errors: int = 0
    """How many kinds of errors there were in the last hour, in whichever incarnation."""
    last_error: str | None = None
    """The last one of these, in a line."""
    latencies: tuple[CompleteLatency, ...] = ()
    """How long messages of streams that want acks take, from emission to ack; of whoever holds it now."""
    level: Level = Level.EXACTLY_ONCE
    """What it promises of each record."""

    @property
    def new_states(self) -> tuple[Birth, ...]:
        """The states and sinks that came later than the incarnation began, and have nothing of what was before."""
        return tuple(
            birth
            for birth in self.births
            if birth.txid is not None and birth.txid > self.birth_txid and not birth.with_rows
        )

    @property
    def new_columns(self) -> tuple[tuple[str, ColumnBirth], ...]:
        """The values of states that came later than these, each with its state."""
        return tuple(
            (birth.state, column)
            for birth in self.births
            for column in birth.columns
            if birth.with_rows or column.txid > (self.birth_txid if birth.txid is None else birth.txid)
        )

    @property
    def needs_decision(self) -> bool:
        """Whether nothing runs until a person has decided."""
        return self.refusal is not None and self.refusal.blocks

    @property
    def is_left_out(self) -> bool:
        """Whether what was refused was an attempt that the rows of the refusing state had been taken out of."""
        refusal = self.refusal
        if refusal is None:
            return False
        divert = Decision(DecisionKind.DIVERT, refusal.txid, refusal.attempt, refusal.state)
        return self.pinned != refusal.txid and str(divert) in self.decisions


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """How far a topology is in one partition; behind the source's end by what the source says minus `done`."""

    spout: str
    topic: str
    partition: int
    done: int
    """Where the last txid that is done stopped, or the incarnation starts."""
    planned: int
    """Where the last live plan stops; `done` where there is none."""


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt at a txid and its plan: the ranges that it changes, all other partitions stand where they stood."""

    topology: str
    attempt: int
    incarnation: str
    txid: int
    tries: int
    epoch: int
    predecessor: int
    status: str
    batch_time: datetime
    created_at: datetime | None
    ranges: tuple[SpoutRange, ...]
    losses: tuple[Loss, ...]
    timers: tuple[str, ...]
    received: tuple[ReceivedIds, ...]
    diverts: tuple[str, ...]
    """States whose rows a person decided to take out of these records."""


@dataclass(frozen=True, slots=True)
class PinRow:
    """What was decided of a txid."""

    topology: str
    incarnation: str
    txid: int
    attempt: int
    epoch: int
    plan: Plan
    manifests: tuple[tuple[str, RangeManifest], ...]
    states: tuple[StatePin, ...]
    pinned_at: datetime | None


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A txid that is done."""

    topology: str
    incarnation: str
    txid: int
    attempt: int
    tries: int
    epoch: int
    records: int
    dead_letters: int
    keys: int
    plan_ms: int
    process_ms: int
    commit_ms: int
    """Up to the write that records it: all applies, but not the COMMIT, which the log line of the batch counts too."""
    done_at: datetime | None


@dataclass(frozen=True, slots=True)
class LossRow:
    """Offsets that were gone before they could be read; it counts when its attempt does."""

    topology: str
    attempt: int
    spout: str
    topic: str
    partition: int
    start_offset: int
    stop_offset: int
    incarnation: str
    txid: int
    status: str
    reason: str
    recorded_at: datetime | None

    @property
    def count(self) -> int:
        """How many offsets are gone; records were at most as many."""
        return self.stop_offset - self.start_offset


@dataclass(frozen=True, slots=True)
class DeadLetterRow:
    """A record that did not decode, without its key and value, which are data of the source."""

    topology: str
    incarnation: str
    txid: int
    spout: str
    topic: str
    partition: int
    record_offset: int
    attempt: int | None
    record_timestamp: int | None
    reason: str
    pinned_at: datetime | None


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """Why an epoch stopped at a txid."""

    topology: str
    epoch: int
    incarnation: str
    txid: int
    attempt: int
    kind: str
    state: str
    reason: str
    refused_at: datetime | None
    settled_by: str | None
    """What a person has decided since."""
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """What a person decided about a txid."""

    topology: str
    epoch: int
    incarnation: str
    txid: int
    attempt: int
    kind: str
    state: str
    decided_by: str
    decided_at: datetime | None
    finished_at: datetime | None
    is_finished: bool
    void: bool
    """Finished without effect: the records that it was about could not be read again as they were."""


@dataclass(frozen=True, slots=True)
class DivertedRow:
    """A staged row that a person took out of a txid, as JSON text with exact numbers."""

    topology: str
    incarnation: str
    txid: int
    state: str
    number: int
    attempt: int | None
    staged_row: str
    diverted_at: datetime | None


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A life-cycle command, and what became of it."""

    topology: str
    number: int
    id: str
    incarnation: str
    kind: str
    arguments: str
    given_by: str
    given_at: datetime | None
    within_seconds: float
    epoch: int | None
    """Whoever has read it."""
    verdict: str | None
    """None while it waits."""
    answer: str | None
    answered_at: datetime | None


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Errors of one incarnation that are one thing: what was said last, how often it was, and of which batch."""

    topology: str
    incarnation: str
    id: str
    place: str
    """The stream, operation, state or sink that it is about; the coordinator where it is none."""
    kind: str
    text: str
    count: int
    txid: int | None
    attempt: int | None
    epoch: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class TxidStory:
    """All that is kept of one txid, in every incarnation; empty where there is nothing."""

    attempts: tuple[AttemptRow, ...]
    pin: tuple[PinRow, ...]
    commit: tuple[BatchRow, ...]
    losses: tuple[LossRow, ...]
    dead_letters: tuple[DeadLetterRow, ...]
    refusals: tuple[RefusalRow, ...]
    decisions: tuple[DecisionRow, ...]
    diverted: tuple[DivertedRow, ...]


class LedgerView(Protocol):
    """Reads only, also while a coordinator runs; never makes, changes or migrates a table.

    Every method raises MismatchError for tables of another version than this library's; those that
    are given a topology also for one that is not in the ledger.
    """

    def topologies(self) -> tuple[str, ...]:
        """Return the names of all topologies."""

    def status(self, topology: str) -> TopologyStatus:
        """Return where a topology stands."""

    def progress(self, topology: str) -> tuple[PartitionProgress, ...]:
        """Return how far every partition ever seen is read, in order."""

    def batches(self, topology: str, limit: int = 20) -> tuple[BatchRow, ...]:
        """Return the last txids that are done, newest first."""

    def txid(self, topology: str, txid: int) -> TxidStory:
        """Return all that is kept of one txid."""

    def commands(self, topology: str, since: int = 1) -> tuple[CommandRow, ...]:
        """Return the life-cycle commands from a number on, in their order."""

    def errors(self, topology: str) -> tuple[ErrorRow, ...]:
        """Return what is kept of errors, the newest first."""

    def losses(self, topology: str) -> tuple[LossRow, ...]:
        """Return the losses of all attempts that are done, oldest first."""

    def dead_letters(self, topology: str) -> tuple[DeadLetterRow, ...]:
        """Return all dead letters, in the order of their positions."""


AnyRow = AttemptRow | PinRow | BatchRow | LossRow | DeadLetterRow | RefusalRow | DecisionRow | DivertedRow | ErrorRow


def record_of(row: AnyRow) -> dict[str, object]:
    """Return a row by column as it can be written as JSON."""
    record: dict[str, object] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, datetime):
            record[field.name] = value.isoformat()
        elif field.name == "staged_row":
            record[field.name] = msgspec.json.decode(value)
        elif field.name != "is_finished":  # `finished_at` says it, where there is a record of it
            record[field.name] = msgspec.json.decode(msgspec.json.encode(value))
    return record


def progress_of(starts: Sequence[StartPosition], done: Plan | None, last: Plan | None) -> tuple[PartitionProgress, ...]:
    """Put together what start positions, the plan that is done and the last live one say of each partition."""
    reached = {(item.spout, item.id.topic, item.id.partition): item.start for item in starts}
    reached.update(_stops(done))
    planned = {**reached, **_stops(last)}
    return tuple(PartitionProgress(*key, reached.get(key, 0), stop) for key, stop in sorted(planned.items()))


def _stops(plan: Plan | None) -> dict[tuple[str, str, int], int]:
    ranges = plan.ranges if plan else ()
    return {(item.spout, item.range.id.topic, item.range.id.partition): item.range.stop for item in ranges}


def dropped_in_words(spec: TopologySpec) -> tuple[str, ...]:
    """Return what was taken out of a topology, as a status has it."""
    return tuple(f"{gone.state} after txid {gone.txid}" for gone in spec.dropped)


def error_in_words(place: str, kind: str, count: int, text: str) -> str:
    """Return an error as a status has it."""
    return f"{kind}, {place}{f' ({count:,} times)' if count > 1 else ''}: {text}"
