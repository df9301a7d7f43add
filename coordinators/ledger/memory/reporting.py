"""Errors in a memory ledger: the rows of a SQL ledger's, timed by the ledger's own clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Final

from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.view import ErrorRow, error_in_words
from trident.coordinators.reported import MOST_ERRORS, SHORTEST_KEPT, ErrorReport
from trident.state.memory.database import MemoryTransaction

_ERRORS: Final = "trident_error"
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class KeptError:
    """Equal errors as they are kept: the last one, how many there were, and when, by the ledger's clock."""

    incarnation: str
    report: ErrorReport
    epoch: int
    last_at: float


def report(
    transaction: MemoryTransaction, owner: Owner, epoch: Epoch, reports: Sequence[ErrorReport], now: float
) -> None:
    """Add to the rows of these errors; the caller has checked who writes. See `Ledger.report`."""
    table = transaction.table(_ERRORS)
    for each in reports:
        key = owner.topology, owner.incarnation, each.id
        known = table.get(key)
        count = known.report.count if isinstance(known, KeptError) else 0
        table[key] = KeptError(owner.incarnation, replace(each, count=count + each.count), epoch.number, now)
    for key, _ in _of(transaction, owner.topology)[MOST_ERRORS:]:
        del table[key]


def errors_of(transaction: MemoryTransaction, topology: str) -> list[KeptError]:
    """Return what is kept of a topology, the newest first."""
    return [kept for _, kept in _of(transaction, topology)]


def recent_of(kept: Sequence[KeptError], now: float) -> list[KeptError]:
    """Return those of the last hour, the newest first."""
    return [each for each in kept if each.last_at >= now - SHORTEST_KEPT.total_seconds()]


def row_of(topology: str, kept: KeptError) -> ErrorRow:
    """Return an error as a view has it."""
    return ErrorRow(
        topology=topology,
        incarnation=kept.incarnation,
        id=kept.report.id,
        epoch=kept.epoch,
        first_at=None,
        last_at=None,
        **asdict(kept.report),
    )


def said(kept: KeptError) -> str:
    """Return an error as a status has it."""
    found = kept.report
    return error_in_words(found.place, found.kind, found.count, found.text)


def let_go_of_old(transaction: MemoryTransaction, topology: str, age: timedelta, now: float) -> int:
    """Delete what nobody has seen again for so long, but for the last hour's; returns how many rows."""
    oldest = now - max(age, SHORTEST_KEPT).total_seconds()
    old = [key for key, kept in _of(transaction, topology) if kept.last_at < oldest]
    for key in old:
        del transaction.table(_ERRORS)[key]
    return len(old)


def _of(transaction: MemoryTransaction, topology: str) -> list[tuple[_Key, KeptError]]:
    found: list[tuple[_Key, KeptError]] = []
    for key, kept in transaction.table(_ERRORS).items():
        assert isinstance(key, tuple)
        assert isinstance(kept, KeptError)
        if key[0] == topology:
            found.append((key, kept))
    return sorted(found, key=lambda item: (-item[1].last_at, item[0]))
