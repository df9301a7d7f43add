"""One process of an `AckingSpout`, as the coordinator sees it: what it has emitted, and what it is told."""

from __future__ import annotations

import logging
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from typing import Final

from trident.base.errors import FatalError, RetryableError
from trident.base.failure import Failure
from trident.base.latency import CompleteLatency, RollingLatency
from trident.spouts.queue.acking import SpoutContext, StreamProgress
from trident.spouts.queue.message import Message
from trident.spouts.queue.pending import Delivery
from trident.spouts.queue.process.lasting import STARTING, Doubling
from trident.spouts.queue.process.pickling import unpickled
from trident.spouts.queue.process.wire import (
    Ack,
    Alive,
    Beat,
    Closed,
    Emitted,
    Fail,
    Hangs,
    Heard,
    HoldsBack,
    Idle,
    Logged,
    Raised,
    Refuse,
    Said,
    SetActive,
    Stop,
)

_log = logging.getLogger("trident.coordinator")
CLOSING_S: Final = 10.0
"""How long a process has to tell its source what is done, and to close, before it is killed."""
_LOOK_S: Final = 1.0
_SILENT_LOOKS: Final = 10
"""After so many looks a process that says nothing is named, and again whenever twice as many have passed."""
_STARTING_LOOKS: Final = 30
"""As many for a process that has not said its first word: it imports Spark and more first."""
_ROOT: Final = str(Path(__file__).parents[4])
_CHILD: Final = "trident.spouts.queue.process.child"


