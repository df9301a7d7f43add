"""PostgreSQL: diverted rows are put back once, also where a process is killed at any border."""

from __future__ import annotations

import multiprocessing
import os
import signal

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.ledger.test_postgres_decisions import PostgresScene
from integration_tests.records import balances
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import MismatchError, RefusedError
from trident.coordinators.decided import DecisionKind, RowsOf
from trident.coordinators.decisions.commands import reapply_rows
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState

BEFORE = (CrashPoint.AFTER_FENCE, CrashPoint.AFTER_PLAN, CrashPoint.AFTER_STAGING, CrashPoint.IN_PIN_TRANSACTION)
BEHIND = (CrashPoint.AFTER_PIN, CrashPoint.IN_APPLY, CrashPoint.AFTER_APPLY, CrashPoint.BEFORE_DONE)
KILLS = [
    *(("shortcut", point, False) for point in BEFORE),
    *(("apart", point, False) for point in BEFORE[:-1]),
    *(("apart", point, True) for point in BEHIND),
    *((place, CrashPoint.AFTER_DONE, True) for place in ("shortcut", "apart")),
]


def reapply(ledger: str, states: str | None) -> None:
    there = (PostgresState(name, dsn=states) for name in ("balances", "totals"))
    plan = make_job(Topic([[]]), *there).plan()
    reapply_rows(plan.spec, plan.targets, PostgresLedger(ledger), RowsOf(3, "totals"), OPTIONS)


def killed_at(point: CrashPoint, ledger: str, states: str | None) -> None:
    """Put the rows back in a process that is gone when it reaches the place."""

    def kill(reached: CrashPoint, _: int) -> None:
        if reached is point:
            os.kill(os.getpid(), signal.SIGKILL)

    with armed(kill):
        reapply(ledger, states)


def diverted(postgres: Postgres, place: str) -> PostgresScene:
    scene = PostgresScene(postgres.dsn, postgres.new_dsn() if place == "apart" else None)
    scene.decide(DecisionKind.DIVERT_REFUSED, "totals")
    scene.go_on()
    return scene


def marks(scene: PostgresScene) -> int:
    with psycopg.connect(scene.dsn) as connection:
        row = connection.execute("SELECT count(*) FROM trident_decision WHERE kind = 'reapply'").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("place", ["shortcut", "apart"])
def test_rows_that_are_refused_still_stay_out_and_go_back_once_that_is_mended(postgres: Postgres, place: str) -> None:
    scene = diverted(postgres, place)
    with pytest.raises(
        RefusedError, match=r"refuses the rows of txid 3 still: .*constraint 'small'.*every one of its 1 keys"
    ):
        reapply(scene.dsn, scene.state_dsn)
    assert marks(scene) == 0
    scene.topic.partitions[0] += [("a2", 1)]
    scene.go_on()
    scene.mend()
    reapply(scene.dsn, scene.state_dsn)
    assert balances(scene.where, "totals") == scene.topic.expected()


@pytest.mark.parametrize(("place", "point", "is_recorded"), KILLS)
@pytest.mark.drawn(one_in=3)
def test_whoever_is_killed_rows_are_back_once(
    postgres: Postgres, place: str, point: CrashPoint, is_recorded: bool
) -> None:
    scene = diverted(postgres, place)
    scene.mend()
    missing = balances(scene.where, "totals")
    process = multiprocessing.get_context("spawn").Process(target=killed_at, args=(point, scene.dsn, scene.state_dsn))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    assert marks(scene) == is_recorded
    if not is_recorded:
        assert balances(scene.where, "totals") == missing
    scene.topic.partitions[0] += [("a2", 1), ("big", 2)]
    scene.go_on()
    if not is_recorded:
        reapply(scene.dsn, scene.state_dsn)
    assert balances(scene.where, "totals") == balances(scene.where) == scene.topic.expected()
    with pytest.raises(MismatchError, match="has put these rows back"):
        reapply(scene.dsn, scene.state_dsn)
