"""Writing since when an incarnation has its states and their values."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, update

from trident.base.identity import Owner
from trident.coordinators.ledger.sql import codec
from trident.coordinators.ledger.sql.asserted import write_one
from trident.coordinators.ledger.sql.tables import INCARNATION
from trident.coordinators.registered import Birth


def write_births(connection: Connection, owner: Owner, births: Sequence[Birth]) -> None:
    """Replace all births of the incarnation."""
    write_one(
        connection,
        update(INCARNATION)
        .where(INCARNATION.c.topology == owner.topology, INCARNATION.c.id == owner.incarnation)
        .values(births=codec.BIRTHS.encode(tuple(births))),
    )
