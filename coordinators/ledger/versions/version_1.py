"""The tables as the first version made them; never changed again."""

from __future__ import annotations

VERSION_1: tuple[str, ...] = (
    """CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at {moment} NOT NULL,
        PRIMARY KEY (name))""",
    """CREATE TABLE trident_fence (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, token TEXT NOT NULL, holder TEXT NOT NULL,
        session_pid BIGINT, session_host TEXT, session_started {double}, raised_at {moment} NOT NULL,
        PRIMARY KEY (topology))""",
    """CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at {moment} NOT NULL, lease_seconds {double} NOT NULL,
        released BOOLEAN NOT NULL,
        PRIMARY KEY (topology))""",
    """CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at {moment} NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL,
        PRIMARY KEY (topology, id))""",
    """CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT,
        PRIMARY KEY (topology))""",
    """CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time {moment} NOT NULL, created_at {moment} NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL,
        PRIMARY KEY (topology, attempt))""",
    "CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live'",
    "CREATE INDEX trident_plan_txid ON trident_plan (topology, txid)",
    """CREATE TABLE trident_pin (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        epoch BIGINT NOT NULL, plan TEXT NOT NULL, manifests TEXT NOT NULL, states TEXT NOT NULL,
        pinned_at {moment} NOT NULL,
        PRIMARY KEY (topology, incarnation, txid))""",
    """CREATE TABLE trident_commit (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, records BIGINT NOT NULL, dead_letters BIGINT NOT NULL,
        keys BIGINT NOT NULL, plan_ms BIGINT NOT NULL, process_ms BIGINT NOT NULL, commit_ms BIGINT NOT NULL,
        done_at {moment} NOT NULL,
        PRIMARY KEY (topology, incarnation, txid))""",
    """CREATE TABLE trident_loss (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, spout VARCHAR NOT NULL, topic VARCHAR NOT NULL,
        partition BIGINT NOT NULL, start_offset BIGINT NOT NULL, stop_offset BIGINT NOT NULL, incarnation TEXT NOT NULL,
        txid BIGINT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, recorded_at {moment} NOT NULL,
        PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset))""",
    """CREATE TABLE trident_dead_letter (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, spout VARCHAR NOT NULL,
        topic VARCHAR NOT NULL, partition BIGINT NOT NULL, record_offset BIGINT NOT NULL, attempt BIGINT NOT NULL,
        record_timestamp BIGINT, reason TEXT NOT NULL, record_key {bytes}, record_value {bytes},
        pinned_at {moment} NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset))""",
    """CREATE TABLE trident_reset (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, states TEXT NOT NULL,
        start TEXT, epoch BIGINT NOT NULL, decided_at {moment} NOT NULL, finished_at {moment},
        PRIMARY KEY (topology, incarnation))""",
)
