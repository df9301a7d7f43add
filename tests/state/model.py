"""A perfect state, kept as the list of batches that are in: it shares no code with the stores that it judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trident.state.layout import StateKind

Key = str | None
Values = tuple[int | None, int | None, int | None, int | None]
"""What a batch brings for one key: added, least, most, last."""


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
    attempt_before: int = 0
    changes: dict[Key, tuple[Change, ...]] = field(default_factory=dict)
    undone: dict[Key, int] = field(default_factory=dict)
    """Keys that an undo brought back, with the txid that they are of since: what was before that is lost."""

    def apply(self, txid: int, attempt: int, rows: Mapping[Key, Values]) -> None:
        assert txid == self.txid + 1
        for key, values in rows.items():
            self.changes[key] = (*self.changes.get(key, ()), Change(txid, values))
        self.txid, self.attempt, self.attempt_before = txid, attempt, self.attempt

    def undo(self, keys: Iterable[Key]) -> None:
        """Take the last batch, which changed these keys, back."""
        self.bring_back(keys, self.txid)
        self.txid, self.attempt = self.txid - 1, self.attempt_before

    def bring_back(self, keys: Iterable[Key], txid: int) -> None:
        for key in keys:
            left = tuple(Change(txid - 1, c.values) for c in self.changes.get(key, ()) if c.txid < txid)
            self.undone[key] = txid - 1
            self.changes[key] = left
            if not left:
                del self.changes[key]

    def is_new(self, key: Key, txid: int) -> bool:
        return all(change.txid >= txid for change in self.changes.get(key, ()))

    def repeat(self, txid: int, keys: Sequence[Key], rows: Mapping[Key, Values]) -> None:
        """Some keys got a batch once more: what a store without any txid does when it is repeated."""
        for key in keys:
            self.changes[key] = (*self.changes.get(key, ()), Change(txid, rows[key]))

    def reborn(self, birth: int, *, keep: bool) -> None:
        self.incarnation += 1
        self.birth = self.txid = birth
        self.attempt = 0
        if not keep:
            self.changes, self.undone = {}, {}

    def rows(self) -> dict[Key, dict[str, object]]:
        return {key: self.row(key, changes) for key, changes in self.changes.items()}

    def row(self, key: Key, changes: Sequence[Change]) -> dict[str, object]:
        shown: dict[str, object] = named("", changes)
        if self.kind is not StateKind.NON_TRANSACTIONAL:
            shown["txid"] = changes[-1].txid
        if self.kind is StateKind.OPAQUE:
            is_undone = self.undone.get(key) == changes[-1].txid
            before = [change for change in changes if is_undone or change.txid < changes[-1].txid]
            shown |= named("previous_", before)
        return shown

    def copy(self) -> Model:
        return replace(self, changes=dict(self.changes), undone=dict(self.undone))


def named(prefix: str, changes: Sequence[Change]) -> dict[str, object]:
    added, least, most = ([v for c in changes if (v := c.values[n]) is not None] for n in range(3))
    return {
        f"{prefix}added": sum(added) if added else None,
        f"{prefix}least": min(least, default=None),
        f"{prefix}most": max(most, default=None),
        f"{prefix}last": changes[-1].values[3] if changes else None,  # a null too
    }
