"""What the second version added: refusals and the decisions of a person; never changed again."""

from __future__ import annotations

VERSION_2: tuple[str, ...] = (
    "ALTER TABLE trident_progress ADD COLUMN undoing BIGINT",
    "ALTER TABLE trident_progress ADD COLUMN held BIGINT NOT NULL DEFAULT 0",
    """CREATE TABLE trident_refusal (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
        refused_at {moment} NOT NULL, settled_by TEXT, settled_at {moment},
        PRIMARY KEY (topology, epoch))""",
    """CREATE TABLE trident_decision (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, decided_by TEXT NOT NULL,
        decided_at {moment} NOT NULL, finished_at {moment},
        PRIMARY KEY (topology, epoch))""",
    """CREATE TABLE trident_diverted (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, state VARCHAR NOT NULL,
        number BIGINT NOT NULL, attempt BIGINT NOT NULL, staged_row TEXT NOT NULL, diverted_at {moment} NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, state, number))""",
)
