"""The fixture `postgres`: one server for the whole run, an empty database for each test."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from integration_tests.fix_servers import or_skip
from trident.local.postgres import LocalPostgres


class Postgres:
    """An empty database of the test's own; `new_dsn()` makes further ones on the same server."""

    def __init__(self, server_dsn: str) -> None:
        self._server_dsn = server_dsn
        self._names: list[str] = []
        self.dsn = self.new_dsn()

    def new_dsn(self) -> str:
        name = f"trident_{secrets.token_hex(6)}"
        with psycopg.connect(self._server_dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} STRATEGY FILE_COPY").format(sql.Identifier(name)))
        self._names.append(name)
        return urlunsplit(urlsplit(self._server_dsn)._replace(path=f"/{name}"))

    def drop(self) -> None:
        with psycopg.connect(self._server_dsn, autocommit=True) as connection:
            for name in self._names:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[str]:
    """Address of a server where databases may be made."""
    given = pytestconfig.getoption("--pg-dsn")
    if given:
        yield given
        return
    # no test ends the machine, and making databases is most of what many of them do
    with or_skip(pytestconfig, partial(LocalPostgres, durable=False)) as local:
        yield local.dsn


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[Postgres]:
    database = Postgres(postgres_server)
    yield database
    database.drop()
