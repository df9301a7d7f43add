"""What the seventh version added: errors as people read them, and how long messages take; never changed again."""

from __future__ import annotations

VERSION_7: tuple[str, ...] = (
    "ALTER TABLE trident_heartbeat ADD COLUMN latencies TEXT",
    """CREATE TABLE trident_error (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, id VARCHAR NOT NULL, place TEXT NOT NULL,
        kind TEXT NOT NULL, text TEXT NOT NULL, count BIGINT NOT NULL, txid BIGINT, attempt BIGINT,
        epoch BIGINT NOT NULL, first_at {moment} NOT NULL, last_at {moment} NOT NULL,
        PRIMARY KEY (topology, incarnation, id))""",
)
