"""Topologies that are let go of in PostgreSQL: whose a table is, what hangs on it, and who stands still with a lock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.state.test_postgres_contract import PostgresHarness
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_forgetting import FORGETTING, RECORDED
from tests.coordinators.test_run import OPTIONS as QUICK
from tests.state.forgetting import ForgettingContract, Forgotten
from trident.base.crash_points import CrashPoint
from trident.base.errors import FatalError, MismatchError, RefusedError
from trident.base.identity import Epoch
from trident.coordinators.decided import Decision, ForgottenTables
from trident.coordinators.decisions.commands import forget_topology, reset_topology
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.databases.base import Work
from trident.state.layout import StateKind
from trident.state.postgres.sessions import mark_of
from trident.testing.state_harness import COUNTS, counts

OPTIONS = replace(QUICK, lease=timedelta(seconds=10), give_up_after=timedelta(seconds=20))
KEEP, DROP = ForgottenTables.KEEP, ForgottenTables.DROP


class TestPostgres(ForgettingContract):
    """A state beside its ledger and apart."""

    @pytest.fixture(params=[True, False], ids=["beside", "apart"])
    def place(self, postgres: Postgres, request: pytest.FixtureRequest) -> Iterator[Forgotten]:
        harness = PostgresHarness(postgres.dsn, request.param)

        def read() -> object:
            with psycopg.connect(postgres.dsn) as connection:
                found = connection.execute("SELECT to_regclass('counts')").fetchone()
            rows = harness.rows(COUNTS) if found is not None and found[0] is not None else []
            return sorted(str(row) for row in rows) or None

        yield Forgotten(
            lambda: harness.open(COUNTS, StateKind.OPAQUE), lambda: counts(("ann", 1, 10), ("bob", 2, 5)), read
        )
        harness.close()


@dataclass
class Scene:
    """Two states, one beside the ledger and one in a database of its own."""

    beside: str
    away: str
    topic: Topic = field(default_factory=lambda: Topic([[(f"a{n % 5}", n) for n in range(1, 13)], []]))

    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.beside)

    def plan(self, name: str = "payments") -> RunnableTopology:
        return make_job(self.topic, PostgresState("balances"), PostgresState("totals", dsn=self.away)).plan(name)

    def run(self, name: str = "payments") -> None:
        TopologyRun(self.plan(name), self.ledger(), OPTIONS).run()

    def forget(self, tables: ForgottenTables = KEEP, name: str = "payments") -> Decision:
        plan = self.plan(name)
        return forget_topology(plan.spec, plan.targets, self.ledger(), tables, OPTIONS)

    def ask(self, statement: str, dsn: str = "") -> list[tuple[object, ...]]:
        with psycopg.connect(dsn or self.beside) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def let_go(self) -> None:
        self.ask("UPDATE trident_heartbeat SET released = TRUE")

    def check(self) -> None:
        """Compare both states with all records."""
        for state, dsn in (("balances", self.beside), ("totals", self.away)):
            rows = self.ask(f"SELECT account, n, total FROM {state}", dsn)
            assert {row[0]: (row[1], row[2]) for row in rows} == self.topic.expected()


@pytest.fixture
def scene(postgres: Postgres) -> Scene:
    made = Scene(postgres.dsn, postgres.new_dsn())
    made.run()
    return made


@pytest.mark.parametrize("tables", [KEEP, DROP])
def test_another_topology_has_its_tables_then(scene: Scene, tables: ForgottenTables) -> None:
    with pytest.raises(MismatchError, match="belongs to"):
        scene.run("others")
    scene.forget(tables)
    if tables is KEEP:
        scene.check()
        plan = scene.plan("others")
        reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="latest", options=OPTIONS)
    scene.run("others")
    scene.topic.partitions[0] += [("a1", 7)]
    scene.run("others")
    scene.check()


@pytest.mark.parametrize("point", FORGETTING, ids=lambda point: point.name)
@pytest.mark.drawn(one_in=3)
def test_a_forget_that_is_cut_off_is_finished_and_the_name_begins_anew(scene: Scene, point: CrashPoint) -> None:
    with dying_at(point):
        scene.forget(DROP)
    scene.let_go()
    if point in RECORDED:
        with pytest.raises(MismatchError, match="is being forgotten"):
            scene.run()
    if point is not CrashPoint.AFTER_FORGETTING:
        scene.forget(DROP)
    scene.run()
    scene.check()
    ((least,),) = scene.ask("SELECT min(txid) FROM trident_commit")
    assert least == 3


def test_a_table_that_was_exchanged_is_not_dropped(scene: Scene) -> None:
    scene.ask("CREATE TABLE made_anew (LIKE totals INCLUDING ALL)", scene.away)
    scene.ask("INSERT INTO made_anew SELECT * FROM totals", scene.away)
    scene.ask("DROP TABLE totals; ALTER TABLE made_anew RENAME TO totals", scene.away)
    with pytest.raises(MismatchError, match=r"'totals' is not dropped: it is another one than state 'totals'"):
        scene.forget(DROP)
    scene.topic.partitions[0] += [("a1", 7)]
    scene.run()
    scene.check()
    scene.forget(KEEP)
    scene.check()


def test_a_table_that_is_exchanged_between_the_halves_is_kept_instead(scene: Scene) -> None:
    with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
        scene.forget(DROP)
    scene.ask("UPDATE trident_heartbeat SET released = true")
    scene.ask("CREATE TABLE made_anew (LIKE totals INCLUDING ALL)", scene.away)
    scene.ask("INSERT INTO made_anew SELECT * FROM totals", scene.away)
    scene.ask("DROP TABLE totals; ALTER TABLE made_anew RENAME TO totals", scene.away)
    with pytest.raises(MismatchError, match=r"'totals' is not dropped.*with its tables kept \(--tables keep\)"):
        scene.forget(DROP)
    scene.forget(KEEP)
    assert scene.ask("SELECT count(*) FROM totals", scene.away) != [(0,)]


def test_a_table_that_a_person_has_made_is_not_dropped(scene: Scene) -> None:
    scene.ask("CREATE TABLE prepared (LIKE totals INCLUDING ALL)", scene.away)
    scene.forget(DROP)
    scene.ask("ALTER TABLE prepared RENAME TO totals", scene.away)
    scene.run()
    with pytest.raises(MismatchError, match=r"'totals' is not dropped: this library has not made it"):
        scene.forget(DROP)
    scene.topic.partitions[0] += [("a1", 7)]
    scene.run()
    scene.forget(KEEP)
    scene.check()


def test_a_column_of_somebodys_own_keeps_its_table(scene: Scene) -> None:
    scene.ask("ALTER TABLE totals ADD COLUMN remark text", scene.away)
    with pytest.raises(MismatchError, match=r"'totals' is not dropped: column 'remark' is none of its state's"):
        scene.forget(DROP)
    scene.run()
    scene.check()


def test_addresses_that_were_exchanged_between_the_halves_are_noticed(scene: Scene, postgres: Postgres) -> None:
    """The state leads to a database of the very same topology, in which it has never been."""
    other = postgres.new_dsn()
    scene.forget()
    moved = replace_states(scene, other)
    TopologyRun(moved, scene.ledger(), OPTIONS).run()
    with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
        forget_topology(moved.spec, moved.targets, scene.ledger(), KEEP, OPTIONS)
    scene.let_go()
    wrong = replace_states(scene, scene.away)
    with pytest.raises(MismatchError, match=r"'totals' was not let go of: where its address leads.*--lost-state"):
        forget_topology(moved.spec, wrong.targets, scene.ledger(), KEEP, OPTIONS)
    assert scene.ask("SELECT state FROM trident_applied", other) == [("totals",)]
    forget_topology(moved.spec, moved.targets, scene.ledger(), KEEP, OPTIONS)
    assert scene.ask("SELECT state FROM trident_applied", other) == []


def replace_states(scene: Scene, dsn: str) -> RunnableTopology:
    """Return the topology with tables of other names, the second one elsewhere."""
    others = PostgresState("balances", table="more"), PostgresState("totals", dsn=dsn, table="others")
    return make_job(scene.topic, *others).plan("payments")


def test_a_table_that_another_schema_has_a_position_for_is_not_dropped(scene: Scene) -> None:
    scene.ask("CREATE SCHEMA elsewhere", scene.away)
    scene.ask("CREATE TABLE elsewhere.trident_applied (LIKE trident_applied INCLUDING ALL)", scene.away)
    scene.ask("INSERT INTO elsewhere.trident_applied SELECT * FROM trident_applied", scene.away)
    scene.ask("UPDATE elsewhere.trident_applied SET topology = 'theirs'", scene.away)
    with pytest.raises(MismatchError, match=r"it belongs to 'totals' of topology 'theirs' \(trident_applied in schema"):
        scene.forget(DROP)
    scene.check()
    scene.run()


def test_a_table_that_something_hangs_on_is_refused_before_anything_is_changed(scene: Scene) -> None:
    scene.ask("CREATE VIEW report AS SELECT sum(total) FROM balances")
    with pytest.raises((FatalError, RefusedError), match=r"depend"):
        scene.forget(DROP)
    scene.topic.partitions[0] += [("a1", 7)]
    scene.run()
    scene.check()
    scene.ask("DROP VIEW report")
    scene.forget(DROP)
    assert scene.ask("SELECT to_regclass('balances')") == [(None,)]


@pytest.mark.parametrize("begun", [False, True], ids=["before it is recorded", "when it is finished"])
def test_an_old_owner_that_stands_still_with_a_lock_is_ended(scene: Scene, begun: bool) -> None:
    """Its session has the table, and would keep whoever drops that waiting."""
    if begun:
        with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
            scene.forget(DROP)
    ((number, token),) = scene.ask("SELECT number, token FROM trident_fence")
    scene.let_go()
    with psycopg.connect(scene.away) as stuck:
        mark = mark_of(Work("payments", Epoch(int(str(number)), str(token))))
        stuck.execute("SELECT set_config('application_name', %s, false)", [mark])
        stuck.execute("SELECT * FROM totals LIMIT 1")
        scene.forget(DROP)
        with pytest.raises(psycopg.Error):
            stuck.execute("SELECT 1")
    assert scene.ask("SELECT to_regclass('totals')", scene.away) == [(None,)]


def test_whoever_reads_a_table_is_waited_for_and_nothing_is_recorded_meanwhile(scene: Scene) -> None:
    brief = replace(OPTIONS, give_up_after=timedelta(seconds=2))
    with psycopg.connect(scene.away) as reader:
        reader.execute("SELECT * FROM totals LIMIT 1")
        plan = scene.plan()
        with pytest.raises(MismatchError, match="somebody else holds"):
            forget_topology(plan.spec, plan.targets, scene.ledger(), DROP, brief)
    scene.topic.partitions[0] += [("a1", 7)]
    scene.run()
    scene.check()
