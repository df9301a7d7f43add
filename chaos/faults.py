"""The faults, each fired when a batch is at a certain point, and what must follow from it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import ClassVar

import psutil

from chaos.crew import ChaosError, Driver
from chaos.scene import STANDSTILL_SECONDS, Caught, Scene
from chaos.strikes import Strike, driver_killed, gone_on, outcome
from trident.testing.postgres_proxy import Direction

_EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass(frozen=True, slots=True)
class KillDriver:
    """SIGKILL of the driver at a crash point."""

    point: str

    drivers: ClassVar[int] = 2

    def strike(self, scene: Scene) -> Strike:
        caught = scene.catch([self.point])
        started = time.monotonic()
        scene.crew.kill(caught.driver)
        return driver_killed(scene, caught.driver, caught.look, self.point, caught.txid, started)


@dataclass(frozen=True, slots=True)
class KillDriverAnywhere:
    """SIGKILL of the driver in the middle of whatever it does."""

    drivers: ClassVar[int] = 2

    def strike(self, scene: Scene) -> Strike:
        driver, look, word = scene.catch_anywhere()
        started = time.monotonic()
        scene.crew.kill(driver)
        txid = look.in_flight[0]
        return driver_killed(scene, driver, look, f"at random, after {word.point}", txid, started)


@dataclass(frozen=True, slots=True)
class KillBoth:
    """SIGKILL of the driver after its pin, and of the one that takes over while it does."""

    point: str
    taking_over: str

    drivers: ClassVar[int] = 2

    def strike(self, scene: Scene) -> Strike:
        first = scene.catch([self.point])
        started = time.monotonic()
        scene.crew.kill(first.driver)
        second = scene.catch([self.taking_over])
        scene.crew.kill(second.driver)
        line = driver_killed(
            scene, second.driver, second.look, f"{self.point}, then {self.taking_over}", first.txid, started
        )
        both = f"drivers {first.driver.name} and {second.driver.name}"
        pinned = first.look.is_pinned + second.look.is_pinned
        return Strike(
            "SIGKILL, twice", both, line.point, first.txid, tuple(first.look.in_flight), first.look.phase, line.after,
            line.seconds, kills=2, driver_kills=2, kills_after_pin=pinned,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class KillWorker:
    """SIGKILL of a Python worker in the middle of its task."""

    point: str

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught = scene.catch([self.point], "worker")
        started = time.monotonic()
        os.kill(caught.held.word.pid, signal.SIGKILL)
        return _run_again(scene, caught, "SIGKILL", "Python worker", started)


@dataclass(frozen=True, slots=True)
class KillExecutor:
    """SIGKILL of the executor whose Python worker is in the middle of its task."""

    point: str

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught = scene.catch([self.point], "worker")
        parents = psutil.Process(caught.held.word.pid).parents()
        executor = next(process for process in parents if any(_EXECUTOR in word for word in process.cmdline()))
        started = time.monotonic()
        executor.kill()
        return _run_again(scene, caught, "SIGKILL", "Spark executor", started)


@dataclass(frozen=True, slots=True)
class KillLeader:
    """SIGKILL of the broker that leads a partition while a task reads, and its return when batches have gone on."""

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught = scene.catch(["READING"], "worker")
        number = scene.kafka.leader(scene.topic, scene.random.randrange(2))
        started = time.monotonic()
        scene.kafka.broker(number).kill()
        line = gone_on(scene, caught, "SIGKILL, restart", f"broker {number}, a leader", started, kills=1)
        scene.bring_back(number)
        return line


@dataclass(frozen=True, slots=True)
class CrashPostgres:
    """An immediate shutdown of PostgreSQL in the middle of a commit, and its restart."""

    point: str

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught = scene.catch([self.point])
        started = time.monotonic()
        scene.postgres.kill()
        caught.held.let_go()
        scene.postgres.start()
        return gone_on(scene, caught, "immediate stop", "PostgreSQL", started, kills=1)


@dataclass(frozen=True, slots=True)
class Freeze:
    """SIGSTOP of the driver until another one has taken over and gone on, then SIGCONT: it must find itself fenced."""

    point: str

    drivers: ClassVar[int] = 2

    def strike(self, scene: Scene) -> Strike:
        caught = scene.catch([self.point])
        started = time.monotonic()
        caught.driver.freeze()
        caught.held.let_go()
        return _replaced(scene, caught, "SIGSTOP, SIGCONT", caught.driver.thaw, started)


@dataclass(frozen=True, slots=True)
class CutOff:
    """All that the driver says to PostgreSQL is held back until another driver has gone on, then delivered late."""

    point: str

    drivers: ClassVar[int] = 2

    def strike(self, scene: Scene) -> Strike:
        caught = scene.catch([self.point])
        started = time.monotonic()
        caught.driver.proxy.hold(Direction.TO_SERVER)
        caught.held.let_go()
        return _replaced(scene, caught, "network held back", caught.driver.proxy.release, started)


@dataclass(frozen=True, slots=True)
class StallAnswer:
    """The server's answer to a COMMIT is held back until its effect has been seen by others."""

    point: str

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught, port = _catch_writer(scene, [self.point])
        started = time.monotonic()
        caught.driver.proxy.hold_answers(port)
        caught.held.let_go()
        deadline = time.monotonic() + STANDSTILL_SECONDS
        while port in scene.view.writer_ports():
            if time.monotonic() > deadline:
                raise ChaosError("a COMMIT whose answer is held back did not take effect")
            time.sleep(0.01)
        caught.driver.proxy.release()
        return gone_on(scene, caught, "COMMIT's answer late", f"driver {caught.driver.name}'s connection", started)


