"""PostgreSQL ends a session that is silent in a transaction for half a lease; many rows are no reason for that."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import text

from integration_tests.fix_postgres import Postgres
from tests.ledger.decision_contract import DIVERT, refusal_of
from tests.ledger.making import commit_of, dead_letter_of, pin_of, started, successor
from trident.base.timeouts import Timeouts
from trident.coordinators.decided import Diverted
from trident.coordinators.ledger import PostgresLedger

MANY = 60_000
ODD = 'a\ttab, a \\ and a\nline, "ä€\U0001f600", \\N'
"""What a COPY in text has words of its own for."""


def test_many_rows_are_written_within_the_servers_limits(postgres: Postgres) -> None:
    """All dead letters of a batch, then all rows that a state refused."""
    ledger = PostgresLedger(postgres.dsn)
    ledger.open(Timeouts(lease=timedelta(seconds=1)))
    letters = tuple(dead_letter_of(number, (b"\\\x00\n", b"", None)[number % 3]) for number in range(MANY))
    rows = (ODD, *(f'{{"account": "number {number}"}}' for number in range(MANY)))
    decision = replace(DIVERT, txid=2, attempt=2)
    run = started(ledger)
    first = run.plan()
    ledger.commit_together(run.owner, run.epoch, replace(pin_of(first), dead_letters=letters), commit_of(first), (), ())
    second = run.plan()
    run.pin(second)
    ledger.refuse(run.owner, run.epoch, refusal_of(second))
    new = successor(run)
    ledger.decide(new.owner, new.epoch, decision)
    ledger.divert(new.owner, new.epoch, decision, rows)
    ledger.close()
    ledger = PostgresLedger(postgres.dsn)  # who reads so much at once, and keeps it, needs its time
    ledger.open()
    assert ledger.diverted("payments") == ((2, Diverted("balances", rows)),)
    assert ledger.dead_letters("payments") == letters
    with ledger.database.transaction() as transaction:
        for table, moment in (("trident_dead_letter", "pinned_at"), ("trident_diverted", "diverted_at")):
            found = f"SELECT count(*) FROM {table} WHERE {moment} > now() - interval '10 minutes' AND {moment} <= now()"
            assert transaction.connection.execute(text(found)).scalar_one() == MANY + (table == "trident_diverted")
    ledger.close()
