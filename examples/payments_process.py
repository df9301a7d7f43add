"""An example about payments as a process of its own, which can be killed and started again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from trident.local.processes import ServerCommand, ServerProcess

_PROGRAM = Path(__file__).with_name("alerts.py")
_GONE_SECONDS = 15


class PaymentsProcess:
    """Starts `examples/alerts.py` again and again; leaving the block ends all that it ever started."""

    def __init__(self, dsn: str, options: Sequence[str], log: Path) -> None:
        self._command = ServerCommand(
            [sys.executable, str(_PROGRAM), *options],
            log,
            signal.SIGKILL,
            environment={**os.environ, "PAYMENTS_DSN": dsn},
        )
        self._process: ServerProcess | None = None
        self._started: set[psutil.Process] = set()

    def __enter__(self) -> PaymentsProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        _, alive = psutil.wait_procs(list(self._started), timeout=_GONE_SECONDS)
        for process in alive:
            process.kill()

    @property
    def pid(self) -> int:
        """Process id of the one that was started last."""
        return self._running().pid

    def start(self) -> None:
        """Start it; the one before must have ended."""
        self._process = ServerProcess(self._command)

    def exit_code(self) -> int | None:
        """Return how it ended, None while it runs."""
        return self._running().exit_code

    def pause(self) -> None:
        """Let it stand still (SIGSTOP), so that what it was doing can be looked at."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """End the pause."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL it; the Java and Python processes that it started then end by themselves. May be called again."""
        if self._process is None:
            return
        if self._process.is_alive:
            # a paused process keeps its children: they are found before it is gone
            self._started.update(psutil.Process(self._process.pid).children(recursive=True))
        self._process.kill()

    def log_end(self) -> str:
        """Return the last lines that it logged."""
        return "\n".join(self._command.log.read_text(errors="replace").splitlines()[-25:])

    def _running(self) -> ServerProcess:
        if self._process is None:
            raise RuntimeError("the payments process has not been started")
        return self._process