class SpoutInstance:
    """Starts the process; a thread hears it, another one speaks, so that no call here waits for users' code.

    Not to be started again: one that is gone is followed by a new one.
    """

    def __init__(self, pickled: bytes, context: SpoutContext) -> None:
        self._context = context
        self._emitted: queue.SimpleQueue[list[tuple[Message, Delivery]]] = queue.SimpleQueue()
        self._emissions = self._taken = 0
        self._to_say: queue.SimpleQueue[Said | None] = queue.SimpleQueue()
        self._raised: Raised | None = None
        self._latency = RollingLatency(context.stream)
        self._has_answered = threading.Event()
        self._has_begun = False
        self._idle_after: int | None = None
        self._settlings = 0
        self._is_closed = False
        self._is_gone = threading.Event()
        ours, theirs = Pipe()
        self._end = ours
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
                [
                    sys.executable,
                    "-P",
                    "-m",
                    _CHILD,
                    str(theirs.fileno()),
                    str(os.getpid()),
                ],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (_ROOT, *sys.path)))},
            )
        begin = partial(self._speak, (list(sys.path), pickled, context))
        name = f"spout {context.stream} {context.instance}"
        self._threads = [threading.Thread(target=run, name=name, daemon=True) for run in (self._hear, begin)]
        for thread in self._threads:
            thread.start()

    @property
    def number(self) -> int:
        """Which of the stream's processes it is."""
        return self._context.instance

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def waiting(self) -> int:
        """How many messages it has emitted that were not taken."""
        return self._emissions - self._taken

    def take(self, most: int) -> list[tuple[Message, Delivery]]:
        """Return what it has emitted, whole writes of it, until there are so many; waits for nothing."""
        taken: list[tuple[Message, Delivery]] = []
        with suppress(queue.Empty):
            while len(taken) < most:
                taken += self._emitted.get_nowait()
        self._taken += len(taken)
        return taken

    @property
    def has_begun(self) -> bool:
        """Whether it has said a word; before the first it is only starting."""
        return self._has_begun

    def wait_for_first(self, seconds: float) -> bool:
        """Wait until it has emitted something, or has said that there is nothing, or is gone; whether it has."""
        return self._has_answered.wait(seconds)

    @property
    def is_idle(self) -> bool:
        """Whether all that it has emitted was taken, and the last that it has said is that there is nothing more.

        What it has said before it heard of an ack or a fail is no word on that: its source gives again what failed, and
        may have waited for acks to give more.
        """
        return self._idle_after == self._settlings and self._emitted.empty()

    def latency(self) -> CompleteLatency | None:
        """Return how long its messages take."""
        return self._latency.summary(time.monotonic())

    def set_active(self, active: bool) -> None:
        """Let it call `next_tuple`, or not."""
        self._to_say.put(SetActive(active))

    def ack(self, serials: tuple[int, ...], progress: StreamProgress | None = None) -> None:
        """Tell it of emissions that are done; one that is gone hears nothing."""
        self._settlings += 1
        self._to_say.put(Ack(serials, progress))

    def fail(self, serials: tuple[int, ...], reason: Failure) -> None:
        """Tell it of emissions that are held no more; one that is gone hears nothing."""
        self._settlings += 1
        self._to_say.put(Fail(serials, reason))

    def refuse(self, serials: tuple[int, ...]) -> None:
        """Tell it of emissions that have the ids of other messages; one that is gone hears nothing."""
        self._settlings += 1
        self._to_say.put(Refuse(serials))

    def check(self) -> None:
        """Raise what the spout has raised, or RetryableError when its process is gone; all that it emitted is here."""
        if not self._is_gone.is_set() or not self._emitted.empty():
            return
        stream, raised = self._context.stream, self._raised
        if raised is None:
            code = self._process.wait()
            raise RetryableError(
                f"stream {stream!r}: the process of its spout has ended by itself (exit code {code}). What it had "
                "given stays here, its source gives again what was not acked; another process takes its place"
            )
        text = f"stream {stream!r}: {raised.what} {raised.text}"
        if raised.may_pass:
            raise RetryableError(f"{text}. Another process takes the place of the one that it ran in")
        raise FatalError(f"{text}. What is done stays; what was received and is not done is given again by its source")

    def close(self, patience_s: float = CLOSING_S) -> bool:
        """End the process after all that it was told; returns whether it has carried it out. May be called again."""
        self._to_say.put(Stop())
        latest = time.monotonic() + patience_s
        self._is_gone.wait(patience_s)
        try:
            self._process.wait(max(0.0, latest - time.monotonic()))
        except subprocess.TimeoutExpired:
            _log.warning(
                "stream %r: the process of its spout does not end (a call of it does not return), and is killed now. "
                "What its source does not know to be done is given again, and not applied again within the horizon",
                self._context.stream,
            )
            self._process.kill()
            self._process.wait()
        self._to_say.put(None)
        for thread in self._threads:  # one that something which the spout has forked still holds is left behind
            thread.join(2 * _LOOK_S)
        if not any(thread.is_alive() for thread in self._threads):
            self._end.close()
        return self._is_closed

    def _hear(self) -> None:
        try:
            while self._has_more():
                heard = self._end.recv()
                self._has_begun = True
                self._take_in(heard)
        except (EOFError, OSError):
            pass
        except FatalError as error:
            self._raised = Raised("next_tuple()", str(error), may_pass=False)
        finally:
            self._is_gone.set()
            self._has_answered.set()

    def _has_more(self) -> bool:
        """Wait until something is there to be heard; False when the process is gone.

        A process that the spout has forked may outlive it and keep the pipe open, so its end is not waited for alone.
        """
        looks, silence = 0, Doubling(_SILENT_LOOKS if self._has_begun else _STARTING_LOOKS)
        while not self._end.poll(_LOOK_S):
            if self._process.poll() is not None:
                return self._end.poll()
            looks += 1
            if silence.is_due(looks):
                self._tell_of_silence(looks * _LOOK_S)
        return True

    def _tell_of_silence(self, seconds: float) -> None:
        if not self._has_begun:
            _log.warning(
                "stream %r: the process %d of its spout is still starting after %.0f s: %s. Nothing is received before "
                "that is done",
                self._context.stream,
                self._process.pid,
                seconds,
                STARTING,
            )
            return
        _log.warning(
            "stream %r: the process %d of its spout has said nothing for %.0f s, not even that it runs: it is stopped, "
            "or its code keeps the interpreter. What was received goes on; nothing more is received, and its source "
            "hears of nothing. If it will not go on, end it: another one takes its place, and the source gives again "
            "what it was not told of",
            self._context.stream,
            self._process.pid,
            seconds,
        )

    def _take_in(self, heard: Heard) -> None:
        match heard:
            case Emitted(first, pickled):
                self._idle_after = None
                messages = [unpickled(each) for each in pickled]
                self._emitted.put(
                    [(each, Delivery(self.number, serial)) for serial, each in enumerate(messages, first)]
                )
                self._emissions += len(messages)
                self._has_answered.set()
            case Idle(settlings):
                self._idle_after = settlings
                self._has_answered.set()
            case Raised():
                self._raised = heard
            case Closed():
                self._is_closed = True
            case Hangs(what, seconds):
                self._tell_of(what, seconds)
            case HoldsBack(why, seconds):
                _log.warning(
                    "stream %r: its spout gives nothing new for %.0f s, so that nothing counts twice or is skipped: %s",
                    self._context.stream,
                    seconds,
                    why,
                )
            case Logged(logger, level, text):
                logging.getLogger(logger).log(level, "%s", text)
            case Alive(took):
                self._latency.add(took, time.monotonic())

    def _tell_of(self, what: str, seconds: float) -> None:
        _log.warning(
            "stream %r: %s of its spout has not returned for %.0f s. What was received goes on; nothing more is "
            "received, and its source hears of nothing. If it will not return, end its process %d: another one takes "
            "its place, and the source gives again what it was not told of",
            self._context.stream,
            what,
            seconds,
            self._process.pid,
        )

    def _speak(self, first: tuple[list[str], bytes, SpoutContext]) -> None:
        with suppress(OSError):  # who is gone is noticed by who hears it
            self._end.send(first)
            while (said := self._next_to_say()) is not None:
                self._end.send(said)

    def _next_to_say(self) -> Said | None:
        """Return what is to be said; None when all was."""
        try:
            return self._to_say.get(timeout=_LOOK_S)
        except queue.Empty:
            return Beat()
