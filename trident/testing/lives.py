"""One coordinator's life in a test: the borders that it passes, the one at which it dies, and what it can't do then."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from trident.base.checks import check_count, refused
from trident.base.crash_points import CrashPoint
from trident.base.identity import Epoch
from trident.base.latency import CompleteLatency
from trident.base.policies import policy_of
from trident.coordinators.ledger import MemoryLedger
from trident.state.memory.database import MemoryDatabase, MemoryTransaction

_OF_TIME: Final = (CrashPoint.BEFORE_RENEWAL, CrashPoint.AFTER_RENEWAL)
"""What a coordinator comes to every second or so, whatever its batch is at: no test could say when."""

_OF_TAKE_OVER: Final = frozenset(point for point in CrashPoint if point.startswith("take-over"))


@dataclass(frozen=True, slots=True)
class Death:
    """Where a coordinator dies: at a border between two effects, the first time that it comes there or a later one.

    `point` is a `CrashPoint` or its text. `time=2` is the second time: between two states that are applied one by one,
    say.
    """

    point: CrashPoint | str
    time: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", policy_of(CrashPoint, self.point, "point"))
        check_count("time", self.time)
        if self.point in _OF_TIME:
            raise refused("point", "a border that a batch comes to, and no renewal of a lease", str(self.point))

    def __str__(self) -> str:
        return str(self.point) if self.time == 1 else f"{self.point} (time {self.time})"


class CoordinatorDiedError(BaseException):
    """Stands for the death of a process; no error that anything could be done about, so nothing catches it."""


class Life:
    """What one coordinator comes to, up to its death if it has one; may be called from any of its threads.

    Once it is dead every further border and every transaction of a `MortalDatabase` raises: a process that is dead
    writes nothing more, whichever thread was at it.
    """

    def __init__(self, death: Death | None = None) -> None:
        self._death = death
        self._lock = threading.Lock()
        self._times: Counter[CrashPoint] = Counter()
        self._passed: list[Death] = []
        self._is_dead = False

    @property
    def is_dead(self) -> bool:
        """Whether it has come to its death."""
        return self._is_dead

    @property
    def passed(self) -> tuple[Death, ...]:
        """Every border that its batch has come to, in order: it could have died at each."""
        with self._lock:
            return tuple(each for each in self._passed if each.point not in _OF_TAKE_OVER)

    def reach(self, point: CrashPoint, txid: int) -> None:
        """Come to a border, and die if this is the one; the action that crash points are armed with."""
        if point in _OF_TIME:
            return
        with self._lock:
            self._require_alive()
            if txid == 0 and point is not CrashPoint.READING and point not in _OF_TAKE_OVER:
                return  # what a sink sends to take over is no batch's
            self._times[point] += 1
            here = Death(point, self._times[point])
            self._passed.append(here)
            self._is_dead = here == self._death
            self._require_alive()

    def require_alive(self) -> None:
        """Raise once it is dead."""
        with self._lock:
            self._require_alive()

    def _require_alive(self) -> None:
        if self._is_dead:
            raise CoordinatorDiedError(f"died {self._death}")


class MortalDatabase(MemoryDatabase):
    """A memory database as one life sees it: a transaction that its death meets, and every one behind it, is undone."""

    def __init__(self, kept: MemoryDatabase, life: Life) -> None:
        super().__init__()
        self._kept = kept
        self._life = life

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        """See `MemoryDatabase`."""
        self._life.require_alive()
        with self._kept.transaction() as transaction:
            yield transaction
            self._life.require_alive()


class MortalLedger(MemoryLedger):
    """The ledger as one life sees it, in a `MortalDatabase`."""

    def renew(self, topology: str, epoch: Epoch, latencies: Sequence[CompleteLatency] = ()) -> bool:
        """Write a heartbeat, if it lives: nobody waits for that thread, so nothing is raised there."""
        with suppress(CoordinatorDiedError):  # before it was written, or just then
            return super().renew(topology, epoch, latencies)
        return False
