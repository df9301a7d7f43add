"""When the next batch is planned: one immutable value, which follows what comes back."""

from __future__ import annotations

from typing import NamedTuple

from trident.coordinators.batches.flight import NEVER
from trident.coordinators.batches.pace import Pace
from trident.coordinators.planned import PartFull, Plan
from trident.coordinators.protocol.messages import Happened
from trident.coordinators.protocol.transitions import Word


class NextPlan(NamedTuple):
    """The moment of the next plan, if there is room for one then."""

    at: float = -NEVER
    """Not before then."""
    earliest: float = -NEVER
    part_full_since: float | None = -NEVER
    """Since when records wait for a fuller batch, at first for whoever was here before; None where none do."""

    def built(self, plan: Plan | PartFull | None, *, is_retry: bool, now: float) -> NextPlan:
        """Return it once the spouts were asked for a plan."""
        if not isinstance(plan, PartFull):
            return self if is_retry else self._replace(part_full_since=None)
        return self._replace(part_full_since=now) if self.part_full_since is None else self

    def heard(self, event: Happened, pace: Pace, live: int, now: float) -> NextPlan:
        """Return it after a word about one of so many live batches."""
        match event.word:
            case Word.PLANNED:
                moment = now + pace.emit_interval
                return self._replace(at=moment, earliest=moment)
            case Word.NOTHING_TO_PLAN:
                return self._replace(at=pace.looks_again(self.part_full_since, now))
            case Word.PROCESSED | Word.FAILED:
                return self.soon(now)
            case Word.COMMITTED | Word.FINISHED if pace.ends_caught_up and live == 1:
                return self.soon(now)  # what ends the run is a look that finds nothing when all is done
        return self

    def soon(self, now: float) -> NextPlan:
        """Return it where the next plan is wanted as early as may be."""
        return self._replace(at=min(self.at, max(now, self.earliest)))
