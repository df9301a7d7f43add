"""The batch coordinator: the threads and queues around the pure protocol.

One loop owns the protocol's state. It takes an event from the queue, steps the protocol, and hands
each command to the thread that performs it: one for plans, one for commits, `max_pending` for
processing. Those threads only ever bring words back through the queue.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from trident.base.clock import Clock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import OutcomeUnknownError, RetryableError
from trident.base.identity import BatchId
from trident.coordinators.acking.acker import Acker
from trident.coordinators.acking.edges import draw_edges, edge_ids
from trident.coordinators.batches.committer import Committer, Outcome
from trident.coordinators.batches.log import log_batch
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.batches.stopping import StoppedError, gave_up, record_stop
from trident.coordinators.closing import after_error
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.pinned import Commit
from trident.coordinators.planned import Plan
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.messages import (
    Apply,
    Broken,
    Cancel,
    Command,
    CommitTogether,
    DecidePin,
    DropFrom,
    Due,
    Event,
    GiveUp,
    Happened,
    MakePlan,
    Process,
    RecordDone,
    StopRequested,
    TellSpouts,
)
from trident.coordinators.protocol.state import Phase
from trident.coordinators.protocol.step import Step, step, wants_plan
from trident.coordinators.protocol.transitions import Word
from trident.coordinators.retrying import Repeater
from trident.spouts.base import Source
from trident.state.target import StagingLostError, StateStore

_log = logging.getLogger("trident.coordinator")
_LONGEST_WAIT_S = 1.0
_CLEAN_UP_EVERY = 50
_LONGEST_PAUSE_S = 10.0
_LONGEST_LAST_WRITE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class _Processed:
    """What a processing thread brings back: the edges that tasks acknowledged, and the outcome."""

    batch: BatchId
    acknowledged: tuple[int, ...]
    outcome: Outcome


@dataclass(frozen=True)
class Parts:
    """All that the loop drives, opened and taken over; see `coordinators.session`."""

    ledger: Ledger
    sources: Mapping[str, Source]
    stores: Mapping[str, StateStore]
    runner: BatchRunner
    plans: PlanMaker
    book: PlanBook
    committer: Committer
    repeater: Repeater
    stopping: threading.Event


class BatchCoordinator:
    """Runs one topology from its first step until it is stopped, caught up or broken; `run` is called once."""

    def __init__(self, parts: Parts, first: Step, options: RunOptions, clock: Clock, rng: random.Random) -> None:
        self._parts = parts
        self._state, self._first_commands = first
        self._options = options
        self._clock = clock
        self._rng = rng
        self._words: queue.SimpleQueue[Event | _Processed] = queue.SimpleQueue()
        self._acker = Acker()
        self._planned: dict[BatchId, Plan] = {}
        self._plan_ms: dict[BatchId, int] = {}
        self._outcomes: dict[BatchId, Outcome] = {}
        self._deadlines: dict[BatchId, float] = {}
        self._next_due = self._earliest_due = 0.0
        self._asked_only_full = False
        self._planner = ThreadPoolExecutor(1, "trident-plan")
        self._processing = ThreadPoolExecutor(options.max_pending, "trident-process")
        self._committing = ThreadPoolExecutor(1, "trident-commit")

    def adopt(self, batch: BatchId, outcome: Outcome) -> None:
        """Take in a batch that another coordinator pinned, to be rolled forward by the first commands."""
        self._outcomes[batch] = outcome

    def stop(self) -> None:
        """Ask for a graceful end: what is live is finished. Any thread or signal handler, any number of times."""
        self._words.put(StopRequested())

    def break_off(self, error: BaseException) -> None:
        """Ask for an immediate end with this error; any thread."""
        self._words.put(Broken(error))

    @property
    def done(self) -> int:
        """The last txid that every state has."""
        return self._state.done

    def run(self) -> None:
        """Run until the end; raises the error that broke it, after every thread has ended."""
        try:
            self._perform_all(self._first_commands)
            while self._state.phase in (Phase.RUNNING, Phase.DRAINING):
                self._turn()
        finally:
            self._shut_down()
        error = self._state.error
        if isinstance(error, StoppedError):
            ledger, owner, epoch = self._parts.ledger, self._state.owner, self._state.epoch
            repeater = Repeater(min(self._options.give_up_after, _LONGEST_LAST_WRITE), threading.Event())
            told = record_stop(ledger, owner, epoch, error, repeater)
            if told is not error:
                raise told from error
        if error is not None:
            raise error

    def _turn(self) -> None:
        now = self._clock.monotonic()
        self._time_out(now)
        if now >= self._next_due and wants_plan(self._state):
            self._advance(Due())
        try:
            word = self._words.get(timeout=self._patience(now))
        except queue.Empty:
            return
        self._hear(word)

    def _patience(self, now: float) -> float:
        moments = [*self._deadlines.values()]
        if wants_plan(self._state):
            moments.append(self._next_due)
        return max(0.0, min([_LONGEST_WAIT_S, *(moment - now for moment in moments)]))

    def _hear(self, word: Event | _Processed) -> None:
        if isinstance(word, _Processed):
            word = self._judge(word)
        if isinstance(word, Happened):
            self._note(word)
        self._advance(word)
        if isinstance(word, Happened) and word.word is Word.NOTHING_TO_PLAN and self._is_caught_up():
            self._advance(StopRequested())

    def _judge(self, word: _Processed) -> Happened:
        """Count the acks; the attempt is processed only when its value is zero."""
        for edge in word.acknowledged:
            self._acker.ack(word.batch, edge)
        if not self._acker.is_processed(word.batch):
            return Happened(word.batch, Word.FAILED, reason="not all that was read was acknowledged")
        reached(CrashPoint.AFTER_ACK, word.batch.txid)
        self._outcomes[word.batch] = word.outcome
        return Happened(word.batch, Word.PROCESSED)

    def _note(self, word: Happened) -> None:
        """Keep the timers and the book of processed batches in step with what came back."""
        now = self._clock.monotonic()
        if word.word is Word.PLANNED:
            self._next_due = self._earliest_due = now + self._options.emit_interval.total_seconds()
        elif word.word is Word.NOTHING_TO_PLAN:
            self._next_due = now + self._options.idle_interval.total_seconds()
        elif word.word in (Word.PROCESSED, Word.FAILED):
            self._next_due = min(self._next_due, max(now, self._earliest_due))
            self._deadlines.pop(word.batch, None)
            self._acker.forget(word.batch)
        if word.word is Word.FAILED and any(item.batch == word.batch for item in self._state.live):
            _log.warning("%s failed and is tried again with later ones: %s", word.batch, word.reason)

    def _is_caught_up(self) -> bool:
        """Nothing live, and the last plan that found nothing would have taken a part-full batch too."""
        return self._options.until is Until.CAUGHT_UP and not self._state.live and not self._asked_only_full

    def _time_out(self, now: float) -> None:
        for batch in [batch for batch, deadline in self._deadlines.items() if now >= deadline]:
            seconds = self._options.batch_timeout.total_seconds()
            self._hear(Happened(batch, Word.FAILED, reason=f"not processed within {seconds:.0f} s"))

    def _advance(self, event: Event) -> None:
        self._state, commands = step(self._state, event)
        self._perform_all(commands)

    def _perform_all(self, commands: tuple[Command, ...]) -> None:
        for command in commands:
            self._perform(command)

    def _perform(self, command: Command) -> None:
        match command:
            case MakePlan():
                self._asked_only_full = command.only_full
                self._submit(self._planner, command.batch, partial(self._make_plan, command))
            case DropFrom():
                self._submit(self._planner, None, partial(self._drop, command))
            case Process(batch, _):
                self._start_processing(batch)
            case Cancel(batch):
                self._forget(batch)
                if self._state.error is None:
                    self._parts.runner.processor.cancel(batch)
                else:
                    self._cancel_after_error(batch)
            case CommitTogether(batch):
                self._submit(self._committing, batch, partial(self._commit_together, batch, self._outcomes[batch]))
            case DecidePin(batch):
                self._submit(self._committing, batch, partial(self._pin, batch, self._outcomes[batch]))
            case Apply(batch, state):
                self._submit(self._committing, batch, partial(self._apply, batch, state, self._outcomes[batch]))
            case RecordDone(batch):
                self._submit(self._committing, batch, partial(self._record_done, batch, self._outcomes[batch]))
            case TellSpouts(batch):
                self._tell(batch)
            case GiveUp(batch, tries, reason):
                self._advance(Broken(gave_up(batch, tries, reason)))

    def _start_processing(self, batch: BatchId) -> None:
        plan = self._planned[batch]
        edges = draw_edges(plan, self._rng)
        self._acker.register(batch, edge_ids(edges))
        self._deadlines[batch] = self._clock.monotonic() + self._options.batch_timeout.total_seconds()
        run = partial(self._parts.runner.run, batch, plan, edges, self._plan_ms.get(batch, 0))
        self._submit(self._processing, batch, lambda: _Processed(batch, *run()))

    def _submit(
        self, pool: ThreadPoolExecutor, batch: BatchId | None, action: Callable[[], Event | _Processed | None]
    ) -> None:
        """Perform the action on that pool's thread and put its word, or the error that ended it, into the queue."""
        pool.submit(action).add_done_callback(partial(self._bring_back, batch))

    def _bring_back(self, batch: BatchId | None, future: Future[Event | _Processed | None]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            word = future.result()
            if word is not None:
                self._words.put(word)
        elif batch is not None and isinstance(error, RetryableError | OutcomeUnknownError):
            self._words.put(Happened(batch, Word.FAILED, reason=f"{type(error).__name__}: {error}"))
        else:
            self._words.put(Broken(error))

    def _make_plan(self, command: MakePlan) -> Event:
        started = self._clock.monotonic()
        if command.tries > 1:
            pause = self._options.retry_pause.total_seconds() * 2 ** (command.tries - 2)
            self._parts.stopping.wait(min(pause, _LONGEST_PAUSE_S))
        plans, repeater = self._parts.plans, self._parts.repeater
        plan = repeater.call(f"asking what there is for {command.batch}", partial(plans.build, command))
        repeater.call(f"planning {command.batch}", partial(plans.store, command, plan))
        if plan is None:
            return Happened(command.batch, Word.NOTHING_TO_PLAN)
        self._planned[command.batch] = plan
        self._plan_ms[command.batch] = round((self._clock.monotonic() - started) * 1000)
        return Happened(command.batch, Word.PLANNED)

    def _drop(self, command: DropFrom) -> None:
        self._parts.repeater.call("dropping unfinished batches", partial(self._parts.plans.drop, command))

    def _commit_together(self, batch: BatchId, outcome: Outcome) -> Event:
        try:
            commit = self._parts.committer.together(batch, outcome)
        except StagingLostError as error:
            # nothing was pinned: an ordinary failure
            return Happened(batch, Word.FAILED, reason=str(error))
        self._finished(batch, outcome, commit)
        return Happened(batch, Word.COMMITTED)

    def _pin(self, batch: BatchId, outcome: Outcome) -> Event:
        self._parts.committer.pin(batch, outcome)
        return Happened(batch, Word.PINNED)

    def _apply(self, batch: BatchId, state: str, outcome: Outcome) -> Event:
        self._parts.committer.apply(batch, state, outcome.pin())
        return Happened(batch, Word.APPLIED, state=state)

    def _record_done(self, batch: BatchId, outcome: Outcome) -> Event:
        self._finished(batch, outcome, self._parts.committer.done(batch, outcome))
        return Happened(batch, Word.FINISHED)

    def _finished(self, batch: BatchId, outcome: Outcome, commit: Commit) -> None:
        log_batch(batch, commit, self._parts.book.lag)
        for spout, manifest in outcome.manifests:
            self._parts.book.record_size(spout, manifest.size_bytes, manifest.count)
        if commit.txid % _CLEAN_UP_EVERY == 0:
            self._clean_up(batch)

    def _clean_up(self, batch: BatchId) -> None:
        reached(CrashPoint.BEFORE_CLEAN_UP, batch.txid)
        clean = partial(self._parts.ledger.clean_up, batch.owner, batch.epoch, self._options.keep)
        self._parts.repeater.call("cleaning the ledger up", clean)
        for name, store in self._parts.stores.items():
            reached(CrashPoint.BETWEEN_CLEAN_UPS, batch.txid)
            tidy = partial(store.clean_up, batch.owner, batch.epoch, batch.txid)
            self._parts.repeater.call(f"cleaning state {name!r} up", tidy)

    def _tell(self, batch: BatchId) -> None:
        outcome = self._outcomes[batch]
        for name, source in self._parts.sources.items():
            source.committed(batch.txid, [item.range for item in outcome.plan.ranges if item.spout == name])
        self._parts.book.finished = batch.txid
        self._forget(batch)

    def _forget(self, batch: BatchId) -> None:
        for kept in (self._planned, self._plan_ms, self._outcomes, self._deadlines):
            kept.pop(batch, None)
        self._acker.forget(batch)

    def _cancel_after_error(self, batch: BatchId) -> None:
        after_error(f"cancelling {batch}", partial(self._parts.runner.processor.cancel, batch))

    def _shut_down(self) -> None:
        if self._state.phase is not Phase.STOPPED:
            self._parts.stopping.set()
            for item in self._state.live:
                self._cancel_after_error(item.batch)
        for pool in (self._planner, self._processing, self._committing):
            pool.shutdown(wait=True, cancel_futures=self._state.phase is not Phase.STOPPED)
