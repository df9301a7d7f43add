"""What a processed attempt has come to: all that its pin will say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from trident.base.ranges import RangeManifest
from trident.coordinators.decided import Decision, Diverted
from trident.coordinators.pinned import Commit, DeadLetter, Pin, StatePin
from trident.coordinators.planned import Plan
from trident.state.staged import AppliedUpdates, StagedUpdates, WrittenUpdates


@dataclass(frozen=True)
class Outcome:
    """A processed attempt: all that its pin will say, and its staged updates."""

    plan: Plan
    manifests: tuple[tuple[str, RangeManifest], ...]
    dead_letters: tuple[DeadLetter, ...]
    updates: Mapping[str, StagedUpdates | AppliedUpdates]
    plan_ms: int
    process_ms: int
    diverts: tuple[Diverted, ...] = ()
    carried: Mapping[str, pa.Table] = field(default_factory=dict)
    """What the work in the turn is made of; nothing of it is pinned."""
    turn_ms: int = 0
    """How long that work took; 0 of a topology that has none."""
    reapply: Decision | None = None
    """Of a txid that puts diverted rows back: the decision to do so."""

    @property
    def records(self) -> int:
        """How many records were read, dead letters included."""
        return sum(manifest.count for _, manifest in self.manifests)

    @property
    def keys(self) -> int:
        """How many rows are staged, over all states."""
        return sum(updates.count for updates in self.updates.values())

    def pin(self) -> Pin:
        """Return the decision to be stored."""
        states = tuple(
            StatePin(name, updates.count, updates.writes if isinstance(updates, WrittenUpdates) else ())
            for name, updates in self.updates.items()
        )
        return Pin(self.plan, self.manifests, states, self.dead_letters, self.diverts, self.reapply)

    def commit(self, commit_ms: int) -> Commit:
        """Return the record of the finished txid, whose turn took so long."""
        plan = self.plan
        return Commit(
            txid=plan.txid,
            attempt=plan.attempt,
            tries=plan.tries,
            records=self.records,
            dead_letters=len(self.dead_letters),
            keys=self.keys,
            plan_ms=self.plan_ms,
            process_ms=self.process_ms,
            commit_ms=commit_ms,
        )


def outcome_of_pin(pin: Pin) -> Outcome:
    """Return the outcome of a batch that another coordinator pinned; its durations are unknown (0)."""
    updates = {item.state: item.updates for item in pin.states}
    return Outcome(pin.plan, pin.manifests, pin.dead_letters, updates, 0, 0)
