"""Making plans: asks the spouts what there is, lets the planner share it out, writes the plan to the ledger."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from trident.base.clock import Clock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import about
from trident.base.identity import Epoch
from trident.base.logs import unproven
from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.coordinators.decided import DecisionKind
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.rules.decisions import held_for
from trident.coordinators.planned import Loss, PartFull, Plan, ReceivedIds, SpoutRange
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.ranges import SpoutView, deleted, plan_ranges
from trident.coordinators.plans.sharing import record_limit
from trident.coordinators.protocol.messages import DropFrom, MakePlan
from trident.spouts.base import (
    FollowsBatchTime,
    FollowsPositions,
    MovesStops,
    NamesMessages,
    ProvesPositions,
    Receives,
    ReceivesRows,
    Source,
    Spout,
    SpoutKind,
    TakesMessagesBack,
    TopicsMissingError,
    has_moments,
)

_log = logging.getLogger("trident.coordinator")

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

    def build(self, command: MakePlan) -> Plan | PartFull | None:
        """Ask the spouts and share out what there is; None when there is nothing to do. Writes nothing.

        With `only_full` it is `PartFull` when nothing is left over, no limit is reached and nothing is read again: that
        has waited, and may be all that its txid can read. What is left over has a plan before it, an empty one too: a
        txid that was handed out before may read nothing now, while what is there is not its own to read. A source that
        receives is only asked for what is planned at once: what nobody planned would be lost without a word where it
        can't be read again. What a queue has given is counted without that, so that a full batch waits for nothing.
        Where nothing has come of messages that a queue may still have, that is no end either: it is `PartFull`.
        """
        self.book.forget_finished()
        if command.drop_from is not None:
            self._forget_from(command.drop_from)
        repeated = self._repeated(command.batch.txid)
        built = self._build(command, repeated)
        has_waited = any(item.width for ranges in repeated.values() for item in ranges)
        unasked = command.only_full and self._receives
        is_due = not command.only_full or has_waited or self._is_full(built)
        if self.book.lag or (is_due and not built.is_empty):
            # with it goes what can't wait for a fuller batch: a stream that always fills one would leave it for ever
            return self._asked(command, repeated) if unasked else built
        if unasked and self._comes_full(command) and not (whole := self._asked(command, repeated)).is_empty:
            return whole
        if built.is_empty:
            return PartFull() if unasked or self._is_awaited else None
        self.book.lag = sum(item.range.width for item in built.ranges)
        return PartFull()

    def _asked(self, command: MakePlan, repeated: Mapping[str, Sequence[OffsetRange]]) -> Plan:
        return self._build(replace(command, only_full=False), repeated)

    def _comes_full(self, command: MakePlan) -> bool:
        """Whether a queue has given enough for a batch that no plan has asked for yet.

        Not beside rows that can't be read again: a plan that nobody wants when it is made would have taken them.
        """
        if any(isinstance(source, ReceivesRows) for source in self.sources.values()):
            return False
        named = {name: source for name, source in self.sources.items() if isinstance(source, NamesMessages)}
        for name, source in named.items():
            positions = self.book.positions(name, command.batch.txid)
            if source.fills_a_batch({id_: known.stop for id_, known in positions.items()}):
                return True
        return False

    @property
    def _receives(self) -> bool:
        return any(isinstance(source, Receives) for source in self.sources.values())

    @property
    def _is_awaited(self) -> bool:
        named = [source for source in self.sources.values() if isinstance(source, NamesMessages)]
        return not all(source.is_caught_up for source in named)

    def _is_full(self, plan: Plan) -> bool:
        """Whether a spout's limit, as its plans are made by it, is reached although nothing is left over."""
        for name, spout in self.spouts.items():
            limit = record_limit(spout.limits, self.book.record_bytes(name), self.book.measured(name))
            width = sum(item.range.width for item in plan.ranges if item.spout == name)
            if limit is not None and width >= limit:
                return True
        return False

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
            self._tell_of_void_decisions(plan)
            for item in plan.ranges:
                source = self.sources[item.spout]
                if isinstance(source, NamesMessages) and item.range.width:
                    source.planned(item.range)
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
        """Return what each spout that is to repeat it handed out for this txid before.

        By the attempt that a person has decided about, else by the latest one.
        """
        held = self.book.held(txid)
        names = {name for name, spout in self.spouts.items() if held or spout.kind is SpoutKind.TRANSACTIONAL}
        if not names or txid > self.book.last_txid:
            return {}
        before = self.book.refused.get(held[-1].attempt) if held else None
        if before is None:
            before = self.ledger.last_plan_of(self.book.snapshot.owner, txid)
        if before is None:
            return {}
        repeated: dict[str, list[OffsetRange]] = {name: [] for name in names}
        for item in before.ranges:
            if item.spout in names:
                repeated[item.spout].append(item.range)
        return repeated

    def _tell_of_void_decisions(self, plan: Plan) -> None:
        void = [item for item in self.book.held(plan.txid) if item.state not in plan.diverts]
        loses_rows = any(isinstance(source, ReceivesRows) for source in self.sources.values())
        for decision in void:
            _log.warning(
                "the %s of topology %r is void: the records of attempt %d can't be read again as they were, txid %d "
                "takes what there is now. Nothing of that is left out%s; if it is refused too, decide again.",
                decision,
                self.book.snapshot.owner.topology,
                decision.attempt,
                plan.txid,
                ", and what was received by a process that has ended is recorded as lost" if loses_rows else "",
            )
        if void:
            self.book.decisions = tuple(item for item in self.book.decisions if item not in void)

    def _build(self, command: MakePlan, repeated: Mapping[str, Sequence[OffsetRange]]) -> Plan:
        batch, before = command.batch, self.book.plans.get(command.batch.txid - 1)
        # a clock may step back, and another machine's may be behind: what is later was never earlier
        now = self.clock.now() if before is None else max(self.clock.now(), before.batch_time)
        for source in self.sources.values():
            if isinstance(source, FollowsBatchTime):
                source.come_to(now)
        held = self.book.held(batch.txid)
        views = []
        for name in sorted(self.spouts):
            with about(f"stream {name!r}", batch):
                views.append(self._view(name, batch.txid, repeated.get(name), bool(held)))
        ranges, losses = self._ranges(views, repeated)
        if self._receives and not command.only_full:
            # what can't be planned was refused before something is received, and lost by that
            asked = ranges
            # messages first: rows that were received are lost where a queue then can't be asked
            in_turn = sorted(views, key=lambda view: view.is_received)
            come = {view.name: self._with_what_comes(view, is_last=command.is_last) for view in in_turn}
            views = [come[view.name] for view in views]
            ranges, losses = plan_ranges(*views)
            ranges = tuple(self._as_asked(item, asked) for item in ranges)
        self._tell_of_waiting(views)
        self.book.lag = _left_over(views, ranges)
        self.book.ends = {(view.name, bound.id): bound for view in views for bound in view.bounds}
        plan = Plan(
            txid=batch.txid,
            attempt=batch.attempt,
            tries=command.tries,
            predecessor=before.attempt if before is not None else 0,
            batch_time=now,
            ranges=tuple(_proven(self.sources[item.spout], item) for item in ranges),
            losses=losses,
            timers=self.due(batch.txid, now),
            received=self._named(ranges),
        )
        waiting = held_for(plan, held, self.book.refused)
        sifted = tuple(item.state for item in waiting if item.kind is DecisionKind.DIVERT_REFUSED)
        return replace(plan, diverts=tuple(item.state for item in waiting), sifted=sifted)

    def _view(self, name: str, txid: int, repeated: Sequence[OffsetRange] | None, is_held: bool) -> SpoutView:
        spout, source = self.spouts[name], self.sources[name]
        positions = self.book.positions(name, txid)
        bounds = _bounds(name, source, positions)
        seen = [*positions.values(), *(repeated or ())]
        return SpoutView(
            name=name,
            kind=spout.kind,
            limits=spout.limits,
            on_lost=spout.on_lost_offsets,
            positions=positions,
            bounds=bounds,
            repeated=repeated,
            record_bytes=self.book.record_bytes(name),
            measured=self.book.measured(name),
            is_held=is_held,
            cuts=source.recognize(unproven(seen, {bound.id: bound for bound in bounds})),
            ends=_ends(source, positions, bounds),
            turn=txid,
            has_moments=has_moments(spout),
            is_received=isinstance(source, ReceivesRows),
            is_named=isinstance(source, NamesMessages),
        )

    def _ranges(
        self, views: Sequence[SpoutView], repeated: Mapping[str, Sequence[OffsetRange]]
    ) -> tuple[tuple[SpoutRange, ...], tuple[Loss, ...]]:
        ranges, losses = plan_ranges(*views)
        moved = (item if item.spout in repeated else _moved(self.sources[item.spout], item) for item in ranges)
        return tuple(moved), losses

    def _as_asked(self, item: SpoutRange, asked: Sequence[SpoutRange]) -> SpoutRange:
        """Return what was planned before rows were received, but of the streams that have received some."""
        if isinstance(self.sources[item.spout], Receives):
            return item
        return next(each for each in asked if (each.spout, each.range.id) == (item.spout, item.range.id))

    def _with_what_comes(self, view: SpoutView, *, is_last: bool) -> SpoutView:
        source, positions = self.sources[view.name], {id_: known.stop for id_, known in view.positions.items()}
        with about(f"stream {view.name!r}"):
            if is_last and isinstance(source, TakesMessagesBack):
                source.give_back(positions)
            elif isinstance(source, Receives) and not is_last:
                source.receive(positions)
            else:
                return view
        return replace(view, bounds=source.bounds())

    def _named(self, ranges: Sequence[SpoutRange]) -> tuple[ReceivedIds, ...]:
        named = [(item, self.sources[item.spout]) for item in ranges if item.range.width]
        ids: dict[str, tuple[str, ...]] = {}
        bodies: dict[str, tuple[str, ...]] = {}
        for item, source in named:
            if isinstance(source, NamesMessages):
                ids[item.spout] = (*ids.get(item.spout, ()), *source.ids(item.range))
                bodies[item.spout] = (*bodies.get(item.spout, ()), *source.digests(item.range))
        return tuple(ReceivedIds.of(spout, of_spout, bodies[spout]) for spout, of_spout in ids.items())

    def _tell_of_waiting(self, views: Sequence[SpoutView]) -> None:
        waiting = {(view.name, bound.id): (view, bound) for view in views for bound in view.waiting}
        for (name, id_), (view, bound) in waiting.items():
            if (name, id_) not in self.book.waiting:
                _log.warning(
                    "stream %r: partition %d of topic %r was read up to offset %d, and a transaction is open from %d "
                    "on: it was read with read_committed=False before. What was counted stays; nothing more is read "
                    "there until that transaction ends.",
                    name,
                    id_.partition,
                    id_.topic,
                    view.positions[id_].stop,
                    bound.stop,
                )
        self.book.waiting = frozenset(waiting)


