"""How far the sinks of a topology that send later are behind, and whether the next batch has to wait for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

MOST_BEHIND: Final = 20
"""How many done txids a sink may have to send while others are pinned: what waits lies in the ledger's database."""
_UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class Backlogs:
    """For each sink the txid up to which it has sent all, as far as it has said; pure."""

    sent: tuple[tuple[str, int], ...]
    at_work: frozenset[str] = frozenset()

    @classmethod
    def of(cls, names: frozenset[str]) -> Backlogs:
        """Return them at the beginning of a run, when nobody knows what earlier ones have left."""
        return cls(tuple((name, _UNKNOWN) for name in sorted(names)))

    def asked(self, done: int) -> tuple[Backlogs, tuple[str, ...]]:
        """Return them at work as far as there is anything for them, and which of them are to begin."""
        behind = tuple(name for name, sent in self.sent if sent < done and name not in self.at_work)
        return (replace(self, at_work=self.at_work.union(behind)), behind) if behind else (self, ())

    def answered(self, name: str, sent: int) -> Backlogs:
        """Return them once one has said how far it has sent."""
        now = tuple((each, sent if each == name else before) for each, before in self.sent)
        return Backlogs(now, self.at_work - {name})

    def hold_back(self, done: int) -> bool:
        """Tell whether one is so far behind that nothing more should be laid down for it."""
        return any(done - sent > MOST_BEHIND for _, sent in self.sent)


NO_BACKLOGS: Final = Backlogs(())
