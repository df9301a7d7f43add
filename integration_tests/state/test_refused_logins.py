"""A login that is refused says whose address it is and where that leads to, and never a password."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from trident.base.errors import FatalError
from trident.cli import app
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState

SECRET = "sesame-open"


def stranger(dsn: str, user: str = "nobody", name: str = "") -> str:
    parts = urlsplit(dsn)
    place = f"{user}:{SECRET}@{parts.hostname}:{parts.port}"
    return urlunsplit(parts._replace(netloc=place, path=f"/{name}" if name else parts.path))


@pytest.mark.parametrize("whose", ["the ledger", "state 'balances'"])
def test_a_refused_login_says_whose_address_it_is(postgres: Postgres, whose: str) -> None:
    wrong = stranger(postgres.dsn)
    ledger, state = (wrong, postgres.dsn) if whose == "the ledger" else (postgres.dsn, wrong)
    with pytest.raises(FatalError) as told:
        run(make_job(Topic([[("a", 1)]]), PostgresState("balances", dsn=state)), PostgresLedger(ledger), OPTIONS)
    parts = urlsplit(postgres.dsn)
    where = f"host={parts.hostname} port={parts.port} dbname={parts.path[1:]} user=nobody"
    assert str(told.value).startswith(f"{whose} ({where}): can't connect to Postgres: ")
    assert SECRET not in str(told.value)


def test_a_schema_that_the_role_may_not_use_is_told_with_the_right(postgres: Postgres) -> None:
    name = f"outside_{postgres.dsn[-12:]}"
    try:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            for statement in (
                "CREATE SCHEMA closed",
                f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'",
                f"ALTER ROLE {name} SET search_path = closed",
            ):
                connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
        ledger = PostgresLedger(stranger(postgres.dsn, name))
        with pytest.raises(FatalError, match=r"nothing was written. .*GRANT USAGE, CREATE ON SCHEMA"):
            run(make_job(Topic([[("a", 1)]]), PostgresState("balances")), ledger, OPTIONS)
    finally:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute(f"DROP ROLE IF EXISTS {name}")  # type: ignore[call-overload, unused-ignore]


def test_a_database_that_is_not_there_is_named(postgres: Postgres, capsys: pytest.CaptureFixture[str]) -> None:
    parts = urlsplit(postgres.dsn)
    nowhere = urlunsplit(parts._replace(path="/nowhere"))
    assert app.run(["status", "payments", "--ledger", nowhere]) == 1
    said = capsys.readouterr().err
    assert "the ledger (host=" in said
    assert "dbname=nowhere" in said
    assert parts.password is None or f":{parts.password}@" not in said
