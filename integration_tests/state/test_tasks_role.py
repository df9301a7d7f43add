"""Tasks stage with a role that can do nothing else, and nobody sees with which password."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from integration_tests.fix_postgres import Postgres
from trident.base.control import decode
from trident.base.errors import ConfigurationError, FatalError
from trident.base.writes import WriteManifest
from trident.state import PostgresState
from trident.state.postgres.database import PostgresDatabase
from trident.state.staged import WrittenUpdates
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, writing

PASSWORDS = ("sw0rdfish-of-tasks", "wr0ng-sesame")


def login(dsn: str, role: str, password: str) -> str:
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(netloc=f"{role}:{password}@{parts.netloc.rpartition('@')[2]}"))


@pytest.fixture
def tasks_dsn(postgres: Postgres) -> Iterator[str]:
    """A role without any right of its own."""
    name = f"tasks_{postgres.dsn[-12:]}"
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(PASSWORDS[0]))
        )
    yield login(postgres.dsn, name, PASSWORDS[0])
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


def test_tasks_find_a_staging_table_in_a_schema_that_the_address_names(postgres: Postgres, tasks_dsn: str) -> None:
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("CREATE SCHEMA app")
    named = "?options=-c%20search_path%3Dapp"
    store = PostgresState("balances", dsn=postgres.dsn + named, tasks_dsn=tasks_dsn + named).open(
        COUNTS, PostgresDatabase(postgres.dsn)
    )
    for step in (store.prepare, lambda: store.raise_fence(OWNER, EPOCH), lambda: store.register(OWNER, EPOCH, 0)):
        step()
    writer = writing(store).writer(batch_of(1))
    assert list(writer(iter(counts(("ann", 1, 10)).rows.to_batches())))
    store.close()


def test_a_schema_that_the_coordinator_may_not_open_to_tasks_is_named(postgres: Postgres, tasks_dsn: str) -> None:
    role = f"owner_{postgres.dsn[-12:]}"
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute(
            f"CREATE ROLE {role} LOGIN PASSWORD 'ordinary'; CREATE SCHEMA app; GRANT ALL ON SCHEMA app TO {role}"  # type: ignore[call-overload, unused-ignore]
        )
    named = "?options=-c%20search_path%3Dapp"
    dsn = login(postgres.dsn, role, "ordinary") + named
    store = PostgresState("balances", dsn=dsn, tasks_dsn=tasks_dsn + named).open(COUNTS, PostgresDatabase(postgres.dsn))
    with pytest.raises(ConfigurationError, match=r'GRANT USAGE ON SCHEMA "app" TO "tasks_'):
        store.prepare()
    store.close()


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "apart"])
def test_a_role_that_can_only_write_to_staging_is_enough_for_tasks(postgres, tasks_dsn, beside):
    database = PostgresDatabase(postgres.dsn)
    state = PostgresState("balances", dsn=None if beside else postgres.dsn, tasks_dsn=tasks_dsn)
    store = state.open(COUNTS, database)
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    writer = writing(store).writer(batch_of(1))
    words = [decode(word) for word in writer(iter(counts(("ann", 1, 10), ("bob", 2, 20)).rows.to_batches()))]
    written = WrittenUpdates(tuple(word for word in words if isinstance(word, WriteManifest)))
    store.apply(batch_of(1), written)
    refused = [
        "SELECT * FROM balances",
        "INSERT INTO balances (account, n, total, txid) VALUES ('x', 1, 1, 1)",
        "UPDATE balances SET n = 0",
        "DELETE FROM balances",
        "TRUNCATE balances",
        "SELECT * FROM trident_applied",
        "UPDATE trident_applied SET txid = 0",
        "SELECT * FROM trident_state_fence",
        "SELECT * FROM trident_staging_balances",
        "DELETE FROM trident_staging_balances",
        "UPDATE trident_staging_balances SET n = 0",
        "DROP TABLE balances",
        "CREATE TABLE mine (n int)",
    ]
    with psycopg.connect(tasks_dsn, autocommit=True) as connection:
        for statement in refused:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
    with psycopg.connect(postgres.dsn) as connection:
        assert sorted(connection.execute("SELECT account, n, total FROM balances")) == [("ann", 1, 10), ("bob", 2, 20)]
    store.close()
    database.close()


def everything(run: subprocess.CompletedProcess[str], folder: Path) -> str:
    logs = [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()]
    assert sum(map(len, logs)) > 10_000
    return run.stdout + run.stderr + "".join(logs)


@pytest.mark.verify
def test_no_log_event_or_exception_shows_a_password(postgres, tasks_dsn, tmp_path):
    """Spark's log of events, the log at its most talkative, and what a run raises whose tasks are refused."""
    own = urlsplit(postgres.dsn).password
    assert own
    for number, password in enumerate(PASSWORDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        state = postgres.new_dsn()
        tasks = urlunsplit(urlsplit(tasks_dsn)._replace(path=urlsplit(state).path)).replace(PASSWORDS[0], password)
        words = [postgres.new_dsn(), state, tasks, str(folder)]
        command = [sys.executable, "-m", "integration_tests.state.secret_run", *words]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
        assert (run.returncode == 0) == (number == 0), run.stderr[-2000:]
        text = everything(run, folder)
        assert not [secret for secret in (*PASSWORDS, own) if secret in text]
        with psycopg.connect(state, autocommit=True) as connection:
            found = connection.execute("SELECT sum(n), sum(total) FROM balances").fetchone()
            connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(str(urlsplit(tasks).username))))
        assert found == ((100, 4950) if number == 0 else (None, None))


def test_a_role_that_is_not_there_is_named_with_its_state_and_how_to_make_it(postgres):
    own = f"nosuch_{postgres.dsn[-12:]}"
    state = PostgresState("balances", dsn=postgres.dsn, tasks_dsn=login(postgres.dsn, own, "sesame"))
    store = state.open(COUNTS, PostgresDatabase(postgres.dsn))
    with pytest.raises(
        ConfigurationError, match=rf"tasks_dsn of state 'balances' .*CREATE ROLE \"{own}\" LOGIN"
    ) as error:
        store.look("payments")
    assert "sesame" not in str(error.value)
    store.close()


def test_a_task_with_a_wrong_password_says_for_which_state(postgres, tasks_dsn):
    wrong = tasks_dsn.replace(PASSWORDS[0], PASSWORDS[1])
    store = PostgresState("balances", dsn=postgres.dsn, tasks_dsn=wrong).open(COUNTS, PostgresDatabase(postgres.dsn))
    store.prepare()
    writer = writing(store).writer(batch_of(1))
    with pytest.raises(FatalError, match=r"state 'balances' \(its tasks_dsn.*password is wrong") as error:
        list(writer(iter(counts(("ann", 1, 10)).rows.to_batches())))
    assert PASSWORDS[1] not in str(error.value)
    store.close()
