"""What SQLite has for the tables that are made by numbered steps."""

from __future__ import annotations

from sqlalchemy import Connection

from trident.state.databases.base import SchemaTerms


def _lock(connection: Connection) -> None:
    """Do nothing: BEGIN IMMEDIATE already holds the file."""


SQLITE_TERMS = SchemaTerms(
    moment="VARCHAR",
    double="DOUBLE",
    binary="BLOB",
    now="strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')",
    lock=_lock,
)
