"""Pipelines of several streams, of states that streams ask, and of time."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from itertools import accumulate, pairwise

from pyspark.sql import functions as F

from integration_tests.pipelines.desk import FIELDS, Desk, grouped, payments, rows
from trident import Count, MapGet, SnapshotGet, Sum, Topology
from trident.spouts import FeederBatchSpout, FixedBatchSpout
from trident.state import SqliteState, SqliteTable

RECORDS = payments(40, seed=3)
REFUNDS = payments(25, seed=4)
BATCH = 10
PATIENCE_S = 120


def spout(batch: int = BATCH) -> FixedBatchSpout:
    return FixedBatchSpout(FIELDS, rows(RECORDS), max_records_per_batch=batch)


def test_two_sources_count_into_one_state(desk: Desk) -> None:
    topology = Topology("merged")
    refunds = topology.stream("refunds", FixedBatchSpout(FIELDS, rows(REFUNDS), max_records_per_batch=BATCH))
    taken = refunds.project("account", "amount").each(signed=-F.col("amount")).project("account", "signed")
    paid = topology.stream("payments", spout()).map(account=F.col("account"), signed=F.col("amount"))
    topology.merge(paid, taken).group_by("account").persistent_aggregate(
        SqliteState("net"), n=Count(), net=Sum("signed")
    )
    desk.run(topology)
    signed = [(each.account, each.amount) for each in RECORDS] + [(each.account, -each.amount) for each in REFUNDS]
    by_account = sorted(grouped(signed, lambda each: each[0]).items())
    expected = [(account, len(own), sum(amount for _, amount in own)) for account, own in by_account]
    assert desk.ask("SELECT account, n, net FROM net ORDER BY account") == expected


def test_two_streams_are_joined_within_their_batches(desk: Desk) -> None:
    shipped = [(each.number, f"box {each.number}") for each in RECORDS if each.number % 3]
    topology = Topology("joined")
    boxes = FixedBatchSpout("number bigint, box string", shipped, max_records_per_batch=BATCH)
    both = topology.join(topology.stream("payments", spout()), topology.stream("boxes", boxes), on="number")
    both.project("number", "box", "amount").to_table(SqliteTable("sent"))
    desk.run(topology)
    expected = [
        (number, box, RECORDS[number].amount)
        for begin in range(0, len(shipped), BATCH)  # the same number of a batch holds what is joined
        for number, box in shipped[begin : begin + BATCH]
        if begin <= number < begin + BATCH
    ]
    assert expected
    assert desk.ask("SELECT number, box, amount FROM sent ORDER BY number") == expected


def test_an_alert_for_each_batch_that_takes_a_balance_above_a_limit(desk: Desk) -> None:
    limit = 300
    topology = Topology("alerts")
    balances = (
        topology.stream("payments", spout())
        .group_by("account")
        .persistent_aggregate(SqliteState("balances"), balance=Sum("amount"))
    )
    was = F.coalesce(F.col("previous_balance"), F.lit(0))
    crossed = balances.new_values(previous=True).filter((F.col("balance") > limit) & (was <= limit))
    crossed.project("account", "balance").to_table(SqliteTable("alerts"))
    desk.run(topology)
    expected = []
    for account, own in grouped(RECORDS, lambda each: each.account).items():
        sums = grouped(own, lambda each: each.number // BATCH).values()
        after = list(accumulate((sum(each.amount for each in batch) for batch in sums), initial=0))
        expected += [(account, new) for old, new in pairwise(after) if old <= limit < new]
    assert expected
    assert sorted(desk.ask("SELECT account, balance FROM alerts"), key=repr) == sorted(expected, key=repr)


def test_each_payment_beside_what_its_account_had_before_the_batch(desk: Desk) -> None:
    topology = Topology("beside")
    stream = topology.stream("payments", spout())
    sums = stream.group_by("account").persistent_aggregate(SqliteState("sums"), total=Sum("amount"))
    stream.state_query(sums, MapGet()).project("number", "total").to_table(SqliteTable("beside"))
    desk.run(topology)
    expected = []
    for each in RECORDS:
        before = [other.amount for other in RECORDS[: each.number // BATCH * BATCH] if other.account == each.account]
        expected.append((each.number, sum(before) if before else None))
    assert desk.ask("SELECT number, total FROM beside ORDER BY number") == expected


def test_a_tick_writes_down_what_all_payments_are_by_then(desk: Desk) -> None:
    topology = Topology("snapshots")
    feeder = FeederBatchSpout("amount bigint")
    total = topology.stream("payments", feeder).persistent_aggregate(SqliteState("total"), n=Count(), s=Sum("amount"))
    beat = topology.ticks("beat", timedelta(seconds=1))
    beat.state_query(total, SnapshotGet()).project("tick", "n", "s").to_table(SqliteTable("snapshots"))
    running = threading.Thread(target=topology.run, args=(desk.spark,), kwargs={"ledger": desk.ledger})
    running.start()
    try:
        feeder.feed([(1,), (2,)], wait=True)
        _wait_for_snapshot(desk, 2)
        feeder.feed([(3,), (4,), (5,)], wait=True)
        _wait_for_snapshot(desk, 5)
    finally:
        topology.stop()
        running.join()
    found = desk.ask("SELECT n, s FROM snapshots ORDER BY tick")
    assert [each for each in dict.fromkeys(found) if each[0] is not None] == [(2, 3), (5, 15)]


def _wait_for_snapshot(desk: Desk, n: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not desk.ask(f"SELECT 1 FROM snapshots WHERE n = {n}"):
        assert time.monotonic() < deadline, f"no tick has seen {n} payments"
        time.sleep(0.1)
