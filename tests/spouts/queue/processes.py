"""Processes of spouts for tests: started, waited for, and looked after."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import cloudpickle

from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.message import Message
from trident.spouts.queue.pending import Delivery
from trident.spouts.queue.process.instance import SpoutInstance

LONGEST_S = 15.0


@contextmanager
def running(spout: AckingSpout, *, active: bool = True) -> Iterator[SpoutInstance]:
    started = SpoutInstance(cloudpickle.dumps(spout), SpoutContext("s", 1))
    started.set_active(active)
    try:
        yield started
    finally:
        started.close(1.0)


def until(condition: Callable[[], bool], seconds: float = LONGEST_S) -> None:
    latest = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < latest, "it never comes to this"
        time.sleep(0.01)


def taken(started: SpoutInstance, count: int) -> list[tuple[Message, Delivery]]:
    found: list[tuple[Message, Delivery]] = []

    def take() -> bool:
        found.extend(started.take(count - len(found)))
        return len(found) >= count

    until(take)
    return found


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "Z"
