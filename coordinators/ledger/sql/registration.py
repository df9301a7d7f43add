"""A topology's entry in a SQL ledger: registered once, compared at every start."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlalchemy import Connection, select, update

from trident.base.errors import FatalError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.fencing import check_owner
from trident.coordinators.ledger.rules.specs import merged_spec, merged_starts
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.asserted import write_one
from trident.coordinators.ledger.sql.dialect import insert_new
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.reads import lock_fence, lock_progress, read_snapshot, read_starts
from trident.coordinators.ledger.sql.tables import INCARNATION, PROGRESS, TOPOLOGY
from trident.coordinators.registered import Snapshot, StartPosition, TopologySpec


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
    if insert_new(connection, TOPOLOGY, entry):
        _first_incarnation(connection, Owner(spec.name, incarnation))
    progress = lock_progress(connection, spec.name, epoch)
    _merge_spec(connection, spec)
    return read_snapshot(connection, spec.name, progress)


def snapshot(connection: Connection, epoch: Epoch, topology: str) -> Snapshot:
    """Read all that is open of a known topology; see `Ledger.snapshot`."""
    return read_snapshot(connection, topology, lock_progress(connection, topology, epoch))


def set_starts(connection: Connection, owner: Owner, epoch: Epoch, starts: Sequence[StartPosition]) -> None:
    """Store where the incarnation starts; see `Ledger.set_starts`."""
    progress = lock_progress(connection, owner.topology, epoch)
    check_owner(progress, owner)
    merged = merged_starts(read_starts(connection, owner), starts)
    write_one(
        connection,
        update(INCARNATION)
        .where(INCARNATION.c.topology == owner.topology, INCARNATION.c.id == owner.incarnation)
        .values(starts=codec.STARTS.encode(merged)),
    )


def new_incarnation(owner: Owner, birth_txid: int, reason: str) -> dict[str, object]:
    """Return the row of an incarnation without start positions."""
    return {
        "topology": owner.topology,
        "id": owner.incarnation,
        "birth_txid": birth_txid,
        "created_at": DatabaseNow(),
        "reason": reason,
        "starts": None,
        "status": "open",
    }


def _first_incarnation(connection: Connection, owner: Owner) -> None:
    progress = {
        "topology": owner.topology,
        "incarnation": owner.incarnation,
        "done": 0,
        "done_attempt": 0,
        "last_txid": 0,
        "last_attempt": 0,
    }
    written = (
        insert_new(connection, INCARNATION, new_incarnation(owner, 0, "first start")),
        insert_new(connection, PROGRESS, progress),
    )
    if written != (True, True):
        raise FatalError(
            f"the ledger is damaged: topology {owner.topology!r} is not in it, but its progress is. Nothing was "
            "written; restore the ledger from a backup together with the states beside it."
        )


def _merge_spec(connection: Connection, spec: TopologySpec) -> None:
    stored = codec.SPEC.decode(
        connection.execute(select(TOPOLOGY.c.spec).where(TOPOLOGY.c.name == spec.name)).scalar_one()
    )
    merged = merged_spec(stored, spec)
    if merged != stored:
        spec_now = codec.SPEC.encode(merged)
        write_one(connection, update(TOPOLOGY).where(TOPOLOGY.c.name == spec.name).values(spec=spec_now))
