"""What PostgreSQL has for the tables that are made by numbered steps."""

from __future__ import annotations

from sqlalchemy import Connection, text

from trident.state.databases.base import SchemaTerms

_LOCK = 0x7472_6964_656E
"""An advisory lock, the same for the ledger and all states of a database, in every version of this library."""


MAKING_TABLES = "trident making tables"
"""What `application_name` is in the transactions that make tables."""


def _lock(connection: Connection) -> None:
    connection.execute(text("SELECT set_config('application_name', :name, true)"), {"name": MAKING_TABLES})
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


POSTGRES_TERMS = SchemaTerms(
    moment="TIMESTAMP WITH TIME ZONE",
    double="DOUBLE PRECISION",
    binary="BYTEA",
    now="clock_timestamp()",
    lock=_lock,
)
