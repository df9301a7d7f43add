"""One run of a topology, from opening to letting go: open, take the lease, take over, run, give back."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from trident.base.clock import Clock, SystemClock
from trident.base.errors import DecisionNeededError, FatalError, FencedError, TridentError
from trident.base.identity import BatchId
from trident.base.latency import CompleteLatency, MeasuresLatency
from trident.base.levels import Level
from trident.base.signals import StopSignal
from trident.coordinators.acking.edges import draw_edges
from trident.coordinators.batches.backlogs import Backlogs
from trident.coordinators.batches.flight import NEVER
from trident.coordinators.batches.lanes import SideBySide
from trident.coordinators.batches.loop import Loop
from trident.coordinators.batches.outcome import outcome_of_pin
from trident.coordinators.batches.pace import Pace
from trident.coordinators.batches.processor import Processor, SharesWork, TurnProcessor
from trident.coordinators.batches.reporting import ErrorReporter
from trident.coordinators.batches.runner import BatchRunner
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.batches.telling import failed
from trident.coordinators.batches.threads import BatchCoordinator
from trident.coordinators.batches.turning import BatchTurn
from trident.coordinators.batches.work import Parts, Work
from trident.coordinators.holding.at_rest import ForgottenError, KilledError
from trident.coordinators.holding.fencing import LedgerBehindError
from trident.coordinators.holding.held_back import say_what_is_held_back
from trident.coordinators.holding.keeping import HearsOfLease, WaitEndedError, held
from trident.coordinators.holding.opening import Opened, opened
from trident.coordinators.holding.starts import nothing_wrong
from trident.coordinators.holding.taken import TakenOver
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.holding.within_reach import said_instead
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.levels.parts import LevelParts, OfTheRun, parts_of
from trident.coordinators.listening import Listening
from trident.coordinators.measuring import measured
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.plans.receiving import begin_receiving
from trident.coordinators.registered import TopologySpec
from trident.coordinators.retrying import Repeater
from trident.coordinators.run_events import RunStarted, TookOver
from trident.spouts.base import NamesMessages, Source, Spout, lives_in_process
from trident.state.capabilities import names_relaying
from trident.state.plainly import with_positions, without_positions
from trident.state.target import OpensTarget, Target

_log = logging.getLogger("trident.coordinator")
_LONGEST_LAST_WRITE = timedelta(seconds=10)
_LOOK_S = 0.2
_LEVEL = "topology=%s level=%s, not exactly_once: %s"

ProcessorFactory = Callable[[Mapping[str, Source], Mapping[str, Target]], Processor]


@dataclass(frozen=True)
class RunnableTopology:
    """What a compiled topology hands over to be run."""

    spec: TopologySpec
    spouts: Mapping[str, Spout]
    targets: Mapping[str, OpensTarget]
    make_processor: ProcessorFactory
    check: Callable[[], None] = nothing_wrong
    """Raises what is wrong with it that its targets don't see, before it is registered; may be called twice."""
    works_in_turn: bool = False
    """Whether a part of each batch is made in its turn, by a processor that is a `TurnProcessor` too."""

    @property
    def level(self) -> Level:
        """What it promises of each record."""
        return self.spec.level


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did: the last txid that was done before it, and when it ended.

    Both are 0 for one that was stopped, or whose topology was killed or forgotten, while another coordinator ran it: it
    has done nothing.
    """

    first_done: int
    last_done: int
    lost: int = 0
    """How many of them were recorded and not written as a whole: at level at_most_once, and at no other."""
    given_again: int = 0
    """How many messages of queues came again although they were done: acked, and not applied again."""

    @property
    def batches(self) -> int:
        """How many txids this run finished."""
        return self.last_done - self.first_done


class TopologyRun:
    """One run of a topology in this process; `run` is called once, `stop` by any thread or signal handler."""

    def __init__(
        self, topology: RunnableTopology, ledger: Ledger, options: RunOptions, clock: Clock | None = None
    ) -> None:
        self._topology = topology
        self._ledger = ledger
        self._options = options
        self._clock = clock or SystemClock()
        self._stopping = StopSignal()
        self._stop_requested = StopSignal()
        self._repeater = Repeater(options.give_up_after, self._stopping, options.batch_timeout, self._hear)
        self._reporter: ErrorReporter | None = None
        self._listening = Listening(())  # nobody before it runs
        self._measured: tuple[MeasuresLatency, ...] = ()
        self._coordinator: BatchCoordinator | None = None
        self._level_parts: LevelParts | None = None
        self._fenced_by: FencedError | None = None
        self._waited_for: int | None = None

    def stop(self) -> None:
        """Ask for a graceful end: live batches are finished, nothing new is planned. Any number of times."""
        self._stop_requested.set()
        if self._coordinator is None:
            self._stopping.set()
        else:
            self._coordinator.stop()

    def run(self) -> RunSummary:
        """Run until the end that the options name; raises the error that ended it earlier."""
        name = self._topology.spec.name
        with measured(name, self._options.metrics_port) as measuring:
            self._listening = Listening(self._options.listeners, beside=measuring)
            with self._listening.until_the_end(name):
                return self._run_to_the_end()

    def _run_to_the_end(self) -> RunSummary:
        try:
            return self._run_above_what_is_known()
        except WaitEndedError:
            return RunSummary(0, 0)
        except (KilledError, ForgottenError) as error:
            if self._waited_for is None:
                raise
            _log.warning("%s", error)  # it was meant for the standby as well
            return RunSummary(0, 0)
        except TridentError as error:
            if (instead := said_instead(self._ledger, error)) is not None:
                error.add_note(instead)
            self._tell_of_what_was_received(error)
            self._tell_of_what_was_written(error)
            if self._fenced_by is None or isinstance(error, FencedError):
                self._tell_of_what_was_lost(error)
                raise
            self._tell_of_what_was_lost(self._fenced_by)
            raise self._fenced_by from error  # which made the other one: nothing is repeated any more
        except BaseException as error:
            self._tell_of_what_was_lost(error)
            raise

    def _tell_of_what_was_received(self, error: TridentError) -> None:
        """Add what an error that is about no txid can't know: which records end with this process."""
        if isinstance(error, StoppedError | DecisionNeededError):
            return  # it says so, of the txid that it is about
        for name in sorted(name for name, spout in self._topology.spouts.items() if lives_in_process(spout)):
            error.add_note(
                f"What stream {name!r} had received and was not done ends with this run, whatever can be tried again: "
                "the next start records as lost what was planned of it and is not pinned."
            )

    def _tell_of_what_was_written(self, error: TridentError) -> None:
        """Add what an error of a run can't know: at which level it was. A start that is refused has written nothing."""
        if self._topology.level is Level.AT_LEAST_ONCE and self._coordinator is not None:
            error.add_note(
                "The topology runs at level at_least_once: what was written of batches that are not done stays, and is "
                "written again when they are tried again."
            )

    def _tell_of_what_was_lost(self, error: BaseException) -> None:
        """Add what the summary would have said, which a run that ends with an error has not."""
        if self._level_parts is not None and self._level_parts.lost:
            error.add_note(
                f"The topology runs at level at_most_once: {self._level_parts.lost} batches that are recorded as done "
                "were lost in this run, and are not tried again."
            )

    def _run_above_what_is_known(self) -> RunSummary:
        """Run; at least once also under a ledger that was put back by no more than the one txid that may come again.

        What it looks at before it raises its fences says so, and is the same at each start. The epochs are not: those
        that a start finds to be later than its own it would not find any more when it is started again.
        """
        above = 0
        while True:
            try:
                return self._run(above)
            except LedgerBehindError as error:
                if not self._may_come_again or error.known <= above:
                    raise
                _log.warning(
                    "topology=%s: a state knows epoch %d, which its ledger has not given out: the ledger was put back. "
                    "At level at_least_once what is not done in it is written again; the run goes on above that epoch",
                    self._topology.spec.name,
                    error.known,
                )
                above = error.known

    @property
    def _may_come_again(self) -> bool:
        """Whether nothing is lost where the ledger is behind by what its targets may be ahead."""
        if self._topology.level is not Level.AT_LEAST_ONCE:
            return False
        return self._ledger.view().status(self._topology.spec.name).open_reset is None

    def _run(self, above: int) -> RunSummary:
        topology, ledger, options = self._topology, self._ledger, self._options
        with (
            opened(ledger, topology.spouts, topology.targets, options.timeouts) as open_parts,
            held(ledger, topology.spec.name, options, self._repeater, self._hears, above) as epoch,
        ):
            stores, plain = with_positions(open_parts.stores), without_positions(open_parts.stores)
            taking = TakeOver(
                ledger, stores, topology.spec, epoch, self._repeater, self._clock, plain, self._waited_for
            )
            taken = taking.complete(open_parts.sources, topology.check)
            processor = self._make_processor(open_parts)
            if processor is None:
                return RunSummary(taken.snapshot.done, taken.snapshot.done)
            owner = taken.snapshot.owner
            self._measured = tuple(each for each in open_parts.sources.values() if isinstance(each, MeasuresLatency))
            self._reporter = ErrorReporter(partial(ledger.report, owner, taken.epoch), self._clock)
            book = PlanBook(taken.snapshot)
            of_level = self._level_parts = self._at_level(open_parts, processor, book)
            with closing(self._reporter):
                coordinator = self._coordinator = self._build(taken, open_parts.sources, stores, of_level, book)
                if self._stop_requested.is_set():
                    coordinator.stop()
                if self._fenced_by is not None:  # while the coordinator was being built
                    self._fenced(self._fenced_by)
                self._tell_that_it_is_up(taken)
                with of_level.ending():
                    coordinator.run()
            if options.until is Until.CAUGHT_UP and not self._stop_requested.is_set():
                say_what_is_held_back(open_parts.sources)
            return RunSummary(
                taken.snapshot.done, coordinator.done, of_level.lost, _given_again(open_parts.sources.values())
            )

    def _hear(self, error: BaseException, batch: BatchId | None = None) -> None:
        if self._reporter is not None:
            self._reporter.hear(error, batch)
        event = None if batch is None else failed(batch, error)
        if event is not None:
            self._listening.tell(event)

    def _tell_that_it_is_up(self, taken: TakenOver) -> None:
        name, epoch, snapshot = self._topology.spec.name, taken.epoch.number, taken.snapshot
        pinned = snapshot.pin.txid if snapshot.pin else None
        incarnation = snapshot.owner.incarnation
        self._listening.tell(
            TookOver(topology=name, epoch=epoch, incarnation=incarnation, done=snapshot.done, pinned=pinned)
        )
        self._listening.tell(RunStarted(topology=name, epoch=epoch))
        if self._options.on_started is not None:
            self._options.on_started()

    def _make_processor(self, open_parts: Opened) -> Processor | None:
        """Wait for the engine while the lease is kept; None when the run was stopped and the engine does not answer."""
        engine: SideBySide[Processor] = SideBySide("trident-engine")
        made = engine.submit(partial(self._topology.make_processor, open_parts.sources, open_parts.stores))
        engine.close()
        now, patience = self._clock.monotonic, self._options.give_up_after.total_seconds()
        latest, stopped_at = now() + patience, NEVER
        while not wait([made], timeout=_LOOK_S).done:
            if self._fenced_by is not None:
                raise self._fenced_by
            if self._stop_requested.is_set():
                stopped_at = min(stopped_at, now())
            if now() > stopped_at + _LONGEST_LAST_WRITE.total_seconds():
                return None
            if now() > latest:
                raise FatalError(
                    f"the engine did not answer for {patience:.0f} s while the run began. Nothing was planned; run the "
                    "topology again in a new process."
                )
        return made.result()

    @property
    def _hears(self) -> HearsOfLease:
        return HearsOfLease(self._fenced, self._commands_wait, self._must_wait, self._latencies)

    def _latencies(self) -> tuple[CompleteLatency, ...]:
        found = [source.latency() for source in self._measured]
        return tuple(each for each in found if each is not None)

    def _commands_wait(self) -> None:
        if self._coordinator is not None:
            self._coordinator.commands_wait()

    def _must_wait(self, epoch: int) -> None:
        self._waited_for = epoch if self._waited_for is None else self._waited_for

    def _fenced(self, error: FencedError) -> None:
        self._fenced_by = error
        self._stopping.set()
        if self._coordinator is not None:
            self._coordinator.break_off(error)
        if self._level_parts is not None:
            self._level_parts.end_with(error)

    def _end_with(self, error: BaseException) -> None:
        if isinstance(error, FencedError):
            self._fenced(error)
        elif self._coordinator is not None:
            self._coordinator.break_off(error)

    def _most_pending(self) -> int:
        return self._options.max_pending if self._coordinator is None else self._coordinator.max_pending

    def _at_level(self, open_parts: Opened, processor: Processor, book: PlanBook) -> LevelParts:
        runner = BatchRunner(self._topology.spouts, open_parts.sources, open_parts.stores, processor, self._clock)
        lent = OfTheRun(self._hear, self._most_pending, self._end_with)
        return parts_of(self._topology.level, runner, self._ledger, self._repeater, self._options, book, lent)

    def _build(
        self,
        taken: TakenOver,
        sources: Mapping[str, Source],
        stores: Mapping[str, Target],
        of_level: LevelParts,
        book: PlanBook,
    ) -> BatchCoordinator:
        snapshot, spouts, runner = taken.snapshot, self._topology.spouts, of_level.runner
        begin_receiving(self._ledger, snapshot, sources, self._repeater)
        parts = Parts(
            ledger=self._ledger,
            sources=sources,
            stores=stores,
            runner=runner,
            plans=PlanMaker(self._ledger, spouts, sources, book, taken.epoch, self._clock),
            book=book,
            committer=of_level.committer,
            repeater=self._repeater,
            last_repeater=Repeater(
                min(self._options.give_up_after, _LONGEST_LAST_WRITE), StopSignal(), self._options.batch_timeout
            ),
            keep=self._options.keep,
            turn=self._turn(stores, runner),
            in_full=of_level.in_full,
            tells=self._listening.tell,
        )
        pace = Pace.of(self._options)
        loop = Loop(
            taken.first_step(
                stores,
                self._options,
                turn_work=self._topology.works_in_turn,
                keeps_rows=any(map(lives_in_process, spouts.values())),
                shares_work=isinstance(runner.processor, SharesWork),
            ),
            pace,
            partial(draw_edges, rng=random.SystemRandom()),
            outcome_of_pin(snapshot.pin) if snapshot.pin is not None else None,
            Backlogs.of(names_relaying(stores)),
            self._hear,
        )
        coordinator = BatchCoordinator(loop, Work(parts), self._clock, self._stopping)
        _log.info(
            "topology=%s incarnation=%s epoch=%d done=%d pinned=%s",
            snapshot.owner.topology,
            snapshot.owner.incarnation,
            taken.epoch.number,
            snapshot.done,
            snapshot.pin.txid if snapshot.pin else None,
        )
        if self._topology.level.is_plain:
            _log.info(_LEVEL, snapshot.owner.topology, self._topology.level, self._topology.level.not_promised)
        return coordinator

    def _turn(self, stores: Mapping[str, Target], runner: BatchRunner) -> BatchTurn | None:
        if not self._topology.works_in_turn:
            return None
        assert isinstance(runner.processor, TurnProcessor)
        return BatchTurn(stores, runner.processor, runner.clock, runner.is_over)


def _given_again(sources: Iterable[Source]) -> int:
    return sum(source.given_again for source in sources if isinstance(source, NamesMessages))
