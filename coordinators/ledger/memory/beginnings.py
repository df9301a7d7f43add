"""How a topology's entry begins: at its first registration, and with each reset."""

from __future__ import annotations

from trident.coordinators.decided import ResetDecision, ResetStart
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.ledger.rules import resets
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.rules.specs import births_of_reset
from trident.coordinators.registered import TopologySpec


def first_entry(spec: TopologySpec, incarnation: str) -> Entry:
    """Return the entry of a topology that is new."""
    progress = Progress(incarnation, 0, 0, None, None, 0, 0, None)
    return Entry(spec, progress, 0, incarnations=frozenset({incarnation}))


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
