"""The ledger in memory: the same rules without SQL, for tests, examples and simulations."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from trident.base.checks import check_able, check_function, check_instance
from trident.base.clock import Clock, SystemClock
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.base.latency import CompleteLatency
from trident.base.looking import rolled_back
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.coordinators.decided import Decision, Diverted, Refusal, ResetDecision
from trident.coordinators.last_done import LastDone
from trident.coordinators.ledger.base import TransactionStep
from trident.coordinators.ledger.memory import decisions, lifecycle, reapplying, reporting, taking_back
from trident.coordinators.ledger.memory.beginnings import reborn, registered
from trident.coordinators.ledger.memory.cleaning import clean_up
from trident.coordinators.ledger.memory.diverting import MemoryDiverting
from trident.coordinators.ledger.memory.forgetting import ForgetsTopologies
from trident.coordinators.ledger.memory.planning import check_pin, planned
from trident.coordinators.ledger.memory.rows import Holding, Rows, dropped, with_done, with_pin
from trident.coordinators.ledger.memory.viewing import MemoryLedgerView
from trident.coordinators.ledger.rules import attempts, commits, resets
from trident.coordinators.ledger.rules.fencing import check_life, lease_held
from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.rules.specs import (
    merged_births,
    merged_starts,
)
from trident.coordinators.lifecycle import Given, Reply, Sent
from trident.coordinators.pinned import Commit, DeadLetter, Pin
from trident.coordinators.planned import Loss, Plan, StartPosition
from trident.coordinators.registered import Acquired, Birth, Keep, Lease, Snapshot, TopologySpec
from trident.coordinators.reported import ErrorReport
from trident.state.capabilities import Transaction
from trident.state.memory.database import MemoryDatabase, MemoryTransaction


class MemoryLedger(MemoryDiverting, ForgetsTopologies):
    """A ledger that ends with its process; see `Ledger` for what each method guarantees.

    A topology is taken up again, in the same process, by giving the same object to its next run.
    Leases are timed by the given clock. `draw_id` makes incarnations and the tokens of epochs from a
    number of bytes; whoever replaces it promises that it never returns the same one again.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        database: MemoryDatabase | None = None,
        draw_id: Callable[[int], str] = secrets.token_hex,
    ) -> None:
        if clock is not None:
            check_able("clock", clock, ("monotonic", "now"), "a clock with monotonic() and now(), or None")
        if database is not None:
            check_instance("database", database, MemoryDatabase, allowed="a MemoryDatabase, or None")
        self._database = MemoryDatabase() if database is None else database
        self._clock = clock or SystemClock()
        self._draw_id = check_function("draw_id", draw_id, "a function that makes a text of a number of bytes")

    def __repr__(self) -> str:
        return "MemoryLedger()"

    @property
    def database(self) -> MemoryDatabase:
        """The database object that states without one of their own share."""
        return self._database

    def open(self, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> None:
        """Do nothing: there is nothing to connect to."""

    def acquire(self, topology: str, lease: Lease, above: int = 0) -> Acquired:
        """Raise the topology's epoch and start its heartbeat, unless another holder's is fresh."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            before = rows.holding(topology)
            now = self._clock.monotonic()
            if before is not None and not before.released and now < before.beat_at + before.seconds:
                raise lease_held(topology, before.holder, before.beat_at + before.seconds - now, before.epoch)
            drawn = self._draw_id(16)
            epoch = before.epoch.next(drawn, above) if before else Epoch(above + 1, drawn)
            rows.put_holding(topology, Holding(epoch, lease.holder, now, lease.duration.total_seconds()))
            return Acquired(epoch, before.holder if before else None)

    def renew(self, topology: str, epoch: Epoch, latencies: Sequence[CompleteLatency] = ()) -> bool:
        """Write a heartbeat, with how long messages take; tells whether commands wait."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            rows.check_epoch(topology, epoch)
            holding = rows.holding(topology)
            if holding is None or holding.released:
                raise FencedError(f"topology {topology!r}: the lease of epoch {epoch.number} was released.")
            rows.put_holding(topology, replace(holding, beat_at=self._clock.monotonic(), latencies=tuple(latencies)))
            return lifecycle.wait_in(rows.find(topology))

    def release(self, topology: str, epoch: Epoch) -> None:
        """End the lease at once; a no-op when the epoch is old."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            holding = rows.holding(topology)
            if holding is not None and holding.epoch == epoch:
                rows.put_holding(topology, replace(holding, released=True))

    def require_held(self, topology: str, epoch: Epoch, transaction: Transaction | None = None) -> None:
        """Raise FencedError for another epoch than the stored one."""
        if isinstance(transaction, MemoryTransaction):
            Rows(transaction).check_epoch(topology, epoch)
            return
        with self._database.transaction() as own:
            Rows(own).check_epoch(topology, epoch)

    def look(self, epoch: Epoch, spec: TopologySpec) -> Snapshot:
        """Return what `register` would return; changes nothing."""
        return rolled_back(self._database.transaction(), lambda transaction: self._registered(transaction, epoch, spec))

    def register(self, epoch: Epoch, spec: TopologySpec) -> Snapshot:
        """Record a new topology or check a known one, then read all that is open."""
        with self._database.transaction() as transaction:
            return self._registered(transaction, epoch, spec)

    def snapshot(self, epoch: Epoch, topology: str) -> Snapshot:
        """Read all that is open of a known topology."""
        with self._database.transaction() as transaction:
            return Rows(transaction).fenced(topology, epoch).snapshot()

    def set_starts(self, owner: Owner, epoch: Epoch, starts: Sequence[StartPosition]) -> None:
        """Store where the incarnation starts, once per spout."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.owned(owner, epoch)
            rows.put(entry._replace(starts=merged_starts(entry.starts, starts)))

    def set_births(self, owner: Owner, epoch: Epoch, births: Sequence[Birth]) -> None:
        """Record since when the incarnation has these states."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.fenced(owner.topology, epoch)
            check_life(entry.progress, owner)
            rows.put(entry._replace(births=merged_births(entry.births, births)))

    def plan(self, owner: Owner, epoch: Epoch, plan: Plan | None, drop_from: int | None = None) -> None:
        """Drop live attempts, then insert a plan, atomically."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.owned(owner, epoch)
            if plan is not None and attempts.is_repeated_plan(rows.find_plan(entry, plan.attempt), owner, epoch, plan):
                return
            if drop_from is not None:
                attempts.check_drop(entry.progress, drop_from)
                entry = dropped(rows, entry, drop_from)
            if plan is not None:
                entry = planned(rows, entry, owner, epoch, plan)
            rows.put(entry)

    def last_plan_of(self, owner: Owner, txid: int) -> Plan | None:
        """Return the latest plan ever made for a txid of this incarnation, whatever became of it."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.find(owner.topology)
            stored = [row.stored for row in rows.finished(owner.topology).values()]
            stored += entry.live if entry else ()
            plans = [each.plan for each in stored if each.plan.txid == txid and each.incarnation == owner.incarnation]
            return max(plans, key=lambda plan: plan.attempt, default=None)

    def done_ids(self, topology: str, spout: str, most: int) -> dict[str, str]:
        """Return the newest ids of a stream's messages that are done, at most so many, oldest first."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.find(topology)
            done = [row.stored.plan for row in rows.finished(topology).values() if row.stored.status is PlanStatus.DONE]
            plans = sorted((plan for plan in done if entry and plan.txid > entry.cleared), key=lambda plan: plan.txid)
            named = [each for plan in plans for item in plan.received if item.spout == spout for each in item.messages]
            return dict(named[max(0, len(named) - most) :])

    def pin(
        self,
        owner: Owner,
        epoch: Epoch,
        pin: Pin,
        copies: Sequence[TransactionStep] = (),
        applies: Sequence[TransactionStep] = (),
    ) -> None:
        """Decide a txid, in one transaction with the applies to the states beside the ledger."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.owned(owner, epoch)
            if commits.is_repeated_pin(entry.progress, pin):
                commits.check_same_pin(rows.stored_pin(entry, pin), pin)
                return
            for step in (*copies, *applies):
                step(transaction)
            check_pin(entry, epoch, pin)
            entry = decisions.with_diverts(rows, entry, owner, pin)
            entry = reapplying.with_reapply(rows, entry, owner, epoch, pin)
            rows.put(with_pin(rows, entry, owner, pin))

    def done(self, owner: Owner, epoch: Epoch, commit: Commit) -> None:
        """Record that every state has the pinned txid."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.owned(owner, epoch)
            if not commits.is_repeated_done(entry.progress, commit):
                commits.check_done(entry.progress, commit)
                rows.put(with_done(rows, entry, epoch, commit, self._clock.monotonic()))

    def commit_together(
        self,
        owner: Owner,
        epoch: Epoch,
        pin: Pin,
        commit: Commit,
        copies: Sequence[TransactionStep],
        applies: Sequence[TransactionStep],
        took_ms: Callable[[], int] | None = None,
    ) -> None:
        """Run copies, applies, pin and done in one transaction; a no-op when the attempt is done already."""
        commits.check_together(pin, commit)
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.owned(owner, epoch)
            if commits.is_repeated_done(entry.progress, commit):
                return
            for step in (*copies, *applies):
                step(transaction)
            check_pin(entry, epoch, pin)
            entry = decisions.with_diverts(rows, entry, owner, pin)
            entry = reapplying.with_reapply(rows, entry, owner, epoch, pin)
            entry = with_pin(rows, entry, owner, pin)
            rows.put(with_done(rows, entry, epoch, commit.timed(took_ms), self._clock.monotonic()))

    def clean_up(self, owner: Owner, epoch: Epoch, keep: Keep) -> int:
        """Delete the history of finished txids that `keep` lets go; returns how many rows."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.owned(owner, epoch)
            now = self._clock.monotonic()
            old = reporting.let_go_of_old(transaction, owner.topology, keep.age, now)
            return old + clean_up(rows, entry, keep, now)

    def decide_reset(self, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
        """Record a reset before its first effect."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.fenced(topology, epoch)
            if resets.is_repeated_reset(topology, entry.reset, decision):
                return
            resets.check_reset(entry.progress, decision)
            if decision.incarnation in entry.incarnations:
                raise MismatchError(f"incarnation {decision.incarnation} was there before; a reset needs a new id.")
            progress = entry.progress._replace(reset_to=decision.incarnation)
            # some states may stand in the incarnation of one that is replaced: it stays known
            known = entry.incarnations | {decision.incarnation}
            rows.put(entry._replace(progress=progress, reset=decision, incarnations=known))

    def finish_reset(self, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
        """Make the decided incarnation the topology's own."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.fenced(topology, epoch)
            if entry.progress.incarnation == decision.incarnation:
                return
            resets.check_open_reset(topology, entry.reset, decision)
            entry = dropped(rows, entry, entry.progress.done + 1)
            rows.put(reborn(entry, decision))

    def refuse(self, owner: Owner, epoch: Epoch, refusal: Refusal) -> None:
        """Record why this epoch stops at a txid."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            rows.put(decisions.refused(rows.owned(owner, epoch), epoch, refusal))

    def decide(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Record a person's decision before its first effect."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.fenced(owner.topology, epoch)
            refused = rows.find_plan(entry, decision.attempt)
            rows.put(decisions.decided(entry, owner, epoch, decision, refused.plan if refused else None))

    def last_done(self, owner: Owner, epoch: Epoch) -> LastDone | None:
        """Return what is left of the last txid that is done; changes nothing."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            return taking_back.last_done(rows, rows.fenced(owner.topology, epoch), owner)

    def take_back(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Make the last done txid the pinned one again, with the undo of it decided."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            rows.put(taking_back.taken_back(rows, rows.fenced(owner.topology, epoch), owner, epoch, decision))

    def unpin(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Take the pin of an undone txid back and drop its attempt."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.fenced(owner.topology, epoch)
            rows.put(reapplying.without_reapply(decisions.unpinned(rows, entry, owner, decision), decision))

    def drop(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Take a state or sink out of what is known of the topology."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            rows.put(decisions.without(rows.fenced(owner.topology, epoch), owner, epoch, decision))

    def described(self, epoch: Epoch, topology: str) -> TopologySpec:
        """Return what is stored of a known topology."""
        with self._database.transaction() as transaction:
            return Rows(transaction).fenced(topology, epoch).spec

    def rename(self, owner: Owner, epoch: Epoch, decision: Decision, renames: Mapping[str, str]) -> None:
        """Give states other names in what is known of the topology."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.fenced(owner.topology, epoch)
            rows.put(decisions.renamed(rows, entry, owner, epoch, decision, renames))

    def send(self, topology: str, sent: Sent) -> int:
        """Add a life-cycle command."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry, number = lifecycle.sent_to(rows.find(topology), topology, sent, self._clock.monotonic())
            rows.put(entry)
            return number

    def withdraw(self, topology: str, number: int, text: str) -> None:
        """Make a command void that nobody has read."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.find(topology)
            if entry is not None:
                rows.put(lifecycle.withdrawn(entry, number, text))

    def take_commands(self, owner: Owner, epoch: Epoch) -> tuple[Given, ...]:
        """Read the commands that wait."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry, due = lifecycle.taken_by(rows.fenced(owner.topology, epoch), owner, epoch, self._clock.monotonic())
            rows.put(entry)
            return due

    def answer(self, owner: Owner, epoch: Epoch, number: int, reply: Reply) -> None:
        """Answer a command."""
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            rows.put(lifecycle.answered(rows.fenced(owner.topology, epoch), epoch, number, reply))

    def report(self, owner: Owner, epoch: Epoch, reports: Sequence[ErrorReport]) -> None:
        """Add to what people read of errors."""
        with self._database.transaction() as transaction:
            Rows(transaction).owned(owner, epoch)
            reporting.report(transaction, owner, epoch, reports, self._clock.monotonic())

    def losses(self, topology: str, status: PlanStatus = PlanStatus.DONE) -> tuple[Loss, ...]:
        """Return the losses recorded with attempts that are done (or live, or were dropped)."""
        with self._database.transaction() as transaction:
            return Rows(transaction).losses(topology, status)

    def dead_letters(self, topology: str) -> tuple[DeadLetter, ...]:
        """Return all dead letters of a topology."""
        with self._database.transaction() as transaction:
            return Rows(transaction).dead_letters(topology)

    def diverted(self, topology: str) -> tuple[tuple[int, Diverted], ...]:
        """Return the rows that decisions took out of txids, with the txid, by state."""
        with self._database.transaction() as transaction:
            return Rows(transaction).diverted(topology)

    def view(self) -> MemoryLedgerView:
        """Return what only reads."""
        return MemoryLedgerView(self._database, self._clock)

    def _registered(self, transaction: MemoryTransaction, epoch: Epoch, spec: TopologySpec) -> Snapshot:
        rows = Rows(transaction)
        rows.check_epoch(spec.name, epoch)
        return registered(rows, spec, lambda: self._draw_id(8))

    def close(self) -> None:
        """Do nothing: what is in memory stays for the next run of a topology in this process."""
