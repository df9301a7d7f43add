"""A batch's work in its turn: what the engine makes of the values that the txid before has left, staged for the pin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from trident.base.clock import Clock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import RetryableError, UncomputableError
from trident.base.identity import BatchId
from trident.base.signals import StopSignal
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.processor import (
    StagingRefusedError,
    TurnProcessor,
    TurnRequest,
    UnprocessableError,
)
from trident.coordinators.batches.staging import refused_by, staged_of
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Refusal, StopKind
from trident.state.capabilities import diverting_of
from trident.state.staged import AppliedUpdates, HeldUpdates
from trident.state.target import Target


@dataclass(frozen=True)
class BatchTurn:
    """See `TurnWorker`."""

    stores: Mapping[str, Target]
    processor: TurnProcessor
    clock: Clock
    is_over: StopSignal
    """Set when the run has ended without waiting any longer for its engine."""

    def work(self, batch: BatchId, outcome: Outcome) -> Outcome:
        """See `TurnWorker.work`."""
        reached(CrashPoint.BEFORE_TURN_WORK, batch.txid)
        started = self.clock.monotonic()
        plan = outcome.plan
        rows = self._rows(batch, outcome)
        made = self._made(TurnRequest(batch, plan.batch_time, outcome.carried, rows, plan.diverts))
        if self.is_over.is_set():
            raise RetryableError(f"{batch}: the engine came back after the end of the run; nothing was staged")
        updates, diverts = staged_of(self.stores, batch, plan.batch_time, made, plan.diverts)
        reached(CrashPoint.AFTER_TURN_WORK, batch.txid)
        return replace(
            outcome,
            updates={**outcome.updates, **updates},
            diverts=(*outcome.diverts, *diverts),
            carried={},
            turn_ms=round((self.clock.monotonic() - started) * 1000),
        )

    def _rows(self, batch: BatchId, outcome: Outcome) -> dict[str, pa.Table]:
        """Return the staged rows of the states that are shown, but for one whose rows a person has taken out."""
        rows = {}
        for name in sorted(self.processor.shown):
            updates = outcome.updates.get(name)  # none of a state that is made in the turn itself
            if updates is not None and name not in outcome.plan.diverts:
                assert not isinstance(updates, AppliedUpdates), "nothing is applied before the pin"
                rows[name] = diverting_of(self.stores[name]).staged_rows(batch, updates)
        return rows

    def _made(self, request: TurnRequest) -> Mapping[str, HeldUpdates]:
        batch = request.batch
        try:
            return self.processor.process_turn(request)
        except StagingRefusedError as error:
            raise refused_by(error.state, batch, error) from error
        except (UnprocessableError, UncomputableError) as error:
            refusal = Refusal(batch.txid, batch.attempt, StopKind.UNPROCESSABLE, "", str(error))
            raise StoppedError(str(error), refusal) from error
