"""The ledger over a SQL database: one transaction per call, fence and progress locked before anything is decided."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

from sqlalchemy import Connection

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.base.latency import CompleteLatency
from trident.base.looking import rolled_back
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.coordinators.decided import Decision, Refusal, ResetDecision
from trident.coordinators.last_done import LastDone
from trident.coordinators.ledger.base import TransactionStep
from trident.coordinators.ledger.rules import commits
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress
from trident.coordinators.ledger.sql import (
    batch_writes,
    decision_writes,
    epochs,
    exclusions,
    lifecycle,
    planning,
    reads,
    reapplying,
    registration,
    reporting,
    resets,
    retention,
    taking_back,
)
from trident.coordinators.ledger.sql.diverting import SqlDiverting
from trident.coordinators.ledger.sql.forgetting import ForgetsTopologies
from trident.coordinators.ledger.sql.messages import read_done_ids
from trident.coordinators.ledger.sql.opening import migrate, open_database
from trident.coordinators.ledger.sql.presence import Presence
from trident.coordinators.ledger.sql.viewing import SqlLedgerView, check_readable
from trident.coordinators.lifecycle import Given, Reply, Sent
from trident.coordinators.pinned import Commit, DeadLetter, Pin
from trident.coordinators.planned import Loss, Plan, StartPosition
from trident.coordinators.registered import Acquired, Birth, Keep, Lease, Snapshot, TopologySpec
from trident.coordinators.reported import ErrorReport
from trident.state.capabilities import Transaction
from trident.state.databases.base import SqlDatabase, SqlTransaction


class SqlLedger(SqlDiverting, ForgetsTopologies):
    """What `PostgresLedger` and `SqliteLedger` share; see `Ledger` for what each method guarantees."""

    def __init__(self, database: SqlDatabase, presence: Presence, where: str) -> None:
        self._database = database
        self._presence = presence
        self._shown = where
        self._lock = threading.Lock()
        self._users = 0
        self._is_migrated = False

    @property
    def database(self) -> SqlDatabase:
        """The database object that states without one of their own share."""
        return self._database

    def open(self, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> None:
        """Connect, and make the tables where there are none; may be called again."""
        with self._lock:
            self._users += 1
        open_database(self._database, self._shown, timeouts.give_up_after.total_seconds())

    def acquire(self, topology: str, lease: Lease, above: int = 0) -> Acquired:
        """Raise the topology's epoch and start its heartbeat, unless another holder's is fresh."""
        return epochs.acquire(self._database, self._presence, topology, lease, above)

    def renew(self, topology: str, epoch: Epoch, latencies: Sequence[CompleteLatency] = ()) -> bool:
        """Write a heartbeat, with how long messages take; tells whether commands wait."""
        self._presence.keep(topology, epoch.token)  # first: a beat whose commit takes long must not delay it
        with self._beating() as transaction:
            transaction.work_for(topology, epoch)
            return epochs.renew(transaction.connection, topology, epoch, latencies, looks=self._is_migrated)

    def release(self, topology: str, epoch: Epoch) -> None:
        """End the lease at once; a no-op when the epoch is old."""
        try:
            with self._working(topology, epoch) as transaction:
                epochs.release(transaction.connection, topology, epoch)
        finally:
            self._presence.end(topology, epoch.token)

    def require_held(self, topology: str, epoch: Epoch, transaction: Transaction | None = None) -> None:
        """Raise FencedError for another epoch than the stored one."""
        if transaction is None:
            own = self._database.transaction()
            rolled_back(own, lambda opened: reads.check_fence(opened.connection, topology, epoch))
            return
        assert isinstance(transaction, SqlTransaction), "who is beside this ledger has its transactions"
        reads.lock_fence(transaction.connection, topology, epoch)

    def look(self, epoch: Epoch, spec: TopologySpec) -> Snapshot:
        """Return what `register` would return; changes nothing."""

        return rolled_back(
            self._migrated(spec.name, epoch),
            lambda transaction: registration.register(transaction.connection, epoch, spec),
        )

    def register(self, epoch: Epoch, spec: TopologySpec) -> Snapshot:
        """Record a new topology or check a known one, then read all that is open."""
        with self._migrated(spec.name, epoch) as transaction:
            return registration.register(transaction.connection, epoch, spec)

    def snapshot(self, epoch: Epoch, topology: str) -> Snapshot:
        """Read all that is open of a known topology; changes nothing."""
        return rolled_back(
            self._migrated(topology, epoch),
            lambda transaction: registration.snapshot(transaction.connection, epoch, topology),
        )

    def set_starts(self, owner: Owner, epoch: Epoch, starts: Sequence[StartPosition]) -> None:
        """Store where the incarnation starts, once per spout."""
        with self._working(owner.topology, epoch) as transaction:
            registration.set_starts(transaction.connection, owner, epoch, starts)

    def set_births(self, owner: Owner, epoch: Epoch, births: Sequence[Birth]) -> None:
        """Record since when the incarnation has these states."""
        with self._migrated(owner.topology, epoch) as transaction:
            registration.set_births(transaction.connection, owner, epoch, births)

    def plan(self, owner: Owner, epoch: Epoch, plan: Plan | None, drop_from: int | None = None) -> None:
        """Drop live attempts, then insert a plan, atomically."""
        with self._working(owner.topology, epoch) as transaction:
            planning.write_plan(transaction.connection, owner, epoch, plan, drop_from)

    def last_plan_of(self, owner: Owner, txid: int) -> Plan | None:
        """Return the latest plan ever made for a txid of this incarnation, whatever became of it."""
        with self._database.transaction() as transaction:
            return reads.read_latest_plan(transaction.connection, owner, txid)

    def done_ids(self, topology: str, spout: str, most: int) -> dict[str, str]:
        """Return the newest ids of a stream's messages that are done, at most so many, oldest first."""
        with self._database.transaction() as transaction:
            return read_done_ids(transaction.connection, topology, spout, most)

    def pin(
        self,
        owner: Owner,
        epoch: Epoch,
        pin: Pin,
        copies: Sequence[TransactionStep] = (),
        applies: Sequence[TransactionStep] = (),
    ) -> None:
        """Decide a txid, in one transaction with the applies to the states beside the ledger."""
        with suppress(_AlreadyDone), self._working(owner.topology, epoch) as transaction:
            connection = transaction.connection
            _run_steps(transaction, (*copies, *applies), owner, epoch)
            progress = planning.lock_owned(connection, owner, epoch)
            if commits.is_repeated_pin(progress, pin):
                commits.check_same_pin(reads.read_pin(connection, owner, progress, pin.txid), pin)
                raise _AlreadyDone
            planning.check_pin(connection, owner, epoch, progress, pin)
            batch_writes.write_pin(connection, owner, epoch, pin)
            decision_writes.write_diverts(connection, owner, pin, progress)
            reapplying.write_reapply(connection, owner, epoch, pin, progress, is_done=False)

    def done(self, owner: Owner, epoch: Epoch, commit: Commit) -> None:
        """Record that every state has the pinned txid."""
        # a take-over finishes what is pinned before it registers; after that the tables are not asked again
        beginning = self._working if self._is_migrated else self._migrated
        with beginning(owner.topology, epoch) as transaction:
            progress = planning.lock_owned(transaction.connection, owner, epoch)
            if not commits.is_repeated_done(progress, commit):
                commits.check_done(progress, commit)
                connection = transaction.connection
                plan = reads.read_pinned_plan(connection, owner, progress, commit.txid, commit.attempt)
                batch_writes.write_done(connection, owner, epoch, commit, plan)
                reapplying.finish_reapply(connection, owner, plan, commit)

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
        try:
            with self._working(owner.topology, epoch) as transaction:
                _refuse_done(reads.read_progress(transaction.connection, owner.topology), owner, commit)
                _run_steps(transaction, (*copies, *applies), owner, epoch)
                progress = planning.lock_owned(transaction.connection, owner, epoch)
                # The lost call may have ended while the applies waited for its locks.
                _refuse_done(progress, owner, commit)
                planning.check_pin(transaction.connection, owner, epoch, progress, pin)
                batch_writes.write_together(transaction.connection, owner, epoch, pin, commit.timed(took_ms))
                decision_writes.write_diverts(transaction.connection, owner, pin, progress)
                reapplying.write_reapply(transaction.connection, owner, epoch, pin, progress, is_done=True)
        except _AlreadyDone:
            return

    def clean_up(self, owner: Owner, epoch: Epoch, keep: Keep) -> int:
        """Delete the history of finished txids that `keep` lets go; returns how many rows."""
        with self._working(owner.topology, epoch) as transaction:
            return retention.clean_up(transaction.connection, owner, epoch, keep)

    def decide_reset(self, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
        """Record a reset before its first effect."""
        with self._migrated(topology, epoch) as transaction:
            resets.decide_reset(transaction.connection, epoch, topology, decision)

    def finish_reset(self, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
        """Make the decided incarnation the topology's own."""
        with self._migrated(topology, epoch) as transaction:
            resets.finish_reset(transaction.connection, epoch, topology, decision)

    def refuse(self, owner: Owner, epoch: Epoch, refusal: Refusal) -> None:
        """Record why this epoch stops at a txid."""
        with self._migrated(owner.topology, epoch) as transaction:
            decision_writes.refuse(transaction.connection, owner, epoch, refusal)

    def decide(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Record a person's decision before its first effect."""
        with self._migrated(owner.topology, epoch) as transaction:
            decision_writes.decide(transaction.connection, owner, epoch, decision)

    def last_done(self, owner: Owner, epoch: Epoch) -> LastDone | None:
        """Return what is left of the last txid that is done; changes nothing."""
        return rolled_back(
            self._migrated(owner.topology, epoch),
            lambda transaction: taking_back.read_last_done(transaction.connection, owner, epoch),
        )

    def take_back(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Make the last done txid the pinned one again, with the undo of it decided."""
        with self._migrated(owner.topology, epoch) as transaction:
            taking_back.take_back(transaction.connection, owner, epoch, decision)

    def unpin(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Take the pin of an undone txid back and drop its attempt."""
        with self._migrated(owner.topology, epoch) as transaction:
            decision_writes.unpin(transaction.connection, owner, epoch, decision)
            reapplying.void_reapply(transaction.connection, owner, decision)

    def drop(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Take a state or sink out of what is known of the topology."""
        with self._migrated(owner.topology, epoch) as transaction:
            registration.drop(transaction.connection, owner, epoch, decision)

    def described(self, epoch: Epoch, topology: str) -> TopologySpec:
        """Return what is stored of a known topology."""
        read = registration.described_as
        return rolled_back(self._migrated(topology, epoch), lambda opened: read(opened.connection, epoch, topology))

    def rename(self, owner: Owner, epoch: Epoch, decision: Decision, renames: Mapping[str, str]) -> None:
        """Give states other names in what is known of the topology."""
        with self._migrated(owner.topology, epoch) as transaction:
            registration.rename(transaction.connection, owner, epoch, decision, renames)

    def send(self, topology: str, sent: Sent) -> int:
        """Add a life-cycle command."""
        with self._as_it_is() as connection:
            return lifecycle.send(connection, topology, sent)

    def withdraw(self, topology: str, number: int, text: str) -> None:
        """Make a command void that nobody has read."""
        with self._as_it_is() as connection:
            lifecycle.withdraw(connection, topology, number, text)

    def take_commands(self, owner: Owner, epoch: Epoch) -> tuple[Given, ...]:
        """Read the commands that wait."""
        with self._migrated(owner.topology, epoch) as transaction:
            return lifecycle.take(transaction.connection, owner, epoch)

    def answer(self, owner: Owner, epoch: Epoch, number: int, reply: Reply) -> None:
        """Answer a command."""
        with self._migrated(owner.topology, epoch) as transaction:
            lifecycle.answer(transaction.connection, owner, epoch, number, reply)

    def report(self, owner: Owner, epoch: Epoch, reports: Sequence[ErrorReport]) -> None:
        """Add to what people read of errors."""
        with self._working(owner.topology, epoch) as transaction:
            reporting.report(transaction.connection, owner, epoch, reports)

    def losses(self, topology: str, status: PlanStatus = PlanStatus.DONE) -> tuple[Loss, ...]:
        """Return the losses recorded with attempts that are done (or live, or were dropped)."""
        with self._database.transaction() as transaction:
            return exclusions.read_losses(transaction.connection, topology, status)

    def dead_letters(self, topology: str) -> tuple[DeadLetter, ...]:
        """Return all dead letters of a topology."""
        with self._database.transaction() as transaction:
            return exclusions.read_dead_letters(transaction.connection, topology)

    @contextmanager
    def _as_it_is(self) -> Iterator[Connection]:
        """Run a transaction of somebody who holds nothing: tables of another version are left as they are."""
        with self._database.transaction() as transaction:
            check_readable(transaction.connection, self._shown)
            yield transaction.connection

    def _beating(self) -> AbstractContextManager[SqlTransaction]:
        """Return a transaction for a heartbeat, which may not wait for the connections that commits use."""
        return self._database.transaction()

    @contextmanager
    def _working(self, topology: str, epoch: Epoch) -> Iterator[SqlTransaction]:
        """Run a transaction that shows for whom it works before it takes its first lock."""
        with self._database.transaction() as transaction:
            transaction.work_for(topology, epoch)
            yield transaction

    @contextmanager
    def _migrated(self, topology: str, epoch: Epoch) -> Iterator[SqlTransaction]:
        """Run a transaction that first brings tables of an older version to this library's: what is rare does so.

        Where it raises, or is rolled back, they stay what the older library reads.
        """
        with self._working(topology, epoch) as transaction:
            migrate(transaction.connection, self._database)
            yield transaction
        self._is_migrated = True

    def view(self) -> SqlLedgerView:
        """Return what only reads."""
        return SqlLedgerView(self._database, self._shown)

    def close(self) -> None:
        """Let go of connections, and with them of the marks of all leases, once everyone who opened it has said so.

        Runs share the object; one that ends must not let go of the leases of the others. May be called again.
        """
        with self._lock:
            self._users = max(0, self._users - 1)
            if self._users:
                return
        self._presence.close()
        self._database.close()


class _AlreadyDone(Exception):
    """The attempt is decided already; nothing of this transaction is needed."""


def _run_steps(transaction: SqlTransaction, steps: Sequence[TransactionStep], owner: Owner, epoch: Epoch) -> None:
    """Run the stores' parts; a state that a successor has moved on means being fenced, and is said to be that."""
    try:
        for step in steps:
            step(transaction)
    except MismatchError:
        reads.lock_fence(transaction.connection, owner.topology, epoch)
        raise


def _refuse_done(progress: Progress | None, owner: Owner, commit: Commit) -> None:
    if (
        progress is not None
        and progress.incarnation == owner.incarnation
        and commits.is_repeated_done(progress, commit)
    ):
        raise _AlreadyDone
