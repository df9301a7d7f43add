"""An owner of a topology behind a proxy, and the successor that has to get past it when it freezes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import psycopg

from integration_tests.fix_postgres import Postgres
from tests.coordinators.fakes import ListJob, Topic, make_job
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import TridentError
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.coordinators.options import RunOptions, Until
from trident.spouts.base import Limits
from trident.state import PostgresState
from trident.testing.postgres_proxy import PostgresProxy, all_but_the_last_byte, behind_a_message, half

LEASE = timedelta(seconds=2)
LEASES = 2
"""How many leases after it froze another one must have taken over: one runs out, the rest is for what it held."""
OPTIONS = RunOptions(
    until=Until.CAUGHT_UP,
    lease=LEASE,
    retry_pause=timedelta(0),
    idle_interval=timedelta(milliseconds=5),
    give_up_after=timedelta(seconds=20),
)
PLACES = ("beside the ledger", "apart from it", "one of each")
CUTS: dict[str, Callable[[bytes], int]] = {
    "half": half,
    "but the last byte": all_but_the_last_byte,
    **{f"behind message {number}": behind_a_message(number) for number in (1, 2, 3, 4)},
}
"""What still passes of the message in which everything freezes."""
AT_FIRST, LATER = 60, 80
"""How many records there are for who freezes, and for its successor."""


@dataclass(frozen=True)
class Databases:
    """Addresses of the ledger and of the states that live apart from it."""

    ledger: str
    apart: str

    def through(self, proxy: PostgresProxy) -> Databases:
        return Databases(proxy.through(self.ledger), proxy.through(self.apart))

    def job(self, place: str, count: int = AT_FIRST) -> ListJob:
        """Return a topology of batches of some forty kilobytes each, so that a COPY is sent in pieces."""
        records = [(f"{n % 30:03d}" + "x" * 2000, n + 1) for n in range(count)]
        states = []
        if place != "apart from it":
            states.append(PostgresState("inside"))
        if place != "beside the ledger":
            states.append(PostgresState("outside", dsn=self.apart))
        return make_job(Topic([records]), *states, limits=Limits(max_records=20))

    def run(self, place: str, options: RunOptions = OPTIONS, count: int = AT_FIRST) -> None:
        TopologyRun(self.job(place, count).plan(), PostgresLedger(self.ledger), options).run()

    def are_exact(self, place: str, count: int = LATER) -> bool:
        expected = self.job(place, count).topic.expected()
        return all(rows == expected for rows in self.rows(place).values())

    def rows(self, place: str) -> dict[str, dict[str, tuple[int, int]]]:
        found = {}
        for name, dsn in (("inside", self.ledger), ("outside", self.apart)):
            if (name == "inside") != (place == "apart from it") or (name == "outside" and place == "one of each"):
                with psycopg.connect(dsn) as connection:
                    rows = connection.execute(f"SELECT account, n, total FROM {name}").fetchall()  # type: ignore[call-overload, unused-ignore]
                found[name] = {row[0]: (row[1], row[2]) for row in rows}
        return found


def databases(postgres: Postgres) -> Databases:
    return Databases(postgres.new_dsn(), postgres.new_dsn())


def draw_cut(rng: random.Random) -> str:
    """Return what passes of a message: half of the draws are behind all that the server may have executed."""
    return rng.choice([*CUTS, *["but the last byte"] * (len(CUTS) - 2)])


def messages_of(where: Databases, act: Callable[[Databases], None]) -> int:
    """Return how often what nothing disturbs sends something."""
    with PostgresProxy(where.ledger) as proxy:
        act(where.through(proxy))
        return proxy.sent


@dataclass
class Owner:
    """Acts in a thread of this process; frozen by its proxy alone, as a network that has gone dark does it."""

    act: Callable[[], None]
    ended_with: TridentError | None = None
    _thread: threading.Thread = field(init=False)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def is_at_work(self) -> bool:
        return self._thread.is_alive()

    def freeze(self) -> None:
        """Do nothing: what it sends and hears is kept back already."""

    def wake(self) -> None:
        """Do nothing."""

    def wait(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.act()
        except TridentError as error:
            self.ended_with = error


@dataclass
class StoppedOwner:
    """Runs in a process of its own, which is stopped by SIGSTOP."""

    where: Databases
    place: str
    _process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        words = [
            sys.executable,
            "-m",
            "integration_tests.frozen.playing",
            self.where.ledger,
            self.where.apart,
            self.place,
        ]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_at_work(self) -> bool:
        return self._process.poll() is None

    def freeze(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def wake(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def wait(self) -> None:
        self._process.wait(60)


@dataclass
class Played:
    """What came of one freeze."""

    happened: bool
    seconds: float
    """From the freeze to the successor's having read where every state stands."""
    rows: dict[str, dict[str, tuple[int, int]]]
    rows_after_waking: dict[str, dict[str, tuple[int, int]]]


def play(where: Databases, place: str, number: int, cut: str, *, by_signal: bool) -> Played:
    """Freeze an owner inside of the so-many-th message that it sends; another one takes over, and goes on."""
    with PostgresProxy(where.ledger) as proxy:
        through = where.through(proxy)
        owner = StoppedOwner(through, place) if by_signal else Owner(lambda: through.run(place))
        frozen = proxy.freeze_at(number, CUTS[cut])
        owner.start()
        while not frozen.wait(0.05) and owner.is_at_work():
            pass
        happened = frozen.is_set()
        owner.freeze()
        began = time.monotonic()
        try:
            with noting() as moments:
                where.run(place, count=LATER)
            rows = where.rows(place)
        finally:
            owner.wake()
            proxy.release()
            owner.wait()
    return Played(happened, moments[-1] - began, rows, where.rows(place))


def seconds_alone(where: Databases, place: str) -> float:
    """Return how long who takes over needs on this machine when the one before has ended."""
    where.run(place)
    began = time.monotonic()
    with noting() as moments:
        where.run(place, count=LATER)
    return moments[-1] - began


@contextmanager
def noting() -> Iterator[list[float]]:
    """Note when a take-over of this process has read where the states stand; the frozen owner gets nowhere."""
    moments: list[float] = []

    def note(point: CrashPoint, _: int) -> None:
        if point is CrashPoint.AFTER_CHECKING:
            moments.append(time.monotonic())

    with armed(note):
        yield moments


if __name__ == "__main__":
    Databases(sys.argv[1], sys.argv[2]).run(sys.argv[3], replace(OPTIONS, give_up_after=timedelta(seconds=5)))
