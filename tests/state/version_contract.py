"""What holds of the tables that states share, in every database: inherited by one class per kind."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import Connection, inspect

from tests.state.dumping import (
    STAGED,
    VERSIONS,
    AnyDatabase,
    begin,
    manifest_of,
    map_before,
    open_map,
    open_table,
    rows_of,
)
from tests.state.harnesses import ClearableMap
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch
from trident.state.databases.base import SchemaTerms
from trident.state.databases.versions import NumberedTables
from trident.state.folding import current
from trident.state.maps.blobs import BLOB_TABLES
from trident.state.maps.maps import BackingPosition, TimedValue
from trident.state.staged import WrittenUpdates
from trident.state.tables.versions import META_TABLES
from trident.testing.state_harness import EPOCH, OWNER, batch_of

SERIES = {"tables": META_TABLES, "blobs": BLOB_TABLES}
NEWER = Epoch(EPOCH.number + 1, "newer")
EXPECTED: dict[str | None, tuple[int, int]] = {}
for _txid in range(1, STAGED + 1):
    for _account, _n, _total in rows_of(_txid):
        _before = EXPECTED.get(_account, (0, 0))
        EXPECTED[_account] = (_before[0] + _n, _before[1] + _total)


class VersionContract:
    """Give the fixtures `database` (empty), `scratch` (another one), and `restored`, which fills it from a dump."""

    @pytest.mark.parametrize("version", range(1, VERSIONS["tables"] + 1))
    def test_a_table_of_its_own_goes_on(
        self, database: AnyDatabase, restored: Callable[[str, int], None], version: int
    ) -> None:
        restored("tables", version)
        store = open_table(database)
        store.prepare()
        with pytest.raises(FencedError):
            store.raise_fence(OWNER, Epoch(EPOCH.number - 1, "older"))
        store.raise_fence(OWNER, NEWER)
        position = store.position(OWNER.topology)
        assert position is not None
        assert (position.owner, position.txid, position.birth_txid) == (OWNER, STAGED - 1, 0)
        store.register(OWNER, NEWER, 0)
        store.apply(batch_of(STAGED, epoch=NEWER), WrittenUpdates((manifest_of(database),)))
        with database.transaction() as transaction:
            found = transaction.connection.exec_driver_sql("SELECT account, n, total FROM counts").all()
        assert {row[0]: (row[1], row[2]) for row in found} == EXPECTED
        store.close()

    @pytest.mark.parametrize("version", range(1, VERSIONS["blobs"] + 1))
    def test_staged_updates_of_a_per_key_store_are_applied(
        self, database: AnyDatabase, scratch: AnyDatabase, restored: Callable[[str, int], None], version: int
    ) -> None:
        restored("blobs", version)
        backing = map_before(scratch)
        store = open_map(database, backing)
        store.prepare()
        store.raise_fence(OWNER, NEWER)
        store.register(OWNER, NEWER, 0)
        store.apply(batch_of(STAGED, epoch=NEWER), WrittenUpdates((manifest_of(database),)))
        apart = BackingPosition | TimedValue
        found = {key[0]: current(value) for key, value in backing.rows.items() if not isinstance(value, apart)}
        assert found == EXPECTED

    @pytest.mark.parametrize("about", SERIES)
    def test_tables_without_a_version_are_the_first(
        self, database: AnyDatabase, restored: Callable[[str, int], None], about: str
    ) -> None:
        series = SERIES[about]
        restored(about, 1)
        with database.transaction() as transaction:
            transaction.connection.exec_driver_sql(f"DROP TABLE {series.versions}")
            before = _rows(transaction.connection, about)
            assert before
            assert series.version_of(transaction.connection) == 0
        _prepare(database, about)
        with database.transaction() as transaction:
            after = _rows(transaction.connection, about)
            assert [row[: len(old)] for row, old in zip(after, before, strict=True)] == before  # columns may be added
            assert series.version_of(transaction.connection) == len(series.steps)

    @pytest.mark.parametrize("about", SERIES)
    def test_a_newer_version_is_refused_and_nothing_is_changed(self, database: AnyDatabase, about: str) -> None:
        series = SERIES[about]
        newer = replace(series, steps=(*series.steps, lambda *_: None))
        with database.transaction() as transaction:
            newer.migrate(transaction.connection, database.schema_terms)
            tables = inspect(transaction.connection).get_table_names()
        known = len(series.steps)
        with pytest.raises(MismatchError, match=rf"of version {known + 1}, this library knows versions up to {known}"):
            _prepare(database, about)
        with database.transaction() as transaction:
            assert inspect(transaction.connection).get_table_names() == tables

    @pytest.mark.parametrize("about", SERIES)
    def test_missing_steps_are_applied_once_and_one_that_fails_leaves_the_version(
        self, database: AnyDatabase, about: str
    ) -> None:
        applied: list[int] = []
        series = SERIES[about]
        longer = replace(series, steps=(*series.steps, lambda *_: applied.append(2)))

        def fail(connection: Connection, terms: SchemaTerms) -> None:
            connection.exec_driver_sql("CREATE TABLE half (x int)")
            raise RuntimeError("no")

        _prepare(database, about)
        for _ in range(2):
            with database.transaction() as transaction:
                longer.migrate(transaction.connection, database.schema_terms)
        with pytest.raises(RuntimeError), database.transaction() as transaction:
            replace(longer, steps=(*longer.steps, fail)).migrate(transaction.connection, database.schema_terms)
        assert applied == [2]
        with database.transaction() as transaction:
            assert longer.version_of(transaction.connection) == len(longer.steps)
            assert not inspect(transaction.connection).has_table("half")

    @pytest.mark.parametrize("about", SERIES)
    def test_first_starts_at_one_moment_do_not_collide(self, database: AnyDatabase, about: str) -> None:
        start = partial(_migrate, database, SERIES[about])
        with ThreadPoolExecutor(4) as pool:
            for started in [pool.submit(start) for _ in range(4)]:
                started.result()
        with database.transaction() as transaction:
            assert SERIES[about].version_of(transaction.connection) == len(SERIES[about].steps)

    def test_the_versions_are_the_states_own(self, database: AnyDatabase) -> None:
        store = open_table(database)
        begin(store)
        store.close()
        with database.transaction() as transaction:
            names = set(inspect(transaction.connection).get_table_names())
        assert {"trident_applied", "trident_state_fence", "trident_state_schema"} <= names
        assert not names & {"trident_schema", "trident_staged_blob", "trident_staged_blob_schema"}


def _migrate(database: AnyDatabase, series: NumberedTables) -> int:
    with database.transaction() as transaction:
        return series.migrate(transaction.connection, database.schema_terms)


def _prepare(database: AnyDatabase, about: str) -> None:
    store = open_table(database) if about == "tables" else open_map(database, ClearableMap())
    store.prepare()
    store.close()


def _rows(connection: Connection, about: str) -> list[tuple[object, ...]]:
    table = "trident_applied" if about == "tables" else "trident_staged_blob"
    return [tuple(row) for row in connection.exec_driver_sql(f"SELECT * FROM {table}")]
