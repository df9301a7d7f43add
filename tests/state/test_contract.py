"""The contract of a state, held by every store that needs no server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.state.harnesses import (
    BackingHarness,
    ClearableMap,
    ConditionalMap,
    DictMap,
    MemoryHarness,
    SqliteHarness,
)
from trident.testing import StateContract, StateHarness


class TestMemoryState(StateContract):
    @pytest.fixture(params=[True, False], ids=["beside the ledger", "apart"])
    def harness(self, request: pytest.FixtureRequest) -> MemoryHarness:
        return MemoryHarness(request.param)

    def leave_rows_without_owner(self, harness: StateHarness) -> None:
        assert isinstance(harness, MemoryHarness)
        with harness.database.transaction() as transaction:
            transaction.table("state counts rows")["ann",] = (1, 1)


class TestSqliteState(StateContract):
    @pytest.fixture(params=[True, False], ids=["beside the ledger", "apart"])
    def harness(self, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SqliteHarness]:
        harness = SqliteHarness(tmp_path, request.param)
        yield harness
        harness.close()

    def leave_rows_without_owner(self, harness: StateHarness) -> None:
        assert isinstance(harness, SqliteHarness)
        with harness.database.transaction() as transaction:
            for statement in (
                "CREATE TABLE counts (account text PRIMARY KEY, n bigint, total bigint, previous_n bigint, "
                "previous_total bigint, previous_txid bigint, txid bigint NOT NULL)",
                "INSERT INTO counts VALUES ('ann', 1, 1, NULL, NULL, NULL, 0)",
            ):
                transaction.connection.exec_driver_sql(statement)


class TestBackingMapState(StateContract):
    cached_keys = 0

    @pytest.fixture(params=[DictMap, ClearableMap, ConditionalMap])
    def harness(self, request: pytest.FixtureRequest) -> BackingHarness:
        return BackingHarness(request.param(), chunk_rows=2, cached_keys=self.cached_keys)


class TestBackingMapStateWithACache(TestBackingMapState):
    cached_keys = 2
