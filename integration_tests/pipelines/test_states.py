"""Pipelines that end in a state: a row for each key, over all batches, however they are cut."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from typing import ClassVar

import pytest
from pyspark.sql import functions as F

from integration_tests.pipelines.desk import FIELDS, Desk, grouped, payments, rows, written
from trident import Avg, Combiner, Count, First, Last, Max, Min, Reducer, StdDev, Stream, Sum, Topology
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState, SqliteTable

RECORDS = payments(60)
BY_ACCOUNT = sorted(grouped(RECORDS, lambda each: each.account).items())


def stream(topology: Topology, batch: int = 17) -> Stream:
    return topology.stream("payments", FixedBatchSpout(FIELDS, rows(RECORDS), max_records_per_batch=batch))


def test_a_running_balance_of_each_account(desk: Desk) -> None:
    topology = Topology("balances")
    stream(topology).group_by("account").persistent_aggregate(SqliteState("balances"), balance=Sum("amount"))
    desk.run(topology)
    expected = [(account, sum(each.amount for each in own)) for account, own in BY_ACCOUNT]
    assert desk.ask("SELECT account, balance FROM balances ORDER BY account") == expected


def test_a_count_for_each_minute_and_one_of_all(desk: Desk) -> None:
    topology = Topology("minutes")
    every = stream(topology)
    minutes = every.each(minute=F.date_format("at", "HH:mm"))
    minutes.group_by("minute").persistent_aggregate(SqliteState("minutes"), n=Count())
    every.persistent_aggregate(SqliteState("all_of_them"), n=Count())
    desk.run(topology)
    expected = Counter(each.at.strftime("%H:%M") for each in RECORDS)
    assert desk.ask("SELECT minute, n FROM minutes ORDER BY minute") == sorted(expected.items())
    assert desk.ask("SELECT n FROM all_of_them") == [(len(RECORDS),)]


def test_sums_of_windows_whose_key_is_the_time_at_which_they_begin(desk: Desk) -> None:
    topology = Topology("windows")
    begins = F.timestamp_seconds(F.floor(F.unix_seconds("at") / 300) * 300)
    windows = stream(topology).each(begins=begins).group_by("merchant", "begins")
    windows.persistent_aggregate(SqliteState("windows"), total=Sum("amount"))
    desk.run(topology)
    of_windows = grouped(
        RECORDS, lambda each: (each.merchant, written(each.at.replace(minute=each.at.minute // 5 * 5, second=0)))
    )
    expected = sorted((*key, sum(each.amount for each in own)) for key, own in of_windows.items())
    assert desk.ask("SELECT merchant, begins, total FROM windows ORDER BY merchant, begins") == expected


def test_several_aggregates_of_a_group(desk: Desk) -> None:
    topology = Topology("statistics")
    merchants = (
        stream(topology)
        .group_by("merchant")
        .persistent_aggregate(
            SqliteState("merchants"),
            n=Count(),
            total=Sum("amount"),
            least=Min("amount"),
            most=Max("amount"),
            mean=Avg("amount"),
            spread=StdDev("amount"),
        )
    )
    merchants.new_values().to_table(SqliteTable("shown"), write="upsert", key="merchant")
    desk.run(topology)
    found = desk.ask("SELECT merchant, n, total, least, most, mean, spread FROM shown ORDER BY merchant")
    by_merchant = sorted(grouped(RECORDS, lambda each: each.merchant).items())
    for (merchant, n, total, least, most, mean, spread), (expected, own) in zip(found, by_merchant, strict=True):
        amounts = [each.amount for each in own]
        assert (merchant, n, total) == (expected, len(amounts), sum(amounts))
        assert (least, most) == (min(amounts), max(amounts))
        assert mean == pytest.approx(statistics.mean(amounts), rel=1e-12)
        assert spread == pytest.approx(statistics.stdev(amounts), rel=1e-12)


def test_the_first_and_the_last_merchant_of_each_account_by_time(desk: Desk) -> None:
    topology = Topology("visits")
    stream(topology).group_by("account").persistent_aggregate(
        SqliteState("visits"), first=First("merchant", by="at"), last=Last("merchant", by="at")
    )
    desk.run(topology)
    expected = [(account, own[0].merchant, own[-1].merchant) for account, own in BY_ACCOUNT]
    assert desk.ask("SELECT account, first, last FROM visits ORDER BY account") == expected


def test_how_many_different_merchants_an_account_has_exactly(desk: Desk) -> None:
    topology = Topology("distinct")
    seen = stream(topology).group_by("account", "merchant").persistent_aggregate(SqliteState("seen"), payments=Count())
    new = seen.new_values(previous=True).filter(F.col("previous_payments").isNull())
    new.group_by("account").persistent_aggregate(SqliteState("merchants"), merchants=Count())
    desk.run(topology)
    expected = [(account, len({each.merchant for each in own})) for account, own in BY_ACCOUNT]
    assert desk.ask("SELECT account, merchants FROM merchants ORDER BY account") == expected


class Largest(Combiner[list[int]]):
    """The three largest amounts of a group."""

    result_type: ClassVar[str] = "array<bigint>"

    def init(self, *values: object) -> list[int]:
        (amount,) = values
        assert isinstance(amount, int)
        return [amount]

    def combine(self, left: list[int], right: list[int]) -> list[int]:
        return sorted([*left, *right], reverse=True)[:3]


def test_the_three_largest_of_each_key_by_a_combiner_of_ones_own(desk: Desk) -> None:
    topology = Topology("largest")
    stream(topology).group_by("account").persistent_aggregate(SqliteState("largest"), top=Largest("amount"))
    desk.run(topology)
    found = [
        (account, json.loads(str(top)))
        for account, top in desk.ask("SELECT account, top FROM largest ORDER BY account")
    ]
    assert found == [(account, sorted((each.amount for each in own), reverse=True)[:3]) for account, own in BY_ACCOUNT]


class Path(Reducer[str]):
    """The merchants in the order of the payments."""

    result_type: ClassVar[str] = "string"

    def init(self) -> str:
        return ""

    def reduce(self, reduced: str, *values: object) -> str:
        (merchant,) = values
        return f"{reduced}/{merchant}"


def test_what_a_reducer_makes_of_the_records_in_their_order(desk: Desk) -> None:
    topology = Topology("paths")
    stream(topology).group_by("account").persistent_aggregate(SqliteState("paths"), path=Path("merchant"))
    desk.run(topology)
    expected = [(account, "".join(f"/{each.merchant}" for each in own)) for account, own in BY_ACCOUNT]
    assert desk.ask("SELECT account, path FROM paths ORDER BY account") == expected
