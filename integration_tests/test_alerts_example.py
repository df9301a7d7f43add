"""The example with three outputs, over a death between two of them: every account, row and alert once."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from examples.alerts import ALERTS, alerts_topology
from examples.payments_data import produce
from examples.recount import recount
from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from trident import PostgresLedger
from trident.base.crash_points import CrashPoint, armed

RECORDS = 6_000


class _DeathError(Exception):
    pass


@pytest.mark.verify(short=True, one_in=3)
@pytest.mark.parametrize(
    "point",
    [CrashPoint.IN_PIN_TRANSACTION, CrashPoint.BEFORE_MARKER, CrashPoint.AFTER_END_OF_TRANSACTION],
)
def test_all_three_outputs_are_exact(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, monkeypatch: pytest.MonkeyPatch, point: CrashPoint
) -> None:
    servers = kafka.bootstrap_servers
    source, alerts = kafka.create_topic(4, name="payments"), kafka.create_topic(3, name=ALERTS)
    monkeypatch.setattr("examples.alerts.ALERTS", alerts)
    produce(servers, source, RECORDS, seed=7, partitions=4, accounts=300)

    def run() -> None:
        made = alerts_topology(servers, source, max_records=1_500)
        made.run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up")

    died = False

    def die(reached: CrashPoint, txid: int) -> None:
        nonlocal died
        if reached is point and txid >= 2 and not died:
            died = True
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        run()
    run()
    found = recount(servers, source, alerts, postgres.dsn)
    assert found.difference == 0
    assert (found.records, found.accounts) == (RECORDS, 300)
    assert found.alerts > 30
    assert found.suspicious > 60
