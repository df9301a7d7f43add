"""What a SQL ledger knows of refusals and decisions: the open ones of this life, and the rows that were diverted."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Row, select

from trident.base.identity import Owner
from trident.coordinators.decided import Decision, DecisionKind, Diverted, Refusal, RowsOf, StopKind
from trident.coordinators.ledger.sql.many_rows import read_many
from trident.coordinators.ledger.sql.tables import DECISION, DIVERTED, REFUSAL


def read_refusal(connection: Connection, owner: Owner, done: int) -> Refusal | None:
    """Return why the last coordinator that said so stopped, unless a person has decided since."""
    row = connection.execute(
        select(REFUSAL)
        .where(
            REFUSAL.c.topology == owner.topology,
            REFUSAL.c.incarnation == owner.incarnation,
            REFUSAL.c.txid == done + 1,  # what an older version refused out of turn is void
            REFUSAL.c.settled_at.is_(None),
        )
        .order_by(REFUSAL.c.epoch.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else refusal_of(row)


def read_told(connection: Connection, owner: Owner, done: int) -> frozenset[int]:
    """Return the attempts at the next txid that a coordinator has stopped at."""
    rows = connection.execute(
        select(REFUSAL.c.attempt).where(
            REFUSAL.c.topology == owner.topology,
            REFUSAL.c.incarnation == owner.incarnation,
            REFUSAL.c.txid == done + 1,
        )
    )
    return frozenset(rows.scalars())


def read_decisions(connection: Connection, owner: Owner, done: int) -> tuple[Decision, ...]:
    """Return the decisions that are not finished, oldest first."""
    rows = connection.execute(
        select(DECISION)
        .where(
            DECISION.c.topology == owner.topology,
            DECISION.c.incarnation == owner.incarnation,
            DECISION.c.txid > done,
            DECISION.c.finished_at.is_(None),
            DECISION.c.kind != DecisionKind.REAPPLY.value,  # its pin has carried it out
        )
        .order_by(DECISION.c.epoch)
    )
    return tuple(decision_of(row) for row in rows)


def read_reapplies(connection: Connection, topology: str, txid: int) -> Sequence[Row[tuple[object, ...]]]:
    """Return the decisions by which rows of a txid were put back, oldest first."""
    named = DECISION.c.kind == DecisionKind.REAPPLY.value, DECISION.c.state.like(f"{RowsOf(txid, '')}%")
    found = select(DECISION).where(DECISION.c.topology == topology, *named).order_by(DECISION.c.epoch)
    return connection.execute(found).all()


def read_forgetting(connection: Connection, topology: str) -> Decision | None:
    """Return the decision to let go of a topology, which goes with the rest once it is carried out."""
    begun = select(DECISION).where(DECISION.c.topology == topology, DECISION.c.kind == DecisionKind.FORGET.value)
    row = connection.execute(begun.limit(1)).one_or_none()
    return None if row is None else decision_of(row)


def read_diverted(connection: Connection, topology: str) -> tuple[tuple[int, Diverted], ...]:
    """Return the txids with the rows that were taken out of them, by state."""
    query = select(DIVERTED).where(DIVERTED.c.topology == topology)
    found: dict[tuple[int, str], list[str]] = {}
    for row in read_many(connection, query.order_by(DIVERTED.c.txid, DIVERTED.c.state, DIVERTED.c.number)):
        found.setdefault((row.txid, row.state), []).append(row.staged_row)
    return tuple((key[0], Diverted(key[1], tuple(rows))) for key, rows in found.items())


def refusal_of(row: Row[tuple[object, ...]]) -> Refusal:
    """Return a stored refusal as the value that was recorded."""
    return Refusal(row.txid, row.attempt, StopKind(row.kind), row.state, row.reason)


def decision_of(row: Row[tuple[object, ...]]) -> Decision:
    """Return a stored decision as the value that was recorded."""
    return Decision(DecisionKind(row.kind), row.txid, row.attempt, row.state, row.decided_by)
