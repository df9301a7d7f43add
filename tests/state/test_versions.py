"""The tables that SQLite states share: what an older version left is opened by this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.state.dumping import DUMPS, VERSIONS, dump_of, restore
from tests.state.version_contract import VersionContract
from trident.state.sqlite.database import SqliteDatabase


def test_there_is_a_dump_of_each_version() -> None:
    wanted = {
        dump_of(backend, about, version)
        for backend in ("sqlite", "postgres")
        for about, newest in VERSIONS.items()
        for version in range(1, newest + 1)
    }
    assert set(DUMPS.iterdir()) == wanted


class TestSqliteVersions(VersionContract):
    @pytest.fixture
    def database(self, tmp_path: Path) -> Iterator[SqliteDatabase]:
        database = SqliteDatabase(tmp_path / "state.sqlite")
        yield database
        database.close()

    @pytest.fixture
    def scratch(self, tmp_path: Path) -> Iterator[SqliteDatabase]:
        database = SqliteDatabase(tmp_path / "scratch.sqlite")
        yield database
        database.close()

    @pytest.fixture
    def restored(self, tmp_path: Path) -> Callable[[str, int], None]:
        return lambda about, version: restore("sqlite", about, version, tmp_path / "state.sqlite")
