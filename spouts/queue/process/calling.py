"""The thread of a spout's process that calls the spout, and what it says of these calls."""

from __future__ import annotations

import os
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from trident.base.errors import RetryableError, TridentError
from trident.base.failure import Failure
from trident.base.latency import SAMPLED
from trident.base.user_code import type_and_place
from trident.spouts.queue.acking import AckingSpout, SpoutContext, SpoutHook
from trident.spouts.queue.process.lasting import LONG_S, Doubling, HeldBack
from trident.spouts.queue.process.pickling import checked, pickled
from trident.spouts.queue.process.wire import (
    Ack,
    Alive,
    Closed,
    Fail,
    Hangs,
    Idle,
    Raised,
    Refuse,
    Said,
    SetActive,
    Stop,
)
from trident.spouts.queue.process.writing import Writer
from trident.spouts.queue.waits import INACTIVE_S, pause_of

QUIET_S: Final = 0.2
"""For so long there has to be nothing, from the beginning on or since the last message, before it is said that there is
nothing: what a server has to deliver it delivers when it has been asked."""
_MEND_IT: Final = "Mend it and start again; what may pass by itself is to be raised as RetryableError"
_ENDS: Final = "a message that is refused ends the run as soon as all others that were given are done"
_LOOK_S: Final = 1.0
_CLOSING_S: Final = 10.0
_NEVER: Final = float("inf")
_MOST_SAMPLES: Final = 1_000


