"""The process of an `AckingSpout`: one thread calls the spout, another one hears the coordinator.

Run as a module with the number of its end of the pipe, through which the spout comes, and the coordinator's process id.
When the coordinator is gone, the pipe ends: the process closes the spout and ends too, whatever it is doing after a
while, so that the source gives again what is pending.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from trident.base.errors import FatalError, RetryableError, TridentError
from trident.base.failure import Failure
from trident.base.latency import SAMPLED
from trident.base.user_code import type_and_place
from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.message import LONGEST_ID, Message
from trident.spouts.queue.received import is_text
from trident.spouts.queue.waits import INACTIVE_S
from trident.spouts.queue.wire import Ack, Alive, Closed, Fail, Hangs, HoldsBack, Idle, Raised, Said, SetActive, Stop
from trident.spouts.queue.writing import Writer

GRACE_S: Final = 5.0
"""How long a call may still take when the coordinator is gone."""
QUIET_S: Final = 0.2
"""For so long there has to be nothing, from the beginning on or since the last message, before it is said that there is
nothing: what a server has to deliver it delivers when it has been asked."""
LONG_S: Final = 10.0
"""After so many seconds a call is named, and again whenever twice as many have passed."""
LINGER_S: Final = 1.0
"""How long threads that the spout has left behind may still keep the process, which has said its last word."""
_MEND_IT: Final = "Mend it and start again; what may pass by itself is to be raised as RetryableError"
_LOOK_S: Final = 1.0
_MOST_SAMPLES: Final = 1_000


class _SpoutError(Exception):
    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.what)
        self.raised = raised


class Held:
    """Since when nothing was given although there was something, and when that is said next."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._limit = LONG_S

    def look(self, why: str, now: float) -> HoldsBack | None:
        """Return what is to be said, after `LONG_S` and whenever twice as long has passed."""
        if not why or self._since is None:
            self._since, self._limit = (now if why else None), LONG_S
            return None
        if now - self._since < self._limit:
            return None
        self._limit *= 2
        return HoldsBack(why, now - self._since)


