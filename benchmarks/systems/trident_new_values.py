"""The payments example, and what a batch makes of each account: a row for each that goes above a further ten million.

Ends with exit code 1 unless the rows of each account add up to what its total says.
"""

from __future__ import annotations

import sys

import psycopg
from pyspark.sql import functions as F

from benchmarks.systems.arguments import Arguments, parse
from benchmarks.systems.paid import paid
from benchmarks.systems.trident_run import run
from trident import Count, Sum, Topology
from trident.state import PostgresState, PostgresTable

_STEP = 10_000_000
_WRONG = f"""
SELECT count(*) FROM (SELECT account, total / {_STEP} AS due FROM balances WHERE total >= {_STEP}) AS b
FULL JOIN (SELECT account, sum(steps) AS told FROM raised GROUP BY account) AS r USING (account)
WHERE due IS DISTINCT FROM told"""


def with_new_values(bootstrap_servers: str, topic: str, max_records: int) -> Topology:
    """Return the topology."""
    topology = Topology("payments")
    payments = paid(topology, bootstrap_servers, topic, max_records)
    balances = payments.group_by("account").persistent_aggregate(
        PostgresState("balances"), n=Count(), total=Sum("amount")
    )
    steps = F.expr(f"total DIV {_STEP} - coalesce(previous_total, 0) DIV {_STEP}")
    raised = balances.new_values(previous=True).each(steps=steps).filter(F.col("steps") > 0)
    raised.project("account", "steps", "total").to_table(PostgresTable("raised"))
    return topology


def main(arguments: Arguments) -> None:
    """Run to the end, then compare the rows of each account with its total."""
    run(with_new_values, arguments)
    with psycopg.connect(arguments.dsn) as connection:
        row = connection.execute(_WRONG).fetchone()
    if row is None or row[0]:
        sys.exit("the rows of some accounts do not add up to what their totals say")


if __name__ == "__main__":
    main(parse(__doc__ or ""))
