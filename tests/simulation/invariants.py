"""What must hold after every transaction, whatever happened before it: an independent account of records and values.

The monitor sees the tables after each transaction that took effect, and nothing of how they came
about. It keeps its own account: which records are in which txid, what every state must hold, how
high every fence was raised.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.simulation.accounts import (
    TOPOLOGY,
    Batch,
    LedgerAccount,
    StateAccount,
    ViolationError,
    check_chain,
    check_live,
    records_of,
    require,
)
from tests.simulation.births import (
    born,
    check_birth,
    check_following,
    check_holds,
    check_new_life,
    check_recorded,
    check_spec,
)
from tests.simulation.commands_account import CommandsAccount, is_only_given
from tests.simulation.data import SINK, Topic
from tests.simulation.diverting import (
    Tables,
    check_void,
    decided_batch,
    diverted_since,
    is_decided,
    refused_since,
)
from tests.simulation.outbox_rows import ENTRIES, POSITIONS
from tests.simulation.outside import OutsideAccount
from tests.simulation.sent import SentTxid, SinkAccount, check_one_batch, diverted_sums, sources_of, sums_of
from tests.simulation.since_birth import Life
from tests.simulation.sinking import SinkMode
from tests.simulation.stores import SimulatedDatabase
from trident.base.identity import BatchId, Epoch
from trident.coordinators.decided import DecisionKind
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.pinned import Pin
from trident.state.folding import current
from trident.state.kafka.records import Record
from trident.state.positions import Position, Standing
from trident.state.staged import AppliedUpdates
from trident.state.values import OpaqueValue


class Monitor:
    """Raises ViolationError at the first transaction that breaks a rule."""

    def __init__(
        self,
        ledger: SimulatedDatabase,
        homes: Mapping[str, SimulatedDatabase],
        *,
        sink: SinkMode = SinkMode.NONE,
    ) -> None:
        self._ledger = ledger
        self._homes = homes
        self._mode = sink
        self.account = LedgerAccount()
        self.states = {name: StateAccount() for name in (*homes, *((SINK,) if sink is not SinkMode.NONE else ()))}
        self.sink = SinkAccount()
        """What was sent, where there is a sink; where it stands is with the states."""
        self.outside: OutsideAccount | None = None
        """Of the stream whose records are in the memory of processes, where there is one."""
        self.commands = CommandsAccount()
        """What may be planned, by what was answered to life-cycle commands."""
        self.commits = 0
        self.torn = False
        """One store was put back alone: nothing may be decided or applied until a person has healed it."""
        self.is_marker_apart = False
        """Ledger and states are of one moment, only an outbox's marker is not: a reset may roll a pin forward."""
        self.held_when_torn: int | None = None
        """Up to where the lost states were, when coordinators run on that had looked before; None when none does."""

    @property
    def tables(self) -> Tables:
        """What is in the ledger's database now."""
        return self._ledger.tables

    def copy(self, ledger: SimulatedDatabase, homes: Mapping[str, SimulatedDatabase]) -> Monitor:
        other = Monitor(ledger, homes, sink=self._mode)
        other.account, other.states, other.sink = self.account, dict(self.states), self.sink
        other.is_marker_apart = self.is_marker_apart
        other.commits, other.torn, other.held_when_torn = self.commits, self.torn, self.held_when_torn
        return other

    def committed(self, database: SimulatedDatabase, epoch: Epoch | None, touched: Collection[str]) -> None:
        """Look at what a transaction left in the tables it touched; `epoch` is its coordinator's, if it has one."""
        tables: Tables = database.tables
        before = self.account
        if database is self._ledger:
            entry = tables.get("trident_topology", _EMPTY).get(TOPOLOGY)
            if entry is not before.entry:
                assert entry is not None
                self._ledger_changed(before, entry, tables, epoch)
        if "state positions" in touched or not _LEDGER_ONLY.issuperset(touched):
            positions = tables.get("state positions", _EMPTY)
            for name, home in self._homes.items():
                if home is database:
                    rows = _ROWS[name]
                    standing = positions.get((TOPOLOGY, name))
                    self._check_state(name, standing, tables.get(rows, _EMPTY), epoch, is_touched=rows in touched)
        if self._mode is SinkMode.OUTBOX and database is self._ledger and not _OF_FENCE.issuperset(touched):
            self._check_outbox(tables, epoch)
        if self.account.done != before.done and before.entry is not None:
            self._check_all_have(self.account)
            self._check_lives()

    def sent(self, epoch: Epoch | None, records: Sequence[Record]) -> None:
        """Look at a transaction of a sink's cluster that took effect; `epoch` is that of the session that began it."""
        before = self.sink
        after = before.after(records)
        if self._mode is SinkMode.OUTBOX:
            self.sink = self._relayed(before, after, epoch)
            return
        self.sink = after.emptied() if self._begins_anew(after) else after
        old, new = before.standing(), after.standing()
        self._check_state(SINK, new, self.sink.rows, epoch, is_touched=True)
        sent = after.new_since(before)
        if new is None or new.position is None or old is None or old.position in (None, new.position):
            require(not sent, f"with {new} was sent {sent}")
        elif new.position.owner != old.position.owner or new.position.txid < old.position.txid:
            require(not sent, f"with {new} was sent {sent}")
            is_taken_back = new.position.owner == old.position.owner and before.last_txid == old.position.txid
            require(not is_taken_back, f"txid {before.last_txid} was sent, and is said not to be")
        else:
            batch = self.account.decided or self.account.last
            assert batch is not None
            check_one_batch(sent, new.position, batch, is_diverted=SINK in batch.diverted)

    def _relayed(self, before: SinkAccount, after: SinkAccount, epoch: Epoch | None) -> SinkAccount:
        """Records leave once their txid is done, each after all before it; the marker names the newest one."""
        old, new = before.marker, after.marker
        assert new is not None
        if old is not None and old.epoch != new.epoch:
            require(old.epoch.number < new.epoch.number, f"a marker of {new.epoch} came after one of {old.epoch}")
        require(epoch == new.epoch, f"a marker bears {new.epoch}, its writer is {epoch}")
        sent = after.new_since(before)
        is_moved = old is not None and old.position is not None and new.position != old.position
        if not is_moved or (old is not None and new.owner != old.owner):
            require(not sent, f"with {new} was sent {sent}")
            return after.emptied() if self._begins_anew(after) else after
        assert new.position is not None
        going = [each for each in before.due if each.txid <= new.position.txid]
        require(bool(going) and going[-1].txid == new.position.txid, f"{new} names no txid of {before.due}")
        left_out = [each for each in going if self._is_diverted(each)]
        wanted = tuple(each for each in going if each not in left_out)
        require(tuple(sent) == wanted, f"{sent} was sent where {wanted} was due")
        return after.with_due(before.due[len(going) :], has_left_out=bool(left_out))

    def _is_diverted(self, txid: SentTxid) -> bool:
        """Tell whether a person has taken out what was to be sent; then it is kept, exactly."""
        entry = self.account.entry
        assert entry is not None
        key = (TOPOLOGY, entry.progress.incarnation, txid.txid, SINK)
        kept = self.tables.get("trident_diverted", _EMPTY).get(key)
        if kept is None:
            return False
        found = diverted_sums(kept.rows)
        require(found == sums_of([txid]), f"of txid {txid} was to be kept all, the ledger has {kept}")
        return True

    def _check_outbox(self, tables: Tables, epoch: Epoch | None) -> None:
        """Where the sink stands moves as a state does; what waits is what was pinned and not sent, no more, no less."""
        row = tables.get(POSITIONS, _EMPTY).get((TOPOLOGY, SINK))
        if row is not None:
            account = self.states[SINK]
            standing = Standing(row.position, row.epoch)
            if account.standing != standing:
                self._check_state(SINK, standing, _EMPTY, epoch, is_touched=False)
        if self.torn or row is None or row.position.owner.incarnation != self._incarnation():
            return
        decided, sent = self.account.decided, self.sink.marker
        due = [each.txid for each in self.sink.due]
        if decided is not None and row.position.txid == decided.txid and SINK not in decided.diverted:
            due += [decided.txid] if sources_of(decided.read) else []
        passed = sent.position.txid if sent is not None and sent.position is not None else 0
        waiting = sorted(entry.txid for entry in tables.get(ENTRIES, _EMPTY).values() if entry.txid > passed)
        require(waiting == due, f"txids {waiting} wait in the outbox, {due} are to be sent")

    def _incarnation(self) -> str:
        entry = self.account.entry
        return entry.progress.incarnation if entry is not None else ""

    def _begins_anew(self, after: SinkAccount) -> bool:
        """Tell whether the sink follows a reset that empties the states: what is sent from here on counts alone."""
        entry, old, new = self.account.entry, self.sink.marker, after.marker
        if entry is None or entry.reset is None or old is None or new is None:
            return False
        return old.position is not None and new.owner != old.owner and entry.reset.states == "clear"

    def _ledger_changed(self, before: LedgerAccount, entry: Entry, tables: Tables, epoch: Epoch | None) -> None:
        old = before.entry
        if old is not None and is_only_given(old, entry):
            self.account = replace(before, entry=entry)
            return
        holding = tables["trident_fence"][TOPOLOGY]
        if epoch != holding.epoch:
            raise ViolationError(f"the ledger was written under {epoch}, its fence is {holding.epoch}")
        if old is None or old.progress.incarnation != entry.progress.incarnation:
            self._begin_life(old, entry)
            return
        self.commands.changed(old, entry)
        account = before
        if entry.starts is not old.starts and entry.starts != old.starts:
            require(old.starts is None and account.done == entry.birth_txid, "start positions were stored again")
            account = replace(account, covered=_covered(entry))
        if entry.live is not old.live:
            check_live(old, entry)
            account = self._planned(account, old, entry, epoch)
        if entry.refusals is not old.refusals:
            account = replace(account, refused=refused_since(old, entry, account.refused))
        if entry.decisions is not old.decisions:
            check_void(old, entry, account.refused)
        pin, progress = entry.pin, entry.progress
        if progress.last_attempt < old.progress.last_attempt:
            raise ViolationError("attempt numbers went back")
        now_done = (progress.done, progress.done_attempt)
        if old.pin is not None and pin is None and now_done != (old.pin.txid, old.pin.attempt):
            self._check_undone(old, entry, tables)
            account = replace(account, decided=None)
        if pin is not None and pin is not old.pin:
            if old.pin is not None and pin.attempt == old.pin.attempt:
                assert account.decided is not None
                decided = diverted_since(old, entry, account.decided, tables)
            elif old.pin is not None or pin.txid != account.done + 1:
                raise ViolationError(f"txid {pin.txid} was pinned while {account.done} is done and {old.pin} is pinned")
            else:
                decided = decided_batch(old, entry, pin, tables, account.refused)
            account = replace(account, decided=decided)
        if progress.done != account.done:
            account = self._finish(account, entry, tables)
        if entry.births is not old.births and not self.torn:
            check_recorded(entry, self.states)
        if entry.spec is not old.spec:
            check_spec(old, entry, self.states)
        if self.torn and not self._was_under_way(account, before):
            raise ViolationError("a txid was decided although one store was put back alone")
        self.account = LedgerAccount(
            entry,
            account.done,
            account.covered,
            account.decided,
            account.last,
            account.losses,
            account.records,
            account.refused,
            account.rows,
        )

    def _begin_life(self, old: Entry | None, entry: Entry) -> None:
        """A first incarnation, or one that a recorded decision opens after every state has followed."""
        progress = entry.progress
        check_spec(old, entry, self.states)
        if old is not None:
            decision = old.reset
            require(decision is not None, "a new incarnation without a decision")
            assert decision is not None
            require(decision.incarnation == progress.incarnation, "another incarnation than the decided one")
            require(progress.done >= old.progress.last_txid, "a new incarnation reuses txids")
            for name, account in self.states.items():
                position = account.standing.position if account.standing else None
                owner = position.owner if position else None
                require(
                    name not in entry.spec.states or (owner is not None and owner.incarnation == progress.incarnation),
                    f"the ledger went to the new incarnation before state {name!r} did",
                )
            check_new_life(entry)
            waiting = [each for each in self.sink.due if not self._is_diverted(each)]
            require(self.torn or not waiting, f"a new incarnation begins, and {waiting} was not sent")
            self.sink = self.sink.with_due((), has_left_out=False)
            self.torn, self.held_when_torn, self.is_marker_apart = False, None, False
        rows = self.outside.kept(self.account, old) if self.outside is not None and old is not None else {}
        self.account = LedgerAccount(entry, progress.done, _covered(entry), rows=rows)

    def _finish(self, account: LedgerAccount, entry: Entry, tables: Tables) -> LedgerAccount:
        """A txid is done: its records were covered by no txid before, its neighbours follow without a gap."""
        assert entry.done_plan is not None
        plan = entry.done_plan.plan
        txid, attempt = entry.progress.done, entry.progress.done_attempt
        if txid != account.done + 1:
            raise ViolationError(f"txid {txid} was done after {account.done}")
        if (plan.txid, plan.attempt) != (txid, attempt):
            raise ViolationError(f"done is txid {txid} attempt {attempt}, its plan is {plan}")
        batch = account.decided
        if batch is None or batch.txid != txid:
            assert account.entry is not None
            pin = tables["trident_finished"][TOPOLOGY, attempt].pin
            batch = decided_batch(account.entry, entry, pin, tables, account.refused)
        if batch.attempt != attempt:
            raise ViolationError(f"txid {txid} was done with attempt {attempt}, decided was {batch.attempt}")
        covered = check_chain(plan, account.covered)
        lost = [(loss.id.partition, loss.start, loss.stop) for loss in plan.losses]
        self._check_dead_letters(entry, batch, tables)
        self.commits += 1
        read = sum(item.range.width for item in plan.ranges)
        losses = account.losses.union(lost) if lost else account.losses
        refused = {} if account.refused else account.refused
        done = records_of(plan)
        self._let_go(batch, entry)
        for birth in entry.births:
            state = self.states[birth.state]
            if state.life is not None and birth.state not in batch.diverted:
                self.states[birth.state] = replace(state, life=state.life.with_done(done))
        rows = account.rows if self.outside is None else self.outside.finished(account, plan)
        return LedgerAccount(entry, txid, covered, None, batch, losses, account.records + read, refused, rows)

    def _planned(self, account: LedgerAccount, old: Entry, entry: Entry, epoch: Epoch | None) -> LedgerAccount:
        """Hold a new plan against what its process has received."""
        if self.outside is None or not entry.live or (old.live and entry.live[-1] is old.live[-1]):
            return account
        newest = entry.live[-1].plan
        if any(stored.plan.attempt == newest.attempt for stored in old.live):
            return account
        return self.outside.planned(account, newest, epoch)

    def _let_go(self, batch: Batch, entry: Entry) -> None:
        """What waits of a txid is to be sent from now on."""
        if self._mode is SinkMode.OUTBOX and SINK in born(entry) and SINK not in batch.diverted:
            sources = sources_of(batch.read)
            if sources:
                due = SentTxid(batch.txid, batch.attempt, sources)
                self.sink = self.sink.with_due((*self.sink.due, due), has_left_out=self.sink.has_left_out)

    def _check_dead_letters(self, entry: Entry, batch: Batch, tables: Tables) -> None:
        stored = tables.get("trident_dead_letter", _EMPTY).get((TOPOLOGY, entry.progress.incarnation, batch.txid), ())
        found = [(letter.record.id.partition, letter.record.offset) for letter in stored]
        if len(found) != len(batch.bad) or not batch.bad.issuperset(found):
            raise ViolationError(f"dead letters of txid {batch.txid} are {found} instead of {sorted(batch.bad)}")

    def _check_state(
        self,
        name: str,
        standing: Standing | None,
        rows: Mapping[Any, Any],
        epoch: Epoch | None,
        *,
        is_touched: bool,
    ) -> None:
        account = self.states[name]
        old = account.standing
        if standing is not old:
            assert standing is not None, f"state {name!r} has no position any more"
            if old is not None and old.epoch != standing.epoch and old.epoch.number >= standing.epoch.number:
                raise ViolationError(f"state {name!r} was written under {standing.epoch} below its fence {old.epoch}")
            if epoch != standing.epoch:
                raise ViolationError(f"state {name!r} bears {standing.epoch}, its writer is {epoch}")
            account = self._moved(name, account, standing)
            self.states[name] = account
        if (standing is not old or is_touched) and not self._waits(name):
            self._compare(name, account, rows)

    def _moved(self, name: str, account: StateAccount, standing: Standing) -> StateAccount:
        old = account.standing.position if account.standing else None
        new = standing.position
        if new == old:
            return StateAccount(account.expected, account.before, standing, account.life)
        assert new is not None, f"state {name!r} has no position any more"
        if old is None or new.owner != old.owner:
            return self._rebound(name, account, standing)
        rolls_forward = self.is_marker_apart and self.account.decided is not None
        if self.torn and not rolls_forward and (self.held_when_torn is None or new.txid > self.held_when_torn + 1):
            raise ViolationError(f"state {name!r} was written although one store was put back alone")
        if new.txid == old.txid - 1:
            return self._undone(name, account, standing)
        if new.txid != old.txid + 1:
            raise ViolationError(f"state {name!r} went from txid {old.txid} to {new.txid}")
        ledger = self.account
        batch = ledger.decided if ledger.decided is not None else ledger.last
        if batch is None or (batch.txid, batch.attempt) != (new.txid, new.attempt):
            raise ViolationError(f"state {name!r} took txid {new.txid} attempt {new.attempt}, which was not decided")
        expected = dict(account.expected)
        for key, (n, total) in batch.delta.items() if name not in batch.diverted else ():
            before = expected.get(key, (0, 0))
            expected[key] = (before[0] + n, before[1] + total)
        return StateAccount(expected, account.expected, standing, account.life)

    def _undone(self, name: str, account: StateAccount, standing: Standing) -> StateAccount:
        """A state goes back by one txid: a person has decided so, and it is not done."""
        entry, new = self.account.entry, standing.position
        assert entry is not None
        assert new is not None
        pin = entry.pin
        if pin is None or not is_decided(entry, DecisionKind.UNDO, pin) or pin.txid != new.txid + 1:
            raise ViolationError(f"state {name!r} went back to txid {new.txid}, which nobody decided")
        if account.before is None or new.attempt not in (entry.progress.done_attempt, 0):
            raise ViolationError(f"state {name!r} went back to {new} once more")
        return StateAccount(account.before, None, standing, account.life)

    def _check_undone(self, old: Entry, entry: Entry, tables: Tables) -> None:
        """A pin is taken back: a person has decided so, and no state has anything of it."""
        pin = old.pin
        assert pin is not None
        if not is_decided(old, DecisionKind.UNDO, pin):
            raise ViolationError(f"the pin of txid {pin.txid} went away without done")
        for name in born(entry):
            if _position(self.states[name]).txid != pin.txid - 1:
                raise ViolationError(f"txid {pin.txid} was undone, but state {name!r} has it")
        require(all(stored.plan.txid < pin.txid for stored in entry.live), "an undone attempt, or a later one, is live")
        letters = tables.get("trident_dead_letter", _EMPTY)
        require(
            (TOPOLOGY, entry.progress.incarnation, pin.txid) not in letters, "an undone txid has kept its dead letters"
        )

    def _rebound(self, name: str, account: StateAccount, standing: Standing) -> StateAccount:
        """A new state, or one that follows a recorded reset: its rows are gone, or all of them stay."""
        entry = self.account.entry
        position = standing.position
        assert position is not None
        assert entry is not None
        decision = entry.reset
        follows = decision is not None and decision.incarnation == position.owner.incarnation
        if account.standing is None or account.standing.position is None:
            if follows:
                check_following(name, position, entry)
            else:
                check_birth(name, position, entry, self.account.done)
            return StateAccount({}, {}, standing, Life(position.txid))
        require(follows, f"state {name!r} changed its owner without a decision")
        assert decision is not None
        was = account.standing.position.txid
        require(position.txid >= was, f"state {name!r} has had txid {was}, a reset takes it back to {position.txid}")
        if decision.states == "clear":
            return StateAccount({}, {}, standing, Life(position.txid))
        assert account.life is not None
        if not self.torn and account.life.sums != account.expected:
            raise ViolationError(f"state {name!r} is kept with {account.expected}, done was {account.life.sums}")
        # of a sink that was put back alone only what readers can see is kept
        kept = self.sink.rows if self.torn and self._waits(name) else account.expected
        return StateAccount(kept, {}, standing, Life(position.txid, kept))

    def _was_under_way(self, account: LedgerAccount, before: LedgerAccount) -> bool:
        """Tell whether a coordinator that had looked before may have written this; done is what all states had."""
        if self.held_when_torn is None:
            stays = account.decided is before.decided and account.done == before.done
            is_pinned = before.decided is not None and account.done == before.decided.txid
            return stays or (self.is_marker_apart and is_pinned)
        return account.done <= self.held_when_torn

    def _waits(self, name: str) -> bool:
        """Tell whether what it is given is seen later by readers."""
        return name == SINK and self._mode is SinkMode.OUTBOX

    def _check_lives(self) -> None:
        assert self.account.entry is not None
        for name in born(self.account.entry) if not self.torn else ():
            if self._waits(name):
                continue
            check_holds(name, self.states[name].life, self._rows(name))

    def _rows(self, name: str) -> Mapping[Any, Any]:
        return self.sink.rows if name == SINK else self._homes[name].tables.get(_ROWS[name], _EMPTY)

    def _compare(self, name: str, account: StateAccount, rows: Mapping[tuple[object, ...], Any]) -> None:
        """What a reader sees is what all txids up to the state's own make of it, and nothing else."""
        expected, before = account.expected, account.before
        if len(rows) != len(expected):
            raise ViolationError(f"state {name!r} holds {len(rows)} keys instead of {len(expected)}")
        position = account.standing.position if account.standing else None
        for key, stored in rows.items():
            value = current(stored)
            if value != expected.get(key):
                raise ViolationError(
                    f"state {name!r} shows {value} for key {key} instead of {expected.get(key)} at {position}"
                )
            if type(stored) is tuple:
                continue
            assert position is not None
            if stored.txid > position.txid:
                raise ViolationError(f"state {name!r} shows txid {stored.txid} at {position.txid}")
            is_new = stored.txid == position.txid and position.attempt
            if is_new and before is not None and type(stored) is OpaqueValue and stored.previous != before.get(key):
                raise ViolationError(f"state {name!r} keeps {stored.previous} as the value before {position.txid}")

    def _check_all_have(self, account: LedgerAccount) -> None:
        assert account.entry is not None
        for name in born(account.entry) if not self.torn else ():
            state = self.states[name]
            position = state.standing.position if state.standing else None
            if position is None or position.txid != account.done:
                raise ViolationError(f"txid {account.done} is done, but state {name!r} stands at {position}")

    def check_told(self, txid: int) -> None:
        """A source hears that it may let go of a txid only when every state has it."""
        if txid > self.account.done:
            raise ViolationError(f"the source was told of txid {txid} while {self.account.done} is done")

    def check_turn(self, batch: BatchId) -> None:
        """Work in the turn of a batch that can still commit sees all before it, in the ledger and every state."""
        entry = self.account.entry
        assert entry is not None
        holding = self.tables["trident_fence"][TOPOLOGY]
        if self.torn or holding.epoch != batch.epoch or entry.progress.incarnation != batch.owner.incarnation:
            return
        if not any(stored.plan.attempt == batch.attempt for stored in entry.live):
            return
        if self.account.done != batch.txid - 1:
            raise ViolationError(f"work in the turn of txid {batch.txid} while {self.account.done} is done")
        self._check_all_have(self.account)

    def check_taken_over(self, epoch: Epoch, states: Collection[str]) -> None:
        """Before a coordinator decides anything every fence is up, and no store was put back alone."""
        is_late = self.torn and self.held_when_torn is not None
        require(not self.torn or is_late, "a coordinator took over although one store was put back alone")
        for name in states if not self.torn else ():
            account = self.states[name]
            stored = account.standing.epoch if account.standing else None
            if stored is None or (stored != epoch and stored.number <= epoch.number):
                raise ViolationError(f"{epoch} took over, but the fence of state {name!r} is {stored}")

    def check_covered(self, topic: Topic) -> None:
        """At the end: every record up to the end of every partition is accounted for."""
        for partition, stop in enumerate(topic.stops):
            covered = self.account.covered.get(partition, 0)
            require(covered == stop, f"partition {partition} is covered up to {covered}, its end is {stop}")
        assert self.account.entry is not None
        for name in born(self.account.entry):
            state = self.states[name]
            require(_position(state).txid == self.account.done, f"state {name!r} does not stand at done")
            if self._waits(name) and self.sink.has_left_out:
                continue  # what a person has taken out was done
            check_holds(name, state.life, self._rows(name))

    def is_covered(self, topic: Topic) -> bool:
        covered = self.account.covered
        return self.account.entry is not None and all(
            covered.get(partition, 0) == stop for partition, stop in enumerate(topic.stops)
        )

    def _standing(self, name: str) -> Standing | None:
        """Return where a state stands by what is stored now."""
        if name == SINK and self._mode is SinkMode.DIRECT:
            return self.sink.standing()
        if name == SINK:
            row = self.tables.get(POSITIONS, _EMPTY).get((TOPOLOGY, SINK))
            return None if row is None else Standing(row.position, row.epoch)
        tables: Tables = self._homes[name].tables
        found: Standing | None = tables.get("state positions", _EMPTY).get((TOPOLOGY, name))
        return found

    def _marker_follows(self) -> bool:
        """Tell whether the marker stands where what waits begins, or at what waits."""
        row = self.tables.get(POSITIONS, _EMPTY).get((TOPOLOGY, SINK))
        entries = sorted(self.tables.get(ENTRIES, _EMPTY).values(), key=lambda entry: entry.txid)
        position = self.sink.marker.position if self.sink.marker is not None else None
        if row is None or position is None:
            return row is None and position is None
        sent = entries[0].before_txid if entries else row.newest_txid
        same = all(entry.attempt == position.attempt for entry in entries if entry.txid == position.txid)
        is_between: bool = sent <= position.txid <= row.newest_txid
        return same and is_between and position.owner == row.position.owner

    def is_consistent(self) -> bool:
        """Tell whether every state stands where the ledger says, by what is stored now."""
        entry = self.tables.get("trident_topology", _EMPTY).get(TOPOLOGY)
        if entry is None:
            return False
        progress, pin, births = entry.progress, entry.pin, born(entry)
        for name in entry.spec.states:
            standing = self._standing(name)
            position = standing.position if standing else None
            if position is None and (name not in births or (births[name] == progress.done and not _is_in(pin, name))):
                continue  # it is born, or born again before anything was in it
            if position is None or position.owner.incarnation != progress.incarnation:
                return False
            if self._waits(name) and not self._marker_follows():
                return False
            at_done = position.txid == progress.done and position.attempt in (progress.done_attempt, 0)
            if not at_done and not (pin and (position.txid, position.attempt) == (pin.txid, pin.attempt)):
                return False
        return True


def _is_in(pin: Pin | None, name: str) -> bool:
    """Tell whether what is pinned was written to a state with the pin, beside the ledger."""
    pinned = pin.of(name) if pin is not None else None
    return pinned is not None and isinstance(pinned.updates, AppliedUpdates)


def _position(account: StateAccount) -> Position:
    assert account.standing is not None
    assert account.standing.position is not None
    return account.standing.position


def _covered(entry: Entry) -> dict[int, int]:
    return {item.id.partition: item.start for item in entry.starts or ()}


_EMPTY: Mapping[Any, Any] = {}
_ROWS = {name: f"state {name} rows" for name in ("first", "second", "third")}
_OF_FENCE = frozenset(("trident_fence",))
_LEDGER_ONLY = frozenset(f"trident_{name}" for name in ("fence", "topology", "finished", "dead_letter", "loss"))
