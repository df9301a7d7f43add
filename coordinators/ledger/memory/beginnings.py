"""How a topology's entry begins: at its first registration, and with each reset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trident.coordinators.decided import ResetDecision, ResetStart
from trident.coordinators.ledger.memory.rows import Entry, Rows
from trident.coordinators.ledger.rules import resets
from trident.coordinators.ledger.rules.evolving import described
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.rules.specs import added_to, births_of_reset, merged_spec
from trident.coordinators.ledger.rules.topics import follow_topics
from trident.coordinators.registered import Snapshot, TopologySpec
from trident.state.evolving import HeldColumns


def first_entry(spec: TopologySpec, incarnation: str, used_up: tuple[int, int, int] = (0, 0, 0)) -> Entry:
    """Return the entry of a topology that is new, above the numbers of one of its name that was let go of."""
    txid, attempt, _ = used_up
    progress = Progress(incarnation, txid, 0, None, None, txid, attempt, None)
    return Entry(spec, progress, txid, cleared=txid, incarnations=frozenset({incarnation}))


def registered(rows: Rows, spec: TopologySpec, draw_id: Callable[[], str]) -> Snapshot:
    """Record a new topology, or what a version makes of a known one; returns all that is open then."""
    found = rows.find(spec.name)
    columns: tuple[tuple[str, HeldColumns], ...] = ()
    if found is None:
        entry = first_entry(spec, draw_id(), rows.used_up(spec.name))
    else:
        now = described(found.spec, found.births, found.progress, spec)
        known, starts = follow_topics(now.stored, now.given, found.starts, found.snapshot)
        entry = found._replace(spec=merged_spec(known, now.given), births=now.births, starts=starts)
        columns = now.columns
    rows.put(entry)
    added = added_to(found.spec if found is not None else None, spec, columns)
    forgotten_in = rows.used_up(spec.name)[2] if found is None else 0
    return replace(entry.snapshot(), added=replace(added, forgotten_in=forgotten_in))


def reborn(entry: Entry, decision: ResetDecision) -> Entry:
    """Return an entry in the incarnation that was decided; what is of the topology itself stays."""
    progress = Progress(
        incarnation=decision.incarnation,
        done=decision.birth_txid,
        done_attempt=0,
        pinned=None,
        pinned_attempt=None,
        last_txid=max(entry.progress.last_txid, decision.birth_txid),
        last_attempt=entry.progress.last_attempt,
        reset_to=None,
    )
    goes_on = decision.states == "adopt" and decision.start == ResetStart.RESUME
    known, done = entry.incarnations | {decision.incarnation}, entry.done_plan
    return Entry(
        entry.spec,
        progress,
        decision.birth_txid,
        births=births_of_reset(entry.spec, entry.births, entry.progress.done, decision),
        starts=resets.starts_of_reset(decision, done.plan if done else None, entry.starts),
        own_reset=decision,
        cleared=entry.cleared if goes_on else decision.birth_txid,
        incarnations=known,
        refusals=entry.refusals,
        decisions=entry.decisions,
        activity=entry.activity,
        commands=entry.commands,
    )
