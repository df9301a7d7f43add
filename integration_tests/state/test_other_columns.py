"""A newer version whose state has other columns, behind a pin that a kill has left in a real PostgreSQL."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from integration_tests.fix_postgres import Postgres
from integration_tests.state.other_columns import InPostgres, payments
from tests.coordinators.fakes import Topic
from tests.coordinators.other_columns import FIRST, GROWN, Sums, doubled, run
from tests.coordinators.test_other_columns import more
from trident.base.errors import MismatchError
from trident.base.looking import rolled_back
from trident.coordinators.registered import ColumnBirth
from trident.state.databases.base import SqlTransaction
from trident.state.layout import StateKind
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.dialect import PostgresDialect

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=[False, True], ids=["beside the ledger", "apart"])
def place(request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres) -> InPostgres:
    own = postgres.new_dsn() if request.param else None
    return InPostgres(tmp_path, StateKind.OPAQUE, postgres.dsn, own)


def kill_behind_a_pin(place: InPostgres) -> Topic:
    module = "integration_tests.state.other_columns"
    ended = subprocess.run(
        [sys.executable, "-m", module, place.kind.value, place.dsn, place.own or ""],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    return payments()


def test_what_a_killed_version_has_pinned_is_applied_by_one_of_other_columns(place: InPostgres) -> None:
    topic = kill_behind_a_pin(place)
    before: list[Sums] = []
    run(place, topic, GROWN, lambda _: before.append(place.sums()))
    assert place.sums() == topic.expected()
    assert place.twice() == doubled(place.sums(), before[0])
    status = place.ledger().view().status("payments")
    assert status.new_columns == (("sums", ColumnBirth("twice", 2)),)
    with pytest.raises(MismatchError, match="can't go back to this version"):
        run(place, topic, FIRST)
    more(topic)
    run(place, topic, GROWN)
    assert place.sums() == topic.expected()


@pytest.fixture
def clerk(place: InPostgres) -> Iterator[str]:
    """The role of a version that may use the table, which is another one's."""
    where, name = place.own or place.dsn, f"clerk_{place.dsn[-12:]}"
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'x'").format(sql.Identifier(name)))
    parts = urlsplit(where)
    yield urlunsplit(parts._replace(netloc=f"{name}:x@{parts.netloc.rpartition('@')[2]}"))
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


def test_a_table_of_another_role_is_not_begun_with(place: InPostgres, clerk: str) -> None:
    """What a version needs and may not do is said before anything of it is stored."""
    topic = payments()
    run(place, topic, FIRST)
    where = place.own or place.dsn
    role = sql.Identifier(urlsplit(clerk).username or "")
    with psycopg.connect(where, autocommit=True) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'trident%'").fetchall()
        for (table,) in tables:
            connection.execute(sql.SQL("ALTER TABLE {} OWNER TO {}").format(sql.Identifier(table), role))
        connection.execute(sql.SQL("GRANT ALL ON sums TO {}; GRANT ALL ON SCHEMA public TO {}").format(role, role))
    as_clerk = InPostgres(place.folder, place.kind, place.dsn if place.own else clerk, clerk if place.own else None)
    with pytest.raises(MismatchError, match="may not change table 'sums'"):
        run(as_clerk, topic, GROWN)
    assert place.ledger().view().status("payments").new_columns == ()
    more(topic)
    run(place, topic, FIRST)
    assert place.sums() == topic.expected()


def test_a_column_of_somebody_else_is_refused_by_name(place: InPostgres) -> None:
    topic = payments()
    run(place, topic, FIRST)
    with psycopg.connect(place.own or place.dsn) as connection:
        connection.execute("ALTER TABLE sums ADD COLUMN previous_twice text")
    with pytest.raises(MismatchError, match="has a column 'previous_twice'"):
        run(place, topic, GROWN)
    with psycopg.connect(place.own or place.dsn) as connection:
        connection.execute("ALTER TABLE sums DROP COLUMN previous_twice")
    more(topic)
    before: list[Sums] = []
    run(place, topic, GROWN, lambda _: before.append(place.sums()))
    assert place.twice() == doubled(place.sums(), before[0])


def test_a_partition_of_another_role_can_not_be_given_a_column(postgres: Postgres) -> None:
    """Who owns a table may change it only with all of its partitions: that is known before it is tried."""
    database, role = PostgresDatabase(postgres.dsn), f"owner_{postgres.dsn[-12:]}"

    def look(transaction: SqlTransaction) -> None:
        def execute(*statements: str) -> None:
            for statement in statements:
                transaction.connection.execute(text(statement))

        execute(
            f'CREATE ROLE "{role}"',
            "CREATE TABLE parted (account text, n bigint) PARTITION BY LIST (account)",
            f'ALTER TABLE parted OWNER TO "{role}"',
            "CREATE TABLE part PARTITION OF parted DEFAULT",
            f'SET LOCAL ROLE "{role}"',
        )
        assert not PostgresDialect().may_change(transaction.connection, "parted")
        execute("RESET ROLE", f'ALTER TABLE part OWNER TO "{role}"', f'SET LOCAL ROLE "{role}"')
        assert PostgresDialect().may_change(transaction.connection, "parted")
        execute("RESET ROLE", "ALTER TABLE part OWNER TO CURRENT_USER", f'SET LOCAL ROLE "{role}"')
        with pytest.raises(DBAPIError, match="must be owner of table part"):
            execute("ALTER TABLE parted ADD COLUMN twice bigint")

    try:
        rolled_back(database.transaction(), look)
    finally:
        database.close()
