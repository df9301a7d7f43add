"""Work in the commit turn, simulated: what one of the states gets is made there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.simulation.data import PlainTable, TopicProcessor, count, held_plain
from tests.simulation.hosting import Surroundings
from tests.simulation.invariants import Monitor
from tests.simulation.stores import SimulatedStore
from trident.base.identity import BatchId
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.decided import Diverted
from trident.state.rows import json_rows

_STATE = "second"


@dataclass(frozen=True)
class SimulatedTurn:
    """Counts and sums what the plan names, and looks at what the txid before it has left."""

    store: SimulatedStore
    monitor: Monitor

    def work(self, batch: BatchId, outcome: Outcome) -> Outcome:
        self.monitor.check_turn(batch)
        rows = PlainTable()
        for item in outcome.plan.ranges:
            span = item.range
            count(rows, span.id.partition, span.start, span.stop)  # the job that read it has judged what is bad
        made = held_plain(rows)
        if not any(item.state == _STATE for item in outcome.diverts):
            return replace(outcome, updates={**outcome.updates, _STATE: self.store.stage(batch, made)})
        diverted = Diverted(_STATE, json_rows(self.store.staged_rows(batch, made)))
        others = tuple(item for item in outcome.diverts if item.state != _STATE)
        return replace(outcome, diverts=(*others, diverted))


def with_turn_work(around: Surroundings, monitor: Monitor) -> Surroundings:
    """Return the surroundings of a topology that makes what the second state gets in the commit turn."""
    processor = TopicProcessor(around.processor.states, in_turn=_STATE)
    store = around.stores[_STATE]
    assert isinstance(store, SimulatedStore)
    return replace(around, processor=processor, turn=SimulatedTurn(store, monitor))
