"""What an older version left in PostgreSQL is opened by this one, and goes on with exact values."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest
from sqlalchemy import inspect

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from tests.coordinators.test_run import OPTIONS
from tests.ledger.dumping import dump_of_postgres, expected, job_over, postgres_states, topic
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.coordinators.ledger.sql.tables import METADATA
from trident.coordinators.ledger.versions.migrations import LEDGER_TABLES


@pytest.mark.parametrize("version", range(1, len(LEDGER_TABLES.steps) + 1))
@pytest.mark.drawn(one_in=2)
def test_a_run_goes_on_from_what_an_older_version_left(version: int, postgres: Postgres) -> None:
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute(dump_of_postgres(version).encode())
    ledger, *states = postgres_states(postgres.dsn)
    assert balances(postgres.dsn) != balances(postgres.dsn, "totals"), "one of them has the pinned txid"
    TopologyRun(job_over(topic(), *states).plan(), ledger, replace(OPTIONS, max_pending=2)).run()
    assert balances(postgres.dsn) == balances(postgres.dsn, "totals") == expected()
    assert [loss.stop - loss.start for loss in ledger.losses("payments")] == [4]
    assert [letter.record.offset for letter in ledger.dead_letters("payments")] == [4, 14]
    ledger.close()


def test_the_steps_make_the_tables_that_the_statements_know(postgres: Postgres) -> None:
    ledger = PostgresLedger(postgres.dsn)
    ledger.open()
    found = inspect(ledger.database.engine)
    assert set(found.get_table_names()) == set(METADATA.tables)
    dialect = ledger.database.engine.dialect
    for table in METADATA.sorted_tables:
        columns = {
            column["name"]: (column["type"].compile(dialect), column["nullable"])
            for column in found.get_columns(table.name)
        }
        wanted = {column.name: (column.type.compile(dialect), bool(column.nullable)) for column in table.columns}
        assert columns == wanted, table.name
    ledger.close()
