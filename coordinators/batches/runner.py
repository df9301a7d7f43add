"""One attempt from plan to staged: runs the engine, checks that all was read, stages the updates."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import TypeAlias

from trident.base.advice import DIVERT
from trident.base.clock import Clock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import RefusedError, RetryableError, UncomputableError, about
from trident.base.identity import BatchId
from trident.base.signals import StopSignal
from trident.coordinators.acking.edges import BatchEdges
from trident.coordinators.batches.completeness import complete_edges
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.processor import (
    Processor,
    ProcessRequest,
    ProcessResult,
    StagingRefusedError,
    TurnProcessor,
    UnprocessableError,
)
from trident.coordinators.batches.sifting import sifted_of
from trident.coordinators.batches.staging import refused_by, staged_of
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Diverted, Refusal, StopKind
from trident.coordinators.pinned import DeadLetter
from trident.coordinators.planned import Plan
from trident.spouts.base import BadRecord, NamesPlaces, Source, Spout
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.target import Target

Stage: TypeAlias = Callable[
    [Mapping[str, Target], BatchId, datetime, Mapping[str, StagedUpdates], tuple[str, ...]],
    tuple[Mapping[str, StagedUpdates | AppliedUpdates], tuple[Diverted, ...]],
]
"""Brings what an attempt has made to where its level wants it; see `staged_of`, `keep_made` and `WriteOnce`."""


@dataclass(frozen=True)
class BatchRunner:
    """Processes attempts; called from several threads at once, each with its own attempt.

    Raises `RetryableError` when the attempt failed and left nothing that counts, `FatalError` when
    a person has to decide.
    """

    spouts: Mapping[str, Spout]
    sources: Mapping[str, Source]
    stores: Mapping[str, Target]
    processor: Processor
    clock: Clock
    is_over: StopSignal = field(default_factory=StopSignal)
    """Set when the run has ended without waiting any longer for its engine."""
    stage: Stage = staged_of
    refused: Callable[[str, BatchId, RefusedError], StoppedError] = refused_by
    """Makes the error of a state that can't take its rows."""
    _not_sifted: set[tuple[int, str]] = field(default_factory=set, init=False)
    """Txids and states whose rows an attempt of this run could not make as they are to be stored."""

    def run(self, batch: BatchId, plan: Plan, edges: BatchEdges, plan_ms: int) -> tuple[tuple[int, ...], Outcome]:
        """Return the acknowledged edge ids and the outcome, its updates staged as the pin needs them."""
        started = self.clock.monotonic()
        sifted = self._sifted(plan)
        whole = tuple(name for name in plan.diverts if name not in sifted)
        result = self._process(ProcessRequest(batch, plan.tries, plan.batch_time, edges, whole, sifted))
        self._check_wanted(batch)
        reached(CrashPoint.AFTER_PROCESSING, batch.txid)
        acknowledged = complete_edges(edges, result)
        self._verify_sources(plan)
        self._check_wanted(batch)
        bad = self._judge_bad_records(batch, result)
        here = [each for each in sifted if each in result.updates]  # all of what is made in the turn goes there
        left, parted = sifted_of(self.stores, batch, result.updates, here)
        updates, diverts = self.stage(self.stores, batch, plan.batch_time, left, whole)
        diverts = (*diverts, *parted)
        process_ms = round((self.clock.monotonic() - started) * 1000)
        outcome = Outcome(plan, result.manifests, bad, updates, plan_ms, process_ms, diverts, result.carried)
        return acknowledged, outcome

    def cancel(self, batch: BatchId) -> None:
        """Ask the engine to end an attempt that nobody wants any more."""
        self.processor.cancel(batch)

    def _process(self, request: ProcessRequest) -> ProcessResult:
        """Let the engine process it; what it says of the records is said of the attempt, for the ledger."""
        batch = request.batch
        try:
            return self.processor.process(request)
        except StagingRefusedError as error:
            if error.state in request.sifted:
                self._not_sifted.add((batch.txid, error.state))
                raise RetryableError(
                    f"what state {error.state!r} is to have of {batch} can't be made, so that its rows can't be told "
                    f"apart: {error}. The next attempt takes all of them out, as does {DIVERT} {batch.txid} "
                    f"--state {shlex.quote(error.state)} --all-rows; nothing was staged"
                ) from error
            raise self.refused(error.state, batch, error) from error
        except (UnprocessableError, UncomputableError) as error:
            refusal = Refusal(batch.txid, batch.attempt, StopKind.UNPROCESSABLE, "", str(error))
            raise StoppedError(str(error), refusal) from error

    def _sifted(self, plan: Plan) -> tuple[str, ...]:
        """Return the states of which only refused rows are taken out, as far as that can be told before the turn.

        All of one go whose new values others are made of, or whose rows an attempt before this could not make.
        """
        shown = self.processor.shown if isinstance(self.processor, TurnProcessor) else frozenset[str]()
        return tuple(
            name
            for name in plan.sifted
            if name not in shown
            and (plan.txid, name) not in self._not_sifted
            and self.stores[name].capabilities.sifting is not None
        )

    def _check_wanted(self, batch: BatchId) -> None:
        if self.is_over.is_set():
            raise RetryableError(f"{batch}: the engine came back after the end of the run; nothing was staged")

    def _verify_sources(self, plan: Plan) -> None:
        for name, source in self.sources.items():
            with about(f"stream {name!r}"):
                source.verify([item.range for item in plan.ranges if item.spout == name and item.range.width])

    def _judge_bad_records(self, batch: BatchId, result: ProcessResult) -> tuple[DeadLetter, ...]:
        """Return what goes to the dead letters, in order, or raise if the spout's policy says so."""
        letters = sorted(result.bad_records, key=lambda bad: (bad.spout, bad.record.id, bad.record.offset))
        for bad in letters:
            if self.spouts[bad.spout].on_bad_record is BadRecord.FAIL:
                with about(f"stream {bad.spout!r}"):
                    raise _undecodable(batch, bad, self.sources.get(bad.spout))
        return tuple(self._with_places(letters))

    def _with_places(self, letters: Sequence[DeadLetter]) -> Iterator[DeadLetter]:
        """Yield what is kept of bad records; its reason begins with the place, where users know that by another name.

        Records come in the order of their positions, and those of one partition together.
        """
        for (spout, id_), group in groupby(letters, lambda letter: (letter.spout, letter.record.id)):
            source, of_it = self.sources.get(spout), list(group)
            if not isinstance(source, NamesPlaces):
                yield from of_it
                continue
            places = source.places_of(id_, [letter.record.offset for letter in of_it])
            for letter, place in zip(of_it, places, strict=True):
                yield replace(letter, record=replace(letter.record, reason=f"{place}: {letter.record.reason}"))


def _undecodable(batch: BatchId, bad: DeadLetter, source: Source | None) -> StoppedError:
    record, way = bad.record, ""
    place = f"offset {record.offset} of partition {record.id.partition} of topic {record.id.topic!r}"
    if isinstance(source, NamesPlaces):
        (place,), way = source.places_of(record.id, [record.offset]), f"{source.way_to_mend}. "
    where = f"stream {bad.spout!r}: the record at {place} does not decode ({record.reason})"
    return StoppedError(
        f"{where}. Nothing of its batch was applied. {way}Mend the stream's schema, where it has one, or "
        "set on_bad_record=BadRecord.DEAD_LETTER: such records are then kept in the ledger's dead letters.",
        Refusal(batch.txid, batch.attempt, StopKind.BAD_RECORD, "", where),
    )
