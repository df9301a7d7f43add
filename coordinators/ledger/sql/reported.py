"""What people read of errors in a SQL ledger."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from trident.coordinators.ledger.sql.dialect import SecondsSince
from trident.coordinators.ledger.sql.tables import ERROR
from trident.coordinators.ledger.view import ErrorRow, error_in_words
from trident.coordinators.reported import SHORTEST_KEPT

_IN_ORDER = ERROR.c.last_at.desc(), ERROR.c.incarnation, ERROR.c.id


def read_errors(connection: Connection, topology: str) -> tuple[ErrorRow, ...]:
    """Return what is kept of a topology's errors, the newest first."""
    kept = select(ERROR).where(ERROR.c.topology == topology).order_by(*_IN_ORDER)
    return tuple(ErrorRow(**row._mapping) for row in connection.execute(kept))


def recent(connection: Connection, topology: str) -> tuple[int, str | None]:
    """Return how many kinds of errors there were in the last hour, and the last one in words."""
    since = SecondsSince(ERROR.c.last_at) <= SHORTEST_KEPT.total_seconds()
    of_it = ERROR.c.topology == topology, since
    count: int = connection.execute(select(func.count()).select_from(ERROR).where(*of_it)).scalar_one()
    last = connection.execute(select(ERROR).where(*of_it).order_by(*_IN_ORDER).limit(1)).one_or_none()
    if last is None:
        return 0, None
    return count, error_in_words(*(last._mapping[name] for name in ("place", "kind", "count", "text")))
