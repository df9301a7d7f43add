"""Ledgers with a long history, made by the database itself, and operations on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import text

from tests.ledger.making import LONG, SPEC, Run, commit_of, pin_of, plan_of, range_of, started, taken_over
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Keep, Lease

OLD = timedelta(days=30)
_NUMBERS = "WITH RECURSIVE g(n) AS (SELECT CAST(:first AS BIGINT) UNION ALL SELECT n + 1 FROM g WHERE n < :last)"
_PLANS = """
    INSERT INTO trident_plan {numbers}
    SELECT p.topology, g.n, p.incarnation, {txid}, p.tries, p.epoch, g.n - 1, '{status}', p.batch_time, p.created_at,
           p.ranges, p.losses, p.timers, p.received, p.diverts
    FROM trident_plan p, g WHERE p.attempt = 2
"""
_COMMITS = """
    INSERT INTO trident_commit {numbers}
    SELECT c.topology, c.incarnation, g.n, g.n, c.tries, c.epoch, c.records, c.dead_letters, c.keys, c.plan_ms,
           c.process_ms, c.commit_ms, {done_at}
    FROM trident_commit c, g WHERE c.txid = 2
"""
_PINS = """
    INSERT INTO trident_pin {numbers}
    SELECT p.topology, p.incarnation, g.n, g.n, p.epoch, p.plan, p.manifests, p.states, p.pinned_at
    FROM trident_pin p, g WHERE p.txid = 2
"""


def first_plans(ledger: SqlLedger, partitions: int, changed: int) -> Run:
    """Return a run that has two txids done: one that names every partition, one that reads so many of them."""
    run = started(ledger)
    run.positions |= dict.fromkeys(range(2, partitions), 0)
    run.together(run.plan())
    run.together(next_plan(run, changed))
    return run


def next_plan(run: Run, changed: int) -> Plan:
    """Plan the next txid, which reads some partitions of all that there are."""
    assert run.last is not None
    width = {number: 10 if number < changed else 0 for number in run.positions}
    ranges = [range_of(number, start, start + width[number]) for number, start in run.positions.items()]
    plan = plan_of(run.last.txid + 1, run.attempts + 1, run.last.attempt, *ranges)
    run.ledger.plan(run.owner, run.epoch, plan)
    run.follow(plan)
    return plan


def fill(ledger: SqlLedger, run: Run, txids: int, old: int, dropped: int) -> Run:
    """Add done txids up to that number, the first of them old, then as many dropped attempts at the next one."""
    is_postgres = ledger.database.engine.dialect.name == "postgresql"
    aged = f"CASE WHEN g.n <= {old} THEN {_ago(is_postgres)} ELSE c.done_at END"
    with ledger.database.transaction() as transaction:

        def write(statement: str, first: int, last: int, **parts: str) -> None:
            made = text(statement.format(numbers=_NUMBERS, **parts))
            transaction.connection.execute(made, {"first": first, "last": last})

        write(_PLANS, 3, txids, txid="g.n", status="done")
        write(_COMMITS, 3, txids, done_at=aged)
        write(_PINS, max(3, txids - 999), txids)
        if dropped:
            write(_PLANS, txids + 1, txids + dropped, txid=str(txids + 1), status="dropped")
        numbers = {"done": txids, "attempt": txids + dropped}
        transaction.connection.execute(
            text(
                "UPDATE trident_progress SET done = :done, done_attempt = :done, last_txid = :done,"
                " last_attempt = :attempt"
            ),
            numbers,
        )
        transaction.connection.execute(text("UPDATE trident_done_plan SET txid = :done, attempt = :done"), numbers)
        if old >= 2:
            transaction.connection.execute(
                text(f"UPDATE trident_commit SET done_at = {_ago(is_postgres)} WHERE txid <= 2")
            )
    ledger.release("payments", run.epoch)
    if is_postgres:
        engine = ledger.database.engine.execution_options(isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text("ANALYZE trident_plan, trident_commit, trident_pin"))
    return taken_over(ledger, "two")


def operations(ledger: SqlLedger, run: Run, changed: int) -> Mapping[str, Callable[[], object]]:
    """Return every operation of a coordinator and of people, by name, in an order in which they can be called."""
    view = ledger.view()
    plans: list[Plan] = []

    def plan() -> None:
        plans.append(next_plan(run, changed))

    def plan_again() -> None:
        again = replace(plans.pop(), attempt=run.attempts + 1, tries=2)
        ledger.plan(run.owner, run.epoch, again, drop_from=again.txid)
        run.follow(again)
        plans.append(again)

    def take_over() -> None:
        ledger.release("payments", run.epoch)
        run.epoch = ledger.acquire("payments", Lease("three", LONG)).epoch
        ledger.register(run.epoch, SPEC)

    return {
        "plan": plan,
        "last plan": lambda: ledger.last_plan_of(run.owner, plans[0].txid),
        "drop and plan": plan_again,
        "pin": lambda: ledger.pin(run.owner, run.epoch, pin_of(plans[0])),
        "status while pinned": lambda: view.status("payments"),
        "done": lambda: ledger.done(run.owner, run.epoch, commit_of(plans.pop())),
        "plan the next": plan,
        "commit": lambda: run.together(plans.pop()),
        "heartbeat": lambda: ledger.renew("payments", run.epoch),
        "clean up nothing": lambda: ledger.clean_up(run.owner, run.epoch, Keep(age=OLD * 2)),
        "clean up": lambda: ledger.clean_up(run.owner, run.epoch, Keep(100, OLD / 2)),
        "status": lambda: view.status("payments"),
        "progress": lambda: view.progress("payments"),
        "batches": lambda: view.batches("payments"),
        "one txid": lambda: view.txid("payments", run.last.txid - 5 if run.last else 1),
        "take over": take_over,
    }


def _ago(is_postgres: bool) -> str:
    if is_postgres:
        return f"clock_timestamp() - interval '{OLD.days} days'"
    return f"strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', '-{OLD.days} days')"
