"""Pipelines that end in rows of a table, of records that come as files or as rows."""

from __future__ import annotations

import json
from decimal import Decimal

from pyspark.sql import functions as F

from integration_tests.pipelines.desk import FIELDS, Desk, grouped, payments, rows
from trident import FirstN, Sum, Topology
from trident.spouts import BadRecord, FileSpout, FixedBatchSpout
from trident.state import SqliteState, SqliteTable

RECORDS = payments(50, seed=2)
CITIES = {"bakery": "Aarhus", "cinema": "Bergen", "garage": "Cork"}
ORDER = """
    number bigint NOT NULL,
    customer struct<name: string, tags: array<string>>,
    lines array<struct<article: string, price: decimal(10,2), pieces: bigint>>
"""
Line = tuple[str, Decimal, int]


def lines_of(number: int) -> list[Line]:
    """Return the articles of an order; every fourth one has none."""
    return [(f"a{(number + place) % 4}", Decimal(f"{place}.25"), place + 1) for place in range(number % 4)]


def order(number: int) -> str:
    """Return it as a line of a file; decimals stand in JSON as numbers."""
    lines = [f'{{"article": "{article}", "price": {price}, "pieces": {n}}}' for article, price, n in lines_of(number)]
    customer = json.dumps({"name": f"c{number % 3}", "tags": ["new"] * (number % 2)})
    return f'{{"number": {number}, "customer": {customer}, "lines": [{", ".join(lines)}]}}'


def spout(batch: int = 13) -> FixedBatchSpout:
    return FixedBatchSpout(FIELDS, rows(RECORDS), max_records_per_batch=batch)


def test_what_is_filtered_and_enriched_by_a_table(desk: Desk) -> None:
    cities = desk.spark.createDataFrame(list(CITIES.items()), "merchant string, city string")
    topology = Topology("enriched")
    large = topology.stream("payments", spout()).filter(F.col("amount") > 100)
    large.join_static(cities, on="merchant", how="left").to_table(SqliteTable("large"))
    desk.run(topology)
    expected = [(each.number, CITIES.get(each.merchant)) for each in RECORDS if each.amount > 100]
    assert desk.ask("SELECT number, city FROM large ORDER BY number") == expected


def inbox(desk: Desk, *lines: str) -> str:
    """Return a folder with a file of these lines."""
    folder = desk.folder / "in"
    folder.mkdir(exist_ok=True)
    (folder / "orders.json").write_text("".join(f"{line}\n" for line in lines))
    return str(folder)


def test_nested_orders_of_a_file_become_rows_and_sums_of_their_lines(desk: Desk) -> None:
    topology = Topology("orders")
    orders = topology.stream("orders", FileSpout(inbox(desk, *map(order, range(20))), ORDER, format="json"))
    new = orders.filter(F.array_contains("customer.tags", "new"))
    new.map(number=F.col("number"), name=F.col("customer.name")).to_table(SqliteTable("new_customers"))
    lines = orders.flat_map(line=F.col("lines")).map(
        article=F.col("line.article"),
        paid=(F.col("line.price") * F.col("line.pieces")).cast("decimal(12,2)"),
        pieces=F.col("line.pieces"),
    )
    lines.group_by("article").persistent_aggregate(SqliteState("articles"), paid=Sum("paid"), pieces=Sum("pieces"))
    desk.run(topology)
    assert desk.ask("SELECT number, name FROM new_customers ORDER BY number") == [
        (number, f"c{number % 3}") for number in range(1, 20, 2)
    ]
    by_article = grouped((line for number in range(20) for line in lines_of(number)), lambda line: line[0])
    assert desk.ask("SELECT article, paid, pieces FROM articles ORDER BY article") == [
        (article, str(sum(price * n for _, price, n in own)), sum(n for _, _, n in own))
        for article, own in sorted(by_article.items())
    ]


def test_bad_lines_of_a_file_are_dead_letters_and_the_others_count(desk: Desk) -> None:
    good = [json.dumps({"account": f"a{number % 3}", "amount": number}) for number in range(30)]
    bad = ["no json", '{"account": "a1", "amount": "many"}', '{"amount": 5}']
    topology = Topology("lines")
    folder = inbox(desk, *good[:10], *bad, *good[10:])
    spout = FileSpout(
        folder, "account string NOT NULL, amount bigint", format="json", on_bad_record=BadRecord.DEAD_LETTER
    )
    lines = topology.stream("lines", spout)
    lines.group_by("account").persistent_aggregate(SqliteState("sums"), total=Sum("amount"))
    desk.run(topology)
    sums = [(f"a{account}", sum(range(account, 30, 3))) for account in range(3)]
    assert desk.ask("SELECT account, total FROM sums ORDER BY account") == sums
    kept = desk.ask("SELECT record_value FROM trident_dead_letter ORDER BY record_offset")
    assert [bytes(value).decode() for (value,) in kept if isinstance(value, bytes)] == bad


def test_records_that_come_again_are_one_row_each_by_their_number(desk: Desk) -> None:
    doubled = [*RECORDS[:30], *RECORDS[10:], *RECORDS[5:8]]
    topology = Topology("once")
    stream = topology.stream("payments", FixedBatchSpout(FIELDS, rows(doubled), max_records_per_batch=31))
    stream.to_table(SqliteTable("once"), write="insert_if_absent", key="number")
    desk.run(topology)
    expected = [(each.number, each.account, each.amount) for each in RECORDS]
    assert desk.ask("SELECT number, account, amount FROM once ORDER BY number") == expected


def test_the_newest_payment_of_each_account_in_a_table(desk: Desk) -> None:
    topology = Topology("newest")
    topology.stream("payments", spout()).to_table(SqliteTable("newest"), write="upsert", key="account")
    desk.run(topology)
    newest = {each.account: (each.number, each.amount) for each in RECORDS}
    expected = sorted((account, *last) for account, last in newest.items())
    assert desk.ask("SELECT account, number, amount FROM newest ORDER BY account") == expected


def test_the_two_largest_payments_of_each_account_in_each_batch(desk: Desk) -> None:
    topology = Topology("largest")
    groups = topology.stream("payments", spout(20)).group_by("account")
    groups.apply_assembly(FirstN(2, by="amount", reverse=True)).project("account", "amount").to_table(
        SqliteTable("top")
    )
    desk.run(topology)
    expected = []
    for begin in range(0, len(RECORDS), 20):
        for account, own in grouped(RECORDS[begin : begin + 20], lambda each: each.account).items():
            expected += [(account, amount) for amount in sorted((each.amount for each in own), reverse=True)[:2]]
    assert sorted(desk.ask("SELECT account, amount FROM top"), key=repr) == sorted(expected, key=repr)
