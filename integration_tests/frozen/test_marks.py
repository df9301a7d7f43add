"""Every transaction of this library's that may hold a row's lock shows for whom it works: else nobody may end it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from integration_tests.fix_postgres import Postgres
from integration_tests.frozen.commanding import COMMANDS, PLACE
from integration_tests.frozen.playing import LATER, OPTIONS, PLACES, databases
from tests.coordinators.fakes import Topic, make_job
from tests.state.harnesses import DictMap
from trident.base.errors import OutcomeUnknownError, RetryableError
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.coordinators.ledger.sql import epochs
from trident.coordinators.registered import Lease
from trident.spouts.base import Limits
from trident.state import BackingMapState, StateKind

_LOCKS = """
    SELECT current_setting('application_name'), string_agg(DISTINCT c.relname, ', ')
    FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
          AND c.relnamespace <> 'pg_catalog'::regnamespace AND l.mode <> 'AccessShareLock'"""
"""A lock of a row is in the row itself; whoever may have one has one of these on its table, up to the end."""


@dataclass
class Looked:
    """What transactions held when they ended."""

    marked: int = 0
    unmarked: list[str] = field(default_factory=list)

    def look(self, connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert driver is not None
        if driver.info.transaction_status.name != "INTRANS":
            return  # nothing was done in it, or it has failed and holds nothing that lasts
        name, tables = driver.execute(_LOCKS).fetchone()
        if tables and name == "trident":
            self.unmarked.append(tables)
        self.marked += bool(tables) and name != "trident"


@contextmanager
def looking() -> Iterator[Looked]:
    looked = Looked()
    for moment in ("commit", "rollback"):
        event.listen(Engine, moment, looked.look)
    try:
        yield looked
    finally:
        for moment in ("commit", "rollback"):
            event.remove(Engine, moment, looked.look)


@pytest.mark.parametrize("place", PLACES)
def test_a_run_that_begins_and_one_that_goes_on(postgres: Postgres, place: str) -> None:
    where = databases(postgres)
    with looking() as looked:
        where.run(place)
        where.run(place, count=LATER)
    assert looked.marked > 20
    assert not looked.unmarked


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_and_what_follows_it(postgres: Postgres, name: str) -> None:
    command = COMMANDS[name]
    with looking() as looked:
        where = command.prepared(postgres)
        command.give(where)
        command.follow(where)
        where.run(PLACE, count=LATER)
    assert looked.marked > 20
    assert not looked.unmarked


def test_who_asks_what_became_of_its_take_over(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """It locks the fence, under an epoch that may be nobody's."""
    real, ledger = epochs._raise_epoch, PostgresLedger(postgres.dsn)
    ledger.open()

    def lose_the_answer(*arguments: Any) -> None:
        real(*arguments)
        raise OutcomeUnknownError("the answer to COMMIT was lost")

    monkeypatch.setattr(epochs, "_raise_epoch", lose_the_answer)
    with looking() as looked, pytest.raises(RetryableError, match="was not raised"):
        ledger.acquire("payments", Lease("one", OPTIONS.lease))
    assert looked.marked
    assert not looked.unmarked
    ledger.close()


def test_a_map_whose_updates_are_staged_in_the_ledgers_database(postgres: Postgres) -> None:
    state, ledger = BackingMapState("balances", DictMap(), kind=StateKind.OPAQUE), PostgresLedger(postgres.dsn)
    topic = Topic([[("ann", 1)] * 40])
    with looking() as looked:
        for _ in range(2):
            TopologyRun(make_job(topic, state, limits=Limits(max_records=10)).plan(), ledger, OPTIONS).run()
            topic.partitions[0] += [("ann", 1)] * 20
    assert looked.marked > 20
    assert not looked.unmarked
