"""What the ledger keeps, as frozen values: plans, pins, commits, losses, dead letters, positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from trident.base.digest import Digest
from trident.base.identity import Epoch, Owner
from trident.base.ranges import BadRecordRow, OffsetRange, PartitionId, RangeManifest
from trident.base.writes import WriteManifest
from trident.coordinators.decided import Decision, Diverted, Refusal
from trident.state.staged import AppliedUpdates, WrittenUpdates


@dataclass(frozen=True, slots=True)
class SpoutRange:
    """What an attempt will read of one partition of one spout."""

    spout: str
    range: OffsetRange


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets that were gone before they could be read, skipped by the plan of that attempt."""

    spout: str
    id: PartitionId
    start: int
    stop: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReceivedIds:
    """What an attempt will process of a spout without positions: the messages that it has received, by id."""

    spout: str
    ids: tuple[str, ...]
    digest: Digest
    """Of the ids, as whoever read the messages again must find it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one attempt will read: a range for every partition ever seen, of every spout that has positions.

    `predecessor` is the attempt at txid - 1 that the ranges follow on (0 for an incarnation's
    first txid). `batch_time` is the only time that user code may see.
    """

    txid: int
    attempt: int
    tries: int
    predecessor: int
    batch_time: datetime
    ranges: tuple[SpoutRange, ...]
    losses: tuple[Loss, ...] = ()
    timers: tuple[str, ...] = ()
    """The names of what is due although nothing may have been read."""
    received: tuple[ReceivedIds, ...] = ()
    """What was received of spouts without positions, which have no ranges."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do: no record in any range, no message received, no timer due."""
        has_records = any(item.range.width for item in self.ranges) or any(item.ids for item in self.received)
        return not has_records and not self.timers


@dataclass(frozen=True, slots=True)
class StatePin:
    """What a pin says of one state: its writes, none when the updates were part of the pin's transaction."""

    state: str
    rows: int
    writes: tuple[WriteManifest, ...] = ()

    @property
    def updates(self) -> WrittenUpdates | AppliedUpdates:
        """What the state was given: writes that can be read again, or only how many rows the pin applied itself."""
        return WrittenUpdates(self.writes) if self.writes or not self.rows else AppliedUpdates(self.rows)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that did not decode, kept with the batch that excluded it."""

    spout: str
    record: BadRecordRow


@dataclass(frozen=True, slots=True)
class Pin:
    """The durable decision that a txid commits with exactly this plan and these manifests."""

    plan: Plan
    manifests: tuple[tuple[str, RangeManifest], ...]
    """(spout, manifest) pairs, one per edge."""
    states: tuple[StatePin, ...]
    dead_letters: tuple[DeadLetter, ...] = field(default=(), repr=False)
    diverts: tuple[Diverted, ...] = ()
    """What held decisions of a person took out of this attempt, by state."""

    @property
    def txid(self) -> int:
        """The txid that is decided."""
        return self.plan.txid

    @property
    def attempt(self) -> int:
        """The attempt that it commits with."""
        return self.plan.attempt


@dataclass(frozen=True, slots=True)
class Commit:
    """What is recorded of a txid that is done; durations are in milliseconds."""

    txid: int
    attempt: int
    tries: int
    records: int
    dead_letters: int
    keys: int
    plan_ms: int
    process_ms: int
    commit_ms: int


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where an incarnation starts to read one partition, resolved to a number once."""

    spout: str
    id: PartitionId
    topic_id: str
    start: int


@dataclass(frozen=True, slots=True)
class TopologySpec:
    """What must stay the same over restarts, by name: spouts and states with their descriptions."""

    name: str
    spouts: dict[str, dict[str, str]]
    states: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a topology and for how long after its last heartbeat (the database's clock decides)."""

    holder: str
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Keep:
    """How much history of finished txids stays: at least `count` of them and all younger than `age`."""

    count: int = 10_000
    age: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a new holder reads after it has raised every fence: all that is durable and not yet done.

    `done_plan` is the plan of txid `done` (None at birth); `pin` is that of `done + 1` if there is
    one. `last_txid` is the highest txid ever planned, `last_attempt` the topology's attempt counter.
    """

    owner: Owner
    birth_txid: int
    done: int
    done_attempt: int
    done_plan: Plan | None
    pin: Pin | None
    live: tuple[Plan, ...]
    starts: tuple[StartPosition, ...] | None
    last_txid: int
    last_attempt: int
    open_reset: ResetDecision | None = None
    start: str | None = None
    """The start policy that the reset named which opened this incarnation; None: the spouts' own."""
    refusal: Refusal | None = None
    """Why the last coordinator stopped at a txid that is not done, unless a person has decided since."""
    decisions: tuple[Decision, ...] = ()
    """What a person decided about txids that are not done, and is not finished; oldest first."""


@dataclass(frozen=True, slots=True)
class ResetDecision:
    """A person's recorded decision to open a new incarnation; finished at take-over if it was cut off."""

    incarnation: str
    birth_txid: int
    states: str
    """"clear" or "adopt"."""
    start: str | None
    """A start policy to use once instead of the spouts' own: "earliest", "latest" or an ISO time."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """The word that a lease was taken: the epoch, and who held the topology before."""

    epoch: Epoch
    previous_holder: str | None = None
