"""What the memory ledger holds of one topology: one immutable value, replaced by each write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from trident.base.errors import FatalError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.base.latency import CompleteLatency
from trident.coordinators.decided import Decision, DecisionKind, Diverted, Refusal, ResetDecision
from trident.coordinators.ledger.rules.changes import changed_ranges
from trident.coordinators.ledger.rules.fencing import check_epoch, check_owner
from trident.coordinators.ledger.rules.forgetting import used_up_by
from trident.coordinators.ledger.rules.lifecycle import KeptCommand
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress, StoredPlan
from trident.coordinators.lifecycle import Activity
from trident.coordinators.pinned import Commit, DeadLetter, Pin
from trident.coordinators.planned import Loss, Plan, StartPosition
from trident.coordinators.registered import Birth, Snapshot, TopologySpec
from trident.state.memory.database import MemoryTransaction

_FENCES = "trident_fence"
_TOPOLOGIES = "trident_topology"
_FINISHED = "trident_finished"
_DEAD_LETTERS = "trident_dead_letter"
_LOSSES = "trident_loss"
_DIVERTED = "trident_diverted"
_FORGOTTEN = "trident_forgotten"
ERRORS = "trident_error"


@dataclass(frozen=True, slots=True)
class Holding:
    """Fence and heartbeat of a topology; `beat_at` is by the ledger's clock."""

    epoch: Epoch
    holder: str
    beat_at: float
    seconds: float
    released: bool = False
    latencies: tuple[CompleteLatency, ...] = ()


