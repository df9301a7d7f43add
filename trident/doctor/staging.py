"""Staged rows that nothing will read again: of txids that are done, and of attempts that were dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, inspect, text

from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.view import LedgerView
from trident.doctor.clients import reading
from trident.doctor.databases import DatabaseAt
from trident.doctor.findings import Finding, ok, span, warning
from trident.doctor.standing import standing_of
from trident.doctor.subject import Subject
from trident.state.tables.names import quote_table
from trident.state.tables.staging import ATTEMPT, TXID

_MOST_TXIDS: Final = 50
"""Of so many attempts that are not done the ledger is asked whether they were dropped."""
_OFTEN: Final = 100
"""So many txids a coordinator may be behind with deleting what is done: it does so every fifty."""
_BLOBS: Final = text("""
    SELECT state, txid, attempt, count(*) FROM trident_staged_blob WHERE topology = :topology
    GROUP BY state, txid, attempt""")


@dataclass(frozen=True, slots=True)
class Staged:
    """How much lies there of one attempt."""

    txid: int
    attempt: int
    count: int


@dataclass(frozen=True, slots=True)
class Orphans:
    """What nothing will read again."""

    done: int
    dropped: int
    oldest: Staged | None
    behind: int
    """How many txids the oldest one is behind what is done."""


def look_at_staging(subject: Subject, at: DatabaseAt) -> Iterator[Finding]:
    """Say how many rows are left behind in the staging tables of one database, and how old they are."""
    standing, view = standing_of(subject), subject.ledger.view()
    if standing is None:
        return
    with reading(at.database) as connection:
        found = [(f"staging of {each.name!r}", _rows(connection, each.place.staging)) for each in at.tables]
        if at.has_ledger:
            found += _blobs(connection, subject.topology)
    for about, staged in found:
        orphans = orphans_of(staged, standing.done, _dropped(view, subject.topology, staged, standing.done))
        since = _since(view, subject.topology, orphans.oldest) if orphans.oldest is not None else None
        age = None if since is None else (subject.clock.now() - since).total_seconds()
        yield said_of(about, orphans, age, is_held=standing.is_held)


def orphans_of(staged: Sequence[Staged], done: int, dropped: frozenset[int]) -> Orphans:
    """Tell what is in use from what is left behind."""
    of_done = [each for each in staged if each.txid <= done]
    of_dropped = [each for each in staged if each.txid > done and each.attempt in dropped]
    oldest = min((*of_done, *of_dropped), key=lambda each: (each.txid, each.attempt), default=None)
    behind = 0 if oldest is None else max(done - oldest.txid, 0)
    return Orphans(_sum(of_done), _sum(of_dropped), oldest, behind)


def said_of(about: str, orphans: Orphans, seconds: float | None, *, is_held: bool) -> Finding:
    """Return what left rows mean."""
    if orphans.oldest is None:
        return ok(about, "nothing is left behind")
    age = "" if seconds is None else f", {span(seconds)} old"
    found = (
        f"{orphans.done:,} of txids that are done and {orphans.dropped:,} of dropped attempts are left, the oldest of "
        f"txid {orphans.oldest.txid}, attempt {orphans.oldest.attempt}{age}"
    )
    if orphans.behind <= _OFTEN:
        return ok(about, f"{found}; they go every fifty txids")
    return warning(
        about,
        found,
        "no result depends on them; they take room",
        "look for warnings of the topology, which deletes them while it runs" if is_held else "start the topology",
    )


def _rows(connection: Connection, staging: str) -> list[Staged]:
    schema, _, name = staging.rpartition(".")
    if not inspect(connection).has_table(name, schema=schema or None):
        return []
    counted = f"SELECT {TXID}, {ATTEMPT}, count(*) FROM {quote_table(staging)} GROUP BY {TXID}, {ATTEMPT}"
    return [Staged(*row) for row in connection.execute(text(counted))]


def _blobs(connection: Connection, topology: str) -> list[tuple[str, list[Staged]]]:
    if not inspect(connection).has_table("trident_staged_blob"):
        return []
    by_state: dict[str, list[Staged]] = {}
    for state, txid, attempt, count in connection.execute(_BLOBS, {"topology": topology}):
        by_state.setdefault(state, []).append(Staged(txid, attempt, count))
    return [(f"staging of {state!r} beside the ledger", staged) for state, staged in sorted(by_state.items())]


def _dropped(view: LedgerView, topology: str, staged: Sequence[Staged], done: int) -> frozenset[int]:
    """Return the attempts that the ledger knows as dropped, or not at all."""
    asked = sorted({each.txid for each in staged if each.txid > done})[:_MOST_TXIDS]
    live = {
        attempt.attempt
        for txid in asked
        for attempt in view.txid(topology, txid).attempts
        if attempt.status != PlanStatus.DROPPED
    }
    return frozenset(each.attempt for each in staged if each.txid in asked) - live


def _since(view: LedgerView, topology: str, oldest: Staged) -> datetime | None:
    attempts = view.txid(topology, oldest.txid).attempts
    return next((each.created_at for each in attempts if each.attempt == oldest.attempt), None)


def _sum(staged: Sequence[Staged]) -> int:
    return sum(each.count for each in staged)
