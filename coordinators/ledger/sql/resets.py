"""A reset in a SQL ledger: first the decision, then, when every state has followed it, the new incarnation."""

from __future__ import annotations

from sqlalchemy import Connection, null, update

from trident.base.errors import FatalError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.ledger.rules.resets import check_open_reset, check_reset, is_repeated_reset
from trident.coordinators.ledger.sql.asserted import set_progress, write_one
from trident.coordinators.ledger.sql.batch_writes import write_drop
from trident.coordinators.ledger.sql.dialect import insert_new
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.reads import lock_progress, read_open_reset
from trident.coordinators.ledger.sql.registration import new_incarnation
from trident.coordinators.ledger.sql.tables import INCARNATION, RESET, TOPOLOGY


def decide_reset(connection: Connection, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
    """Record a decision before its first effect; see `Ledger.decide_reset`."""
    progress = lock_progress(connection, topology, epoch)
    if is_repeated_reset(topology, read_open_reset(connection, topology), decision):
        return
    check_reset(progress, decision)
    row = {
        "topology": topology,
        "incarnation": decision.incarnation,
        "birth_txid": decision.birth_txid,
        "states": decision.states,
        "start": decision.start,
        "epoch": epoch.number,
        "decided_at": DatabaseNow(),
    }
    if progress.incarnation == decision.incarnation or not insert_new(connection, RESET, row):
        raise MismatchError(
            f"topology {topology!r}: incarnation {decision.incarnation} was there before; a reset needs a new id. "
            "Nothing was written."
        )
    set_progress(connection, topology, {"reset_to": decision.incarnation})


def finish_reset(connection: Connection, epoch: Epoch, topology: str, decision: ResetDecision) -> None:
    """Open the decided incarnation; see `Ledger.finish_reset`."""
    progress = lock_progress(connection, topology, epoch)
    if progress.incarnation == decision.incarnation:
        return
    check_open_reset(topology, read_open_reset(connection, topology), decision)
    owner = Owner(topology, decision.incarnation)
    _close_incarnation(connection, Owner(topology, progress.incarnation), progress)
    if not insert_new(
        connection, INCARNATION, new_incarnation(owner, decision.birth_txid, f"reset: {decision.states}")
    ):
        raise FatalError(
            f"incarnation {owner.incarnation} of topology {topology!r} is there already; nothing was written"
        )
    set_progress(
        connection,
        topology,
        {
            "incarnation": decision.incarnation,
            "done": decision.birth_txid,
            "done_attempt": 0,
            "pinned": null(),
            "pinned_attempt": null(),
            "last_txid": max(progress.last_txid, decision.birth_txid),
            "reset_to": null(),
            "undoing": null(),
            "held": 0,
        },
    )
    write_one(connection, update(TOPOLOGY).where(TOPOLOGY.c.name == topology).values(incarnation=owner.incarnation))
    write_one(
        connection,
        update(RESET)
        .where(RESET.c.topology == topology, RESET.c.incarnation == owner.incarnation)
        .values(finished_at=DatabaseNow()),
    )


def _close_incarnation(connection: Connection, owner: Owner, progress: Progress) -> None:
    write_drop(connection, owner, progress.done + 1)
    write_one(
        connection,
        update(INCARNATION)
        .where(INCARNATION.c.topology == owner.topology, INCARNATION.c.id == owner.incarnation)
        .values(status="closed"),
    )
