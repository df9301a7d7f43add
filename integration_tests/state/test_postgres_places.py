"""Addresses say little of where they lead; the server says which table is meant, before anything is written."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote_plus

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import run
from trident.base.errors import MismatchError
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.memory.database import MemoryDatabase
from trident.state.tables.target import TableTarget
from trident.testing.state_harness import COUNTS, EPOCH, OWNER


@pytest.fixture
def app(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with two further schemas; a second one; and the services `one` and `two`, one for each."""
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA one")
        connection.execute("CREATE SCHEMA two")
    lines = []
    for name, dsn in (("one", postgres.dsn), ("two", postgres.new_dsn())):
        lines += [f"[{name}]", *(f"{key}={value}" for key, value in conninfo_to_dict(dsn).items())]
        lines += ["options=-csearch_path=one,public", ""]
    (tmp_path / "services").write_text("\n".join(lines))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    return postgres.dsn


def topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(25)]])


def test_one_table_through_two_addresses_is_one_states(app: str) -> None:
    """Also where each address has a schema of its own for what is kept beside the table; nothing is recorded then."""
    second = f"{app}?options={quote_plus('-csearch_path=two')}"
    first_state = PostgresState("first", dsn="service=one", table="public.sums")
    job = make_job(topic(), first_state, PostgresState("second", dsn=second, table="public.sums"))
    with pytest.raises(MismatchError, match="states 'first' and 'second' lead to one table"):
        run(job, PostgresLedger(app))
    records = topic()
    run(make_job(records, first_state), PostgresLedger(app))
    assert balances(app, "public.sums") == records.expected()


def test_a_table_of_another_topology_that_keeps_its_position_in_another_schema_is_refused(app: str) -> None:
    second = f"{app}?options={quote_plus('-csearch_path=two')}"
    theirs = PostgresState("first", dsn="service=one", table="public.sums").open(COUNTS, MemoryDatabase())
    assert isinstance(theirs, TableTarget)
    for step in (theirs.prepare, lambda: theirs.raise_fence(OWNER, EPOCH), lambda: theirs.register(OWNER, EPOCH, 0)):
        step()
    theirs.close()
    job = make_job(topic(), PostgresState("second", dsn=second, table="public.sums"))
    with pytest.raises(MismatchError, match=r"'public.sums' belongs to another state already: .* in schema 'one'"):
        run(job, PostgresLedger(app))


def test_tables_of_one_name_behind_two_services_are_two_states(app: str, postgres: Postgres) -> None:
    records = topic()
    states = [PostgresState(name, dsn=f"service={name}", table="sums") for name in ("one", "two")]
    run(make_job(records, *states), PostgresLedger(app))
    for name in ("one", "two"):
        assert balances(f"service={name}", "sums") == records.expected()