@dataclass(frozen=True, slots=True)
class Stopped:
    """A refusal as it is kept: whose it is, and whether a person has decided since."""

    incarnation: str
    refusal: Refusal
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision as it is kept."""

    incarnation: str
    decision: Decision
    finished: bool = False
    void: bool = False
    refused: Plan | None = None
    """What the attempt read that it is about."""


@dataclass(frozen=True, slots=True)
class Commanded:
    """A life-cycle command as it is kept, and until when somebody may begin with it."""

    kept: KeptCommand
    until: float


class Entry(NamedTuple):
    """All of a topology that is not history."""

    spec: TopologySpec
    progress: Progress
    birth_txid: int
    starts: tuple[StartPosition, ...] | None = None
    births: tuple[Birth, ...] = ()
    live: tuple[StoredPlan, ...] = ()
    done_plan: StoredPlan | None = None
    pin: Pin | None = None
    reset: ResetDecision | None = None
    own_reset: ResetDecision | None = None
    """The reset that opened this incarnation."""
    cleared: int = 0
    """After which txid a reset last began without going on where the rows stand."""
    incarnations: frozenset[str] = frozenset()
    refusals: Mapping[int, Stopped] = MappingProxyType({})
    """What each epoch stopped at."""
    decisions: Mapping[int, Decided] = MappingProxyType({})
    """What was decided in each epoch."""
    activity: Activity = Activity.ACTIVE
    commands: tuple[Commanded, ...] = ()
    """Every life-cycle command, in the order of their numbers."""

    def open_refusal(self) -> Refusal | None:
        """Return why the last coordinator that said so stopped, unless a person has decided since."""
        for _, stopped in sorted(self.refusals.items(), key=lambda item: -item[0]):
            if not stopped.settled and self._is_about_next(stopped):
                return stopped.refusal
        return None

    def open_decisions(self) -> tuple[Decision, ...]:
        """Return the decisions that are not finished, oldest first."""
        kept = [decided for _, decided in sorted(self.decisions.items(), key=lambda item: item[0])]
        return tuple(
            each.decision for each in kept if not each.finished and self._is_ahead(each.incarnation, each.decision.txid)
        )

    def begun_forget(self) -> Decision | None:
        """Return the decision to let go of the topology, which goes with the rest once it is carried out."""
        kept = (each.decision for each in self.decisions.values())
        return next((each for each in kept if each.kind is DecisionKind.FORGET), None)

    def refused(self) -> dict[int, Plan]:
        """Return the plans that open decisions are about, by attempt."""
        open_decisions = self.open_decisions()
        return {
            kept.refused.attempt: kept.refused
            for kept in self.decisions.values()
            if kept.refused is not None and kept.decision in open_decisions
        }

    def _is_ahead(self, incarnation: str, txid: int) -> bool:
        return incarnation == self.progress.incarnation and txid > self.progress.done

    def _is_about_next(self, stopped: Stopped) -> bool:
        about = stopped.incarnation, stopped.refusal.txid
        return about == (self.progress.incarnation, self.progress.done + 1)

    def live_plan(self, attempt: int) -> StoredPlan | None:
        """Return the live plan of an attempt."""
        return next((stored for stored in self.live if stored.plan.attempt == attempt), None)

    def snapshot(self) -> Snapshot:
        """Return all that is durable and not done."""
        progress = self.progress
        return Snapshot(
            owner=Owner(self.spec.name, progress.incarnation),
            birth_txid=self.birth_txid,
            done=progress.done,
            done_attempt=progress.done_attempt,
            done_plan=self.done_plan.plan if self.done_plan else None,
            pin=self.pin,
            live=tuple(stored.plan for stored in self.live),
            starts=self.starts,
            last_txid=progress.last_txid,
            last_attempt=progress.last_attempt,
            incarnations=self.incarnations | ({progress.reset_to} if progress.reset_to is not None else frozenset()),
            births=self.births,
            open_reset=self.reset,
            reset=self.own_reset,
            refusal=self.open_refusal(),
            told=frozenset(
                stopped.refusal.attempt for stopped in self.refusals.values() if self._is_about_next(stopped)
            ),
            decisions=self.open_decisions(),
            forgetting=self.begun_forget(),
            refused=tuple(self.refused().values()),
            activity=self.activity,
            renamed=self.spec.renamed,
        )


@dataclass(frozen=True, slots=True)
class Finished:
    """History: an attempt that was dropped, or one that is done with its pin and commit."""

    stored: StoredPlan
    commit: Commit | None = None
    pin: Pin | None = None
    epoch: int = 0
    """The one that recorded that it is done."""
    done_at: float = 0.0


class KeptLoss(NamedTuple):
    """A loss as it is kept: the attempt that it was recorded with, and what became of that."""

    incarnation: str
    txid: int
    attempt: int
    loss: Loss
    status: PlanStatus


class Rows:
    """The ledger's tables inside one transaction of a memory database."""

    def __init__(self, transaction: MemoryTransaction) -> None:
        self.transaction = transaction

    def holding(self, topology: str) -> Holding | None:
        """Return who holds the topology."""
        found = self.transaction.table(_FENCES).get(topology)
        assert found is None or isinstance(found, Holding)
        return found

    def put_holding(self, topology: str, holding: Holding) -> None:
        """Replace who holds the topology."""
        self.transaction.table(_FENCES)[topology] = holding

    def check_epoch(self, topology: str, epoch: Epoch) -> None:
        """Raise FencedError for another epoch than the stored one."""
        holding = self.holding(topology)
        check_epoch(topology, holding.epoch if holding else None, epoch)

    def find(self, topology: str) -> Entry | None:
        """Return a topology's entry, None when it was never registered."""
        found = self.transaction.table(_TOPOLOGIES).get(topology)
        assert found is None or isinstance(found, Entry)
        return found

    def fenced(self, topology: str, epoch: Epoch) -> Entry:
        """Return a topology's entry for a writer of that epoch."""
        self.check_epoch(topology, epoch)
        entry = self.find(topology)
        if entry is None:
            raise MismatchError(f"topology {topology!r} is not registered in this ledger. Nothing was written.")
        return entry

    def owned(self, owner: Owner, epoch: Epoch) -> Entry:
        """Return a topology's entry for a writer of that epoch and incarnation."""
        entry = self.fenced(owner.topology, epoch)
        check_owner(entry.progress, owner)
        return entry

    def put(self, entry: Entry) -> None:
        """Replace a topology's entry."""
        self.transaction.table(_TOPOLOGIES)[entry.spec.name] = entry

    def used_up(self, topology: str) -> tuple[int, int, int]:
        """Return last txid, attempt and epoch of a topology of that name that was let go of, zeros where none was."""
        found = self.transaction.table(_FORGOTTEN).get(topology)
        return (found[0], found[1], found[2]) if isinstance(found, tuple) else (0, 0, 0)

    def let_go(self, entry: Entry, epoch: Epoch) -> None:
        """Delete all of a topology but its fence, and the numbers that it has used up."""
        name = entry.spec.name
        numbers = used_up_by(entry.progress.last_txid, entry.birth_txid), entry.progress.last_attempt, epoch.number
        self.transaction.table(_FORGOTTEN)[name] = numbers
        del self.transaction.table(_TOPOLOGIES)[name]
        for table in (_FINISHED, _DEAD_LETTERS, _LOSSES, _DIVERTED, ERRORS):
            rows = self.transaction.table(table)
            for key in [key for key in rows if isinstance(key, tuple) and key[0] == name]:
                del rows[key]

    def finished(self, topology: str) -> dict[int, Finished]:
        """Return the history of a topology by attempt."""
        table = self.transaction.table(_FINISHED)
        rows: dict[int, Finished] = {}
        for key, row in table.items():
            assert isinstance(key, tuple)
            assert isinstance(row, Finished)
            if key[0] == topology:
                rows[key[1]] = row
        return rows

    def find_plan(self, entry: Entry, attempt: int) -> StoredPlan | None:
        """Return the plan of an attempt, None where it never was or was let go of."""
        if attempt > entry.progress.last_attempt:
            return None
        return entry.live_plan(attempt) or self.finished_plan(entry.spec.name, attempt)

    def stored_pin(self, entry: Entry, pin: Pin) -> Pin | None:
        """Return what a txid was pinned with that is pinned already, None where that was let go of."""
        if entry.progress.pinned == pin.txid:
            return entry.pin
        row = self.finished(entry.spec.name).get(pin.attempt)
        return row.pin if row else None

    def finished_plan(self, topology: str, attempt: int) -> StoredPlan | None:
        """Return the plan of an attempt that was dropped or is done."""
        row = self.transaction.table(_FINISHED).get((topology, attempt))
        return row.stored if isinstance(row, Finished) else None

    def finish(self, topology: str, row: Finished) -> None:
        """Add to the history."""
        self.transaction.table(_FINISHED)[topology, row.stored.plan.attempt] = row

    def forget(self, topology: str, attempt: int) -> None:
        """Delete from the history."""
        del self.transaction.table(_FINISHED)[topology, attempt]

    def mark_losses(self, topology: str, stored: StoredPlan) -> None:
        """Keep the losses of an attempt with what became of it."""
        if stored.plan.losses:
            batch = (topology, stored.incarnation, stored.plan.txid, stored.plan.attempt)
            table = self.transaction.table(_LOSSES)
            table.update({(*batch, loss): stored.status for loss in stored.plan.losses})

    def kept_losses(self, topology: str) -> list[KeptLoss]:
        """Return the losses of a topology by attempt."""
        found = []
        for key, status in self.transaction.table(_LOSSES).items():
            assert isinstance(key, tuple)
            assert isinstance(status, PlanStatus)
            if key[0] == topology:
                found.append(KeptLoss(key[1], key[2], key[3], key[4], status))
        return found

    def losses(self, topology: str, status: PlanStatus) -> tuple[Loss, ...]:
        """Return the recorded losses of a topology's attempts with that status."""
        return tuple(kept.loss for kept in self.kept_losses(topology) if kept.status is status)

    def add_dead_letters(self, owner: Owner, pin: Pin) -> None:
        """Keep the dead letters of a pin."""
        if pin.dead_letters:
            table = self.transaction.table(_DEAD_LETTERS)
            table[owner.topology, owner.incarnation, pin.txid] = pin.dead_letters

    def add_diverted(self, owner: Owner, txid: int, diverted: Diverted) -> None:
        """Keep the rows that a decision took out of a txid; a second one finds none left and takes none away."""
        if diverted.rows:
            table = self.transaction.table(_DIVERTED)
            table[owner.topology, owner.incarnation, txid, diverted.state] = diverted

    def diverted_of(self, topology: str) -> list[tuple[Owner, int, Diverted]]:
        """Return the rows that decisions took out of txids, with incarnation and txid, in order."""
        found = []
        for key, diverted in self.transaction.table(_DIVERTED).items():
            assert isinstance(key, tuple)
            assert isinstance(diverted, Diverted)
            if key[0] == topology:
                found.append((Owner(topology, key[1]), int(key[2]), diverted))
        return sorted(found, key=lambda item: (item[1], item[2].state))

    def diverted(self, topology: str) -> tuple[tuple[int, Diverted], ...]:
        """Return the rows that decisions took out of txids, by txid and state."""
        return tuple((txid, diverted) for _, txid, diverted in self.diverted_of(topology))

    def forget_letters(self, owner: Owner, txid: int) -> None:
        """Let go of the dead letters and diverted rows of a txid whose records will be read again."""
        of_batch = (owner.topology, owner.incarnation, txid)
        for name in (_DEAD_LETTERS, _DIVERTED):
            table = self.transaction.table(name)
            for key in [key for key in table if isinstance(key, tuple) and key[:3] == of_batch]:
                del table[key]

    def letters_of(self, topology: str) -> list[tuple[Owner, int, tuple[DeadLetter, ...]]]:
        """Return the dead letters of a topology with the incarnations and txids that they are of."""
        found = []
        for key, letters in self.transaction.table(_DEAD_LETTERS).items():
            assert isinstance(key, tuple)
            assert isinstance(letters, tuple)
            if key[0] == topology:
                found.append((Owner(topology, key[1]), key[2], letters))
        return found

    def dead_letters(self, topology: str) -> tuple[DeadLetter, ...]:
        """Return all dead letters of a topology."""
        return tuple(letter for _, _, letters in self.letters_of(topology) for letter in letters)

    def names(self) -> tuple[str, ...]:
        """Return the names of all topologies."""
        return tuple(sorted(str(name) for name in self.transaction.table(_TOPOLOGIES)))


