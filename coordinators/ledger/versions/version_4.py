"""What the fourth version added: births, streams of a reset, what a plan diverts, plans in few bytes; never changed."""

from __future__ import annotations

VERSION_4: tuple[str, ...] = (
    "ALTER TABLE trident_incarnation ADD COLUMN births TEXT",
    "ALTER TABLE trident_reset ADD COLUMN streams TEXT",
    "ALTER TABLE trident_plan ADD COLUMN diverts TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE trident_decision ADD COLUMN void BOOLEAN NOT NULL DEFAULT FALSE",
    """CREATE TABLE trident_done_plan (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        ranges TEXT NOT NULL,
        PRIMARY KEY (topology))""",
    "CREATE INDEX trident_plan_open ON trident_plan (topology, incarnation, txid) WHERE status = 'live'",
    "DROP INDEX trident_plan_txid",
    "CREATE INDEX trident_plan_txid ON trident_plan (topology, txid, attempt)",
    "CREATE INDEX trident_pin_txid ON trident_pin (topology, txid)",
    "CREATE INDEX trident_commit_txid ON trident_commit (topology, txid)",
)
