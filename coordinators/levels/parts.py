"""What a run is made of at each level: who brings an attempt to its record, and who makes the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from trident.base.clock import Clock
from trident.base.errors import OutcomeUnknownError, RefusedError, TridentError
from trident.base.identity import BatchId
from trident.base.levels import Level
from trident.coordinators.acking.edges import BatchEdges, edge_ids
from trident.coordinators.batches.committer import Committer
from trident.coordinators.batches.hearing import Hears
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.batches.steps import Steps
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.batches.work import measure
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.levels.behind import Behind
from trident.coordinators.levels.writing import (
    WriteRepeatedly,
    as_written,
    keep_made,
    not_recorded,
    refused_plainly,
    tell_of_written,
)
from trident.coordinators.lifecycle import Activity, Reply
from trident.coordinators.options import RunOptions
from trident.coordinators.pinned import Commit
from trident.coordinators.planned import Plan
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.retrying import Repeater
from trident.state.capabilities import Transaction


class WritesFirst(Committer):
    """At least once: in its turn a batch is written, then recorded.

    Written earlier, while batches before it may still fail, it would be written again with them.
    """

    def __init__(self, ledger: Ledger, repeater: Repeater, clock: Clock, writes: WriteRepeatedly) -> None:
        super().__init__(ledger, {}, repeater, clock)
        self._writes = writes

    def together(self, batch: BatchId, outcome: Outcome) -> Commit:
        """Write the batch, then record it as done."""
        return super().together(batch, replace(outcome, updates=self._writes.write(batch, outcome.updates)))

    def told(self, stopped: StoppedError) -> StoppedError:
        """See `as_written`."""
        return as_written(stopped)

    def _refused(self, steps: Steps, error: RefusedError, outcome: Outcome) -> StoppedError:
        """No decision would mend it: the next start writes the batch again, and records it where it can be."""
        left = "What the batch has written stays, and is written again"
        return not_recorded(steps.batch, error, left)


class MayHaveWritten(BatchRunner):
    """At least once: tasks may have written of an attempt that fails, so its error doesn't say that nothing was."""

    def run(self, batch: BatchId, plan: Plan, edges: BatchEdges, plan_ms: int) -> tuple[tuple[int, ...], Outcome]:
        """Process the attempt; what is held is written in its turn."""
        try:
            return super().run(batch, plan, edges, plan_ms)
        except StoppedError:
            raise  # told by the committer, as are those that come later
        except TridentError as error:
            tell_of_written(error)
            raise


class ReadsNothing(BatchRunner):
    """At most once: an attempt is ready for its record as soon as it is planned, since nothing of it is read before."""

    def run(self, batch: BatchId, plan: Plan, edges: BatchEdges, plan_ms: int) -> tuple[tuple[int, ...], Outcome]:
        """Return the record's content: the plan, and nothing that only reading could tell."""
        return tuple(edge_ids(edges)), Outcome(plan, (), (), {}, plan_ms, 0)


@dataclass(slots=True)
class LostAnswers:
    """Hears of what fails while a batch is recorded, and notes that an answer was lost before another one came.

    That the run was replaced, say, does not mean then that the batch is not recorded.
    """

    hears: Callable[[BaseException], None]
    has_lost: bool = False

    def hear(self, error: BaseException) -> None:
        """Hear of a failure that is followed by another try."""
        self.has_lost = self.has_lost or isinstance(error, OutcomeUnknownError)
        self.hears(error)


