"""What a SQL ledger keeps for people: losses and dead letters, read without any lock."""

from __future__ import annotations

from sqlalchemy import Connection, select

from trident.base.ranges import BadRecordRow, PartitionId
from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.sql.many_rows import read_many
from trident.coordinators.ledger.sql.tables import DEAD_LETTER, LOSS
from trident.coordinators.pinned import DeadLetter
from trident.coordinators.planned import Loss


def read_losses(connection: Connection, topology: str, status: PlanStatus) -> tuple[Loss, ...]:
    """Return the losses recorded with attempts of that status, oldest first."""
    rows = connection.execute(
        select(LOSS)
        .where(LOSS.c.topology == topology, LOSS.c.status == status.value)
        .order_by(LOSS.c.attempt, LOSS.c.spout, LOSS.c.topic, LOSS.c.partition, LOSS.c.start_offset)
    )
    return tuple(
        Loss(row.spout, PartitionId(row.topic, row.partition), row.start_offset, row.stop_offset, row.reason)
        for row in rows
    )


def read_dead_letters(
    connection: Connection, topology: str, *, txid: int | None = None, incarnation: str | None = None
) -> tuple[DeadLetter, ...]:
    """Return the dead letters of a topology, or of one of its txids, in the order of their positions."""
    letter = DEAD_LETTER.c
    query = select(DEAD_LETTER).where(letter.topology == topology)
    if txid is not None:
        query = query.where(letter.txid == txid)
    if incarnation is not None:
        query = query.where(letter.incarnation == incarnation)
    ordered = query.order_by(letter.txid, letter.spout, letter.topic, letter.partition, letter.record_offset)
    return tuple(
        DeadLetter(
            row.spout,
            BadRecordRow(
                id=PartitionId(row.topic, row.partition),
                offset=row.record_offset,
                timestamp=row.record_timestamp,
                reason=row.reason,
                key=row.record_key,
                value=row.record_value,
            ),
        )
        for row in read_many(connection, ordered)
    )
