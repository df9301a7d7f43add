"""A name without a schema means the same thing in every session of a run, and another path starts nothing anew."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from urllib.parse import quote_plus, urlsplit, urlunsplit

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from trident.base.control import decode
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, MismatchError
from trident.base.writes import WriteManifest
from trident.coordinators.decisions.commands import retry_topology
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.postgres.database import PostgresDatabase
from trident.state.staged import WrittenUpdates
from trident.testing.state_harness import COUNTS, EPOCH, OWNER, batch_of, counts, writing


def execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload, unused-ignore]


def follow(dsn: str, path: str) -> None:
    """Let all new sessions of the database have this path."""
    execute(dsn, f"ALTER DATABASE {urlsplit(dsn).path[1:]} SET search_path = {path}")


def through(dsn: str, path: str) -> str:
    """The address with a path that it names itself."""
    return f"{dsn}?options={quote_plus(f'-csearch_path={path}')}"


def asked(database: PostgresDatabase, statement: str) -> object:
    with database.transaction() as transaction:
        found: object = transaction.connection.exec_driver_sql(statement).scalar_one()
    return found


def a_topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(25)]])


def go_on(dsn: str, topic: Topic, *, apart: str | None = None) -> None:
    run(make_job(topic, PostgresState("balances", dsn=apart)), PostgresLedger(dsn))


@pytest.fixture
def app(postgres: Postgres) -> str:
    """A database with a further schema `app`."""
    execute(postgres.dsn, "CREATE SCHEMA app")
    return postgres.dsn


def test_all_sessions_of_a_database_have_the_path_of_the_first(app: str) -> None:
    """One that is made anew after the path was changed, in the middle of a run, writes to the same tables."""
    topic = a_topic()
    go_on(app, topic)
    execute(app, "CREATE TABLE app.balances (LIKE public.balances INCLUDING ALL)")
    topic.partitions[0] += [("a1", 5)] * 12
    changed: list[str] = []

    def change(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.IN_TURN and not changed:
            changed.append("once")
            follow(app, "app, public")
            ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            execute(app, ours + "AND datname = current_database()")

    with armed(change):
        go_on(app, topic)
    assert changed
    assert balances(app, "public.balances") == topic.expected()
    assert balances(app, "app.balances") == {}


def test_what_users_made_never_stands_for_what_the_server_has(app: str) -> None:
    follow(app, "app, pg_catalog, public")
    execute(
        app,
        "CREATE FUNCTION app.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz 'epoch' $$",
        "CREATE FUNCTION app.never(bigint, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$",
        "CREATE OPERATOR app.= (leftarg = bigint, rightarg = bigint, function = app.never)",
        "CREATE FUNCTION app.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'no' $$",
        "CREATE TABLE app.pg_settings (name text, setting text)",
    )
    topic = a_topic()
    go_on(app, topic)
    go_on(app, topic)
    assert balances(app, "app.balances") == topic.expected()
    database = PostgresDatabase(app)
    assert asked(database, "SELECT clock_timestamp() > '2024-01-01' AND 1::bigint = 1::bigint")
    assert asked(database, "SHOW TimeZone") == "UTC"
    assert asked(database, "SHOW search_path") == '"app", "public"'
    database.close()


def test_a_command_that_was_once_given_the_wrong_schema_leaves_nothing_that_counts(app: str) -> None:
    """It holds a lease there, of a topology that has never begun there."""
    topic = a_topic()
    go_on(app, topic)
    wrong = PostgresLedger(through(app, "app"))
    with pytest.raises(MismatchError, match="is not registered"):
        retry_topology("payments", wrong, 3, OPTIONS)
    follow(app, "app")
    with pytest.raises(ConfigurationError, match="is new in schema 'app', and a ledger in schema 'public'"):
        go_on(app, topic)


def test_a_schema_that_is_made_later_is_found(app: str) -> None:
    database = PostgresDatabase(through(app, "later"))
    with pytest.raises(ConfigurationError, match="later"):
        asked(database, "SELECT current_schema()")
    execute(app, "CREATE SCHEMA later")
    assert asked(database, "SELECT current_schema()") == "later"
    database.close()


def test_a_ledger_that_another_path_hides_is_not_begun_anew(app: str) -> None:
    """Whether the path's schema has no ledger yet or an empty one; what the text says goes on, or begins."""
    topic = a_topic()
    go_on(app, topic)
    execute(app, 'CREATE SCHEMA "My Own"')
    follow(app, '"My Own"')
    for path in ('"My Own"', '"My Own"', '"My Own", public'):
        follow(app, path)
        with pytest.raises(
            ConfigurationError, match="is new in schema 'My Own', and a ledger in schema 'public'"
        ) as told:
            go_on(app, topic)
    assert str(urlsplit(app).password) not in str(told.value)
    there, here = re.findall(r"\?options=\S+", str(told.value))
    topic.partitions[0] += [("a9", 1)] * 12
    go_on(app + there, topic)
    assert balances(app, "public.balances") == topic.expected()
    follow(app, '"My Own"')
    go_on(app + here, topic)
    assert balances(app, '"My Own".balances') == balances(app, "public.balances") == topic.expected()


