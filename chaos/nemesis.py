"""Fires the faults one after the other, each when so much of the topic is done."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

from chaos.crew import ChaosError
from chaos.driver import DRAINED
from chaos.scene import Scene
from chaos.strikes import Fault, Strike

_LAST_PART = 0.85
"""The last fault is fired when this part of the records is done."""


def _until_done(scene: Scene, records: float) -> None:
    scene.until(f"{records:.0f} records are done", lambda look: look.records >= records)


def torment(scene: Scene, faults: Sequence[Fault], told: Callable[[Strike], None]) -> list[Strike]:
    """Fire every fault, then wait until all records are done; missing drivers are started meanwhile."""
    strikes = []
    for number, fault in enumerate(faults):
        _until_done(scene, _LAST_PART * scene.supply.planned * number / len(faults))
        scene.board.stop_plans()
        scene.crew.start_missing()
        scene.crew.wait_for(fault.drivers)
        scene.board.allow_plans()
        strikes.append(fault.strike(scene))
        told(strikes[-1])
    scene.until("all records are done", lambda look: look.records >= scene.supply.processed_at_last)
    _drain(scene)
    return strikes


def _drain(scene: Scene) -> None:
    """Tell the driver that holds the topology to stop, which it must do in order; the waiting ones just end."""
    holder = scene.view.look().holder
    for driver in scene.crew.living():
        if driver.process.pid != holder:
            scene.crew.kill(driver)
    last = scene.crew.of(holder)
    if last is None:
        raise ChaosError("no driver was left to be told to stop")
    last.process.stop(signal.SIGTERM, timeout=60)
    if last.process.exit_code != DRAINED:
        raise ChaosError(f"driver {last.name} was told to stop and ended otherwise; it said:\n{last.log_end()}")
