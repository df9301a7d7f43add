"""A long ledger, made from a short one: the txids of a real run are replaced by many more that read the same records.

A run has read a topic in a few large batches. All of these but the last are taken out of the history, and as many
txids as are wanted are put in their place: each with a commit and a plan, whose ranges divide what was read before the
last batch, the newest thousand with a pin (the library deletes older ones). They are rows of the real run with other
numbers, ranges and times; so the ledger looks as if the same records had been read in small batches over six days,
and all that is still counted with (positions, sums, row counts, the plan of the last txid) is what the run itself left.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import sql

_PINS = 1_000
_DAYS = 6
"""Younger than the default of `Keep`, a week: the whole history is there to stay."""

_DIVIDED = """
CREATE TEMPORARY TABLE divided ON COMMIT DROP AS
WITH item AS (SELECT ranges::jsonb -> 'changed' -> 0 AS item FROM trident_plan WHERE txid = {last}),
reached AS MATERIALIZED (
    SELECT (part ->> 0)::bigint AS partition, (part ->> 1)::bigint AS stop, count(*) OVER () AS partitions
    FROM item, jsonb_array_elements(item -> 4) AS part ORDER BY 1)
SELECT txid, now() - ({txids} - txid) * interval '{days} days' / {txids} AS at, read.records,
    '{{"changed":[' || jsonb_set(item.item, '{{4}}', coalesce(read.parts, '[]')::jsonb)::text || ']}}' AS ranges
FROM generate_series(1, {before}) AS txid, item, LATERAL (
    SELECT sum(ends.stop_at - ends.start_at) AS records,
        '[' || string_agg('[' || partition || ',' || ends.start_at || ',' || ends.stop_at || ']', ',')
            FILTER (WHERE ends.stop_at > ends.start_at) || ']' AS parts
    FROM reached, LATERAL (
        SELECT ((txid - 1) * stop * partitions + partition * {before}) / ({before} * partitions) AS start_at,
            (txid * stop * partitions + partition * {before}) / ({before} * partitions) AS stop_at) AS ends
    ) AS read"""
_EMPTY = "DELETE FROM {table} WHERE txid < {last}"
_RENUMBER = "UPDATE {table} SET txid = {txids}, attempt = {txids}"
_PROGRESS = """
UPDATE trident_progress SET done = {txids}, done_attempt = {txids}, last_txid = {txids}, last_attempt = {txids}"""
_ROWS = "UPDATE {state} SET txid = txid + {shift}, previous_txid = previous_txid + {shift}"
_PLANS = """
INSERT INTO trident_plan (topology, incarnation, attempt, txid, predecessor, tries, epoch, status, batch_time,
    created_at, ranges, losses, timers, received, diverts)
SELECT topology, incarnation, divided.txid, divided.txid, divided.txid - 1, tries, epoch, status, at,
    at, divided.ranges, losses, timers, received, diverts
FROM trident_plan AS model, divided WHERE model.txid = {txids} ORDER BY divided.txid"""
_COMMITS = """
INSERT INTO trident_commit (topology, incarnation, txid, attempt, tries, epoch, records, dead_letters, keys,
    plan_ms, process_ms, commit_ms, done_at)
SELECT topology, incarnation, divided.txid, divided.txid, tries, epoch, divided.records, dead_letters,
    least(keys, divided.records), plan_ms, process_ms, commit_ms, at
FROM trident_commit AS model, divided WHERE model.txid = {txids} ORDER BY divided.txid"""
_PINNED = """
INSERT INTO trident_pin (topology, incarnation, txid, attempt, epoch, plan, manifests, states, pinned_at)
SELECT topology, incarnation, divided.txid, divided.txid, epoch, plan, manifests, states, at
FROM trident_pin AS model, divided WHERE model.txid = {txids} AND divided.txid > {txids} - {pins}
ORDER BY divided.txid"""
_STANDS = """
SELECT done, last_txid, last_attempt, (SELECT count(*) FROM trident_plan), (SELECT count(*) FROM trident_commit)
FROM trident_progress"""
_HISTORY = ("trident_plan", "trident_commit", "trident_pin")
_NUMBERED = (*_HISTORY, "trident_done_plan", "trident_applied")


def lengthen(dsn: str, txids: int, states: Sequence[str]) -> None:
    """Let the ledger of the only topology have so many done txids, and the states stand at the last of them.

    Nothing may run on it. Raises RuntimeError when the run was not of fewer txids, or left more than done ones.
    """
    with psycopg.connect(dsn) as connection:
        last = _last(connection, txids)
        numbers = {"txids": txids, "before": txids - 1, "last": last, "shift": txids - last}
        given = {**numbers, "days": _DAYS, "pins": _PINS}
        _execute(connection, _DIVIDED, given)
        for table in _HISTORY:
            _execute(connection, _EMPTY, given, table=table)
        for table in _NUMBERED:
            _execute(connection, _RENUMBER, given, table=table)
        connection.execute("UPDATE trident_plan SET predecessor = txid - 1")
        for state in states:
            _execute(connection, _ROWS, given, state=state)
        for statement in (_PROGRESS, _PLANS, _COMMITS, _PINNED):
            _execute(connection, statement, given)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")  # which a server does by itself while a history grows
        connection.execute("CHECKPOINT")


def _last(connection: psycopg.Connection, txids: int) -> int:
    row = connection.execute(_STANDS).fetchone()
    if row is None or len(set(row)) != 1 or not 1 < row[0] <= txids:
        raise RuntimeError(f"the ledger can't be made longer, to {txids} txids: done, planned, attempts, rows: {row}")
    return int(row[0])


def _execute(connection: psycopg.Connection, statement: str, numbers: dict[str, int], **names: str) -> None:
    parts: dict[str, sql.Composable] = {name: sql.Literal(number) for name, number in numbers.items()}
    parts["days"] = sql.SQL(str(_DAYS))
    parts |= {name: sql.Identifier(text) for name, text in names.items()}
    connection.execute(sql.SQL(statement).format(**parts))
