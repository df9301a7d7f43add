"""The faults that are about a sink: fired at a step of its Kafka transaction, and judged by a foreign reader."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from chaos.crew import ChaosError
from chaos.scene import STANDSTILL_SECONDS, Caught, Scene
from chaos.strikes import Strike, driver_killed, gone_on
from trident.testing.kafka_proxy import Fate

_OPEN = "BEFORE_END_OF_TRANSACTION"
_TRIMMED = "AFTER_TRIM"
_COMMITTED = {"AFTER_END_OF_TRANSACTION": "sent, in the outbox", _TRIMMED: "sent, trimmed", "AFTER_APPLY": "sent"}
"""The points at which the transaction has taken effect, and what there is of an outbox."""


class Whose(StrEnum):
    """Which broker goes."""

    OUTPUT = "a leader of the output topic"
    MARKERS = "the leader of the markers"
    COORDINATOR = "the transaction coordinator"


@dataclass(frozen=True, slots=True)
class KillSender:
    """SIGKILL of the driver at a step of its transaction: an open one comes to nothing, an ended one stays."""

    point: str

    drivers: ClassVar[int] = 2

    def strike(self, scene: Scene) -> Strike:
        caught = catch_sending(scene, self.point)
        started = time.monotonic()
        scene.crew.kill(caught.driver)
        line = driver_killed(scene, caught.driver, caught.look, self.point, caught.txid, started)
        was_sent = scene.until_sent(caught.txid) <= caught.look.epoch
        if was_sent != (self.point in _COMMITTED):
            raise ChaosError(f"txid {caught.txid}, {self.point}: sent {'before' if was_sent else 'after'} the kill")
        return replace(
            line,
            phase=_phase(caught),
            after=f"{line.after}, sent {'by the dead one' if was_sent else 'by its successor'}",
            seconds=time.monotonic() - started,
            kills_after_pin=int(self.point != _TRIMMED),
        )


@dataclass(frozen=True, slots=True)
class KillBroker:
    """SIGKILL of a broker that a transaction needs, in the middle of it; it comes back when all has gone on."""

    whose: Whose
    point: str

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught = catch_sending(scene, self.point)
        number = _broker(scene, self.whose)
        started = time.monotonic()
        scene.kafka.broker(number).kill()
        line = gone_on(scene, caught, "SIGKILL, restart", f"broker {number}, {self.whose}", started, kills=1)
        line = _sent(scene, caught, line, started)
        scene.bring_back(number)
        return line


@dataclass(frozen=True, slots=True)
class EndMeets:
    """The request that ends a transaction, or its answer, is lost or delayed on its way to a driver that lives on."""

    fate: Fate

    drivers: ClassVar[int] = 1

    def strike(self, scene: Scene) -> Strike:
        caught = catch_sending(scene, _OPEN)
        started = time.monotonic()
        scene.ends.next_meets(self.fate)
        caught.held.let_go()
        _wait(scene.ends.is_met, "no end of a transaction came by")
        line = gone_on(scene, caught, f"EndTxn: {self.fate}", f"driver {caught.driver.name}'s sink", started)
        return _sent(scene, caught, line, started)


@dataclass(frozen=True, slots=True)
class EndComesLate:
    """The request that ends a transaction arrives while a later one is open, of the same driver or of its successor."""

    kills: bool

    drivers: ClassVar[int] = 2

    def strike(self, scene: Scene) -> Strike:
        caught = catch_sending(scene, _OPEN)
        started = time.monotonic()
        scene.ends.next_meets(Fate.LATE)
        caught.held.let_go()
        _wait(scene.ends.is_met, "no end of a transaction came by")
        if self.kills:
            scene.crew.kill(caught.driver)
        else:
            scene.until_sent(caught.txid)  # it was asked once more, and answered
        later = catch_sending(scene, _OPEN)
        scene.ends.deliver()
        time.sleep(0.5)  # for the broker to read it, while the later transaction is open
        line = gone_on(scene, later, "EndTxn: late", f"driver {caught.driver.name}'s sink", started)
        return replace(
            _sent(scene, later, line, started),
            what="EndTxn: late, its sender killed" if self.kills else "EndTxn: late, sent again",
            point=f"{_OPEN}, arrives in txid {later.txid}",
            txid=caught.txid,
            kills=int(self.kills),
            driver_kills=int(self.kills),
            kills_after_pin=int(self.kills),
        )


def catch_sending(scene: Scene, point: str) -> Caught:
    """Hold the driver at a step of a transaction that has records, not of one that only raises a fence."""
    while True:
        caught = scene.catch([point])
        if caught.held.word.txid:
            return caught
        caught.held.let_go()


def _broker(scene: Scene, whose: Whose) -> int:
    sink = scene.sink
    match whose:
        case Whose.OUTPUT:
            return scene.kafka.leader(sink.sink.topic, scene.random.randrange(2))
        case Whose.MARKERS:
            return scene.kafka.leader(sink.sink.markers, sink.marker_partition)
        case Whose.COORDINATOR:
            return scene.kafka.transaction_coordinator(sink.sink.key)


def _sent(scene: Scene, caught: Caught, line: Strike, started: float) -> Strike:
    epoch = scene.until_sent(caught.txid)
    how = "sent" if epoch == caught.look.epoch else f"sent by epoch {epoch}"
    return replace(line, phase=_phase(caught), after=f"{line.after}, {how}", seconds=time.monotonic() - started)


def _phase(caught: Caught) -> str:
    """Return how far the txid of the transaction is: over an outbox it was done before."""
    if caught.txid > caught.look.done:
        return caught.look.phase
    return _COMMITTED.get(caught.held.word.point, "done, not sent")


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + STANDSTILL_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise ChaosError(otherwise)
        time.sleep(0.01)
