"""A topology's entry in a SQL ledger: registered once, compared at every start."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, and_, update

from trident.base.errors import FatalError
from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision
from trident.coordinators.ledger.rules.decisions import check_drop
from trident.coordinators.ledger.rules.dropping import without_state
from trident.coordinators.ledger.rules.evolving import described
from trident.coordinators.ledger.rules.fencing import check_life, check_owner
from trident.coordinators.ledger.rules.renaming import states_renamed, with_renamed
from trident.coordinators.ledger.rules.specs import (
    added_to,
    births_before,
    merged_births,
    merged_spec,
    merged_starts,
)
from trident.coordinators.ledger.rules.topics import follow_topics
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.asserted import set_progress, write_one
from trident.coordinators.ledger.sql.births import write_births
from trident.coordinators.ledger.sql.decision_reads import read_decisions
from trident.coordinators.ledger.sql.decision_writes import is_decided, write_decision
from trident.coordinators.ledger.sql.dialect import insert_new
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.reads import (
    known_births,
    lock_fence,
    lock_progress,
    read_births,
    read_pin,
    read_snapshot,
    read_spec,
    read_starts,
    read_used_up,
)
from trident.coordinators.ledger.sql.tables import INCARNATION, PIN, PROGRESS, TOPOLOGY
from trident.coordinators.planned import StartPosition
from trident.coordinators.registered import Birth, Snapshot, TopologySpec


def register(connection: Connection, epoch: Epoch, spec: TopologySpec) -> Snapshot:
    """Record a new topology or check a known one; see `Ledger.register`."""
    lock_fence(connection, spec.name, epoch)
    incarnation = secrets.token_hex(8)
    entry = {
        "name": spec.name,
        "incarnation": incarnation,
        "spec": codec.SPEC.encode(spec),
        "created_at": DatabaseNow(),
    }
    is_new = insert_new(connection, TOPOLOGY, entry)
    forgotten_in = _first_incarnation(connection, Owner(spec.name, incarnation)) if is_new else 0
    progress = lock_progress(connection, spec.name, epoch)
    stored, owner = read_spec(connection, spec.name), Owner(spec.name, progress.incarnation)
    if read_births(connection, owner) is None:
        write_births(connection, owner, births_before(stored))
    before, begun = known_births(connection, owner), read_starts(connection, owner)
    now = described(stored, before, progress, spec)
    known, starts = follow_topics(now.stored, now.given, begun, lambda: read_snapshot(connection, spec.name, progress))
    if starts != begun:
        _write_starts(connection, owner, starts)
    merged = merged_spec(known, now.given)
    if merged != stored:
        write_spec(connection, merged)
    if now.births != before:
        write_births(connection, owner, now.births)
    added = added_to(None if is_new else stored, spec)
    added = replace(added, columns=now.columns, forgotten_in=forgotten_in)
    return replace(read_snapshot(connection, spec.name, progress), added=added)


def snapshot(connection: Connection, epoch: Epoch, topology: str) -> Snapshot:
    """Read all that is open of a known topology; see `Ledger.snapshot`."""
    return read_snapshot(connection, topology, lock_progress(connection, topology, epoch))


def set_starts(connection: Connection, owner: Owner, epoch: Epoch, starts: Sequence[StartPosition]) -> None:
    """Store where the incarnation starts; see `Ledger.set_starts`."""
    progress = lock_progress(connection, owner.topology, epoch)
    check_owner(progress, owner)
    _write_starts(connection, owner, merged_starts(read_starts(connection, owner), starts))


def set_births(connection: Connection, owner: Owner, epoch: Epoch, births: Sequence[Birth]) -> None:
    """Record since when the incarnation has some states; see `Ledger.set_births`."""
    check_life(lock_progress(connection, owner.topology, epoch), owner)
    write_births(connection, owner, merged_births(known_births(connection, owner), births))


def drop(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision) -> None:
    """Take a state or sink out of what is known of the topology; see `Ledger.drop`."""
    progress = lock_progress(connection, owner.topology, epoch)
    if is_decided(connection, progress, owner, epoch, decision):
        return
    check_drop(progress, decision, read_decisions(connection, owner, progress.done))
    stored = read_spec(connection, owner.topology)
    spec, births = without_state(stored, known_births(connection, owner), progress, decision)
    write_spec(connection, spec)
    write_births(connection, owner, births)
    write_decision(connection, owner, epoch, decision, finished=True)


def described_as(connection: Connection, epoch: Epoch, topology: str) -> TopologySpec:
    """Return what is stored of a known topology; see `Ledger.described`."""
    lock_progress(connection, topology, epoch)
    return read_spec(connection, topology)


def rename(connection: Connection, owner: Owner, epoch: Epoch, decision: Decision, renames: Mapping[str, str]) -> None:
    """Give states other names in all that is in force; see `Ledger.rename`."""
    progress = lock_progress(connection, owner.topology, epoch)
    if is_decided(connection, progress, owner, epoch, decision):
        return
    check_drop(progress, decision, read_decisions(connection, owner, progress.done))
    stored = read_spec(connection, owner.topology)
    spec, births = with_renamed(stored, known_births(connection, owner), renames, progress.done)
    write_spec(connection, spec)
    write_births(connection, owner, births)
    pin = read_pin(connection, owner, progress, progress.done) if progress.done_attempt else None
    if pin is not None:  # history may have been let go of
        states = codec.STATES.encode(states_renamed(pin.states, renames))
        write_one(connection, update(PIN).where(_pin_of(owner, progress.done)).values(states=states))
    write_decision(connection, owner, epoch, decision, finished=True)


def new_incarnation(
    owner: Owner,
    birth_txid: int,
    reason: str,
    births: Sequence[Birth] = (),
    starts: Sequence[StartPosition] | None = None,
) -> dict[str, object]:
    """Return the row of an incarnation; None: its start positions are to be asked."""
    return {
        "topology": owner.topology,
        "id": owner.incarnation,
        "birth_txid": birth_txid,
        "created_at": DatabaseNow(),
        "reason": reason,
        "starts": None if starts is None else codec.STARTS.encode(tuple(starts)),
        "status": "open",
        "births": codec.BIRTHS.encode(tuple(births)),
    }


def _first_incarnation(connection: Connection, owner: Owner) -> int:
    """Begin at the first txid; where one of the name was let go of, above all that it has used up.

    Returns in which epoch that was, 0 where none was.
    """
    used_up = read_used_up(connection, owner.topology)
    last, forgotten_in = used_up or (0, 0)
    progress = {"incarnation": owner.incarnation, "done": last, "done_attempt": 0, "last_txid": last}
    if used_up is not None:
        set_progress(connection, owner.topology, progress)
    written = (
        insert_new(connection, INCARNATION, new_incarnation(owner, last, "first start")),
        used_up is not None
        or insert_new(connection, PROGRESS, {"topology": owner.topology, "last_attempt": 0, **progress}),
    )
    if written != (True, True):
        raise FatalError(
            f"the ledger is damaged: topology {owner.topology!r} is not in it, but its progress is. Nothing was "
            "written; restore the ledger from a backup together with the states beside it."
        )
    return forgotten_in


def _write_starts(connection: Connection, owner: Owner, starts: Sequence[StartPosition] | None) -> None:
    write_one(
        connection,
        update(INCARNATION)
        .where(INCARNATION.c.topology == owner.topology, INCARNATION.c.id == owner.incarnation)
        .values(starts=None if starts is None else codec.STARTS.encode(tuple(starts))),
    )


def _pin_of(owner: Owner, txid: int) -> ColumnElement[bool]:
    return and_(PIN.c.topology == owner.topology, PIN.c.incarnation == owner.incarnation, PIN.c.txid == txid)


def write_spec(connection: Connection, spec: TopologySpec) -> None:
    """Replace what is described of a topology."""
    encoded = codec.SPEC.encode(spec)
    write_one(connection, update(TOPOLOGY).where(TOPOLOGY.c.name == spec.name).values(spec=encoded))
