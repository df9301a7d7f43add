"""What the sixth version added: life-cycle commands, and whether a topology is active; never changed again."""

from __future__ import annotations

VERSION_6: tuple[str, ...] = (
    "ALTER TABLE trident_topology ADD COLUMN activity TEXT NOT NULL DEFAULT 'active'",
    """CREATE TABLE trident_command (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, id TEXT NOT NULL, incarnation TEXT NOT NULL,
        kind TEXT NOT NULL, arguments TEXT NOT NULL, given_by TEXT NOT NULL, given_at {moment} NOT NULL,
        within_seconds {double} NOT NULL, epoch BIGINT, verdict TEXT, answer TEXT, answered_at {moment},
        PRIMARY KEY (topology, number))""",
    "CREATE INDEX trident_command_open ON trident_command (topology, number) WHERE verdict IS NULL",
)
