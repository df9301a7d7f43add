"""A measured system as a process of its own; leaving the block ends it and all that it started."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from trident.local.processes import ServerCommand, ServerProcess

ROOT = Path(__file__).parents[1]
_POLL_SECONDS = 0.1
_GONE_SECONDS = 15


class SystemProcess:
    """A running system."""

    def __init__(self, process: ServerProcess, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        """Its id for the operating system."""
        return self._process.pid

    def wait(self, seconds: float) -> None:
        """Return when it has ended well; raises RuntimeError with its last lines when it has not, or not in time."""
        self.wait_until(lambda: not self._process.is_alive, seconds)
        if self._process.exit_code != 0:
            raise self._failure(f"it ended with code {self._process.exit_code}")

    def wait_until(self, is_so: Callable[[], bool], seconds: float) -> None:
        """Return when this is so; raises RuntimeError when it ends badly before that, or time is up."""
        deadline = time.monotonic() + seconds
        while not is_so():
            self.check()
            if time.monotonic() > deadline:
                raise self._failure(f"it was not ready within {seconds:.0f} s")
            time.sleep(_POLL_SECONDS)

    def check(self) -> None:
        """Raise RuntimeError when it has ended badly."""
        if self._process.exit_code:
            raise self._failure(f"it ended with code {self._process.exit_code}")

    def drain(self, seconds: float) -> None:
        """Ask it to end in order (SIGTERM) and wait for that."""
        os.kill(self.pid, signal.SIGTERM)
        self.wait(seconds)

    def _failure(self, what: str) -> RuntimeError:
        end = "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])
        return RuntimeError(f"{self._log.stem}: {what}; the end of its log:\n{end}")


@contextmanager
def running(words: Sequence[str], root: Path, log: Path, environment: dict[str, str]) -> Iterator[SystemProcess]:
    """Start a command that imports from a checkout, its output in `log`."""
    environment = _environment(root, environment)
    # python looks in the folder that it is started in before any other
    command = ServerCommand(list(words), log, signal.SIGKILL, environment=environment, folder=root)
    process = ServerProcess(command)
    try:
        yield SystemProcess(process, log)
    finally:
        _end(process)


def _environment(root: Path, more: dict[str, str]) -> dict[str, str]:
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


def _end(process: ServerProcess) -> None:
    """Kill what is left; children are looked for before their parent is gone."""
    children: list[psutil.Process] = []
    if process.is_alive:
        children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    _, alive = psutil.wait_procs(children, timeout=_GONE_SECONDS)  # Spark's JVM ends by itself
    for child in alive:
        child.kill()
