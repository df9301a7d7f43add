"""A position that is gone, whose rows are there: Postgres, beside the ledger and apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from trident.base.errors import MismatchError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
def test_rows_whose_position_is_gone_are_kept_from_a_moment_on(postgres: Postgres, apart: bool) -> None:
    dsn = postgres.new_dsn()
    own = postgres.new_dsn() if apart else dsn
    counted = [(f"a{n % 5}", n + 1) for n in range(25)]
    topic = Topic([list(counted)], came={0: [NOON] * 25})
    job = make_job(topic, PostgresState("balances", dsn=own if apart else None))
    run(job, PostgresLedger(dsn))
    with psycopg.connect(own, autocommit=True) as connection:
        connection.execute("DELETE FROM trident_applied")
    later = NOON + timedelta(hours=1)
    topic.partitions[0] += [("late", 3)] * 12
    topic.came[0] += [later] * 12
    for _ in range(2):
        with pytest.raises(
            MismatchError, match=r"'balances' has rows, and their position is gone.*--start MOMENT"
        ) as no:
            run(job, PostgresLedger(dsn))
        assert "by hand" not in str(no.value)
    plan = job.plan()
    reset_topology(
        plan.spec, plan.targets, PostgresLedger(dsn), keep_rows=True, start=later.isoformat(), options=OPTIONS
    )
    run(job, PostgresLedger(dsn))
    assert balances(own, "balances") == topic.expected()
