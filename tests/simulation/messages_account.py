"""What must hold of messages with ids: each counts once, hears of its end in time, and none is lost.

What was done is remembered for a stated number of messages and of txids: what its queue gives again from further back
counts as new, and rightly so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tests.simulation.accounts import LedgerAccount, require
from tests.simulation.messages import Drawn, MessagesHere
from tests.simulation.outside import Here, OutsideAccount, Places, positions
from trident.base.identity import Epoch
from trident.coordinators.decided import ResetStart
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.planned import Plan

KEPT = 5
"""How many done txids a ledger of the simulation keeps at least, with the ids of their messages."""


class MessagesAccount(OutsideAccount):
    """`now` is what the ledger has said so far."""

    def __init__(self, drawn: Drawn, now: Callable[[], LedgerAccount]) -> None:
        self._drawn = drawn
        self._now = now
        self.applied: set[int] = set()
        """What was ever done, also in a life before this one."""
        self._begins: dict[int, int] = {}
        """By txid, the position where its newest plan begins."""
        self._read: dict[int, tuple[int, ...]] = {}
        """By attempt, what it has processed."""
        self._sources: dict[Epoch, MessagesHere] = {}
        self._is_one_life = True
        """Whether no reset has begun without what was done before it; one may be finished by a start."""
        drawn.broker.when_acked, drawn.broker.when_failed = self.check_acked, self.check_failed

    @property
    def partitions(self) -> frozenset[int]:
        return frozenset(self._drawn.partitions())

    @property
    def is_settled(self) -> bool:
        """Each message was given as often as it takes: until it is done."""
        broker = self._drawn.broker
        return not broker.left and len(self.applied) == broker.made

    def took_over(self, epoch: Epoch, source: Here) -> None:
        assert isinstance(source, MessagesHere)
        self._sources[epoch] = source

    def read(self, attempt: int, numbers: Sequence[int]) -> None:
        """See `Hears`."""
        self._read[attempt] = tuple(numbers)

    def planned(self, account: LedgerAccount, plan: Plan, epoch: Epoch | None) -> LedgerAccount:
        """A plan names what its process holds there, and nothing that is done or in a batch before it."""
        assert epoch is not None
        begins, stop = self._span(account, plan)
        numbers = self._named(plan)
        require(len(numbers) == stop - begins, f"attempt {plan.attempt} names {numbers} for {begins} to {stop}")
        if numbers:
            stood = self._sources[epoch].built.get((begins, stop))
            require(stood == numbers, f"attempt {plan.attempt} names {numbers}, and {stood} stand there")
        self._begins[plan.txid] = begins
        self._check_new(account, plan, numbers)
        return account

    def finished(self, account: LedgerAccount, plan: Plan) -> Places:
        """What is done was read as it was named, and is done once."""
        numbers = self._named(plan)
        read = self._read.get(plan.attempt, ())
        require(read == numbers, f"attempt {plan.attempt} names {numbers}, and has processed {read}")
        self._check_new(account, plan, numbers)
        self.applied.update(numbers)
        return {**account.rows, **dict(zip(positions(self._drawn.name, plan), numbers, strict=True))}

    def kept(self, account: LedgerAccount, old: Entry) -> Places:
        """A life that goes on where the old one was, with its rows, knows what is in these."""
        decision = old.reset
        goes_on = decision is not None and decision.states == "adopt" and decision.start == ResetStart.RESUME
        self._is_one_life = self._is_one_life and goes_on
        return account.rows if goes_on else {}

    def stops(self, account: LedgerAccount) -> dict[int, int]:
        """What is in no plan yet stands nowhere: its queue may give it to another process."""
        live = account.entry.live if account.entry is not None else ()
        found = dict(account.covered)
        for item in live[-1].plan.ranges if live else ():
            if item.spout == self._drawn.name:
                found[item.range.id.partition] = item.range.stop
        return found

    def check_acked(self, number: int) -> None:
        """The queue hears that something is done when it is."""
        require(number in self.applied, f"message {number} was acked, and is not done")

    def check_failed(self, process: str, number: int) -> None:
        """What the newest owner fails is in no result, and in none that is decided.

        One that was overtaken and has not noticed knows nothing of what is done since: its queue gives that again.
        """
        newest = max(self._sources, key=lambda epoch: epoch.number)
        if self._sources[newest].process != process:
            return
        account = self._now()
        entry = account.entry
        assert entry is not None
        pinned = self._named(entry.pin.plan) if entry.pin is not None else ()
        require(number not in pinned, f"message {number} was failed, and is pinned")
        recent = self._recent(account, account.done + 1, account.covered.get(self._drawn.partition, 0))
        require(number not in recent, f"message {number} was failed, and is done")

    def check_stopped(self, source: Here, entry: Entry | None, rows: Places) -> None:
        """What a run that ends had received and not planned goes back: nothing is asked of it."""

    def check_end(self, *, is_whole: bool) -> None:
        """Each message that was made is done, or still there to be given; of the whole history or of this life."""
        broker = self._drawn.broker
        done = set(self._now().rows.values()) if is_whole and self._is_one_life else self.applied
        there = {number for held in broker.held.values() for number in held}
        lost = set(range(broker.made)).difference(done, broker.waiting, there)
        require(not lost, f"messages {sorted(lost)} are lost")

    def counts(self) -> Counter[str]:
        return self._drawn.broker.counts

    def _check_new(self, account: LedgerAccount, plan: Plan, numbers: Sequence[int]) -> None:
        before = self._recent(account, plan.txid, self._begins[plan.txid])
        for stored in account.entry.live if account.entry is not None else ():
            if stored.plan.txid < plan.txid:
                before.update(self._named(stored.plan))
        again = before.intersection(numbers)
        require(not again, f"messages {again} of attempt {plan.attempt} are in a txid before it")
        require(len(set(numbers)) == len(numbers), f"attempt {plan.attempt} names a message twice: {numbers}")

    def _recent(self, account: LedgerAccount, txid: int, position: int) -> set[int]:
        """Return what is remembered before a txid: by both limits, but for the batch before, which always is."""
        kept = [self._begins[each] for each in range(txid - KEPT, txid) if each in self._begins]
        oldest = max(min([*kept, position]), position - self._drawn.horizon)
        first = min(oldest, self._begins.get(txid - 1, position))
        places = ((self._drawn.partition, at) for at in range(first, position))
        return {account.rows[place] for place in places if place in account.rows}

    def _named(self, plan: Plan) -> tuple[int, ...]:
        return tuple(int(id_[1:]) for item in plan.received if item.spout == self._drawn.name for id_ in item.ids)

    def _span(self, account: LedgerAccount, plan: Plan) -> tuple[int, int]:
        found = [item.range for item in plan.ranges if item.spout == self._drawn.name]
        require(len(found) == 1, f"attempt {plan.attempt} has {found} of the messages")
        return found[0].start, found[0].stop
