"""The faults: processes that are killed, a table that is lost, a function that raises; each strikes once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import psutil

from reliability.cases import Case, Fault
from trident import Collector, InputRecord
from trident.base.trees import Ids
from trident.coordinators.acking.trees import Ackers
from trident.engine import messages

_SPOUTS = "trident.spouts.queue.process.child"
_LOOK_S = 0.01


class Strikes:
    """Which faults have struck, as files: whoever makes one has that fault, in whatever process, and nobody again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def claim(self, number: int) -> bool:
        """Take a fault; false when it has struck already."""
        try:
            (self._folder / str(number)).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    @property
    def count(self) -> int:
        """How many have struck."""
        return len(list(self._folder.iterdir()))


class Operation:
    """Passes numbers on and acks them, as a bolt of Storm does; fails at some of them, each time once."""

    def __init__(self, strikes: Strikes, fault: Fault, at: Sequence[int]) -> None:
        self._strikes = strikes
        self._fault = fault
        self._at = frozenset(at) if fault in (Fault.BEFORE_EMIT, Fault.AFTER_EMIT, Fault.WORKER) else frozenset[int]()

    def __call__(self, record: InputRecord, collector: Collector) -> None:
        """Process one number."""
        number = record["n"]
        strikes = number in self._at and self._strikes.claim(int(str(number)))
        if strikes and self._fault is Fault.BEFORE_EMIT:
            raise RuntimeError("a fault before anything is emitted")
        collector.emit((number,), anchors=[record])
        if strikes and self._fault is Fault.WORKER:
            os.kill(os.getpid(), signal.SIGKILL)
        if strikes:
            raise RuntimeError("a fault behind what is emitted")
        collector.ack(record)


@contextmanager
def striking(case: Case, strikes: Strikes, arrived: Callable[[], int]) -> Iterator[None]:
    """Have faults of this process and of the spout's strike meanwhile; `arrived` says how many numbers have arrived."""
    if case.fault is Fault.ACKER:
        with _ackers_dying(case, strikes):
            yield
    elif case.fault is Fault.SPOUT:
        with _spouts_dying(case, strikes, arrived):
            yield
    else:
        yield


class _Dying(Ackers):
    """Loses its table behind the beginning of a batch in which a number is at which a fault strikes."""

    strikes: Strikes
    at: tuple[int, ...] = ()
    begun = 0

    def begin(self, roots: Ids, edges: Ids) -> None:
        """Hear of messages, and forget them where the fault strikes."""
        super().begin(roots, edges)
        before, type(self).begun = type(self).begun, type(self).begun + len(roots)
        if any(before < number <= self.begun and self.strikes.claim(number) for number in self.at):
            self.lose(0)


@contextmanager
def _ackers_dying(case: Case, strikes: Strikes) -> Iterator[None]:
    dying = type("Dying", (_Dying,), {"strikes": strikes, "at": case.strikes_at(), "begun": 0})
    with patch.object(messages, "Ackers", dying):
        yield


@contextmanager
def _spouts_dying(case: Case, strikes: Strikes, arrived: Callable[[], int]) -> Iterator[None]:
    over = threading.Event()
    killer = threading.Thread(target=_kill_spouts, args=(case, strikes, arrived, over), daemon=True)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def _kill_spouts(case: Case, strikes: Strikes, arrived: Callable[[], int], over: threading.Event) -> None:
    """Kill the spout's process whenever so many numbers have arrived as a fault is to strike at."""
    todo, killed = list(case.strikes_at()), 0
    while todo and not over.wait(_LOOK_S):
        child = _spout_of(psutil.Process()) if arrived() >= todo[0] else None
        if child is not None and child.pid != killed:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
                strikes.claim(todo.pop(0))
                killed = child.pid


def _spout_of(parent: psutil.Process) -> psutil.Process | None:
    for child in parent.children():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if _SPOUTS in child.cmdline():
                return child
    return None
