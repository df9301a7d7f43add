"""A memory ledger's view: the same rows as a SQL ledger's, without moments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trident.base.clock import Clock
from trident.base.errors import MismatchError
from trident.base.identity import Owner
from trident.coordinators.decided import DecisionKind
from trident.coordinators.ledger.memory.reporting import errors_of, recent_of, row_of, said
from trident.coordinators.ledger.memory.rows import Entry, Finished, KeptLoss, Rows, changed
from trident.coordinators.ledger.rules.lifecycle import KeptCommand
from trident.coordinators.ledger.rules.progress import PlanStatus, StoredPlan
from trident.coordinators.ledger.rules.reapplying import is_about
from trident.coordinators.ledger.rules.renaming import renamed_in_words
from trident.coordinators.ledger.view import (
    AttemptRow,
    BatchRow,
    CommandRow,
    DeadLetterRow,
    DecisionRow,
    DivertedRow,
    ErrorRow,
    LossRow,
    PartitionProgress,
    PinRow,
    RefusalRow,
    TopologyStatus,
    TxidStory,
    dropped_in_words,
    progress_of,
)
from trident.coordinators.pinned import Commit, DeadLetter, Pin
from trident.state.memory.database import MemoryDatabase


class MemoryLedgerView:
    """See `LedgerView`."""

    def __init__(self, database: MemoryDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def topologies(self) -> tuple[str, ...]:
        """Return the names of all topologies."""
        with self._database.transaction() as transaction:
            return Rows(transaction).names()

    def status(self, topology: str) -> TopologyStatus:
        """Return where a topology stands."""
        with self._kept(topology) as kept:
            return kept.status(self._clock.monotonic())

    def progress(self, topology: str) -> tuple[PartitionProgress, ...]:
        """Return how far every partition ever seen is read."""
        with self._kept(topology) as kept:
            entry = kept.entry
            done = entry.done_plan.plan if entry.done_plan else None
            return progress_of(entry.starts or (), done, entry.live[-1].plan if entry.live else None)

    def batches(self, topology: str, limit: int = 20) -> tuple[BatchRow, ...]:
        """Return the last txids that are done, newest first."""
        with self._kept(topology) as kept:
            return kept.batches()[:limit]

    def txid(self, topology: str, txid: int) -> TxidStory:
        """Return all that is kept of one txid."""
        with self._kept(topology) as kept:
            return kept.story(txid)

    def losses(self, topology: str) -> tuple[LossRow, ...]:
        """Return the losses of all attempts that are done."""
        with self._kept(topology) as kept:
            return tuple(row for row in kept.losses() if row.status == PlanStatus.DONE)

    def dead_letters(self, topology: str) -> tuple[DeadLetterRow, ...]:
        """Return all dead letters."""
        with self._kept(topology) as kept:
            return kept.dead_letters()

    def commands(self, topology: str, since: int = 1) -> tuple[CommandRow, ...]:
        """Return the life-cycle commands from a number on."""
        with self._kept(topology) as kept:
            numbered = [each for each in kept.entry.commands if each.kept.number >= since]
            return tuple(_command(topology, each.kept) for each in numbered)

    def errors(self, topology: str) -> tuple[ErrorRow, ...]:
        """Return what is kept of errors, the newest first."""
        with self._kept(topology) as kept:
            return kept.errors()

    @contextmanager
    def _kept(self, topology: str) -> Iterator[_Kept]:
        with self._database.transaction() as transaction:
            rows = Rows(transaction)
            entry = rows.find(topology)
            if entry is None:
                known = ", ".join(map(repr, rows.names())) or "none"
                raise MismatchError(f"topology {topology!r} is not in this ledger; there are: {known}.")
            yield _Kept(rows, entry)


class _Kept:
    """All that is kept of one topology, inside one transaction."""

    def __init__(self, rows: Rows, entry: Entry) -> None:
        self.entry = entry
        self._rows = rows
        self._name = entry.spec.name
        self._finished = sorted(rows.finished(self._name).values(), key=lambda row: row.stored.plan.attempt)

    def status(self, now: float) -> TopologyStatus:
        progress, holding = self.entry.progress, self._rows.holding(self._name)
        assert holding is not None, "who registers a topology holds it"
        reset = self.entry.reset
        lost = [row for row in self.losses() if row.status == PlanStatus.DONE]
        is_held = not holding.released and now < holding.beat_at + holding.seconds
        recent = recent_of(errors_of(self._rows.transaction, self._name), now)
        return TopologyStatus(
            name=self._name,
            incarnation=progress.incarnation,
            birth_txid=self.entry.birth_txid,
            done=progress.done,
            pinned=progress.pinned,
            live=len(self.entry.live),
            last_txid=progress.last_txid,
            last_attempt=progress.last_attempt,
            epoch=holding.epoch.number,
            holder=holding.holder,
            is_held=is_held,
            done_at=None,
            refusal=self.entry.open_refusal(),
            decisions=tuple(str(each) for each in (*self.entry.open_decisions(), self.entry.begun_forget()) if each),
            open_reset=f"states={reset.states!r}, to incarnation {reset.incarnation}" if reset else None,
            losses=len(lost),
            lost_offsets=sum(row.count for row in lost),
            dead_letters=len(self.dead_letters()),
            diverted_rows=len(self._diverted()),
            births=self.entry.births,
            sinks=self.entry.spec.sinks,
            received=self.entry.spec.received,
            level=self.entry.spec.level,
            dropped=dropped_in_words(self.entry.spec),
            renamed=renamed_in_words(self.entry.spec),
            activity=self.entry.activity,
            commands=tuple(
                f"{each.kept.number} {each.kept.kind}" for each in self.entry.commands if each.kept.verdict is None
            ),
            recent_errors=len(recent),
            last_error=said(recent[0]) if recent else None,
            latencies=holding.latencies if is_held else (),
        )

    def batches(self) -> tuple[BatchRow, ...]:
        rows = [_batch(self._name, row, row.commit) for row in self._finished if row.commit is not None]
        return tuple(sorted(rows, key=lambda row: -row.txid))

    def errors(self) -> tuple[ErrorRow, ...]:
        return tuple(row_of(self._name, kept) for kept in errors_of(self._rows.transaction, self._name))

    def losses(self) -> tuple[LossRow, ...]:
        kept = self._rows.kept_losses(self._name)
        ordered = sorted(kept, key=lambda each: (each.attempt, each.loss.spout, each.loss.id, each.loss.start))
        return tuple(_loss(self._name, each) for each in ordered)

    def dead_letters(self) -> tuple[DeadLetterRow, ...]:
        rows = [
            _dead_letter(owner, txid, self._attempt_at(owner, txid), letter)
            for owner, txid, letters in self._rows.letters_of(self._name)
            for letter in letters
        ]
        return tuple(sorted(rows, key=lambda row: (row.txid, row.spout, row.topic, row.partition, row.record_offset)))

    def story(self, txid: int) -> TxidStory:
        finished = [row for row in self._finished if row.stored.plan.txid == txid]
        live = [stored for stored in self._live_changes() if stored.plan.txid == txid]
        stored = sorted([*(row.stored for row in finished), *live], key=lambda each: each.plan.attempt)
        return TxidStory(
            attempts=tuple(_attempt(self._name, each) for each in stored),
            pin=tuple(_pin(self._name, each, pin) for each, pin in self._pins() if pin.txid == txid),
            commit=tuple(row for row in self.batches() if row.txid == txid),
            losses=tuple(row for row in self.losses() if row.txid == txid),
            dead_letters=tuple(row for row in self.dead_letters() if row.txid == txid),
            refusals=tuple(row for row in self._refusals() if row.txid == txid),
            decisions=self._decisions(txid),
            diverted=tuple(row for row in self._diverted() if row.txid == txid),
        )

    def _live_changes(self) -> list[StoredPlan]:
        """Return what the live plans change, each of the one before."""
        before = [self.entry.done_plan, *self.entry.live]
        return [changed(stored, earlier) for stored, earlier in zip(self.entry.live, before, strict=False)]

    def _pins(self) -> list[tuple[StoredPlan, Pin]]:
        pins = [(row.stored, row.pin) for row in self._finished if row.pin is not None]
        pinned = self.entry.pin
        return pins + [
            (each, pinned) for each in self._live_changes() if pinned and each.plan.attempt == pinned.attempt
        ]

    def _refusals(self) -> tuple[RefusalRow, ...]:
        return tuple(
            RefusalRow(
                topology=self._name,
                epoch=epoch,
                incarnation=stopped.incarnation,
                txid=stopped.refusal.txid,
                attempt=stopped.refusal.attempt,
                kind=stopped.refusal.kind.value,
                state=stopped.refusal.state,
                reason=stopped.refusal.reason,
                refused_at=None,
                settled_by=self._settled_by(epoch, stopped.incarnation) if stopped.settled else None,
                settled_at=None,
            )
            for epoch, stopped in sorted(self.entry.refusals.items(), key=lambda item: item[0])
        )

    def _settled_by(self, epoch: int, incarnation: str) -> str | None:
        """Return what was decided next after an epoch: a decision settles all refusals before it."""
        known = ((e, d) for e, d in self.entry.decisions.items() if d.decision.kind is not DecisionKind.REAPPLY)
        after = [(e, d) for e, d in known if e > epoch and d.incarnation == incarnation]
        return min(after, key=lambda item: item[0])[1].decision.kind.value if after else None

    def _decisions(self, txid: int) -> tuple[DecisionRow, ...]:
        return tuple(
            DecisionRow(
                topology=self._name,
                epoch=epoch,
                incarnation=decided.incarnation,
                txid=decided.decision.txid,
                attempt=decided.decision.attempt,
                kind=decided.decision.kind.value,
                state=decided.decision.state,
                decided_by=decided.decision.decided_by,
                decided_at=None,
                finished_at=None,
                is_finished=decided.finished,
                void=decided.void,
            )
            for epoch, decided in sorted(self.entry.decisions.items(), key=lambda item: item[0])
            if is_about(decided.decision, txid)
        )

    def _diverted(self) -> tuple[DivertedRow, ...]:
        return tuple(
            DivertedRow(
                self._name, owner.incarnation, txid, each.state, number, self._attempt_at(owner, txid), row, None
            )
            for owner, txid, each in self._rows.diverted_of(self._name)
            for number, row in enumerate(each.rows, start=1)
        )

    def _attempt_at(self, owner: Owner, txid: int) -> int | None:
        """Return the pinned attempt at a txid, None when its history was let go."""
        kept = [pin.attempt for each, pin in self._pins() if (each.incarnation, pin.txid) == (owner.incarnation, txid)]
        return kept[0] if kept else None


def _attempt(topology: str, stored: StoredPlan) -> AttemptRow:
    plan = stored.plan
    return AttemptRow(
        topology=topology,
        attempt=plan.attempt,
        incarnation=stored.incarnation,
        txid=plan.txid,
        tries=plan.tries,
        epoch=stored.epoch,
        predecessor=plan.predecessor,
        status=stored.status.value,
        batch_time=plan.batch_time,
        created_at=None,
        ranges=plan.ranges,
        losses=plan.losses,
        timers=plan.timers,
        received=plan.received,
        diverts=plan.diverts,
    )


def _pin(topology: str, stored: StoredPlan, pin: Pin) -> PinRow:
    return PinRow(
        topology=topology,
        incarnation=stored.incarnation,
        txid=pin.txid,
        attempt=pin.attempt,
        epoch=stored.epoch,
        plan=stored.plan,
        manifests=pin.manifests,
        states=pin.states,
        pinned_at=None,
    )


def _batch(topology: str, row: Finished, commit: Commit) -> BatchRow:
    return BatchRow(
        topology=topology,
        incarnation=row.stored.incarnation,
        txid=commit.txid,
        attempt=commit.attempt,
        tries=commit.tries,
        epoch=row.epoch,
        records=commit.records,
        dead_letters=commit.dead_letters,
        keys=commit.keys,
        plan_ms=commit.plan_ms,
        process_ms=commit.process_ms,
        commit_ms=commit.commit_ms,
        done_at=None,
    )


def _command(topology: str, kept: KeptCommand) -> CommandRow:
    return CommandRow(
        topology=topology,
        number=kept.number,
        id=kept.id,
        incarnation=kept.incarnation,
        kind=kept.kind,
        arguments=kept.arguments,
        given_by=kept.given_by,
        given_at=None,
        within_seconds=kept.within_seconds,
        epoch=kept.epoch,
        verdict=kept.verdict.value if kept.verdict is not None else None,
        answer=kept.answer,
        answered_at=None,
    )


def _loss(topology: str, kept: KeptLoss) -> LossRow:
    loss = kept.loss
    return LossRow(
        topology=topology,
        attempt=kept.attempt,
        spout=loss.spout,
        topic=loss.id.topic,
        partition=loss.id.partition,
        start_offset=loss.start,
        stop_offset=loss.stop,
        incarnation=kept.incarnation,
        txid=kept.txid,
        status=kept.status.value,
        reason=loss.reason,
        recorded_at=None,
    )


def _dead_letter(owner: Owner, txid: int, attempt: int | None, letter: DeadLetter) -> DeadLetterRow:
    record = letter.record
    return DeadLetterRow(
        topology=owner.topology,
        incarnation=owner.incarnation,
        txid=txid,
        spout=letter.spout,
        topic=record.id.topic,
        partition=record.id.partition,
        record_offset=record.offset,
        attempt=attempt,
        record_timestamp=record.timestamp,
        reason=record.reason,
        pinned_at=None,
    )
