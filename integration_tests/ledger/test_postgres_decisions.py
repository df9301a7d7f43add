"""A person's decisions over a real PostgreSQL: beside the ledger and apart from it, exact in the end."""

from __future__ import annotations

import json

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, MismatchError
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState


class PostgresScene:
    """`totals` refuses the account `big` while its table has a constraint."""

    def __init__(self, ledger_dsn: str, state_dsn: str | None) -> None:
        self.dsn = ledger_dsn
        self.state_dsn = state_dsn
        self.topic = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]])
        self.go_on()
        self.before = self.topic.expected()
        with psycopg.connect(self.where) as connection:
            connection.execute("ALTER TABLE totals ADD CONSTRAINT small CHECK (account <> 'big')")
        self.topic.partitions[0] += [("a1", 7), ("big", 61), ("new", 3)]
        with pytest.raises(DecisionNeededError):
            self.go_on()

    @property
    def where(self) -> str:
        return self.state_dsn or self.dsn

    def job(self):
        return make_job(self.topic, *(PostgresState(name, dsn=self.state_dsn) for name in ("balances", "totals")))

    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.dsn)

    def go_on(self) -> None:
        run(self.job(), self.ledger())

    def decide(self, kind: DecisionKind, state: str = "") -> Decision:
        plan = self.job().plan()
        return decide_topology(plan.spec, plan.targets, self.ledger(), WantedDecision(kind, 3, state), OPTIONS)

    def mend(self) -> None:
        with psycopg.connect(self.where) as connection:
            connection.execute("ALTER TABLE totals DROP CONSTRAINT small")


@pytest.fixture(params=["shortcut", "apart"])
def scene(request: pytest.FixtureRequest, postgres: Postgres) -> PostgresScene:
    return PostgresScene(postgres.dsn, postgres.new_dsn() if request.param == "apart" else None)


def test_a_retry_goes_on(scene: PostgresScene) -> None:
    scene.mend()
    retry_topology("payments", scene.ledger(), 3, OPTIONS)
    scene.go_on()
    assert balances(scene.where) == balances(scene.where, "totals") == scene.topic.expected()


def test_a_divert_goes_on_with_the_rest(scene: PostgresScene) -> None:
    scene.decide(DecisionKind.DIVERT, "totals")
    scene.topic.partitions[0].append(("after", 1))
    scene.go_on()
    assert balances(scene.where) == scene.topic.expected()
    assert balances(scene.where, "totals") == scene.before | {"after": (1, 1)}
    ledger = scene.ledger()
    ((txid, diverted),) = ledger.diverted("payments")
    ledger.close()
    assert txid == 3
    assert {json.loads(row)["account"]: json.loads(row)["total"] for row in diverted.rows} == {
        "a1": 7,
        "big": 61,
        "new": 3,
    }


@pytest.mark.parametrize(
    "point", [None, CrashPoint.IN_UNDO, CrashPoint.AFTER_UNDOING_STATE, CrashPoint.AFTER_UNPINNING]
)
@pytest.mark.drawn(one_in=3)
def test_an_undo_goes_back_and_is_read_again(postgres: Postgres, point: CrashPoint | None) -> None:
    scene = PostgresScene(postgres.dsn, postgres.new_dsn())
    assert balances(scene.where) != scene.before
    if point is None:
        scene.decide(DecisionKind.UNDO)
        assert balances(scene.where) == balances(scene.where, "totals") == scene.before
    else:
        with dying_at(point):
            scene.decide(DecisionKind.UNDO)
    scene.mend()
    scene.go_on()
    assert balances(scene.where) == balances(scene.where, "totals") == scene.topic.expected()


@pytest.mark.parametrize("again", [None, CrashPoint.AFTER_DECIDING_RESET, CrashPoint.AFTER_RESETTING_STATE])
@pytest.mark.parametrize("lost", ["DELETE FROM balances", "DROP SCHEMA public CASCADE; CREATE SCHEMA public"])
@pytest.mark.drawn(one_in=4)
def test_clearing_takes_the_place_of_a_reset_that_lost_its_rows(
    postgres: Postgres, lost: str, again: CrashPoint | None
) -> None:
    dsns = (postgres.dsn, postgres.new_dsn())
    topic = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]])
    job = make_job(topic, PostgresState("totals", dsn=dsns[0]), PostgresState("balances", dsn=dsns[1]))
    plan = job.plan()

    def reset(keep_rows: bool) -> None:
        start, ledger = "resume" if keep_rows else None, PostgresLedger(dsns[0])
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=keep_rows, start=start, options=OPTIONS)

    run(job, PostgresLedger(dsns[0]))
    with dying_at(CrashPoint.AFTER_RESETTING_STATE):
        reset(keep_rows=True)
    with psycopg.connect(dsns[1]) as connection:
        connection.execute(lost)
    with pytest.raises(MismatchError, match=r"was recorded and can't be finished; .*--states clear"):
        run(job, PostgresLedger(dsns[0]))
    if again is None:
        reset(keep_rows=False)
    else:
        with dying_at(again):
            reset(keep_rows=False)
    run(job, PostgresLedger(dsns[0]))
    assert balances(dsns[0], "totals") == balances(dsns[1]) == topic.expected()
