"""What a person asks for, before it is decided."""

from __future__ import annotations

from dataclasses import dataclass

from trident.coordinators.decided import Decision, DecisionKind, ResetDecision, ResetStart
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.registered import Snapshot


@dataclass(frozen=True, slots=True)
class WantedDecision:
    """What a person asks for about a txid."""

    kind: DecisionKind
    txid: int
    state: str = ""
    rows_lost: bool = False
    """Of a divert of what waits in a sink: rows of it are gone, and are given up."""

    def is_met_by(self, decision: Decision) -> bool:
        """Tell whether that decision is this one."""
        # what can't be told apart was recorded as the divert of all
        is_whole = self.kind is DecisionKind.DIVERT_REFUSED and decision.kind is DecisionKind.DIVERT
        return self._is_about(decision) and (decision.kind is self.kind or is_whole)

    def _is_about(self, decision: Decision) -> bool:
        return (decision.txid, decision.state) == (self.txid, self.state)

    def made(self, snapshot: Snapshot) -> Decision:
        """Return the decision, which is about the attempt that is pinned, or else about the one that was refused.

        Where nothing was refused since what is held it is about the attempt that this is held for.
        """
        refusal, pin = snapshot.refusal, snapshot.pin
        attempt = refusal.attempt if refusal is not None else 0
        if refusal is None or not refusal.blocks:
            held = (each for each in snapshot.decisions if each.kind is DecisionKind.DIVERT_REFUSED)
            attempt = next((each.attempt for each in held if self._is_about(each)), attempt)
        if pin is not None and pin.txid == self.txid:
            attempt = pin.attempt
        return Decision(self.kind, self.txid, attempt, self.state, holder_name())


@dataclass(frozen=True, slots=True)
class WantedReset:
    """What a person asks for of a reset, with the id of the incarnation to open."""

    incarnation: str
    keep_rows: bool
    start: str | None
    """A `ResetStart`, an ISO time or `StartOffsets`. None, nothing was named: kept rows are resumed, or begin where a
    reset said that has not begun yet; emptied ones begin as the spouts say."""
    ledger_lost: bool = False
    """The ledger was lost or put back: states of incarnations and epochs that it has never had are its own."""

    @property
    def resumes(self) -> bool:
        """Whether kept rows are counted on from, which takes a ledger that knows how far they have read."""
        return self.keep_rows and self.start in (None, ResetStart.RESUME)

    def replaces(self, found: ResetDecision | None) -> bool:
        """Tell whether an open reset gives way to this one: rows that it was to keep may be gone for ever."""
        return found is not None and found.states == "adopt" and not self.keep_rows
