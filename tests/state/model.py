"""A perfect state, kept as the list of batches that are in: it shares no code with the stores that it judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from trident.state.base import StateKind

Key = str | None
Values = tuple[int | None, int | None, int | None]
"""What a batch brings for one key: added, least, most."""


@dataclass(frozen=True)
class Change:
    """One batch's part of one key."""

    txid: int
    values: Values


@dataclass
class Model:
    """What the state should hold; `applied` is (txid, attempt) of the last batch, or its birth."""

    kind: StateKind
    incarnation: int = 0
    birth: int = 0
    txid: int = 0
    attempt: int = 0
    changes: dict[Key, tuple[Change, ...]] = field(default_factory=dict)

    def apply(self, txid: int, attempt: int, rows: Mapping[Key, Values]) -> None:
        assert txid == self.txid + 1
        for key, values in rows.items():
            self.changes[key] = (*self.changes.get(key, ()), Change(txid, values))
        self.txid, self.attempt = txid, attempt

    def repeat(self, txid: int, keys: Sequence[Key], rows: Mapping[Key, Values]) -> None:
        """Some keys got a batch once more: what a store without any txid does when it is repeated."""
        for key in keys:
            self.changes[key] = (*self.changes.get(key, ()), Change(txid, rows[key]))

    def reborn(self, birth: int, *, keep: bool) -> None:
        self.incarnation += 1
        self.birth = self.txid = birth
        self.attempt = 0
        if not keep:
            self.changes = {}

    def rows(self) -> dict[Key, dict[str, object]]:
        return {key: self.row(changes) for key, changes in self.changes.items()}

    def row(self, changes: Sequence[Change]) -> dict[str, object]:
        shown: dict[str, object] = named("", changes)
        if self.kind is not StateKind.NON_TRANSACTIONAL:
            shown["txid"] = changes[-1].txid
        if self.kind is StateKind.OPAQUE:
            before = [change for change in changes if change.txid < changes[-1].txid]
            shown |= named("previous_", before)
        return shown

    def copy(self) -> Model:
        return replace(self, changes=dict(self.changes))


def named(prefix: str, changes: Sequence[Change]) -> dict[str, object]:
    added, least, most = ([c.values[n] for c in changes if c.values[n] is not None] for n in range(3))
    return {
        f"{prefix}added": sum(added) if added else None,
        f"{prefix}least": min(least, default=None),
        f"{prefix}most": max(most, default=None),
    }
