"""What a SQL ledger knows of refusals and decisions that are open: those of this life, about txids not done."""

from __future__ import annotations

from sqlalchemy import Connection, Row, select

from trident.base.identity import Owner
from trident.coordinators.decided import Decision, DecisionKind, Refusal, StopKind
from trident.coordinators.ledger.sql.tables import DECISION, REFUSAL


def read_refusal(connection: Connection, owner: Owner, done: int) -> Refusal | None:
    """Return why the last coordinator that said so stopped, unless a person has decided since."""
    row = connection.execute(
        select(REFUSAL)
        .where(
            REFUSAL.c.topology == owner.topology,
            REFUSAL.c.incarnation == owner.incarnation,
            REFUSAL.c.txid > done,
            REFUSAL.c.settled_at.is_(None),
        )
        .order_by(REFUSAL.c.epoch.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else refusal_of(row)


def read_decisions(connection: Connection, owner: Owner, done: int) -> tuple[Decision, ...]:
    """Return the decisions that are not finished, oldest first."""
    rows = connection.execute(
        select(DECISION)
        .where(
            DECISION.c.topology == owner.topology,
            DECISION.c.incarnation == owner.incarnation,
            DECISION.c.txid > done,
            DECISION.c.finished_at.is_(None),
        )
        .order_by(DECISION.c.epoch)
    )
    return tuple(decision_of(row) for row in rows)


def refusal_of(row: Row[tuple[object, ...]]) -> Refusal:
    """Return a stored refusal as the value that was recorded."""
    return Refusal(row.txid, row.attempt, StopKind(row.kind), row.state, row.reason)


def decision_of(row: Row[tuple[object, ...]]) -> Decision:
    """Return a stored decision as the value that was recorded."""
    return Decision(DecisionKind(row.kind), row.txid, row.attempt, row.state, row.decided_by)
