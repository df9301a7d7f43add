"""A queue of messages with ids, outside of every process, and the process of a spout that takes from it for one.

It gives a message to one consumer, and again when that one has failed it or is gone; also when an ack got lost, and at
times in another order, beside new ones. A message is a number here; its id says which.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.simulation.accounts import require
from trident.base.errors import RetryableError
from trident.base.failure import Failure
from trident.base.latency import CompleteLatency
from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.message import Message
from trident.spouts.queue.pending import Delivery

GIVEN_AGAIN = "a message was given again"
ACK_LOST = "an ack of a message was lost"
SPOUT_DIED = "a spout's process died by itself"
FAILED = "an operation failed a message"
GIVEN_BACK = "a message was failed"
Consumer = tuple[str, int]
"""A coordinator's process, and which of its spout's processes it is."""
_WRITE = 3
"""How many messages a process of a spout writes at once, at most."""


@dataclass(frozen=True)
class Habits:
    """How often something goes wrong in a world."""

    loses_acks: float
    dies: float
    """At each call of a spout's process."""
    gives_twice: float
    mixes: float
    has_bad: bool
    """Whether operations fail some messages, for the first few times."""

    @classmethod
    def drawn(cls, rng: random.Random) -> Habits:
        """Return those of a world; each may be absent."""
        return cls(
            loses_acks=rng.choice((0.0, 0.1, 0.4)),
            dies=rng.choice((0.0, 0.01, 0.05)),
            gives_twice=rng.choice((0.0, 0.1)),
            mixes=rng.choice((0.0, 0.3)),
            has_bad=rng.random() < 0.5,
        )


@dataclass
class Broker:
    """See the module's text; `when_acked` and `when_failed` hear what it hears."""

    rng: random.Random
    habits: Habits
    is_over: Callable[[], bool]
    """Whether no new messages are made but those that are `left`."""
    when_acked: Callable[[int], None] = lambda _: None
    when_failed: Callable[[str, int], None] = lambda *_: None
    note: Callable[..., None] = lambda *_: None
    """Keeps what happens, where somebody wants to see it."""
    made: int = 0
    left: int = 20
    waiting: list[int] = field(default_factory=list)
    held: dict[Consumer, list[int]] = field(default_factory=dict)
    given: set[int] = field(default_factory=set)
    failures: Counter[int] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, consumer: Consumer, most: int) -> list[int]:
        """Give so many at most: what waits, new ones, and at times what this very consumer has already."""
        random_, habits = self.rng.random, self.habits
        if not self.waiting or random_() < habits.mixes:
            self._make(int(random_() * 2 * most))
            if habits.mixes and random_() < habits.mixes:
                self.rng.shuffle(self.waiting)
        taken, self.waiting = self.waiting[:most], self.waiting[most:]
        self.counts[GIVEN_AGAIN] += len(self.given.intersection(taken))
        self.given.update(taken)
        held = self.held.setdefault(consumer, [])
        held += taken
        if held and random_() < habits.gives_twice:
            taken = [*taken, self.rng.choice(held)]
        if taken:
            self.note(*consumer, "gets messages", taken)
        return taken

    def ack(self, consumer: Consumer, number: int) -> None:
        """Forget it; a lost ack leaves it with its consumer, or has it wait again."""
        self.when_acked(number)
        held = self.held.get(consumer, [])
        if number not in held:
            return
        if self.rng.random() < self.habits.loses_acks:
            self.counts[ACK_LOST] += 1
            self.note(*consumer, "loses the ack of message", number)
            if self.rng.random() < 0.5:
                return
            self._put_back(number)
        held.remove(number)

    def fail(self, consumer: Consumer, number: int) -> None:
        """Have it wait again."""
        self.when_failed(consumer[0], number)
        held = self.held.get(consumer, [])
        if number in held:
            self.note(*consumer, "gives message", number, "back")
            held.remove(number)
            self._put_back(number)

    def gone(self, consumer: Consumer) -> None:
        """Give again what a consumer had: its connection has ended."""
        back = self.held.pop(consumer, [])
        self.note(*consumer, "is gone for the broker, which gives again", back)
        self.waiting[:0] = back

    def bad(self, numbers: Sequence[int]) -> list[int]:
        """Return which of these an operation fails now: some, the first time or two that they are there."""
        if not self.habits.has_bad:
            return []
        found = [number for number in numbers if number % 11 == 3 and self.failures[number] <= number % 2]
        self.failures.update(found)
        self.counts[FAILED] += len(found)
        return found

    def _make(self, count: int) -> None:
        if self.is_over():
            count = min(count, self.left)
            self.left -= count
        self.waiting += range(self.made, self.made + count)
        self.made += count

    def _put_back(self, number: int) -> None:
        self.waiting.insert(self.rng.randint(0, len(self.waiting)), number)


