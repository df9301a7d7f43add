"""A person's command behind a proxy, and what comes after it when it freezes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg

from integration_tests.fix_postgres import Postgres
from integration_tests.frozen.playing import LATER, LEASE, OPTIONS, Databases, Owner, databases, noting
from trident.base.errors import DecisionNeededError, FatalError, LeaseHeldError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import PostgresLedger
from trident.testing.postgres_proxy import PostgresProxy

PLACE = "one of each"
DONE = 40
"""Records of the txids that are done before; those of the one after them are refused where something is undone."""
_NOTES = """
    CREATE TABLE notes (what text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO notes VALUES (TG_OP); RETURN NULL; END $$;
    CREATE TRIGGER note AFTER DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION note()"""
"""Whoever will delete rows tries it first where a trigger may be in the way."""
_REFUSE = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON outside FOR EACH ROW EXECUTE FUNCTION refuse()"""


@dataclass(frozen=True)
class Command:
    """What a person does to a topology, and how it goes on."""

    prepare: Callable[[Databases], None]
    give: Callable[[Databases], None]
    follow: Callable[[Databases], None]
    """What takes over from one that froze; afterwards the topology can run."""

    def prepared(self, postgres: Postgres) -> Databases:
        where = databases(postgres)
        self.prepare(where)
        return where


def execute(dsn: str, statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statements)  # type: ignore[call-overload, unused-ignore]


def _run_with_notes(where: Databases) -> None:
    where.run(PLACE)
    execute(where.ledger, _NOTES.format(table="inside"))
    execute(where.apart, _NOTES.format(table="outside"))


def _clear(where: Databases) -> None:
    plan = where.job(PLACE, LATER).plan()
    reset_topology(plan.spec, plan.targets, PostgresLedger(where.ledger), keep_rows=False, start=None, options=OPTIONS)


def _run_until_refused(where: Databases) -> None:
    where.run(PLACE, count=DONE)
    execute(where.ledger, _NOTES.format(table="inside"))
    execute(where.apart, _NOTES.format(table="outside"))
    execute(where.apart, _REFUSE)
    with suppress(DecisionNeededError):
        where.run(PLACE)


def _undo(where: Databases) -> None:
    plan = where.job(PLACE, LATER).plan()
    wanted = WantedDecision(DecisionKind.UNDO, DONE // 20 + 1)
    decide_topology(plan.spec, plan.targets, PostgresLedger(where.ledger), wanted, OPTIONS)


def _undo_again(where: Databases) -> None:
    deadline = time.monotonic() + 20 * LEASE.total_seconds()
    while True:
        try:
            _undo(where)
        except LeaseHeldError:  # a command does not wait for who holds the lease
            assert time.monotonic() < deadline
            threading.Event().wait(0.05)
            continue
        except FatalError:  # the one that froze has done it
            pass
        break
    execute(where.apart, "DROP TRIGGER refuse ON outside")


COMMANDS = {
    "reset": Command(_run_with_notes, _clear, lambda where: None),
    "undo": Command(_run_until_refused, _undo, _undo_again),
}


@contextmanager
def dark(where: Databases, command: Command, freeze: Callable[[PostgresProxy], threading.Event]) -> Iterator[bool]:
    """Give a command, and let everything freeze in it; yields whether it did, and lets it wake up in the end."""
    with PostgresProxy(where.ledger) as proxy:
        through = where.through(proxy)
        owner, frozen = Owner(lambda: command.give(through)), freeze(proxy)
        owner.start()
        while not frozen.wait(0.05) and owner.is_at_work():
            pass
        try:
            yield frozen.is_set()
        finally:
            proxy.cut()
            proxy.release()
            owner.wait()


def seconds_to_take_over(where: Databases, command: Command) -> float:
    """Follow the frozen command and run the topology; returns how long it took to know where all states stand."""
    began = time.monotonic()
    with noting() as moments:
        command.follow(where)
        where.run(PLACE, count=LATER)
    return moments[0] - began