class SpoutError(Exception):
    """The spout has raised, and its process ends."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.what)
        self.raised = raised


class SpoutLoop:
    """Calls a spout as it is told to, in one thread; see `AckingSpout`."""

    def __init__(self, spout: AckingSpout, context: SpoutContext, writer: Writer) -> None:
        self._spout = spout
        self._context = context
        self._writer = writer
        self._said: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self._pending: dict[int, tuple[str | None, float]] = {}
        self._took: deque[float] = deque(maxlen=_MOST_SAMPLES)
        self._most = spout.most_under_way
        self._streak = 0
        self._held = HeldBack(LONG_S)
        self._settlings = 0
        self._is_idle = False
        """Whether the coordinator was told that there is nothing more."""
        self._last_at = time.monotonic()
        self._call: tuple[str, float] | None = None
        self._active = False
        self._stops = self._is_closed = False
        self._closes_until = _NEVER
        self._ends_with: Raised | None = None
        """What ends the run as soon as nothing is pending."""
        self._unclear: set[str | None] = set()
        """Ids that two messages have of which one ends the run: a spout can't tell whose an ack or a fail is."""

    def hear(self, said: Said) -> None:
        """Take in what the coordinator says; from any thread."""
        self._said.put(said)

    def run(self) -> None:
        """Call the spout until it is to stop, or raises."""
        try:
            self._open()
            while not self._stops:
                self._carry_out(self._pause())
                if self._ends_with is not None:
                    self._end_when_settled(self._ends_with)
                elif self._may_ask:
                    self._ask()
            self._close()
            self._writer.send(Closed())
        except SpoutError as error:
            self._writer.send(error.raised)
            self._leave_its_source()

    def _leave_its_source(self) -> None:
        """Close a spout that has raised, if it does not take long: the first error is the one to tell.

        A source may else keep a place for it: a consumer group does for the time of a session, and lets nobody set its
        positions meanwhile.
        """
        self._closes_until = time.monotonic() + _CLOSING_S
        for close in (self._end_activity, self._close_once):
            with suppress(SpoutError):
                close()
        self._closes_until = _NEVER

    def _open(self) -> None:
        with self._calling("open()"):
            self._spout.open(self._context)

    def _close(self) -> None:
        self._end_activity()
        self._close_once()

    def _end_activity(self) -> None:
        if self._active:
            self._set_active(False)

    def _close_once(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with self._calling("close()"):
            self._spout.close()

    @property
    def _may_ask(self) -> bool:
        return self._active and not self._stops and self._ends_with is None and len(self._pending) < self._most

    def _pause(self) -> float:
        """Return for how long nothing is to be done but to hear."""
        if not self._may_ask:
            return INACTIVE_S
        if not self._streak:
            return 0.0
        with self._calling("wait.pause()"):
            return pause_of(self._spout.wait, self._streak)

    def _carry_out(self, pause: float) -> None:
        with suppress(queue.Empty):
            said = self._said.get(timeout=pause) if pause else self._said.get_nowait()
            while True:
                self._one(said)
                said = self._said.get_nowait()

    def _one(self, said: Said) -> None:
        match said:
            case Ack(serials, progress):
                if progress is not None:
                    with self._calling("reached()"):
                        self._spout.reached(progress)
                self._ack(serials)
            case Fail(serials, reason):
                self._fail(serials, reason)
            case Refuse(serials):
                self._refuse(serials)
            case SetActive(active):
                if active is not self._active and self._ends_with is None:
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
            if id_ in self._unclear:
                continue
            with self._calling("ack()"):
                self._spout.ack(id_)
                for hook in self._spout.hooks:
                    hook.acked(id_, now - since)

    def _settled(self) -> None:
        """There may be something again: what was failed, or what was kept back until something is acked."""
        self._settlings += 1
        self._stirred()

    def _stirred(self) -> None:
        self._streak = 0
        self._is_idle = False
        self._last_at = time.monotonic()

    def _fail(self, serials: tuple[int, ...], reason: Failure) -> None:
        self._settled()
        for serial in serials:
            if self._pending[serial][0] in self._unclear:
                del self._pending[serial]
            else:
                self._let_go(serial, "fail()", self._spout.fail, lambda hook, id_: hook.failed(id_, reason))

    def _refuse(self, serials: tuple[int, ...]) -> None:
        """Keep what it raises until all else is settled.

        One message would else take back all that is under way, each time that it comes.
        """
        self._settled()
        for serial in serials:
            id_, _ = self._pending[serial]
            try:
                self._let_go(serial, "refuse()", self._spout.refuse, lambda hook, id_: hook.refused(id_))
            except SpoutError as error:
                if error.raised.may_pass:
                    raise
                self._unclear.add(id_)
                self._ends_with = self._ends_with or error.raised
        if self._ends_with is not None and self._active:
            self._set_active(False)

    def _let_go(
        self,
        serial: int,
        what: str,
        tell: Callable[[str | None], None],
        hear: Callable[[SpoutHook, str | None], None],
    ) -> None:
        """Tell the spout, and then its hooks, of a message that is in no result."""
        id_, _ = self._pending.pop(serial)
        with self._calling(what):
            tell(id_)
            for hook in self._spout.hooks:
                hear(hook, id_)

    def _end_when_settled(self, raised: Raised) -> None:
        if self._pending:
            self._tell_if_it_lasts(_ENDS)
            return
        with suppress(SpoutError):  # the first error is the one to tell
            self._close()
        raise SpoutError(raised)

    def _ask(self) -> None:
        with self._calling("next_tuple()"):
            message = self._spout.next_tuple()
            if message is None:
                self._streak += 1
                self._tell_if_it_lasts(self._spout.holds_back())
                if not self._is_idle and time.monotonic() - self._last_at >= QUIET_S and not self._spout.is_waiting():
                    self._is_idle = True
                    self._writer.send(Idle(self._settlings))
                return
            given = checked(message, ids_are_needed=self._spout.horizon > 0)
            for hook in self._spout.hooks:
                hook.emitted(given)
            parcel = pickled(given)
            if given.is_redelivered:
                self._tell_if_it_lasts(self._spout.holds_back())
            else:
                self._held.end()
        self._stirred()
        self._pending[self._writer.emit(parcel)] = (given.id, self._last_at)

    def _tell_if_it_lasts(self, holds_back: str) -> None:
        if (held := self._held.look(holds_back, time.monotonic())) is not None:
            self._writer.send(held)

    @contextmanager
    def _calling(self, what: str) -> Iterator[None]:
        self._call = (what, time.monotonic())
        try:
            yield
        except TridentError as error:
            raise SpoutError(Raised(what, str(error), isinstance(error, RetryableError))) from None
        except Exception as error:  # noqa: BLE001 - users' code
            raise SpoutError(Raised(what, f"raised {type_and_place(error)}. {_MEND_IT}", may_pass=False)) from None
        finally:
            self._call = None

    def tell_of_hangs(self) -> None:
        """Say that the process runs, and, again and again, when a call does not return; for a thread of its own."""
        told: tuple[str, float] | None = None
        hanging = Doubling(LONG_S)
        while True:
            time.sleep(_LOOK_S)
            if time.monotonic() > self._closes_until:
                os._exit(1)  # what it has raised is said; who waits for its end must not wait for a close as well
            self._writer.send(Alive(tuple(_taken(self._took))))
            call = self._call
            if call is None or call != told:
                told, hanging = call, Doubling(LONG_S)
            if call is not None and hanging.is_due(seconds := time.monotonic() - call[1]):
                self._writer.send(Hangs(call[0], seconds))


def _taken(samples: deque[float]) -> Iterator[float]:
    with suppress(IndexError):
        while True:
            yield samples.popleft()
