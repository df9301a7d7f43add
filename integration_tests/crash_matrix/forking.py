"""Lives as forks of a process that has warmed up and holds nothing open: quick, and killed for real.

Run as a program it reads one life after the other from its standard input, forks a process for
each, and answers with how that one ended.
"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self, TypeVar

from trident.base.watching import WATCH

_ROOT = Path(__file__).parents[2]
_LENGTH = struct.Struct(">I")
_ENDING_SECONDS = 5.0
Case = TypeVar("Case")


class Lives(Protocol):
    """What a process is forked for; it is pickled on its way there."""

    def live(self) -> None:
        """Do it; a death is a SIGKILL of the very process."""


class Forker:
    """A program that forks a process for each life; use it as a context manager, from one thread at a time."""

    def __init__(self) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this
        words = [sys.executable, "-m", "integration_tests.crash_matrix.forking"]
        self._process = subprocess.Popen(
            words, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
        self._said.close()

    def warm_up(self, life: Lives) -> None:
        """Live the life without a fork: what is imported and cached on the way, every fork has from its start."""
        self._ask(life, in_fork=False)

    def end_of(self, life: Lives) -> int:
        """Return the exit code of the life's process; below zero is the signal that killed it."""
        return self._ask(life, in_fork=True)

    def _ask(self, life: Lives, *, in_fork: bool) -> int:
        text = pickle.dumps((life, in_fork))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(_LENGTH.pack(len(text)) + text)
        self._process.stdin.flush()
        answer = self._process.stdout.read(_LENGTH.size)
        if len(answer) < _LENGTH.size:
            raise AssertionError(f"the forking program ended: {self.said()}")
        return int(_LENGTH.unpack(answer)[0]) - 256

    def said(self) -> str:
        """Return the end of what all lives printed."""
        self._said.seek(0)
        return self._said.read().decode(errors="replace")[-3000:]


@contextmanager
def warmed_up(count: int, warm_up: Callable[[int, Forker], None]) -> Iterator[list[Forker]]:
    """Start so many, and warm them up side by side; each is given with its number."""
    with ExitStack() as stack, ThreadPoolExecutor(count) as pool:
        made = [stack.enter_context(Forker()) for _ in range(count)]
        list(pool.map(warm_up, range(count), made))
        yield made


def side_by_side(
    forkers: Sequence[Forker], cases: Sequence[Case], play: Callable[[Forker, Case], Iterable[str]]
) -> list[str]:
    """Play the cases, each forking program one at a time; returns all that was wrong."""

    def play_some(forker: Forker, some: Sequence[Case]) -> list[str]:
        return [problem for case in some for problem in play(forker, case)]

    shares = [cases[number :: len(forkers)] for number in range(len(forkers))]
    with ThreadPoolExecutor(len(forkers)) as pool:
        return [problem for some in pool.map(play_some, forkers, shares) for problem in some]


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    while length := requests.read(_LENGTH.size):
        life, in_fork = pickle.loads(requests.read(_LENGTH.unpack(length)[0]))
        code = _fork(life) if in_fork else _warm_up(life)
        answers.write(_LENGTH.pack(code + 256))
        answers.flush()


def _warm_up(life: Lives) -> int:
    life.live()
    WATCH.rest()
    for thread in set(threading.enumerate()) - {threading.current_thread()}:
        thread.join(_ENDING_SECONDS)  # what is let go of may take a moment
    assert threading.active_count() == 1, f"a fork would inherit the locks of {threading.enumerate()}"
    gc.collect()
    gc.freeze()  # a collection in a fork would touch, and so copy, every page
    return 0


def _fork(life: Lives) -> int:
    pid = os.fork()
    if pid == 0:
        _live_and_end(life)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _live_and_end(life: Lives) -> None:
    """Never return: what the forking program holds is not this process's to clean up."""
    try:
        life.live()
    except BaseException:  # noqa: BLE001 - it ends the process, and says why
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