class RecordsFirst(Committer):
    """At most once: what is recorded is processed behind that. `answers` are those that its own repeater tells."""

    def __init__(self, ledger: Ledger, repeater: Repeater, clock: Clock, behind: Behind, answers: LostAnswers) -> None:
        super().__init__(ledger, {}, repeater, clock)
        self._behind = behind
        self._answers = answers

    def together(self, batch: BatchId, outcome: Outcome) -> Commit:
        """Record the batch as done, then let it be processed."""
        commits: list[Commit] = []
        self._behind.record(batch, outcome, lambda: commits.append(self._record(batch, outcome)))
        return commits[0]

    def _refused(self, steps: Steps, error: RefusedError, outcome: Outcome) -> StoppedError:
        """No decision would mend it: the next start goes on with the batch, of which nothing was read."""
        return not_recorded(steps.batch, error, "Nothing of the batch was read or written")

    def _record(self, batch: BatchId, outcome: Outcome) -> Commit:
        self._answers.has_lost = False
        try:
            return super().together(batch, outcome)
        except TridentError as error:
            if self._answers.has_lost or isinstance(error.__cause__, OutcomeUnknownError):
                self._behind.may_be_recorded(batch, error)
            raise


@dataclass(frozen=True, slots=True)
class OfTheRun:
    """What a run lends to what is processed behind its records."""

    hears: Hears
    most_pending: Callable[[], int]
    """How many batches may be recorded and not processed: as many as are planned at once, at the moment."""
    ends: Callable[[BaseException], None]
    """Ends the run with what no request of its loop brings; any thread."""


@dataclass(frozen=True, slots=True)
class LevelParts:
    """What differs from level to level; the protocol, the loop and the ledger do not."""

    runner: BatchRunner
    committer: Committer
    behind: Behind | None = None

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Run the block, then see to the end of what is recorded and not processed yet."""
        behind = self.behind
        if behind is None:
            yield
            return
        try:
            yield
        except BaseException:
            behind.break_off()
            raise
        behind.finish()

    @property
    def lost(self) -> int:
        """How many batches were recorded and not written."""
        return 0 if self.behind is None else self.behind.lost

    def end_with(self, error: BaseException) -> None:
        """Write nothing more of what is recorded, if it has not begun; any thread."""
        if self.behind is not None:
            self.behind.end_with(error)

    def in_full(self, reply: Reply) -> Reply:
        """Return the answer to a command, with what the loop that made it can't know: what is not written yet."""
        unwritten = 0 if self.behind is None else self.behind.unwritten
        if not unwritten or reply.activity not in (Activity.INACTIVE, Activity.KILLED):
            return reply
        text = f"{reply.text}; {unwritten} batches that are recorded as done are not written yet, and still will be"
        return replace(reply, text=text)


def parts_of(
    level: Level,
    runner: BatchRunner,
    ledger: Ledger,
    repeater: Repeater,
    options: RunOptions,
    book: PlanBook,
    of_the_run: OfTheRun,
) -> LevelParts:
    """Return the parts of one run; `runner` is that of the first level."""

    def owned_by(batch: BatchId, transaction: Transaction | None) -> None:
        ledger.require_held(batch.owner.topology, batch.epoch, transaction)

    match level:
        case Level.EXACTLY_ONCE:
            return LevelParts(runner, Committer(ledger, runner.stores, repeater, runner.clock))
        case Level.AT_LEAST_ONCE:
            spouts, sources, stores = runner.spouts, runner.sources, runner.stores
            keeps = MayHaveWritten(
                spouts, sources, stores, runner.processor, runner.clock, runner.is_over, keep_made, refused_plainly
            )
            writes = WriteRepeatedly(runner.stores, repeater)
            return LevelParts(keeps, WritesFirst(ledger, repeater, runner.clock, writes))
        case Level.AT_MOST_ONCE:
            run, measured = of_the_run, partial(measure, book)
            behind = Behind(runner, repeater, options, owned_by, measured, run.hears, run.most_pending, run.ends)
            first = ReadsNothing(runner.spouts, runner.sources, {}, runner.processor, runner.clock, runner.is_over)
            answers = LostAnswers(repeater.hears)
            recording = Repeater(options.give_up_after, repeater.stopping, options.batch_timeout, answers.hear)
            recorder = RecordsFirst(ledger, recording, runner.clock, behind, answers)
            return LevelParts(first, recorder, behind)