def test_a_path_that_the_address_names_may_begin_anew_and_says_what_else_there_is(
    app: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As test and production in two schemas do."""
    topic = a_topic()
    go_on(app, topic)
    with caplog.at_level(logging.WARNING, "trident"):
        go_on(through(app, "app"), topic)
        assert "schema 'public'" in caplog.text
        caplog.clear()
        go_on(through(app, "app"), topic)
        assert "schema 'public'" not in caplog.text
    assert balances(app, "public.balances") == balances(app, "app.balances") == topic.expected()
    follow(app, "app, public")
    go_on(app, topic)


def test_a_ledger_with_other_topologies_elsewhere_is_nobodys_concern(app: str) -> None:
    topic = a_topic()
    go_on(app, topic)
    execute(
        app,
        "UPDATE trident_topology SET name = 'other'",
        "CREATE SCHEMA more",
        "CREATE TABLE more.trident_topology ()",
    )
    follow(app, "app")
    go_on(app, topic)
    assert balances(app, "app.balances") == topic.expected()


@pytest.mark.parametrize("made", ["trident_applied", "balances"])
@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
@pytest.mark.drawn(one_in=2)
def test_a_table_of_a_users_that_hides_a_states_stops_the_start(app: str, made: str, apart: bool) -> None:
    topic = a_topic()
    own = app if apart else None
    go_on(app, topic, apart=own)
    execute(app, f"CREATE TABLE app.{made} (LIKE public.{made} INCLUDING ALL)")
    follow(app, "app, public")
    with pytest.raises(MismatchError):
        go_on(app, topic, apart=own)
    execute(app, f"DROP TABLE app.{made}")
    topic.partitions[0] += [("a9", 1)] * 12
    go_on(app, topic, apart=own)
    assert balances(app, "public.balances") == topic.expected()


def test_a_state_that_another_path_hides_stops_the_start(app: str, postgres: Postgres) -> None:
    """One with an address of its own; the ledger's is in another database."""
    topic, ledger = a_topic(), postgres.new_dsn()
    go_on(ledger, topic, apart=app)
    topic.partitions[0] += [("a9", 1)] * 12
    follow(app, "app")
    with pytest.raises(MismatchError, match="state 'balances' is gone"):
        go_on(ledger, topic, apart=app)
    follow(app, "public")
    go_on(ledger, topic, apart=app)
    assert balances(app, "public.balances") == topic.expected()


@pytest.fixture
def tasks_dsn(app: str) -> Iterator[str]:
    """A role for tasks, whose path leads to a table of the same name as the staging table's."""
    name = f"path_{app[-12:]}"
    execute(
        app,
        f"CREATE ROLE {name} LOGIN PASSWORD 'pw'",
        f"ALTER ROLE {name} SET search_path = app, pg_catalog",
        f"GRANT ALL ON SCHEMA app TO {name}",
    )
    parts = urlsplit(app)
    yield urlunsplit(parts._replace(netloc=f"{name}:pw@{parts.netloc.rpartition('@')[2]}"))
    execute(app, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_tasks_write_where_the_coordinator_reads(app: str, tasks_dsn: str) -> None:
    database = PostgresDatabase(app)
    store = PostgresState("balances", tasks_dsn=tasks_dsn).open(COUNTS, database)
    store.prepare()
    execute(
        app,
        "CREATE TABLE app.trident_staging_balances (LIKE public.trident_staging_balances)",
        "GRANT ALL ON app.trident_staging_balances TO public",
    )
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    words = map(decode, writing(store).writer(batch_of(1))(iter(counts(("ann", 1, 10)).rows.to_batches())))
    store.apply(batch_of(1), WrittenUpdates(tuple(word for word in words if isinstance(word, WriteManifest))))
    assert balances(app) == {"ann": (1, 10)}
    store.close()
    database.close()


def test_a_schema_that_is_not_there_is_named_with_the_address(app: str) -> None:
    with pytest.raises(ConfigurationError, match=r"dbname=\S+.*search_path porod, and no schema") as error:
        go_on(through(app, "porod"), a_topic())
    assert str(urlsplit(app).password) not in str(error.value)
