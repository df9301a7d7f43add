"""The contract of a state, held by PostgreSQL: beside the ledger and in a database of its own."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import dict_row

from integration_tests.fix_postgres import Postgres
from trident.base.identity import BatchId
from trident.state import PostgresState
from trident.state.layout import StateKind, StateLayout
from trident.state.postgres import dialect
from trident.state.postgres.database import PostgresDatabase
from trident.state.staged import StagedUpdates
from trident.state.target import Target
from trident.testing import StateContract, StateHarness
from trident.testing.state_harness import beside


class PostgresHarness(StateHarness):
    def __init__(self, dsn: str, beside: bool) -> None:
        self.dsn = dsn
        self.beside = beside
        self.database = PostgresDatabase(dsn)
        self.stores: list[Target] = []

    def open(self, layout: StateLayout, kind: StateKind) -> Target:
        return self._open(layout, kind, None if self.beside else self.dsn)

    def open_apart(self, layout: StateLayout, kind: StateKind) -> Target:
        return self._open(layout, kind, self.dsn)

    def _open(self, layout: StateLayout, kind: StateKind, dsn: str | None) -> Target:
        self.stores.append(PostgresState("counts", dsn=dsn, kind=kind).open(layout, self.database))
        return self.stores[-1]

    def rows(self, layout: StateLayout) -> list[dict[str, object]]:
        with psycopg.connect(self.dsn, row_factory=dict_row) as connection:
            return connection.execute("SELECT * FROM counts").fetchall()

    def commit(self, store: Target, batch: BatchId, updates: StagedUpdates) -> None:
        if store.capabilities.beside is None:
            store.apply(batch, updates)
            return
        updates = beside(store).ready(batch, updates)
        with self.database.transaction() as transaction:
            beside(store).copy_in(transaction, batch, updates)
            beside(store).apply_in(transaction, batch, updates)

    def close(self) -> None:
        for store in self.stores:
            store.close()
        self.database.close()


class TestPostgresState(StateContract):
    @pytest.fixture(params=[True, False], ids=["beside the ledger", "apart"])
    def harness(self, postgres: Postgres, request: pytest.FixtureRequest) -> Iterator[PostgresHarness]:
        harness = PostgresHarness(postgres.dsn, request.param)
        yield harness
        harness.close()

    def leave_rows_without_owner(self, harness: StateHarness) -> None:
        assert isinstance(harness, PostgresHarness)
        with psycopg.connect(harness.dsn) as connection:
            connection.execute(
                "CREATE TABLE counts (account text PRIMARY KEY, n bigint, total bigint, previous_n bigint, "
                "previous_total bigint, previous_txid bigint, txid bigint NOT NULL)"
            )
            connection.execute("INSERT INTO counts VALUES ('ann', 1, 1, NULL, NULL, NULL, 0)")


class TestOnOlderServer(TestPostgresState):
    """A server before PostgreSQL 17, whose MERGE does not tell what it did."""

    @pytest.fixture
    def harness(self, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresHarness]:
        monkeypatch.setattr(dialect, "_MERGE_RETURNS", 10**9)
        harness = PostgresHarness(postgres.dsn, True)
        yield harness
        harness.close()
