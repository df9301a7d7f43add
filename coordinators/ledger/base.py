"""The ledger's interface: the durable record that every decision is read back from.

Every write is one transaction that checks the caller's epoch under a shared lock of the fence row
and asserts its row counts; writes that decide (plan, pin, done, commit_together) first lock the
topology's one progress row. All writes are idempotent per (epoch, txid, attempt), so a call whose
answer was lost is repeated on a new connection: it waits for the lost one, then finds its effect.

Errors of every method: `RetryableError` (rolled back), `OutcomeUnknownError` (repeat the same
call), `FencedError` (a newer epoch is stored; nothing written), `MismatchError` (what is stored
contradicts the call; nothing written). Methods may be called from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from trident.base.identity import Epoch, Owner
from trident.base.latency import CompleteLatency
from trident.base.timeouts import Timeouts
from trident.coordinators.decided import Decision, Diverted, LeftBehind, Refusal, ResetDecision, TakenOut
from trident.coordinators.last_done import LastDone
from trident.coordinators.ledger.view import LedgerView
from trident.coordinators.lifecycle import Given, Reply, Sent
from trident.coordinators.pinned import Commit, Pin, StatePin
from trident.coordinators.planned import Plan, StartPosition
from trident.coordinators.registered import Acquired, Birth, Keep, Lease, Snapshot, TopologySpec
from trident.coordinators.reported import ErrorReport
from trident.state.capabilities import Transaction
from trident.state.target import LedgerDatabase

TransactionStep = Callable[[Transaction], None]
"""One store's part of the shortcut; runs inside the ledger's open transaction."""


class Ledger(Protocol):
    """See the module's text for what holds of every method."""

    @property
    def database(self) -> LedgerDatabase:
        """The database object that states without one of their own share."""

    def open(self, timeouts: Timeouts) -> None:
        """Connect, and make the tables where there are none; refuses a schema newer than this library. Idempotent.

        Tables of an older version stay so until a topology is registered, or something else of it is recorded: a start
        that is refused must leave them to the library that wrote them.

        What this ledger's connections hold on a server ends within `timeouts.lease`, also for the states that
        share them; a server that does not answer is asked again for `timeouts.give_up_after`.
        """

    def acquire(self, topology: str, lease: Lease, above: int = 0) -> Acquired:
        """Raise the topology's epoch in a transaction of its own, and start its heartbeat.

        The new epoch is above the stored one, and above that number: a state of a ledger that was lost may know it.

        Raises `LeaseHeldError` while another holder's heartbeat is younger than its lease (at once
        free when that holder released it, or its session with the database is gone).
        """

    def renew(self, topology: str, epoch: Epoch, latencies: Sequence[CompleteLatency] = ()) -> bool:
        """Write a heartbeat; tells whether life-cycle commands wait. Locks no fence row that a take-over waits for.

        With it goes how long messages take at the moment, for people who look.
        """

    def release(self, topology: str, epoch: Epoch) -> None:
        """End the lease at once; a no-op when the epoch is old."""

    def require_held(self, topology: str, epoch: Epoch, transaction: Transaction | None = None) -> None:
        """Raise FencedError for another epoch than the stored one; changes nothing.

        In an open transaction of this ledger's database the answer stays true until that ends, else for this moment.
        """

    def look(self, epoch: Epoch, spec: TopologySpec) -> Snapshot:
        """Return what `register` would return, and raise what it would raise; changes nothing.

        Neither tables of an older version nor the stored description; the id of a first incarnation is not kept.
        """

    def register(self, epoch: Epoch, spec: TopologySpec) -> Snapshot:
        """Record a new topology with a first incarnation, or check the stored names, then read all that is open.

        Raises `MismatchError` showing both versions when spouts, states, kinds or key columns differ.
        New states and spouts may be added; none may go away or change. Of states the columns may stand in another
        order, which changes nothing of what is stored, and values may be added: they are born at what is done or
        pinned, in this very transaction (`rules/evolving`).
        """

    def snapshot(self, epoch: Epoch, topology: str) -> Snapshot:
        """Read all that is open of a topology that was registered before, whatever it looks like now; changes nothing.

        Tables of an older version are read as they would be migrated, and stay as they are.
        """

    def set_starts(self, owner: Owner, epoch: Epoch, starts: Sequence[StartPosition]) -> None:
        """Store where the incarnation starts, once; a second call must name the same numbers."""

    def set_births(self, owner: Owner, epoch: Epoch, births: Sequence[Birth]) -> None:
        """Record since when the incarnation has these states, before they are registered; other births stay.

        A state is born once: a second call must name the same txid.
        """

    def plan(self, owner: Owner, epoch: Epoch, plan: Plan | None, drop_from: int | None = None) -> None:
        """Drop the live attempts at txids >= `drop_from` (refused for a pinned txid), then insert the plan, atomically.

        The plan's txid must be the one after the last live or done txid, its predecessor must be
        the live or done attempt there, its starts must follow that attempt's stops plus the losses. It must
        divert the rows of just those states that a decision about its records waits for.
        """

    def last_plan_of(self, owner: Owner, txid: int) -> Plan | None:
        """Return the latest plan ever made for a txid of this incarnation, live or dropped; what it changes suffices.

        Partitions that it leaves out were empty in it.
        """

    def done_ids(self, topology: str, spout: str, most: int) -> dict[str, str]:
        """Return the newest ids of a stream's messages that are done, at most so many, oldest first.

        Each with the digest that its message came with, empty where that is not known (`ReceivedIds.messages`).
        Those since the last reset that did not go on (resume) where kept rows stand, as far as their plans are kept:
        whether other rows have them nobody knows.
        """

    def pin(
        self,
        owner: Owner,
        epoch: Epoch,
        pin: Pin,
        copies: Sequence[TransactionStep] = (),
        applies: Sequence[TransactionStep] = (),
    ) -> None:
        """Decide a txid; requires done = txid - 1, no other pin, the live attempt, starts that follow `done`.

        Copies and applies of the states beside the ledger are in the same transaction, before the fence;
        repeated after a lost answer it finds the pin, and what they do then is rolled back. The diverts
        that the plan names must be in the pin, here and in `commit_together`; they are finished with it. So must the
        decision that puts diverted rows back: it is recorded here, and refused where these rows are back.
        """

    def done(self, owner: Owner, epoch: Epoch, commit: Commit) -> None:
        """Record that every state has the pinned txid; requires its pin with the same attempt."""

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
        """The shortcut: copies, applies, fence, progress, pin and done in one transaction.

        `took_ms` is asked when the commit is written, which is behind all applies: what it says is its `commit_ms`.
        Repeated after a lost answer it finds `done = txid` with the attempt and changes nothing.
        """

    def clean_up(self, owner: Owner, epoch: Epoch, keep: Keep) -> int:
        """Delete plans, pins, attempts and commits of txids < done that `keep` lets go; returns how many rows.

        Errors that nobody has seen again for as long go too, but for those of the last hour.
        A call takes a bounded number of rows, the oldest first, and no lock that a batch waits for. Losses, dead
        letters, refusals and decisions never go; the last done txid and its plan always stay. Of pins, which are
        large, a ledger in a database keeps only the newest thousand.
        """

    def decide_reset(self, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
        """Record a reset before its first effect; one that keeps rows is refused while a txid is pinned and not done.

        While another one is open it is refused, but for one that clears in the place of one that keeps rows: the ledger
        keeps both, and the incarnation of the one that is replaced stays known, since states may have followed it.
        """

    def finish_reset(self, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
        """Make the decided incarnation the topology's own, at its birth txid, with the starts if it names any.

        Idempotent. Every state that the topology is known to have is born there.
        """

    def refuse(self, owner: Owner, epoch: Epoch, refusal: Refusal) -> None:
        """Record why this epoch stops at the live attempt after the txid that is done; an epoch stops once."""

    def decide(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Record a person's decision before its first effect, and settle the refusals that led to it.

        A retry is finished with that. An undo (of the pinned attempt only) lets nothing else be written until
        `unpin`. A divert is finished by `divert` when its txid is pinned, else by the pin of the next attempt that
        reads the records of the refused one; a plan of other records makes it void.
        """

    def last_done(self, owner: Owner, epoch: Epoch) -> LastDone | None:
        """Return what is left of the last txid that is done, None where nothing is or its pin is gone; changes nothing.

        All of it is what is stored, nothing what a version that has not begun would make of it.
        """

    def take_back(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Make the last done txid the pinned one again, with an undo of it decided and open, in one transaction.

        What is planned behind it is dropped. From there on it is undone like any pinned txid, by whoever comes next,
        and planned again with another attempt. Raises `MismatchError` for what `check_taken_back` refuses.
        """

    def divert(self, owner: Owner, epoch: Epoch, decision: Decision, rows: Sequence[str]) -> None:
        """Keep the rows of the decided state and take them out of the pin, in one transaction; finishes the decision.

        The state then has no rows to apply of the pinned txid, only its position to move.
        """

    def divert_refused(
        self, owner: Owner, epoch: Epoch, decision: Decision, rows: Sequence[str], kept: StatePin
    ) -> None:
        """Record a decision about the pinned txid, keep those rows and let the pin say `kept` of the state.

        All in one transaction, so nothing of it is left to be carried out; repeated after a lost answer it finds it
        done. Raises MismatchError where nobody refused the pinned attempt, or rows would be left over.
        """

    def taken_out(self, owner: Owner, epoch: Epoch, txid: int, states: Collection[str]) -> TakenOut | None:
        """Return the rows that were taken out of a txid of a state that had one of these names; changes nothing.

        Those of this incarnation, or else, where an earlier one has some, these. None where nobody has any.
        """

    def divert_waiting(
        self, owner: Owner, epoch: Epoch, txid: int, attempt: int, diverted: Diverted, divert_in: TransactionStep
    ) -> None:
        """Keep rows of a done txid that a sink has not sent, and take them out of it in one transaction; idempotent."""

    def unpin(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Take back the pin of a txid that every state has undone; finishes the decision.

        Its attempt and all later ones are dropped; its dead letters and diverted rows go, since its
        records will be read again. Rows that it has put back may be put back again.
        """

    def drop(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Take a state or sink out of the stored description and out of the births, with the decision; idempotent.

        Refused unless the decision names the txid that is done, nothing is pinned and nothing else that was decided is
        open.
        """

    def decide_forget(self, owner: Owner, epoch: Epoch, decision: Decision, nowhere: Collection[str] = ()) -> None:
        """Record that the topology is let go of, before the first of its targets is; idempotent.

        Those that are `nowhere` were never born, and leave the description with the record.

        Refused unless the decision names the txid that is done, nothing is pinned and nothing else that was decided is
        open. From then on each `look` says so (`Snapshot.forgetting`). One that is begun and drops tables may be
        recorded again as one that keeps them (`keeps_instead`).
        """

    def let_go_of(self, owner: Owner, epoch: Epoch, decision: Decision, target: str) -> None:
        """Record that a state or sink of it was let go of; idempotent. It leaves the description: the rest is open."""

    def forget(self, owner: Owner, epoch: Epoch, decision: Decision) -> None:
        """Delete all of a topology for which that was decided, in one transaction; idempotent under one epoch.

        Refused while a state or sink is described that is not recorded as let go of.

        Its fence stays, and the highest txid and attempt: whoever begins under its name is above all of them.
        """

    def left_behind(self, topology: str) -> LeftBehind:
        """Count what only the ledger has of a topology's records; changes nothing."""

    def described(self, epoch: Epoch, topology: str) -> TopologySpec:
        """Return what is stored of a topology that was registered before; changes nothing."""

    def rename(self, owner: Owner, epoch: Epoch, decision: Decision, renames: Mapping[str, str]) -> None:
        """Give states other names in all that is still in force, with the decision; idempotent.

        `renames` are new names by former ones. The stored description, the births and the pin of the txid that is done
        change together; history keeps the names that it was made with. Refused as a drop is, and for names that
        `with_renamed` refuses.
        """

    def send(self, topology: str, sent: Sent) -> int:
        """Add a life-cycle command, without a lease, and return its number; one of the same id is added once.

        Raises `MismatchError` for a topology that is not in the ledger, and for tables of another version, which a
        command does not migrate.
        """

    def withdraw(self, topology: str, number: int, text: str) -> None:
        """Make a command void that no owner has read yet; a no-op where one has, or where it has an answer."""

    def take_commands(self, owner: Owner, epoch: Epoch) -> tuple[Given, ...]:
        """Read the commands that wait, in their order, and mark them as read by this epoch; may be repeated.

        Those of another incarnation, those whose time is over and what is no command are answered in that transaction,
        and not returned. What an older epoch has read and not answered waits like all others.
        """

    def answer(self, owner: Owner, epoch: Epoch, number: int, reply: Reply) -> None:
        """Answer a command that this epoch has read, with what the topology is from then on, in one transaction."""

    def report(self, owner: Owner, epoch: Epoch, reports: Sequence[ErrorReport]) -> None:
        """Add to what people read of errors; of the newest rows a bounded number stays.

        Not idempotent: after a lost answer it is not repeated, and a count may be short of what was lost with it.
        """

    def view(self) -> LedgerView:
        """Return what only reads, for people and their tools; needs no `open` and never migrates."""

    def close(self) -> None:
        """Let go of connections; may be called again."""
