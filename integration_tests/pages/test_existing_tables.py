"""docs/howto/existing-tables.md: its tables are taken, and what does not fit is refused in its words."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable

import psycopg
from pyspark.sql import SparkSession

from integration_tests.fix_postgres import Postgres
from integration_tests.pages.jobs import RUN, encoded, send, sums_in, sums_of, write
from integration_tests.pages.walking import Topics, Walk
from trident.cli.exits import Exit

PAYMENTS = [("ann", 5), ("bob", 7), ("ann", 10), ("bob", 1)]
MODULE = """
import os
from trident import Count, Sum, Topology
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import PostgresState, PostgresTable


def topology():
    made = Topology("{name}")
    spout = OpaqueKafkaSpout(
        "payments", bootstrap_servers=os.environ["KAFKA"], value=Json("account string, amount bigint")
    )
    payments = made.stream("payments", spout)
{body}
    return made
"""
STATE = (
    "payments.group_by('account').persistent_aggregate(PostgresState('{}', table='{}'), n=Count(), total=Sum('amount'))"
)


def module(body: str, name: str = "payments") -> str:
    return MODULE.format(name=name, body=textwrap.indent(body, "    "))


def test_tables_that_are_there_are_taken(spark: SparkSession, servers: Topics, walk: Callable[[str], Walk]) -> None:
    walking = walk("docs/howto/existing-tables.md")
    servers.make("payments", partitions=1)
    send(encoded(PAYMENTS), 1)
    of_state, _, of_sinks = walking.blocks("sql")
    walking.sql(of_state.text.replace("    previous_n bigint,\n", ""))
    walking.sql(of_sinks.text.replace("numeric(21,2)", "numeric(20,2)"))
    write(walking, module(walking.blocks("python")[0].text))

    mended = {"'previous_n'": "balances ADD previous_n bigint", "'amount'": "transfers ALTER amount TYPE numeric(21,2)"}
    while mended:
        walking.shell(RUN, Exit.FAILED)
        said = walking.quotes(walking.complained)
        (word,) = (word for word in mended if word in said)
        walking.sql(f"ALTER TABLE bank.{mended.pop(word)}")
    walking.shell(RUN)
    ledger = os.environ["TRIDENT_LEDGER"]
    assert sums_in(ledger, "bank.balances") == sums_of(PAYMENTS)
    with psycopg.connect(ledger) as connection:
        transfers = connection.execute("SELECT account, amount::bigint FROM bank.transfers WHERE made IS NOT NULL")
        assert sorted(transfers) == sorted(PAYMENTS)
        assert sorted(connection.execute("SELECT account, amount FROM bank.latest")) == [("ann", 10), ("bob", 1)]
    write(walking, module(STATE.format("sums", "bank.balances"), "others"))
    walking.shell(RUN, Exit.FAILED)
    walking.quotes(walking.complained)


def test_rows_that_are_there_are_counted_on_from(
    spark: SparkSession, servers: Topics, postgres: Postgres, walk: Callable[[str], Walk]
) -> None:
    walking = walk("docs/howto/existing-tables.md")
    servers.make("payments", partitions=1)
    send(encoded(PAYMENTS), 1)
    walking.sql("CREATE SCHEMA bank")
    walking.do(walking.blocks("sql")[1])
    write(walking, module(STATE.format("totals", "bank.totals")))
    walking.shell(RUN, Exit.FAILED)
    walking.quotes(walking.complained)
    walking.do(walking.blocks("sh")[0])
    walking.shell(RUN)
    assert sums_in(postgres.dsn, "bank.totals") == sums_of(PAYMENTS, {"ann": (10, 1000)})
