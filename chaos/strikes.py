"""What a fault came to: who was hit, when, and what followed; and what most of them wait for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, Protocol

from chaos.crew import Driver
from chaos.ledger_view import Look
from chaos.scene import Caught, Scene

_ONE_TRANSACTION = "IN_PIN_TRANSACTION"


@dataclass(frozen=True, slots=True)
class Strike:
    """What was done to whom and when, and what came of it: a line of the verdict table."""

    what: str
    victim: str
    point: str
    txid: int
    in_flight: tuple[int, ...]
    phase: str
    after: str
    seconds: float
    kills: int = 0
    driver_kills: int = 0
    kills_after_pin: int = 0
    """How many of the killed drivers had a txid pinned (or its pin in the open transaction) and not done or sent."""


class Fault(Protocol):
    """One thing that goes wrong."""

    drivers: ClassVar[int]
    """How many drivers must be ready before it is fired: two where one has to take over."""

    def strike(self, scene: Scene) -> Strike:
        """Do it when a batch is where it should be, wait for what follows; raises ChaosError for anything else."""


def driver_killed(scene: Scene, driver: Driver, look: Look, point: str, txid: int, started: float) -> Strike:
    decided = look.is_pinned or point == _ONE_TRANSACTION
    after = scene.until(
        f"txid {txid} is done after driver {driver.name}", lambda now: now.done >= txid and now.epoch > look.epoch
    )
    attempts = dict(zip(look.in_flight, look.attempts, strict=True))
    return Strike(
        "SIGKILL", f"driver {driver.name}", point, txid, tuple(look.in_flight), look.phase,
        outcome(scene, txid, attempts.get(txid), after, look), time.monotonic() - started,
        kills=1, driver_kills=1, kills_after_pin=int(decided),
    )  # fmt: skip


def gone_on(scene: Scene, caught: Caught, what: str, victim: str, started: float, kills: int = 0) -> Strike:
    caught.held.let_go()
    after = scene.until_done(max(caught.look.in_flight))
    look = caught.look
    return Strike(
        what, victim, caught.held.word.point, caught.txid, tuple(look.in_flight), look.phase,
        outcome(scene, caught.txid, caught.attempt, after, look), time.monotonic() - started, kills=kills,
    )  # fmt: skip


def outcome(scene: Scene, txid: int, attempt: int | None, after: Look, before: Look) -> str:
    committed, tries = scene.view.committed_attempt(txid)
    how = "committed as it was" if committed == attempt else f"read again (try {tries})"
    if attempt is None:
        how = "was done already"
    return f"taken over, {how}" if after.epoch > before.epoch else how
