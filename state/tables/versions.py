"""The tables of `meta` by version: each step's place plus one is the version that it leads to."""

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
