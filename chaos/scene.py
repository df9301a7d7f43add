"""What a fault has at hand: the servers, the crew, the switchboard, the ledger's tables; and how to catch a batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random

from chaos.crew import ChaosError, Crew, Driver
from chaos.ends import EndsOfTransactions
from chaos.ledger_view import LedgerView, Look
from chaos.sink_reader import SinkReader
from chaos.supply import Supply
from chaos.switchboard import Held, Switchboard
from chaos.words import Word
from trident.local.kafka_cluster import LocalKafkaCluster
from trident.local.postgres import LocalPostgres

STANDSTILL_SECONDS = 150
_LOOK_SECONDS = 0.03
_ALL_IN_SYNC_SECONDS = 60
_TRANSACTIONS = "__transaction_state"
"""Where Kafka keeps what is known of transactional ids."""


@dataclass(frozen=True)
class Caught:
    """A process that waits at a point, the driver that owns the batch, and what the ledger says at that moment."""

    held: Held
    driver: Driver
    look: Look

    @property
    def txid(self) -> int:
        """The txid that is dealt with: the one that the point names, else the lowest in flight."""
        return self.held.word.txid or self.look.in_flight[0]

    @property
    def attempt(self) -> int | None:
        """Its attempt."""
        return dict(zip(self.look.in_flight, self.look.attempts, strict=True)).get(self.txid)


@dataclass(frozen=True)
class Scene:
    """All that faults act on; used by the nemesis' thread only."""

    crew: Crew
    board: Switchboard
    view: LedgerView
    kafka: LocalKafkaCluster
    postgres: LocalPostgres
    topic: str
    supply: Supply
    random: Random
    ends: EndsOfTransactions
    reader: SinkReader | None = None
    """Who reads what the job's sink sends, if it has one."""

    @property
    def sink(self) -> SinkReader:
        """Who reads what the job's sink sends."""
        if self.reader is None:
            raise ChaosError("a fault of sinks is fired at a job that has none")
        return self.reader

    def catch(self, points: Collection[str], role: str = "driver") -> Caught:
        """Hold a process at one of the points while a batch is in flight (never an idle driver)."""
        deadline = time.monotonic() + STANDSTILL_SECONDS
        while time.monotonic() < deadline:
            held = self._wait(lambda word: word.role == role and word.point in points, deadline)
            look = self.view.look()
            driver = self.crew.of(look.holder)
            wanted = driver is not None and (role == "worker" or driver.process.pid == held.word.pid)
            if driver is not None and wanted and look.in_flight:
                return Caught(held, driver, look)
            held.let_go()
        raise ChaosError(f"no batch came to {sorted(points)} for {STANDSTILL_SECONDS} s; {self._logs()}")

    def catch_anywhere(self) -> tuple[Driver, Look, Word]:
        """Freeze the driver in the middle of whatever it does, after a random number of words."""
        deadline = time.monotonic() + STANDSTILL_SECONDS
        while time.monotonic() < deadline:
            skip = self.random.randint(1, 12)
            for _ in range(skip):
                held = self._wait(lambda word: word.role == "driver", deadline)
                held.let_go()
            driver = self.crew.of(self.view.look().holder)
            if driver is None:
                continue
            driver.freeze()
            look, word = self.view.look(), self.board.last_of(driver.process.pid)
            if look.in_flight and look.holder == driver.process.pid and word is not None:
                return driver, look, word
            driver.thaw()
        raise ChaosError(f"no batch in flight for {STANDSTILL_SECONDS} s; {self._logs()}")

    def until(self, what: str, is_so: Callable[[Look], bool]) -> Look:
        """Wait until the ledger says so; raises ChaosError when nothing moves any more."""
        seen, deadline = Look(), time.monotonic() + STANDSTILL_SECONDS
        while not is_so(look := self.view.look()):
            self.crew.check()
            if (look.done, look.epoch, look.attempts) != (seen.done, seen.epoch, seen.attempts):
                seen, deadline = look, time.monotonic() + STANDSTILL_SECONDS
            if time.monotonic() > deadline:
                raise ChaosError(f"no progress while waiting until {what}; the ledger: {look}; {self._logs()}")
            self.crew.start_missing()
            time.sleep(_LOOK_SECONDS)
        return look

    def until_done(self, txid: int) -> Look:
        """Wait until a txid is done."""
        return self.until(f"txid {txid} is done", lambda look: look.done >= txid)

    def until_sent(self, txid: int) -> int:
        """Wait until a foreign reader has got the marker of a txid; returns the epoch that has sent it."""
        deadline = time.monotonic() + STANDSTILL_SECONDS
        while (epoch := self.sink.sender_of(txid)) is None:
            self.crew.check()
            self.sink.check()
            self.crew.start_missing()
            if time.monotonic() > deadline:
                raise ChaosError(f"txid {txid} is not sent, the newest marker is {self.sink.newest}; {self._logs()}")
            time.sleep(_LOOK_SECONDS)
        return epoch

    def bring_back(self, broker: int) -> None:
        """Start a broker again, and wait until it has caught up, so that any other one may go."""
        self.board.stop_plans()
        self.kafka.broker(broker).start()
        topics = [self.topic]
        if self.reader is not None:
            topics += [self.reader.sink.topic, self.reader.sink.markers, _TRANSACTIONS]
        deadline = time.monotonic() + _ALL_IN_SYNC_SECONDS
        while not all(self.kafka.is_in_sync(topic) for topic in topics):
            if time.monotonic() > deadline:
                raise ChaosError(f"broker {broker} did not catch up within {_ALL_IN_SYNC_SECONDS} s")
            time.sleep(0.2)
        self.board.allow_plans()

    def until_fenced(self, driver: Driver) -> None:
        """Wait until a driver has ended, which must be with FencedError."""
        deadline = time.monotonic() + STANDSTILL_SECONDS
        while not driver.ended_fenced():
            if time.monotonic() > deadline:
                raise ChaosError(f"driver {driver.name} was replaced and did not end; {self._logs()}")
            time.sleep(_LOOK_SECONDS)

    def _wait(self, fits: Callable[[Word], bool], deadline: float) -> Held:
        watch = self.board.watch(fits)
        while (held := watch.wait(1)) is None:
            self.crew.check()
            self.supply.replenish(self.view.look().records)
            if time.monotonic() > deadline:
                watch.cancel()
                raise ChaosError(f"no process came to the point that was waited for; {self._logs()}")
        return held

    def _logs(self) -> str:
        return "\n".join(f"driver {driver.name} said:\n{driver.log_end()}" for driver in self.crew.living())
