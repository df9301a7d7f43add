"""Random lives of a state in PostgreSQL, beside the same perfect model as the stores without a server."""

from __future__ import annotations

import socket
from contextlib import suppress

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.state.test_postgres_contract import PostgresHarness
from tests.effort import effort
from tests.state.machine import Bench, Crash, live_long
from trident.base.errors import TridentError
from trident.base.identity import BatchId
from trident.state.layout import StateKind
from trident.state.staged import StagedUpdates
from trident.state.tables.target import TableTarget
from trident.state.target import Target


class PostgresBench(Bench):
    """Its tables are made anew for each life, in one database."""

    harness: PostgresHarness

    def __init__(self, dsn: str, apart: bool) -> None:
        self.apart = apart
        with psycopg.connect(dsn) as connection:
            for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall():
                connection.execute(f"DROP TABLE {name}")
        self.harness = PostgresHarness(dsn, beside=not apart)

    def crash(self, store: Target, batch: BatchId, updates: StagedUpdates, after: int) -> bool:
        """Cut the connection in the middle of the transaction: no rollback, no farewell."""
        assert isinstance(store, TableTarget)
        updates = store.ready(batch, updates)
        with suppress(Crash, TridentError), self.harness.database.transaction() as transaction:
            store.copy_in(transaction, batch, updates)
            if after:
                store.apply_in(transaction, batch, updates)
            driver = transaction.connection.connection.driver_connection
            assert driver is not None
            with socket.socket(fileno=driver.pgconn.socket) as cut:
                cut.shutdown(socket.SHUT_RDWR)
                cut.detach()
            raise Crash
        return True

    def close(self) -> None:
        self.harness.close()


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("kind", list(StateKind))
@pytest.mark.parametrize("apart", [False, True], ids=["beside the ledger", "apart"])
@pytest.mark.drawn(one_in=2)
def test_a_long_life_in_postgres_ends_with_the_models_values(postgres: Postgres, apart: bool, kind: StateKind) -> None:
    live_long(
        kind, lambda: PostgresBench(postgres.dsn, apart), examples=effort().server_lives, steps=effort().state_steps
    )