@dataclass(frozen=True, slots=True)
class LoseCommit:
    """A COMMIT reaches the server, the connection is dropped before the answer."""

    point: str

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught, port = _catch_writer(scene, [self.point])
        started = time.monotonic()
        lost = caught.driver.proxy.lose_commit(port)
        caught.held.let_go()
        if not lost.wait(30):
            raise ChaosError("no COMMIT came by on the connection that was in the middle of a commit")
        return gone_on(scene, caught, "COMMIT's answer lost", f"driver {caught.driver.name}'s connection", started)


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection that is in the middle of a commit is cut; or all of the driver's."""

    point: str
    all_of_them: bool = False

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught, port = _catch_writer(scene, [self.point])
        started = time.monotonic()
        cut = caught.driver.proxy.cut(None if self.all_of_them else [port])
        caught.held.let_go()
        return gone_on(scene, caught, "cut", f"{cut} connections of driver {caught.driver.name}", started)


def _catch_writer(scene: Scene, points: Collection[str]) -> tuple[Caught, int]:
    caught = scene.catch(points)
    ports = scene.view.writer_ports()
    if len(ports) != 1:
        raise ChaosError(f"{len(ports)} connections change states at {caught.held.word.point}, not one")
    return caught, ports[0]


def _run_again(scene: Scene, caught: Caught, what: str, victim: str, started: float) -> Strike:
    """Go on, and demand that no attempt was lost: Spark runs a dead task again.

    Another attempt would hide what is wrong with the second run of a task.
    """
    look, given_up = caught.look, _given_up(caught.driver)
    line = gone_on(scene, caught, what, victim, started, kills=1)
    committed = [scene.view.committed_attempt(txid)[0] for txid in look.in_flight]
    is_excused = _given_up(caught.driver) > given_up or scene.view.look().epoch > look.epoch
    if committed != list(look.attempts) and not is_excused:
        raise ChaosError(
            f"{what} of a {victim} cost attempts: {list(look.attempts)} were in flight, {committed} were committed; "
            f"{caught.driver.log_end()}"
        )
    return line


def _given_up(driver: Driver) -> int:
    """Return how often a driver has said that Spark gave a job up, as the user function failed in every run."""
    return driver.log.read_text(errors="replace").count("raised ValueError")


def _replaced(scene: Scene, caught: Caught, what: str, end: Callable[[], None], started: float) -> Strike:
    """Wait for the successor, end the fault, and hold the old owner to what a fence promises."""
    look = caught.look
    after = scene.until("another driver has gone on", lambda now: now.epoch > look.epoch and now.done > caught.txid)
    before = scene.view.written_by(look.epoch)
    end()
    scene.until_fenced(caught.driver)
    late = scene.view.written_by(look.epoch) - before
    if late:
        raise ChaosError(f"driver {caught.driver.name} wrote {late} after it was replaced")
    how = outcome(scene, caught.txid, caught.attempt, after, look)
    return Strike(
        what, f"driver {caught.driver.name}", caught.held.word.point, caught.txid, tuple(look.in_flight), look.phase,
        f"{how}; the old one: FencedError, wrote nothing", time.monotonic() - started,
    )  # fmt: skip
