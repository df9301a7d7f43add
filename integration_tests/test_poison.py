"""A row that no store can hold, through a whole topology: refused and recorded whoever stages it, diverted, gone on."""

from __future__ import annotations

import json
from datetime import timedelta

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_postgres import Postgres
from trident import Count, DecisionNeededError, PostgresLedger, RunOptions, Staging, Sum, Topology, divert
from trident.spouts import FixedBatchSpout
from trident.state import PostgresState

OPTIONS = RunOptions(lease=timedelta(seconds=20), retry_pause=timedelta(0))
GOOD = 1_700_000_000_000_000
YEAR_10000 = 253_402_300_800_000_000


@pytest.mark.parametrize(
    ("staging", "raw", "at", "diverted"),
    [
        (Staging.EXECUTORS, b"\xff\xfe", GOOD, {"account": {"base64": "//4="}}),
        (Staging.EXECUTORS, b"nul\0", GOOD, {"account": "nul\0"}),
        (Staging.DRIVER, b"cy", YEAR_10000, {"day": {"us": YEAR_10000}}),
    ],
    ids=["no UTF-8, by tasks", "NUL, by tasks", "year 10000, by the driver"],
)
@pytest.mark.drawn(one_in=2)
def test_poison_is_refused_and_recorded_and_the_rest_goes_on(
    spark: SparkSession, postgres: Postgres, staging: Staging, raw: bytes, at: int, diverted: dict[str, object]
) -> None:
    rows = [(b"ann", GOOD), (b"bob", GOOD), (b"bob", GOOD), (raw, at), (b"ann", GOOD)]
    ledger = PostgresLedger(postgres.dsn)
    topology = Topology("poisoned")
    stream = topology.stream("rows", FixedBatchSpout("raw binary, us bigint", rows, max_records_per_batch=2))
    keyed = stream.each(account=F.col("raw").cast("string"), day=F.timestamp_micros("us"))
    keyed.group_by("account", "day").persistent_aggregate(PostgresState("counts"), n=Count())
    for _ in range(2):
        with pytest.raises(DecisionNeededError, match="refused"):
            topology.run(spark, ledger=ledger, until="caught_up", options=OPTIONS, staging=staging)
    divert(topology, ledger, txid=2, state="counts", options=OPTIONS)
    topology.run(spark, ledger=ledger, until="caught_up", options=OPTIONS, staging=staging)
    with psycopg.connect(postgres.dsn) as connection:
        counted = connection.execute("SELECT account, n FROM counts ORDER BY 1").fetchall()
        texts = connection.execute("SELECT staged_row FROM trident_diverted").fetchall()
    assert counted == [("ann", 2), ("bob", 2)]
    (kept,) = [json.loads(text) for (text,) in texts]
    assert diverted.items() <= kept.items()


@pytest.mark.parametrize("staging", [Staging.DRIVER, Staging.EXECUTORS])
@pytest.mark.parametrize(("ddl", "half"), [("bigint", 2**62), ("decimal(38,0)", 7 * 10**37)])
@pytest.mark.drawn(one_in=3)
def test_a_sum_that_overflows_is_refused_however_the_batches_are_cut(
    spark: SparkSession, postgres: Postgres, staging: Staging, ddl: str, half: int
) -> None:
    """Within a batch Spark sums, over batches the table does: a person has the same ways on."""
    rows = [("ann", 1), ("big", half), ("ann", 1), ("big", half), ("big", half), ("big", half)]
    ledger = PostgresLedger(postgres.dsn)
    topology = Topology("overflowing")
    stream = topology.stream("rows", FixedBatchSpout(f"account string, n {ddl}", rows, max_records_per_batch=2))
    by_account = stream.group_by("account")
    by_account.persistent_aggregate(PostgresState("totals"), total=Sum("n"))
    by_account.persistent_aggregate(PostgresState("counts"), n=Count())
    for txid in (2, 3):
        with pytest.raises(DecisionNeededError, match="state 'totals' refused"):
            topology.run(spark, ledger=ledger, until="caught_up", options=OPTIONS, staging=staging)
        divert(topology, ledger, txid=txid, state="totals", options=OPTIONS)
    topology.run(spark, ledger=ledger, until="caught_up", options=OPTIONS, staging=staging)
    with psycopg.connect(postgres.dsn) as connection:
        totals = connection.execute("SELECT account, total FROM totals ORDER BY 1").fetchall()
        counted = connection.execute("SELECT account, n FROM counts ORDER BY 1").fetchall()
        texts = connection.execute("SELECT txid, staged_row FROM trident_diverted").fetchall()
    assert totals == [("ann", 2), ("big", half)]
    assert counted == [("ann", 2), ("big", 4)]
    kept = {(txid, row["account"]): row["total"] for txid, row in ((txid, json.loads(text)) for txid, text in texts)}
    assert kept.keys() == {(2, "big"), (3, "big")}
    assert kept[3, "big"] is None, "Spark could not make it: all of that batch has left"
    assert kept[2, "big"] is not None