def _bounds(name: str, source: Source, positions: Mapping[PartitionId, OffsetRange]) -> tuple[PartitionBounds, ...]:
    if isinstance(source, FollowsPositions):
        source.follow(positions)
    try:
        return source.bounds()
    except TopicsMissingError as error:
        gone = deleted(name, error, positions)
        if gone is None:
            raise
        raise gone from error


def _moved(source: Source, item: SpoutRange) -> SpoutRange:
    """Return a range that is planned for the first time with the stop that its source wants."""
    if not isinstance(source, MovesStops) or not item.range.width:
        return item
    return replace(item, range=replace(item.range, stop=source.moved(item.range.id, item.range.stop)))


def _proven(source: Source, item: SpoutRange) -> SpoutRange:
    """Return a range with what proves it later.

    One that was planned before gets it anew: what it had was recognized, and may be of files of which one was replaced.
    """
    if not isinstance(source, ProvesPositions):
        return item
    return replace(item, range=replace(item.range, epoch=source.proof(item.range.id, item.range.stop)))


def _ends(
    source: Source, positions: Mapping[PartitionId, OffsetRange], bounds: Sequence[PartitionBounds]
) -> Mapping[PartitionId, int]:
    """Ask how far the logs go of which less is offered than was read: they were cut, or a transaction is open."""
    behind = [bound.id for bound in bounds if bound.id in positions and bound.stop < positions[bound.id].stop]
    return source.ends(behind) if behind else {}


def _left_over(views: Sequence[SpoutView], ranges: Sequence[SpoutRange]) -> int:
    """Return how many positions the spouts hold behind what is planned."""
    stops = {(item.spout, item.range.id): item.range.stop for item in ranges}
    return sum(max(0, bound.stop - stops[view.name, bound.id]) for view in views for bound in view.bounds)
