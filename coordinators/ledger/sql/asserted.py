"""Writes on rows that are there and locked: each asserts that it touched one."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Delete, Update, update

from trident.base.errors import FatalError
from trident.coordinators.ledger.sql.tables import PROGRESS


def write_one(connection: Connection, write: Update | Delete) -> None:
    """Change one row; raises FatalError, which rolls all back, for another number."""
    count = connection.execute(write).rowcount
    if count != 1:
        raise FatalError(
            f"the ledger changed under its locks: a write to {write.table} touched {count} rows instead of one. The "
            "transaction is rolled back, nothing was written; find out who else writes there."
        )


def set_progress(connection: Connection, topology: str, values: Mapping[str, object]) -> None:
    """Change the topology's locked row."""
    write_one(connection, update(PROGRESS).where(PROGRESS.c.topology == topology).values(dict(values)))
