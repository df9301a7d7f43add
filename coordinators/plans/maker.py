"""Making plans: asks the spouts what there is, lets the planner share it out, writes the plan to the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from trident.base.clock import Clock
from trident.base.crash_points import CrashPoint, reached
from trident.base.identity import Epoch
from trident.base.ranges import OffsetRange
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.planned import Loss, Plan, SpoutRange
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.ranges import SpoutView, plan_ranges
from trident.coordinators.protocol.messages import DropFrom, MakePlan
from trident.spouts.base import Source, Spout, SpoutKind

DueTimers = Callable[[int, datetime], tuple[str, ...]]
"""The names of what is due for a txid at a batch time."""


def nothing_due(txid: int, batch_time: datetime) -> tuple[str, ...]:
    """Stand for a topology without timers."""
    return ()


@dataclass(frozen=True)
class PlanMaker:
    """Performs the protocol's plan commands; used by the planning thread only."""

    ledger: Ledger
    spouts: Mapping[str, Spout]
    sources: Mapping[str, Source]
    book: PlanBook
    epoch: Epoch
    clock: Clock
    due: DueTimers = nothing_due

    def build(self, command: MakePlan) -> Plan | None:
        """Ask the spouts and share out what there is; None when there is nothing to do. Writes nothing.

        With `only_full` also None when the limits left nothing over. A loss alone takes no txid; it is
        recorded with the next plan that has something to read.
        """
        self.book.forget_finished()
        if command.drop_from is not None:
            self._forget_from(command.drop_from)
        built = self._build(command)
        is_part_full = self.book.lag == 0
        return None if built.is_empty or (command.only_full and is_part_full) else built

    def store(self, command: MakePlan, plan: Plan | None) -> None:
        """Write the built plan and the drop that goes with it; repeated after a lost answer it finds them done.

        A repeat must bring the very same plan: one attempt number never stands for two plans.
        """
        batch = command.batch
        if plan is not None or command.drop_from is not None:
            reached(CrashPoint.BEFORE_PLAN, batch.txid)
            self.ledger.plan(batch.owner, batch.epoch, plan, command.drop_from)
            reached(CrashPoint.AFTER_PLAN, batch.txid)
        if plan is not None:
            self.book.plans[plan.txid] = plan
            self.book.last_txid = max(self.book.last_txid, plan.txid)

    def drop(self, command: DropFrom) -> None:
        """Drop live attempts without planning anything in their place; idempotent."""
        self._forget_from(command.txid)
        self.ledger.plan(self.book.snapshot.owner, self.epoch, None, command.txid)

    def _forget_from(self, txid: int) -> None:
        for later in [known for known in self.book.plans if known >= txid]:
            del self.book.plans[later]

    def _repeated(self, txid: int) -> dict[str, list[OffsetRange]]:
        """Return what spouts that are to repeat it handed out for this txid before, whichever attempt it was."""
        names = {name for name, spout in self.spouts.items() if self._repeats(spout, txid)}
        if not names or txid > self.book.last_txid:
            return {}
        last = self.ledger.last_plan_of(self.book.snapshot.owner, txid)
        repeated: dict[str, list[OffsetRange]] = {}
        for item in last.ranges if last is not None else ():
            if item.spout in names:
                repeated.setdefault(item.spout, []).append(item.range)
        return repeated

    def _repeats(self, spout: Spout, txid: int) -> bool:
        return spout.kind is SpoutKind.TRANSACTIONAL or self.book.is_held(txid)

    def _build(self, command: MakePlan) -> Plan:
        batch, now = command.batch, self.clock.now()
        before = self.book.plans.get(batch.txid - 1)
        repeated = self._repeated(batch.txid)
        ranges: list[SpoutRange] = []
        losses: list[Loss] = []
        self.book.lag = 0
        for name, spout in self.spouts.items():
            bounds = self.sources[name].bounds()
            view = SpoutView(
                name=name,
                kind=spout.kind,
                limits=spout.limits,
                on_lost=spout.on_lost_offsets,
                positions=self.book.positions(name, batch.txid),
                bounds=bounds,
                repeated=repeated.get(name, ()),
                record_bytes=self.book.record_bytes(name),
                is_held=self.book.is_held(batch.txid),
            )
            planned, lost = plan_ranges(view)
            ranges.extend(planned)
            losses.extend(lost)
            stops = {item.range.id: item.range.stop for item in planned}
            self.book.lag += sum(max(0, bound.stop - stops[bound.id]) for bound in bounds)
        return Plan(
            txid=batch.txid,
            attempt=batch.attempt,
            tries=command.tries,
            predecessor=before.attempt if before is not None else 0,
            batch_time=now,
            ranges=tuple(ranges),
            losses=tuple(losses),
            timers=self.due(batch.txid, now),
        )
