"""A statement that hangs in a server at work, such as one of a user's trigger: it is waited for, and named."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.frozen.playing import AT_FIRST, LATER, OPTIONS, Databases, Owner, databases
from trident.base.errors import TridentError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.coordinators.options import Until

BATCH_TIMEOUT = timedelta(seconds=0.5)
HANGING = replace(OPTIONS, until=Until.STOPPED, batch_timeout=BATCH_TIMEOUT)
_HANG = """
    CREATE TABLE hanging (n int);
    INSERT INTO hanging VALUES (1);
    CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN WHILE EXISTS (SELECT FROM hanging) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NEW; END $$;
    CREATE TRIGGER hang BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION hang()"""


def until(happens: Callable[[], bool]) -> None:
    for _ in range(600):
        if happens():
            return
        threading.Event().wait(0.05)
    raise AssertionError


class Hung:
    """A run whose next commit waits in a trigger, for as long as the test likes."""

    def __init__(self, where: Databases, place: str) -> None:
        self.run = TopologyRun(where.job(place, LATER).plan(), PostgresLedger(where.ledger), HANGING)
        self.ended_with: TridentError | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def is_at_work(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.run.run()
        except TridentError as error:
            self.ended_with = error


def test_a_command_that_hangs_is_named_and_waited_for(postgres: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    """Already in its first trial, which is not repeated."""
    where, place = databases(postgres), "beside the ledger"
    where.run(place)
    plan = where.job(place).plan()

    def give() -> None:
        reset_topology(
            plan.spec, plan.targets, PostgresLedger(where.ledger), keep_rows=False, start=None, options=HANGING
        )

    with psycopg.connect(where.ledger, autocommit=True) as person:
        person.execute(_HANG.format(table="inside").replace("INSERT OR UPDATE", "DELETE").replace("NEW;", "OLD;"))  # type: ignore[call-overload, unused-ignore]
        owner = Owner(give)
        owner.start()
        until(lambda: sum(line.startswith("trying the reset has not returned for") for line in caplog.messages) >= 2)
        assert owner.is_at_work()
        person.execute("DELETE FROM hanging")
        owner.wait()
    assert owner.ended_with is None
    where.run(place)
    assert where.are_exact(place, AT_FIRST)


@pytest.mark.parametrize(
    ("place", "table", "said"),
    [
        ("beside the ledger", "inside", r"committing payments txid 4 attempt \d+ has not.*at work: state 'inside'"),
        ("apart from it", "outside", r"applying payments txid 4 attempt \d+ to state 'outside' has not returned"),
    ],
)
def test_a_commit_that_hangs_is_named_again_and_again_and_waited_for(
    postgres: Postgres, place: str, table: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also by a stop, since it may still take effect; it is there once, when it goes on."""
    where = databases(postgres)
    where.run(place)
    dsn = where.apart if table == "outside" else where.ledger

    def told() -> list[str]:
        lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        return [line for line in lines if re.match(said, line)]

    with psycopg.connect(dsn, autocommit=True) as person:
        person.execute(_HANG.format(table=table))  # type: ignore[call-overload, unused-ignore]
        hung = Hung(where, place)
        until(lambda: len(told()) >= 2)
        hung.run.stop()
        before = len(told())
        until(lambda: len(told()) > before)
        assert hung.is_at_work()
        person.execute("DELETE FROM hanging")
        hung.wait()
    assert hung.ended_with is None
    assert where.are_exact(place)