class SimulatedInstance:
    """An `Instance` in virtual time: it works when it is asked, and dies by itself now and then."""

    def __init__(self, broker: Broker, consumer: Consumer, most: int) -> None:
        self._broker = broker
        self._consumer = consumer
        self._most = most
        """How many it may have emitted that have no end."""
        self._is_active = False
        self._is_gone = False
        self._is_idle = False
        self._emitted: list[list[tuple[Message, Delivery]]] = []
        self._numbers: list[int] = []
        """By serial."""
        self._ended: set[int] = set()

    @property
    def number(self) -> int:
        """Which of the stream's processes it is."""
        return self._consumer[1]

    @property
    def is_idle(self) -> bool:
        """Whether the last that it has said is that there is nothing more."""
        return self._is_idle and not self._emitted

    def latency(self) -> CompleteLatency | None:
        """Return nothing: there is no clock in it."""
        return None

    def set_active(self, active: bool) -> None:
        """Take messages, or none."""
        self._is_active = active

    @property
    def has_begun(self) -> bool:
        """See `Instance`."""
        return True

    def wait_for_first(self, seconds: float) -> bool:
        """It answers at once."""
        return True

    @property
    def waiting(self) -> int:
        """How many it has emitted that were not taken."""
        self._work()
        return sum(map(len, self._emitted))

    def take(self, most: int) -> list[tuple[Message, Delivery]]:
        """Return whole writes until there are so many."""
        self._work()
        taken: list[tuple[Message, Delivery]] = []
        while self._emitted and len(taken) < most:
            taken += self._emitted.pop(0)
        return taken

    def ack(self, serials: tuple[int, ...], progress: StreamProgress | None = None) -> None:
        """Tell the broker, unless it is gone or goes on the way."""
        for serial in serials:
            if self._lives():
                self._broker.ack(self._consumer, self._ended_now(serial))

    def fail(self, serials: tuple[int, ...], reason: Failure) -> None:
        """Tell the broker as well."""
        self._is_idle = False
        for serial in serials:
            if self._lives():
                self._broker.counts[GIVEN_BACK] += 1
                self._broker.fail(self._consumer, self._ended_now(serial))

    def refuse(self, serials: tuple[int, ...]) -> None:
        """Be told of a message that has the id of another one: here each has its own."""
        require(not serials, f"{self._consumer} was told of emissions {serials} as of other messages")

    def check(self) -> None:
        """Raise RetryableError when it is gone and all that it has emitted was taken."""
        if self._is_gone and not self._emitted:
            raise RetryableError("the process of the spout has ended by itself")

    def close(self) -> bool:
        """End; returns whether it had been told all."""
        was_there = not self._is_gone
        self.kill()
        return was_there

    def kill(self) -> None:
        """Go: the broker gives again what it had."""
        if not self._is_gone:
            self._is_gone = True
            self._broker.gone(self._consumer)

    def _lives(self) -> bool:
        if not self._is_gone and self._broker.rng.random() < self._broker.habits.dies:
            self._broker.counts[SPOUT_DIED] += 1
            self.kill()
        return not self._is_gone

    def _work(self) -> None:
        room = self._most - (len(self._numbers) - len(self._ended))
        if self._is_gone or not self._is_active or room <= 0:
            return
        numbers = self._broker.take(self._consumer, room)
        self._is_idle = not numbers
        for first in range(0, len(numbers), _WRITE):
            self._emitted.append([self._delivered(number) for number in numbers[first : first + _WRITE]])
        self._lives()

    def _delivered(self, number: int) -> tuple[Message, Delivery]:
        self._numbers.append(number)
        return Message((number,), f"m{number}"), Delivery(self.number, len(self._numbers) - 1)

    def _ended_now(self, serial: int) -> int:
        """Return which message an emission was, of which nothing was said before."""
        require(serial < len(self._numbers), f"{self._consumer} was told of emission {serial}, which another one made")
        require(serial not in self._ended, f"{self._consumer} was told of the end of emission {serial} twice")
        self._ended.add(serial)
        return self._numbers[serial]
