"""Which messages are in every result: the ids in the plans of what is done."""

from __future__ import annotations

from sqlalchemy import Connection, func, or_, select

from trident.coordinators.decided import ResetStart
from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.tables import PLAN, RESET


def read_done_ids(connection: Connection, topology: str, spout: str, most: int) -> dict[str, str]:
    """Return the newest ids of a stream that are done; see `Ledger.done_ids`."""
    cleared = select(func.coalesce(func.max(RESET.c.birth_txid), 0)).where(
        RESET.c.topology == topology,
        RESET.c.finished_at.is_not(None),
        or_(RESET.c.states == "clear", RESET.c.start.is_(None), RESET.c.start != ResetStart.RESUME.value),
    )
    newest_first = (
        select(PLAN.c.received)
        .where(
            PLAN.c.topology == topology,
            PLAN.c.txid > cleared.scalar_subquery(),
            PLAN.c.status == PlanStatus.DONE.value,
            PLAN.c.received != "[]",
        )
        .order_by(PLAN.c.txid.desc())
        .execution_options(yield_per=1_000)
    )
    found: list[tuple[str, str]] = []
    if most:
        for row in connection.execute(newest_first):
            received = codec.RECEIVED.decode(row.received)
            named = [each for item in received if item.spout == spout for each in item.messages]
            found += reversed(named)
            if len(found) >= most:
                break
    return dict(reversed(found[:most]))
