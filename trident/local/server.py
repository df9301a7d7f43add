"""What servers for local use have in common: a block that they run for, a folder of their own, a process, an end."""

from __future__ import annotations

import shutil
import signal
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from trident.local.processes import ServerCommand, ServerProcess


class StartedBlock(ABC):
    """One server or several that run for the length of a block; closed at once when they do not come up."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start what does not run yet and wait until it answers; a no-op while all of it runs.

        Raises `ConfigurationError` without what it needs, `FatalError` with a log's end if it does not start.
        """
        self.launch()
        self.wait()

    @abstractmethod
    def launch(self) -> None:
        """Start what does not run yet, without waiting for it. Raises as `start` does."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until what was launched answers; raises `FatalError` if it does not."""

    @abstractmethod
    def close(self) -> None:
        """End it and delete its data; may be called again."""


class LocalServer(StartedBlock):
    """A server with its data in a temporary folder; use it as a context manager.

    `kill()` and `stop()` keep the data and the ports, so that `start()` brings the same server
    back; leaving the block deletes the data. Not for use from several threads at once.
    """

    stop_signal: ClassVar[signal.Signals]
    start_seconds: ClassVar[float]

    def __init__(self, name: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=f"trident-{name}-"))
        self._process: ServerProcess | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the server, None before its first start."""
        return self._process.pid if self._process else None

    def prepare(self) -> None:
        """Make the data without starting anything, which several servers may do at once; a no-op when it is there."""
        self._command()

    def launch(self) -> None:
        """Start the server without waiting for it; a no-op while it runs. Raises as `start` does."""
        if self._process is None or not self._process.is_alive:
            self._process = ServerProcess(self._command())

    def wait(self) -> None:
        """Wait until a launched server answers; raises `FatalError` with the log's end if it does not."""
        if self._process is not None:
            self._process.wait_until(self._answers, self.start_seconds)

    def stop(self) -> None:
        """Shut the server down in order; its data stays. May be called again."""
        if self._process is not None:
            self._process.stop(self.stop_signal)

    def kill(self) -> None:
        """End the server as a power cut does; its data stays. May be called again."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the server and delete its data; may be called again."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @abstractmethod
    def _command(self) -> ServerCommand:
        """Prepare the data if this is the first start, and say how to start."""

    @abstractmethod
    def _answers(self) -> bool:
        """Say whether clients are served by now."""
