"""Errors in a SQL ledger, for people: equal ones are one row with a count; the newest rows stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta

from sqlalchemy import Connection, delete, func, insert, select, tuple_, update

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.fencing import check_owner
from trident.coordinators.ledger.sql.dialect import SecondsSince
from trident.coordinators.ledger.sql.moments import DatabaseNow
from trident.coordinators.ledger.sql.reads import lock_fence, read_progress
from trident.coordinators.ledger.sql.tables import ERROR
from trident.coordinators.reported import MOST_ERRORS, SHORTEST_KEPT, ErrorReport

_KEY = (ERROR.c.incarnation, ERROR.c.id)


def report(connection: Connection, owner: Owner, epoch: Epoch, reports: Sequence[ErrorReport]) -> None:
    """Add to the rows of these errors; see `Ledger.report`."""
    lock_fence(connection, owner.topology, epoch)
    progress = read_progress(connection, owner.topology)
    if progress is None:
        raise MismatchError(f"topology {owner.topology!r} is not registered in this ledger. Nothing was written.")
    check_owner(progress, owner)
    added = [each for each in reports if not _counted(connection, owner, epoch, each)]
    for each in added:
        key = {"topology": owner.topology, "incarnation": owner.incarnation, "id": each.id}
        moments = {"first_at": DatabaseNow(), "last_at": DatabaseNow()}
        connection.execute(insert(ERROR).values(**key, **asdict(each), epoch=epoch.number, **moments))
    if added:
        _let_go_of_the_oldest(connection, owner.topology)


def let_go_of_old(connection: Connection, topology: str, age: timedelta) -> int:
    """Delete what nobody has seen again for so long, but for the last hour's; returns how many rows."""
    longest = max(age, SHORTEST_KEPT).total_seconds()
    old = ERROR.c.topology == topology, SecondsSince(ERROR.c.last_at) > longest
    return connection.execute(delete(ERROR).where(*old)).rowcount


def _counted(connection: Connection, owner: Owner, epoch: Epoch, each: ErrorReport) -> bool:
    """Add to the row of an error; tells whether there is one. Only the fenced owner writes, in one thread."""
    seen = update(ERROR).where(
        ERROR.c.topology == owner.topology, ERROR.c.incarnation == owner.incarnation, ERROR.c.id == each.id
    )
    last = {"text": each.text, "txid": each.txid, "attempt": each.attempt, "epoch": epoch.number}
    changed = seen.values(count=ERROR.c.count + each.count, last_at=DatabaseNow(), **last)
    return connection.execute(changed).rowcount == 1


def _let_go_of_the_oldest(connection: Connection, topology: str) -> None:
    of_it = ERROR.c.topology == topology
    count = connection.execute(select(func.count()).select_from(ERROR).where(of_it)).scalar_one()
    if count > MOST_ERRORS:
        oldest = select(*_KEY).where(of_it).order_by(ERROR.c.last_at, *_KEY).limit(count - MOST_ERRORS)
        connection.execute(delete(ERROR).where(of_it, tuple_(*_KEY).in_(oldest)))
