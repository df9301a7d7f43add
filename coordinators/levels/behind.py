"""Batches that are recorded as done and processed behind that: each once, and whatever ends one loses it."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

from trident.base.errors import FatalError, RetryableError, TridentError
from trident.base.identity import BatchId
from trident.base.performing import perform
from trident.base.signals import StopSignal
from trident.coordinators.acking.edges import draw_edges
from trident.coordinators.batches.failing import OverdueError
from trident.coordinators.batches.hearing import Hears
from trident.coordinators.batches.lanes import SideBySide
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.levels.ending import lost_all, lost_by, lost_in_a_row
from trident.coordinators.levels.recorded import Recorded
from trident.coordinators.levels.writing import OwnedBy, WriteOnce
from trident.coordinators.options import RunOptions
from trident.coordinators.planned import Plan
from trident.coordinators.retrying import Repeater
from trident.spouts.base import HoldsForLater

_log = logging.getLogger("trident.coordinator")
_LOOK_S = 0.2
_LONGEST_END_S = 10.0


class Behind:
    """Processes what is recorded, side by side; `recorded` is called by one thread, one batch after the other.

    What is recorded and what may be is decided by `Recorded`; here are the threads around it, and its lock. A batch
    that fails is counted, told, and never tried again.
    """

    def __init__(
        self,
        runner: BatchRunner,
        repeater: Repeater,
        options: RunOptions,
        owned_by: OwnedBy,
        measure: Callable[[Outcome], None],
        hears: Hears,
        most: Callable[[], int],
        ends: Callable[[BaseException], None],
    ) -> None:
        """`measure` is given what was read, for the limits of later plans; `hears` of what loses a batch.

        `most` says how many may be recorded and not processed at the moment; `ends` is given what ends the run.
        """
        # the run's own signal is set when it has nothing more to plan, while this goes on
        stage = WriteOnce(repeater, self._claim, owned_by, self._ended_at)
        self._runner = replace(runner, stage=stage, is_over=StopSignal())
        self._holding = {name: each for name, each in runner.sources.items() if isinstance(each, HoldsForLater)}
        self._measure = measure
        self._hears = hears
        self._most = most
        self._ends = ends
        self._stopping: StopSignal = repeater.stopping
        self._timeout_s = options.batch_timeout.total_seconds()
        self._rng = random.SystemRandom()
        self._threads: SideBySide[Outcome] = SideBySide("trident-behind")
        self._recorded = Recorded(options.max_tries)
        self._changed = threading.Condition()

    @property
    def lost(self) -> int:
        """How many batches were recorded and not written, or not all of them was."""
        return self._recorded.lost

    @property
    def unwritten(self) -> int:
        """How many batches are recorded, and neither written nor lost."""
        with self._changed:
            return self._recorded.pending

    def record(self, batch: BatchId, outcome: Outcome, record: Callable[[], None]) -> None:
        """Record a batch once there is room for it, then begin to process it.

        Raises FatalError, nothing recorded, when too many in a row were lost, or when the run ends first.
        """
        self._wait_for_room(batch)
        plan = outcome.plan
        try:
            self._hold(plan)  # a source lets go of what is done
            record()
        except BaseException:
            self._let_go(plan)
            raise
        with self._changed:
            self._recorded.add(batch)
        try:
            processed = self._threads.submit(partial(self._process, batch, outcome))
        except RuntimeError as error:  # the system gives no more threads
            self._lose(batch, error)
            self._let_go(plan)
            return
        processed.add_done_callback(partial(self._ended, batch))

    def may_be_recorded(self, batch: BatchId, error: TridentError) -> None:
        """Count a batch of which nobody knows whether it is recorded: it is not processed, and may be done."""
        with self._changed:
            self._recorded.count()
            self._tell_lost(batch, error)

    def finish(self) -> None:
        """Wait until everything that is recorded was processed; each has its time limit.

        Raises what ended it, and FatalError when nothing was written and something was lost.
        """
        recorded = self._recorded
        with self._changed:
            while recorded.pending:
                self._changed.wait(_LOOK_S)
        self._threads.close()
        if recorded.broken is not None:
            raise recorded.broken
        if recorded.lost and not recorded.has_written:
            raise lost_all(recorded.lost)

    def break_off(self) -> None:
        """Give up what is still processed: the run ends with an error. What is being written may end, for a while."""
        self._give_all_up()
        with self._changed:
            self._changed.wait_for(lambda: not self._recorded.pending, _LONGEST_END_S)
            self._recorded.leave()
        self._threads.close()

    def end_with(self, error: BaseException) -> None:
        """End with this error, the first one counts: nothing more is recorded, what is still processed is given up."""
        with self._changed:
            is_first = self._recorded.break_with(error)
            self._changed.notify_all()
        if is_first:
            self._end(error)

    def _end(self, error: BaseException) -> None:
        self._give_all_up()
        self._ends(error)

    def _wait_for_room(self, batch: BatchId) -> None:
        recorded = self._recorded
        with self._changed:
            while recorded.broken is None and not recorded.has_room(self._most()) and not self._stopping.is_set():
                self._changed.wait(_LOOK_S)
            if recorded.broken is not None:
                raise recorded.broken
            if recorded.too_many_in_a_row:
                raise lost_in_a_row(recorded.too_many_in_a_row, batch)
        if self._stopping.is_set():
            raise FatalError(f"{batch}: the run ended before it was recorded; the next start goes on with it")

    def _process(self, batch: BatchId, outcome: Outcome) -> Outcome:
        plan, late = outcome.plan, OverdueError(f"not processed within {self._timeout_s:g} s")
        timer = threading.Timer(self._timeout_s, self._give_up, (batch, late))
        timer.daemon = True
        try:
            timer.start()
            return self._runner.run(batch, plan, draw_edges(plan, self._rng), outcome.plan_ms)[1]
        finally:
            timer.cancel()
            self._let_go(plan)

    def _ended(self, batch: BatchId, processed: Future[Outcome]) -> None:
        heard: Future[None] = Future()
        perform(partial(self._hear_end, batch, processed), heard)
        wrong = heard.exception()
        if wrong is not None:  # nobody else hears of it, and the batch would be waited for
            with self._changed:
                self._recorded.forget(batch)
            self.end_with(wrong)

    def _hear_end(self, batch: BatchId, processed: Future[Outcome]) -> None:
        error = processed.exception()
        if error is None:
            self._written(batch, processed.result())
        else:
            self._lose(batch, error)

    def _claim(self, batch: BatchId) -> None:
        with self._changed:
            self._recorded.claim(batch)

    def _ended_at(self, target: str, *, is_written: bool) -> None:
        with self._changed:
            (self._recorded.took if is_written else self._recorded.missed)(target)

    def _give_all_up(self) -> None:
        with self._changed:
            processing = self._recorded.processing
        for batch in processing:
            self._give_up(batch, RetryableError("the run ended with an error"))

    def _give_up(self, batch: BatchId, why: RetryableError) -> None:
        with self._changed:
            if not self._recorded.give_up(batch):
                return
            self._tell_lost(batch, why)
        try:
            # an engine that does not answer must not keep the run from its end
            threading.Thread(target=self._runner.cancel, args=(batch,), name="trident-giving-up", daemon=True).start()
        except RuntimeError as error:
            _log.warning("%s: the engine can't be told to end it (%s)", batch, error)

    def _written(self, batch: BatchId, written: Outcome) -> None:
        """Measure and tell of it while it counts as under way still: a run that ends has told of all."""
        self._measure(written)
        left_out = len(written.dead_letters)
        if left_out:
            _log.warning("%s: %d records did not decode and are lost", batch, left_out)
        _log.info(
            "topology=%s txid=%d written records=%d keys=%d lost_records=%d process_ms=%d",
            batch.owner.topology,
            batch.txid,
            written.records,
            written.keys,
            left_out,
            written.process_ms,
        )
        with self._changed:
            self._recorded.written(batch, written.keys)
            self._changed.notify_all()

    def _lose(self, batch: BatchId, error: BaseException) -> None:
        with self._changed:
            is_lost, ends = self._recorded.lose(batch, error)
            if is_lost:
                self._tell_lost(batch, error)
            self._changed.notify_all()
        if ends:
            self._end(error)

    def _tell_lost(self, batch: BatchId, error: BaseException) -> None:
        self._changed.notify_all()
        self._hears(lost_by(error, batch), batch)
        _log.warning(
            "topology=%s txid=%d lost: it is recorded as done, and what was not written of it by now never is (%d lost "
            "in this run): %s",
            batch.owner.topology,
            batch.txid,
            self.lost,
            error if isinstance(error, TridentError) else type(error).__name__,
        )

    def _hold(self, plan: Plan) -> None:
        for name, source in self._holding.items():
            source.hold([item.range for item in plan.ranges if item.spout == name and item.range.width])

    def _let_go(self, plan: Plan) -> None:
        for name, source in self._holding.items():
            source.let_go([item.range for item in plan.ranges if item.spout == name and item.range.width])
