"""The tables that states share by version: each step's place plus one is the version that it leads to."""

from __future__ import annotations

from trident.state.databases.versions import NumberedTables, step, step_to_missing

_VERSION_1 = {
    "trident_applied": """
        CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL,
            PRIMARY KEY (topology, state))""",
    "trident_state_fence": """
        CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL)""",
}

_VERSION_2 = (
    "ALTER TABLE trident_applied ADD COLUMN row_count bigint",
    "ALTER TABLE trident_applied ADD COLUMN relation text",
)

_VERSION_3 = ("ALTER TABLE trident_applied ADD COLUMN is_sink boolean NOT NULL DEFAULT FALSE",)

META_TABLES = NumberedTables(
    "the tables in which states keep where they stand (trident_applied, trident_state_fence)",
    "trident_state_schema",
    (step_to_missing(_VERSION_1), step(_VERSION_2), step(_VERSION_3)),
)

_PLAIN_1 = (
    """
    CREATE TABLE trident_plain (
        topology text NOT NULL, state text NOT NULL, table_name text NOT NULL, incarnation text NOT NULL,
        epoch bigint NOT NULL, token text NOT NULL, had_rows boolean NOT NULL, newest_txid bigint NOT NULL,
        PRIMARY KEY (topology, state))""",
)
_PLAIN_2 = (
    "ALTER TABLE trident_plain ADD COLUMN relation text",
    "ALTER TABLE trident_plain ADD COLUMN may_share boolean",
    "ALTER TABLE trident_plain ADD COLUMN has_left boolean NOT NULL DEFAULT FALSE",
)
PLAIN_TABLES = NumberedTables(
    "the table in which states of the weaker levels keep whose they are (trident_plain)",
    "trident_plain_schema",
    (step(_PLAIN_1), step(_PLAIN_2)),
)
