"""Server processes that never outlive the process that started them."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trident.base.errors import FatalError

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How to start a server: its output goes to `log`; `death_signal` is sent to it when this process dies."""

    words: Sequence[str]
    log: Path
    death_signal: signal.Signals
    user: str | None = None
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    """Where it is started; here, unless another is named."""


class ServerProcess:
    """One running server.

    It ends with the process that started it: at exit, and on Linux also when that process is
    killed. (Linux ties it to the starting *thread*: start servers from a thread that stays.)
    """

    def __init__(self, command: ServerCommand) -> None:
        self._command = command
        parent = os.getpid()

        def die_with_parent() -> None:
            if _LIBC is not None:
                _LIBC.prctl(_PR_SET_PDEATHSIG, command.death_signal)
                if os.getppid() != parent:  # it died before the call above
                    os.kill(os.getpid(), signal.SIGKILL)

        with command.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                list(command.words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches us only; we stop it in order
                cwd=command.folder,
                user=command.user,
                group=None,
                env=dict(command.environment) if command.environment is not None else None,
                preexec_fn=die_with_parent,
            )
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        """The operating system's id of the server's first process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the server's first process still runs."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How the server's first process ended, None while it runs."""
        return self._process.poll()

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Return when `ready()` does so; raises `FatalError` with the log's end if the server dies or time is up."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.is_alive or time.monotonic() > deadline:
                problem = "ended" if not self.is_alive else f"did not answer within {timeout:.0f} s"
                self.kill()
                raise FatalError(f"{self._command.words[0]} {problem}; the end of its log:\n{self._log_end()}")
            time.sleep(0.05)

    def stop(self, how: signal.Signals, timeout: float = 20) -> None:
        """Send a signal and wait until it has ended; killed when it takes too long. May be called again."""
        if self.is_alive:
            self._process.send_signal(how)
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self.kill()

    def kill(self) -> None:
        """End it at once and wait for its end; may be called again."""
        if self.is_alive:
            self._process.kill()
        self._process.wait()
        atexit.unregister(self.kill)

    def _log_end(self) -> str:
        return "\n".join(self._command.log.read_text(errors="replace").splitlines()[-15:])


def free_ports(count: int) -> tuple[int, ...]:
    """Ask the operating system for ports on 127.0.0.1 that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return tuple(int(each.getsockname()[1]) for each in sockets)
    finally:
        for each in sockets:
            each.close()