def dropped(rows: Rows, entry: Entry, drop_from: int) -> Entry:
    """Move the live attempts from a txid on to the history; returns the entry without them."""
    before = entry.done_plan
    for stored in entry.live:
        if stored.plan.txid >= drop_from:
            gone = replace(changed(stored, before), status=PlanStatus.DROPPED)
            rows.finish(entry.spec.name, Finished(gone))
            rows.mark_losses(entry.spec.name, gone)
        before = stored
    return entry._replace(live=tuple(stored for stored in entry.live if stored.plan.txid < drop_from))


def changed(stored: StoredPlan, before: StoredPlan | None) -> StoredPlan:
    """Return a plan as it is kept: what it changes of the one before."""
    ranges = changed_ranges(stored.plan, before.plan if before is not None else None)
    return replace(stored, plan=replace(stored.plan, ranges=ranges), is_whole=before is None)


def with_pin(rows: Rows, entry: Entry, owner: Owner, pin: Pin) -> Entry:
    """Keep the dead letters; returns the entry with the pin."""
    rows.add_dead_letters(owner, pin)
    progress = entry.progress._replace(pinned=pin.txid, pinned_attempt=pin.attempt)
    return entry._replace(progress=progress, pin=pin)


def with_done(rows: Rows, entry: Entry, epoch: Epoch, commit: Commit, now: float) -> Entry:
    """Move the pinned attempt to the history; returns the entry with its txid done."""
    live = entry.live_plan(commit.attempt)
    if live is None:
        raise FatalError(f"the plan of txid {commit.txid} attempt {commit.attempt} is gone; nothing was written")
    stored = replace(live, status=PlanStatus.DONE)
    kept = changed(stored, entry.done_plan)
    rows.finish(entry.spec.name, Finished(kept, commit, entry.pin, epoch.number, now))
    rows.mark_losses(entry.spec.name, stored)
    progress = entry.progress._replace(done=commit.txid, done_attempt=commit.attempt, pinned=None, pinned_attempt=None)
    rest = tuple(other for other in entry.live if other is not live)
    return entry._replace(progress=progress, live=rest, done_plan=stored, pin=None)
