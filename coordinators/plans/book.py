"""The live plans and the one that is done, so that each plan follows on the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.coordinators.decided import Decision
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Snapshot

_SMOOTHING = 0.2
"""Weight of the newest batch in the average record size."""


@dataclass
class PlanBook:
    """What a coordinator knows of its plans beside the ledger.

    The thread that plans changes it; others read `lag` and `ends`, set `finished` and call `record_size`, each of which
    may be late by a batch without harm.
    """

    snapshot: Snapshot
    plans: dict[int, Plan] = field(default_factory=dict)
    lag: int = 0
    """Positions that the spouts hold behind the latest plan, when it was made."""
    ends: Mapping[tuple[str, PartitionId], PartitionBounds] = field(default_factory=dict)
    """What each source offered when it was asked last, by stream and partition; replaced as a whole."""
    finished: int = 0
    """The last txid that was heard to be done; plans before it are let go of. Set by the coordinator's loop."""
    last_txid: int = 0
    """The highest txid ever planned."""
    decisions: tuple[Decision, ...] = ()
    """What a person decided and waits for an attempt that reads the records of the refused one."""
    waiting: frozenset[tuple[str, PartitionId]] = frozenset()
    """The partitions that wait for the end of a transaction that they were read beyond, as last told."""
    _record_bytes: dict[str, float] = field(default_factory=dict)
    _measured: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.decisions = self.snapshot.decisions
        self.last_txid = self.snapshot.last_txid
        if self.snapshot.done_plan is not None:
            self.plans[self.snapshot.done] = self.snapshot.done_plan
        if self.snapshot.pin is not None:
            self.plans[self.snapshot.pin.txid] = self.snapshot.pin.plan

    def copy(self) -> PlanBook:
        """Return an equal book that shares nothing that changes."""
        other = object.__new__(PlanBook)
        other.__dict__.update(self.__dict__)
        other.plans = dict(self.plans)
        other._record_bytes = dict(self._record_bytes)
        other._measured = dict(self._measured)
        return other

    def positions(self, spout: str, txid: int) -> dict[PartitionId, OffsetRange]:
        """Return the ranges that a plan for `txid` follows on, for every partition ever seen."""
        before, starts = self.plans.get(txid - 1), self._starts(spout)
        if before is None:
            return starts
        # a plan has all partitions that were known when it was made; a topic that came with a later version begins
        return starts | {item.range.id: item.range for item in before.ranges if item.spout == spout}

    def behind(self, plan: Plan) -> dict[tuple[str, PartitionId], int]:
        """Return how many positions each partition offers behind a plan, as far as its source was asked."""
        stops = {(item.spout, item.range.id): item.range.stop for item in plan.ranges}
        return {at: max(0, bound.stop - stops.get(at, bound.earliest)) for at, bound in self.ends.items()}

    def held(self, txid: int) -> tuple[Decision, ...]:
        """Return what a person decided about a txid as it was refused: the next attempt reads the same, if it can."""
        return tuple(decision for decision in self.decisions if decision.txid == txid)

    @property
    def refused(self) -> dict[int, Plan]:
        """The plans that decisions are about, by attempt."""
        return {plan.attempt: plan for plan in self.snapshot.refused}

    def record_size(self, spout: str, size_bytes: int, count: int, width: int) -> None:
        """Learn from a finished batch how large the spout's records are; `width` is how many positions it read."""
        self._measured[spout] = self._measured.get(spout, 0) + width
        if count:
            known = self._record_bytes.get(spout, size_bytes / count)
            self._record_bytes[spout] = known + _SMOOTHING * (size_bytes / count - known)

    def record_bytes(self, spout: str) -> float | None:
        """Return the average record size in bytes; None before a record was read."""
        return self._record_bytes.get(spout)

    def measured(self, spout: str) -> int:
        """Return how many positions the finished batches of this run have read."""
        return self._measured.get(spout, 0)

    def forget_finished(self) -> None:
        """Let go of plans of txids below the last finished one."""
        for old in [known for known in self.plans if known < self.finished]:
            del self.plans[old]

    def _starts(self, spout: str) -> dict[PartitionId, OffsetRange]:
        starts = self.snapshot.starts or ()
        return {
            item.id: OffsetRange(item.id, item.topic_id, item.start, item.start, item.epoch)
            for item in starts
            if item.spout == spout
        }
