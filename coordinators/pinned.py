"""What is decided of a txid: its pin with dead letters, and the word that it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from trident.base.ranges import BadRecordRow, RangeManifest
from trident.base.writes import WriteManifest
from trident.coordinators.decided import Decision, Diverted
from trident.coordinators.planned import Plan
from trident.state.staged import AppliedUpdates, WrittenUpdates


@dataclass(frozen=True, slots=True)
class StatePin:
    """What a pin says of one state: its writes, none when the updates were part of the pin's transaction."""

    state: str
    rows: int
    writes: tuple[WriteManifest, ...] = ()

    @property
    def updates(self) -> WrittenUpdates | AppliedUpdates:
        """What the state was given: writes that can be read again, or only how many rows the pin applied itself."""
        return WrittenUpdates(self.writes) if self.writes or not self.rows else AppliedUpdates(self.rows)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that did not decode, kept with the batch that excluded it."""

    spout: str
    record: BadRecordRow


@dataclass(frozen=True, slots=True)
class Pin:
    """The durable decision that a txid commits with exactly this plan and these manifests."""

    plan: Plan
    manifests: tuple[tuple[str, RangeManifest], ...]
    """(spout, manifest) pairs, one per edge."""
    states: tuple[StatePin, ...]
    dead_letters: tuple[DeadLetter, ...] = field(default=(), repr=False)
    diverts: tuple[Diverted, ...] = ()
    """What held decisions of a person took out of this attempt, by state."""
    reapply: Decision | None = None
    """Of a txid that puts diverted rows back: the decision to do so, which is recorded with it."""

    @property
    def txid(self) -> int:
        """The txid that is decided."""
        return self.plan.txid

    @property
    def attempt(self) -> int:
        """The attempt that it commits with."""
        return self.plan.attempt

    def of(self, state: str) -> StatePin | None:
        """Return what it says of one state, None of a state that is younger than it."""
        return next((item for item in self.states if item.state == state), None)


@dataclass(frozen=True, slots=True)
class Commit:
    """What is recorded of a txid that is done; durations are in milliseconds."""

    txid: int
    attempt: int
    tries: int
    records: int
    dead_letters: int
    keys: int
    plan_ms: int
    process_ms: int
    commit_ms: int

    def timed(self, took_ms: Callable[[], int] | None) -> Commit:
        """Return it with what its commit has taken by now, if there is somebody to say so."""
        return self if took_ms is None else replace(self, commit_ms=took_ms())
