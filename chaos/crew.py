"""The drivers: one that runs the job, one that waits to take over; each is a process behind a proxy of its own."""

from __future__ import annotations

import os
import signal
import string
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from chaos.databases import is_postgres
from chaos.driver import DRAINED, FENCED, SETTINGS
from chaos.job import JobSettings
from chaos.switchboard import Switchboard
from chaos.words import ADDRESS
from trident.local.processes import ServerCommand, ServerProcess
from trident.testing.postgres_proxy import PostgresProxy

_ROOT = Path(__file__).parents[1]
_START_SECONDS = 120
_GONE_SECONDS = 20
_WANTED = 2


class ChaosError(RuntimeError):
    """Something happened that no fault explains; the text says what."""


@dataclass(frozen=True, eq=False)
class Driver:
    """One driver."""

    name: str
    process: ServerProcess
    link: PostgresProxy | None
    """Between it and PostgreSQL; None where its ledger is a file."""
    log: Path

    @property
    def proxy(self) -> PostgresProxy:
        if self.link is None:
            raise ChaosError("a fault of connections to PostgreSQL is fired at a job that has none")
        return self.link

    def kill(self) -> None:
        self.process.kill()

    def freeze(self) -> None:
        """Let it stand still, threads and all."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """End that."""
        os.kill(self.process.pid, signal.SIGCONT)

    def log_end(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])

    def ended_fenced(self) -> bool:
        """Whether it has ended with FencedError; any other end than a kill is a failure of the run."""
        code = self.process.exit_code
        if code in (None, DRAINED, -signal.SIGKILL):
            return False
        if code != FENCED:
            raise ChaosError(f"driver {self.name} ended with code {code}; it said:\n{self.log_end()}")
        return True


class Crew:
    """Starts drivers, knows which of them holds the topology; leaving the block ends all that was ever started."""

    def __init__(self, settings: JobSettings, board: Switchboard, folder: Path) -> None:
        self._settings = settings
        self._board = board
        self._folder = folder
        self._drivers: list[Driver] = []
        self._started: set[psutil.Process] = set()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *error: object) -> None:
        for driver in self._drivers:
            self._note_children(driver)
            driver.process.kill()
            if driver.link is not None:
                driver.link.__exit__(None, None, None)
        _, alive = psutil.wait_procs(list(self._started), timeout=_GONE_SECONDS)
        for process in alive:
            process.kill()

    @property
    def started(self) -> int:
        """How many drivers there ever were."""
        return len(self._drivers)

    def living(self) -> list[Driver]:
        """Return the drivers that have not ended; raises ChaosError for one that ended as no fault explains."""
        return [driver for driver in self._drivers if driver.process.is_alive and not driver.ended_fenced()]

    def check(self) -> None:
        """Raise ChaosError when a driver ended otherwise than by a kill or with FencedError."""
        for driver in self._drivers:
            driver.ended_fenced()

    def of(self, pid: int) -> Driver | None:
        """Return the living driver with that process id."""
        return next((driver for driver in self.living() if driver.process.pid == pid), None)

    def start_missing(self) -> None:
        """Have one driver that runs and one that waits; returns at once."""
        while len(self.living()) < _WANTED:
            self._start()

    def wait_for(self, ready: int) -> None:
        """Wait until so many drivers have come as far as the lease; raises ChaosError when they do not."""
        deadline = time.monotonic() + _START_SECONDS
        while len(self._ready()) < ready:
            if time.monotonic() > deadline:
                logs = "\n".join(driver.log_end() for driver in self.living())
                raise ChaosError(f"no {ready} drivers are ready after {_START_SECONDS} s; they said:\n{logs}")
            time.sleep(0.1)
        for driver in self._ready():
            self._note_children(driver)

    def _ready(self) -> list[Driver]:
        return [driver for driver in self.living() if self._board.last_of(driver.process.pid) is not None]

    def kill(self, driver: Driver) -> None:
        """SIGKILL; the Java process that belongs to it ends by itself."""
        self._note_children(driver)
        driver.kill()

    def _note_children(self, driver: Driver) -> None:
        if driver.process.is_alive:
            self._started.update(psutil.Process(driver.process.pid).children(recursive=True))

    def _start(self) -> None:
        number = len(self._drivers)
        name = string.ascii_uppercase[number % 26] + (str(number // 26) if number >= 26 else "")
        proxy, settings = self._connected()
        environment = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(_ROOT),
            SETTINGS: msgspec.json.encode(settings).decode(),
            ADDRESS: str(self._board.port),
        }
        log = self._folder / f"driver-{name}.log"
        words = [sys.executable, "-m", "chaos.driver"]
        command = ServerCommand(words, log, signal.SIGKILL, environment=environment)
        self._drivers.append(Driver(name, ServerProcess(command), proxy, log))

    def _connected(self) -> tuple[PostgresProxy | None, JobSettings]:
        """Return a proxy of the driver's own, and settings that lead through it."""
        ledger, apart = self._settings.ledger, self._settings.apart_dsn
        if not is_postgres(ledger):
            return None, self._settings
        proxy = PostgresProxy(ledger).__enter__()
        settings = msgspec.structs.replace(
            self._settings,
            ledger=proxy.through(ledger),
            apart_dsn=proxy.through(apart) if apart else None,
        )
        return proxy, settings