class SpoutLoop:
    """Calls a spout as it is told to, in one thread; see `AckingSpout`."""

    def __init__(self, spout: AckingSpout, context: SpoutContext, writer: Writer) -> None:
        self._spout = spout
        self._context = context
        self._writer = writer
        self._said: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self._pending: dict[int, tuple[str | None, float]] = {}
        self._took: deque[float] = deque(maxlen=_MOST_SAMPLES)
        self._most = min(spout.max_pending, max(1, spout.horizon // 2)) if spout.horizon else spout.max_pending
        self._streak = 0
        self._held = Held()
        self._settlings = 0
        self._is_idle = False
        """Whether the coordinator was told that there is nothing more."""
        self._last_at = time.monotonic()
        self._call: tuple[str, float] | None = None
        self._active = False
        self._stops = False

    def hear(self, said: Said) -> None:
        """Take in what the coordinator says; from any thread."""
        self._said.put(said)

    def run(self) -> None:
        """Call the spout until it is to stop, or raises."""
        try:
            self._open()
            while not self._stops:
                self._carry_out(self._pause())
                if self._may_ask:
                    self._ask()
            self._close()
            self._writer.send(Closed())
        except _SpoutError as error:
            self._writer.send(error.raised)

    def _open(self) -> None:
        with self._calling("open()"):
            self._spout.open(self._context)

    def _close(self) -> None:
        if self._active:
            self._set_active(False)
        with self._calling("close()"):
            self._spout.close()

    @property
    def _may_ask(self) -> bool:
        return self._active and not self._stops and len(self._pending) < self._most

    def _pause(self) -> float:
        """Return for how long nothing is to be done but to hear."""
        if not self._may_ask:
            return INACTIVE_S
        return self._spout.wait.pause(self._streak) if self._streak else 0.0

    def _carry_out(self, pause: float) -> None:
        with suppress(queue.Empty):
            said = self._said.get(timeout=pause) if pause else self._said.get_nowait()
            while True:
                self._one(said)
                said = self._said.get_nowait()

    def _one(self, said: Said) -> None:
        match said:
            case Ack(serials):
                self._ack(serials)
            case Fail(serials, reason):
                self._fail(serials, reason)
            case SetActive(active):
                if active is not self._active:
                    self._set_active(active)
            case Stop():
                self._stops = True

    def _set_active(self, active: bool) -> None:
        self._active = active
        self._last_at = time.monotonic()
        with self._calling("activate()" if active else "deactivate()"):
            (self._spout.activate if active else self._spout.deactivate)()

    def _ack(self, serials: tuple[int, ...]) -> None:
        self._settled()
        now = time.monotonic()
        for serial in serials:
            id_, since = self._pending.pop(serial)
            if serial % SAMPLED == 0:
                self._took.append(now - since)
            with self._calling("ack()"):
                self._spout.ack(id_)
                for hook in self._spout.hooks:
                    hook.acked(id_, now - since)

    def _settled(self) -> None:
        """There may be something again: what was failed, or what was kept back until something is acked."""
        self._settlings += 1
        self._streak = 0
        self._is_idle = False
        self._last_at = time.monotonic()

    def _fail(self, serials: tuple[int, ...], reason: Failure) -> None:
        self._settled()
        for serial in serials:
            id_, _ = self._pending.pop(serial)
            with self._calling("fail()"):
                self._spout.fail(id_)
                for hook in self._spout.hooks:
                    hook.failed(id_, reason)

    def _ask(self) -> None:
        with self._calling("next_tuple()"):
            message = self._spout.next_tuple()
            if message is None:
                self._streak += 1
                self._look_whether_it_holds_back()
                if not self._is_idle and time.monotonic() - self._last_at >= QUIET_S and not self._spout.is_waiting():
                    self._is_idle = True
                    self._writer.send(Idle(self._settlings))
                return
            _check(message, ids_are_needed=self._spout.horizon > 0)
            for hook in self._spout.hooks:
                hook.emitted(message)
            pickled = _pickled(message)
            if message.is_redelivered:
                self._look_whether_it_holds_back()
            else:
                self._held = Held()
        self._streak = 0
        self._is_idle = False
        self._last_at = time.monotonic()
        self._pending[self._writer.emit(pickled)] = (message.id, self._last_at)

    def _look_whether_it_holds_back(self) -> None:
        if (held := self._held.look(self._spout.holds_back(), time.monotonic())) is not None:
            self._writer.send(held)

    @contextmanager
    def _calling(self, what: str) -> Iterator[None]:
        self._call = (what, time.monotonic())
        try:
            yield
        except TridentError as error:
            raise _SpoutError(Raised(what, str(error), isinstance(error, RetryableError))) from None
        except Exception as error:  # noqa: BLE001 - users' code
            raise _SpoutError(Raised(what, f"raised {type_and_place(error)}. {_MEND_IT}", may_pass=False)) from None
        finally:
            self._call = None

    def tell_of_hangs(self) -> None:
        """Say that the process runs, and, again and again, when a call does not return; for a thread of its own."""
        told: tuple[str, float] | None = None
        limit = LONG_S
        while True:
            time.sleep(_LOOK_S)
            self._writer.send(Alive(tuple(_taken(self._took))))
            call = self._call
            if call is None or call != told:
                told, limit = call, LONG_S
            if call is not None and (seconds := time.monotonic() - call[1]) >= limit:
                self._writer.send(Hangs(call[0], seconds))
                limit *= 2


def _taken(samples: deque[float]) -> Iterator[float]:
    with suppress(IndexError):
        while True:
            yield samples.popleft()


def _check(message: object, *, ids_are_needed: bool) -> None:
    if not isinstance(message, Message):
        raise FatalError(f"returned a value of the type {type(message).__name__}, where a Message or None is wanted")
    id_ = message.id
    if message.values is None:  # what a user may do
        raise FatalError(f"gave the message {id_!r} without values. It is in no result and was not acked")
    if id_ is None:
        if ids_are_needed:
            raise FatalError(
                "gave a message without an id: if it were given again, nobody could tell, and it would count twice. "
                "It is in no result and was not acked. Give messages an id that stays the same at each delivery; or "
                "say horizon = 0 in the spout's class, for at least once"
            )
        return
    if not isinstance(id_, str) or not 0 < len(id_) <= LONGEST_ID or "\0" in id_ or not is_text(id_):
        raise FatalError(
            f"gave a message whose id is no text of 1 to {LONGEST_ID} characters without NUL and surrogates. It is in "
            "no result and was not acked"
        )


def _pickled(message: Message) -> bytes:
    """Return a message as it is now: a spout may use the same object for the values of its next one."""
    try:
        return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - users' values
        raise FatalError(
            f"gave the message {message.id!r} with values that can't be pickled ({type(error).__name__}): give them as "
            "plain values, not as objects of a class of the script itself. It is in no result and was not acked"
        ) from None


def _listen(end: Connection, loop: SpoutLoop) -> None:
    try:
        while True:
            loop.hear(end.recv())
    except (EOFError, OSError):
        _end(loop)


def _watch(coordinator: int, loop: SpoutLoop) -> None:
    """Notice that the coordinator is gone although a process that it has forked keeps the pipe open."""
    while os.getppid() == coordinator:
        time.sleep(_LOOK_S)
    _end(loop)


def _end(loop: SpoutLoop) -> None:
    loop.hear(Stop())
    time.sleep(GRACE_S)
    os._exit(1)


def _unpickled(pickled: bytes) -> AckingSpout:
    try:
        spout: AckingSpout = pickle.loads(pickled)  # noqa: S301 - of the process that has started this one
    except Exception as error:  # noqa: BLE001 - users' code is imported
        raise _SpoutError(Raised("its unpickling", f"raised {type_and_place(error)}", may_pass=False)) from None
    return spout


def _leave() -> None:
    time.sleep(LINGER_S)
    os._exit(1)


def main() -> None:
    """Run the spout that comes through the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal's whole group: the coordinator says what is to be done
    end = Connection(int(sys.argv[1]))
    sys.path[:], pickled, context = end.recv()
    writer = Writer(end)
    try:
        spout = _unpickled(pickled)
    except _SpoutError as error:
        writer.send(error.raised)
        return
    loop = SpoutLoop(spout, context, writer)
    watch = partial(_watch, int(sys.argv[2]), loop)
    for run in (partial(_listen, end, loop), watch, loop.tell_of_hangs, writer.send_collected):
        threading.Thread(target=run, daemon=True).start()
    try:
        loop.run()
    finally:
        threading.Thread(target=_leave, daemon=True).start()


if __name__ == "__main__":
    main()
