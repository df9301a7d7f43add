"""Keys of a map that expire, for real: what a batch shows of them is what it leaves, wherever its coordinator dies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from tests.state.harnesses import ExpiringMap
from trident import MapGet, StateChanges, StateUpdater, StoredRows, Sum, Topology
from trident.operations.row_functions import Row
from trident.spouts import FixedBatchSpout
from trident.state import BackingMapState, SqliteTable, TimedValue
from trident.state.values import OpaqueValue
from trident.testing import CrashPoint, Death, TopologyTest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
BATCHES = [(0, ["a", "b", "c"]), (30, ["a"]), (60, ["a", "b"]), (119, ["a", "b", "a"]), (200, ["a", "d"]), (201, ["c"])]
"""Minutes, and whose payments of 1 a batch has."""


class Visits(StateUpdater):
    """How often somebody came; whoever comes twice in a batch is forgotten."""

    values = "visits int"
    schema = "account string, visits_before int"

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        accounts = [row["account"] for row in rows]
        writes, said = {}, []
        for account in dict.fromkeys(accounts):
            known = stored.get((account,))
            before = known["visits"] if known else 0
            said.append((account, before))
            writes[(account,)] = None if accounts.count(account) > 1 else {"visits": before + 1}  # type: ignore[operator]
        return StateChanges(writes, said)


def topology(sums: ExpiringMap, visits: ExpiringMap) -> Topology:
    made = Topology("t")
    payments = made.stream("payments", FixedBatchSpout("account string, amount bigint", [], kind="opaque"))
    state = BackingMapState("sums", sums, chunk_rows=1, expire_after=HOUR)
    totals = payments.group_by("account").persistent_aggregate(state, total=Sum("amount"))
    totals.new_values(previous=True).to_table(SqliteTable("changes"))
    payments.state_query(totals, MapGet("account")).to_table(SqliteTable("asked"))
    kept = payments.partition_persist(BackingMapState("visits", visits, expire_after=HOUR), Visits(), key="account")
    kept.emitted().to_table(SqliteTable("came"))
    return made


Seen = tuple[list[tuple[object, ...]], ...]


def expected() -> Seen:
    """Return changes, what was asked, and visits before, by the plain meaning."""
    total: dict[str, tuple[int, int]] = {}
    visits: dict[str, tuple[int, int]] = {}
    changes, asked, came = [], [], []
    for minutes, accounts in BATCHES:
        total = {key: value for key, value in total.items() if minutes - value[1] < 60}
        visits = {key: value for key, value in visits.items() if minutes - value[1] < 60}
        asked += [(each, 1, total[each][0] if each in total else None) for each in accounts]
        for each in dict.fromkeys(accounts):
            before = total[each][0] if each in total else None
            total[each] = ((before or 0) + accounts.count(each), minutes)
            changes.append((each, total[each][0], before))
            came.append((each, visits[each][0] if each in visits else 0))
            if accounts.count(each) > 1:
                visits.pop(each, None)
            else:
                visits[each] = (visits[each][0] + 1 if each in visits else 1, minutes)
    return tuple(sorted(rows, key=repr) for rows in (changes, asked, came))


def seen(test: TopologyTest) -> Seen:
    tables = (test.rows(name) for name in ("changes", "asked", "came"))
    return tuple(sorted((tuple(row.values()) for row in rows), key=repr) for rows in tables)


def held(kept: ExpiringMap) -> dict[str, tuple[object, ...]]:
    rows = {key[0]: value.stored for key, value in kept.rows.items() if isinstance(value, TimedValue)}
    return {str(key): value.current for key, value in rows.items() if isinstance(value, OpaqueValue)}


DEATHS: list[Death | None] = [
    None,
    Death(CrashPoint.AFTER_TURN_WORK),
    Death(CrashPoint.BETWEEN_CHUNKS),
    Death(CrashPoint.BEFORE_POSITION, time=2),
    Death(CrashPoint.BEFORE_DONE),
]


@pytest.mark.parametrize("death", DEATHS, ids=str)
def test_what_has_expired_is_nowhere_seen_wherever_a_coordinator_dies(spark: SparkSession, death: Death | None) -> None:
    sums, visits = ExpiringMap(), ExpiringMap()
    with TopologyTest(topology(sums, visits), spark, keep=["sums", "visits"]) as test:
        for minutes, accounts in BATCHES:
            rows = [(account, 1) for account in accounts]
            test.batch({"payments": rows}, at=NOON + timedelta(minutes=minutes), dies_at=[death] if death else [])
        assert seen(test) == expected()
    assert held(sums) == {"a": (1,), "c": (1,), "d": (1,)}  # b has expired and is gone
    assert held(visits) == {"a": (1,), "c": (1,), "d": (1,)}
    assert len(held(visits)) == len(visits.rows) - 2  # and so are the rows of nulls of who was forgotten


def test_a_batch_that_holds_other_records_when_it_is_tried_again(spark: SparkSession) -> None:
    sums, visits = ExpiringMap(), ExpiringMap()
    with TopologyTest(topology(sums, visits), spark, keep=["sums", "visits"]) as test:
        for minutes, accounts in BATCHES:
            test.batch(
                {"payments": [("z", 7), ("b", 7)]},
                at=NOON + timedelta(minutes=minutes),
                dies_at=CrashPoint.AFTER_TURN_WORK,
                retried_with={"payments": [(account, 1) for account in accounts]},
            )
        assert seen(test) == expected()
    assert held(sums) == {"a": (1,), "c": (1,), "d": (1,)}
