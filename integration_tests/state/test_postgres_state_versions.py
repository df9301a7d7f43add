"""The tables that Postgres states share: what an older version left is opened by this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration_tests.fix_postgres import Postgres
from tests.state.dumping import restore
from tests.state.version_contract import VersionContract
from trident.state.postgres.database import PostgresDatabase
from trident.state.sqlite.database import SqliteDatabase


class TestPostgresVersions(VersionContract):
    @pytest.fixture
    def database(self, postgres: Postgres) -> Iterator[PostgresDatabase]:
        database = PostgresDatabase(postgres.dsn)
        yield database
        database.close()

    @pytest.fixture
    def scratch(self, tmp_path: Path) -> Iterator[SqliteDatabase]:
        database = SqliteDatabase(tmp_path / "scratch.sqlite")
        yield database
        database.close()

    @pytest.fixture
    def restored(self, postgres: Postgres) -> Callable[[str, int], None]:
        return lambda about, version: restore("postgres", about, version, postgres.dsn)
