"""The threads around the loop: pools for its lanes, a queue of what came back, the waiting, the clock."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

from trident.base.clock import Clock
from trident.base.closing import after_error
from trident.base.signals import StopSignal
from trident.coordinators.batches.failing import about_batch
from trident.coordinators.batches.lanes import OneByOne, SideBySide
from trident.coordinators.batches.loop import Loop
from trident.coordinators.batches.requests import (
    LANES,
    Answer,
    BuildPlan,
    Lane,
    RecordStop,
    Request,
    RunBatch,
    WorkTurn,
)
from trident.coordinators.batches.work import Work
from trident.coordinators.protocol.messages import Cancel
from trident.coordinators.protocol.state import Phase

_log = logging.getLogger("trident.coordinator")
_LONGEST_WAIT_S = 1.0
_LONGEST_LAST_CALL_S = 10.0
"""How long a run that ends waits for calls of the engine; nobody counts on what they do after that."""

Call = Callable[[float], list[Request]]
"""What came back, as the call of the loop that hears it at some moment."""


class BatchCoordinator:
    """Runs one topology from its first step until it is stopped, caught up or broken; `run` is called once."""

    def __init__(self, loop: Loop, work: Work, clock: Clock, stopping: StopSignal) -> None:
        self._loop = loop
        self._work = work
        self._clock = clock
        self._stopping = stopping
        self._words: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._last: RecordStop | None = None
        self._pools: Mapping[Lane, ThreadPoolExecutor] = {
            Lane.PLAN: ThreadPoolExecutor(1, "trident-plan"),
            Lane.HISTORY: ThreadPoolExecutor(1, "trident-history"),
            Lane.RELAY: ThreadPoolExecutor(1, "trident-relay"),
        }
        # an attempt that timed out may keep its thread for as long as the engine likes: the next one has another
        self._committing: OneByOne[Answer] = OneByOne("trident-commit")
        self._processing: SideBySide[Answer] = SideBySide("trident-process")
        self._cancelling: SideBySide[Answer] = SideBySide("trident-cancel")

    def stop(self) -> None:
        """Ask for a graceful end: what is live is finished. Any thread or signal handler, any number of times."""
        self._words.put(self._loop.stop)

    def commands_wait(self) -> None:
        """Say that life-cycle commands wait in the ledger; any thread, any number of times."""
        self._words.put(self._loop.commands_wait)

    def break_off(self, error: BaseException) -> None:
        """Ask for an immediate end with this error; any thread."""
        self._words.put(partial(self._loop.break_off, error))

    @property
    def max_pending(self) -> int:
        """How many batches are planned or processed at once, as the last command says; any thread."""
        return self._loop.state.max_pending

    @property
    def done(self) -> int:
        """The last txid that every state has."""
        return self._loop.state.done

    def run(self) -> None:
        """Run until the end; raises the error that broke it, after the threads have ended.

        Calls of an engine that answers no more are left behind, after a while and with a warning.
        """
        loop = self._loop
        try:
            self._start(loop.begin(self._clock.monotonic()))
            while loop.is_running:
                self._start(self._next_word()(self._clock.monotonic()))
        finally:
            self._shut_down()
        if self._last is not None:
            stopped = self._last.error
            told = self._work.perform(self._last)
            loop.answered(self._last, told, self._clock.monotonic())
            if loop.error is not None and loop.error is not stopped:
                raise loop.error from stopped
        if loop.error is not None:
            raise loop.error

    def _next_word(self) -> Call:
        wait = min(self._loop.next_moment - self._clock.monotonic(), _LONGEST_WAIT_S)
        try:
            return self._words.get(timeout=max(wait, 0.0))
        except queue.Empty:
            return self._loop.wake

    def _start(self, requests: list[Request]) -> None:
        for request in requests:
            lane = LANES[type(request)]
            if isinstance(request, RecordStop):
                self._last = request
            elif isinstance(request, Cancel):
                self._cancel(request)
            elif lane is Lane.AT_ONCE:
                self._work.perform(request)
            else:
                future = self._lane(lane).submit(partial(self._perform, request))
                future.add_done_callback(partial(self._bring_back, request))

    def _lane(self, lane: Lane) -> SideBySide[Answer] | OneByOne[Answer] | ThreadPoolExecutor:
        if lane is Lane.PROCESS:
            return self._processing
        return self._committing if lane is Lane.COMMIT else self._pools[lane]

    def _cancel(self, request: Cancel) -> None:
        """Ask the engine to stop; nothing waits for it, since cancelling is never what keeps the results right."""
        if self._loop.error is not None:
            self._cancel_at_the_end(request)
            return
        future = self._cancelling.submit(partial(self._work.perform, request))
        future.add_done_callback(self._break_off_if_failed)

    def _cancel_at_the_end(self, request: Cancel) -> None:
        """Ask as well as it goes; nothing may keep the run from waiting for its commit, and from giving back."""
        what = f"cancelling {request.batch}"
        perform = partial(after_error, what, partial(self._work.perform, request))
        after_error(what, partial(self._cancelling.submit, perform))  # there may be no thread to be had

    def _break_off_if_failed(self, future: Future[Answer]) -> None:
        error = future.exception()
        if error is not None:
            self.break_off(error)

    def _perform(self, request: Request) -> Answer:
        if isinstance(request, BuildPlan) and request.pause:
            self._stopping.wait(request.pause)
        return self._work.perform(request)

    def _bring_back(self, request: Request, future: Future[Answer]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            self._words.put(partial(self._loop.answered, request, future.result()))
        else:
            self._words.put(partial(self._failed, request, error))

    def _failed(self, request: Request, error: BaseException, now: float) -> list[Request]:
        batch = about_batch(request)
        is_dropped = isinstance(request, RunBatch | WorkTurn) and request.batch.attempt not in self._loop.flights
        if not is_dropped:  # what was dropped with another one, and cancelled, has not failed by itself
            self._loop.hears(error, batch)
        return self._loop.failed(request, error, now)

    def _shut_down(self) -> None:
        state = self._loop.state
        if state.phase is not Phase.STOPPED:
            self._stopping.set()
            for item in state.live:
                self._cancel_at_the_end(Cancel(item.batch))
        for lane in (self._processing, self._cancelling):
            lane.close()
        drops = state.phase is not Phase.STOPPED
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=drops)
        self._committing.close(drops=drops)
        wait(self._committing.under_way())  # however long it takes: only users' code has a limit there
        calls = self._processing.under_way() | self._cancelling.under_way()
        left = wait(calls, timeout=_LONGEST_LAST_CALL_S).not_done
        self._work.end()
        if left:
            _log.warning(
                "%d calls of the engine have not come back and are left behind; nothing of them is recorded, and no "
                "reader sees what they do, but for what tasks still write at level at_least_once",
                len(left),
            )
