"""What a table of a user's does to the statements that write it: its state is exact, or says that it can't be.

Values are compared, not counts of rows: a guard may leave a row where it is, put it back, or change what is written.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, MismatchError
from trident.coordinators.decided import DecisionKind, ResetDecision
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.capabilities import CannotUndoError


@dataclass
class Scene:
    """A topology of two states, `audit` and `totals`; what resists is a table of `totals`."""

    dsn: str
    where: str
    apart: bool

    def __post_init__(self) -> None:
        self.topic = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]])

    def job(self):
        own = self.where if self.apart else None
        return make_job(self.topic, *(PostgresState(name, dsn=own) for name in ("audit", "totals")))

    def go_on(self) -> None:
        TopologyRun(self.job().plan(), PostgresLedger(self.dsn), OPTIONS).run()

    def reset(self, *, keep_rows: bool = False) -> ResetDecision:
        plan = self.job().plan()
        return reset_topology(
            plan.spec, plan.targets, PostgresLedger(self.dsn), keep_rows=keep_rows, start=None, options=OPTIONS
        )

    def decide(self, kind: DecisionKind, txid: int, state: str = "") -> None:
        plan = self.job().plan()
        decide_topology(plan.spec, plan.targets, PostgresLedger(self.dsn), WantedDecision(kind, txid, state), OPTIONS)

    def by_hand(self, *statements: str) -> None:
        with psycopg.connect(self.where) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload, unused-ignore]

    def are_exact(self) -> bool:
        return all(balances(self.where, name) == self.topic.expected() for name in ("audit", "totals"))


@pytest.fixture(params=[False, True], ids=["beside the ledger", "apart"])
def scene(postgres: Postgres, request: pytest.FixtureRequest) -> Scene:
    return Scene(postgres.dsn, postgres.new_dsn() if request.param else postgres.dsn, request.param)


def function(body: str) -> str:
    return f"CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"


KEEPS = {
    "a trigger that keeps rows": (
        function("RETURN NULL;"),
        "CREATE TRIGGER g BEFORE DELETE ON totals FOR EACH ROW EXECUTE FUNCTION guard()",
    ),
    "a trigger that forbids it": (
        function("RAISE EXCEPTION 'never';"),
        "CREATE TRIGGER g BEFORE DELETE ON totals FOR EACH ROW EXECUTE FUNCTION guard()",
    ),
    "a rule": ("CREATE RULE g AS ON DELETE TO totals DO INSTEAD NOTHING",),
    "a trigger that puts them back": (
        function("INSERT INTO totals SELECT OLD.*; RETURN NULL;"),
        "CREATE CONSTRAINT TRIGGER g AFTER DELETE ON totals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "EXECUTE FUNCTION guard()",
    ),
    "a row that refers to them": (
        "ALTER TABLE totals ADD CONSTRAINT one UNIQUE (account)",
        "CREATE TABLE notes (account text REFERENCES totals (account) DEFERRABLE INITIALLY DEFERRED)",
        "INSERT INTO notes VALUES ('a1')",
    ),
}
MENDS = (
    "DROP TABLE IF EXISTS notes",
    "DROP TRIGGER IF EXISTS g ON totals",
    "DROP RULE IF EXISTS g ON totals",
    "DROP FUNCTION IF EXISTS guard",
)


@pytest.mark.parametrize("keeps", KEEPS)
@pytest.mark.drawn(one_in=8)
def test_a_table_that_can_not_be_emptied_is_not_half_reset(scene: Scene, keeps: str) -> None:
    scene.go_on()
    scene.by_hand(*KEEPS[keeps])
    with pytest.raises(MismatchError, match=r"state 'totals' can't be emptied: .*Nothing was changed"):
        scene.reset()
    assert scene.are_exact()
    scene.topic.partitions[0].append(("a1", 7))
    scene.go_on()
    assert scene.are_exact()
    scene.by_hand(*MENDS)
    scene.reset()
    assert balances(scene.where, "totals") == {}
    scene.go_on()
    assert scene.are_exact()


@pytest.mark.drawn(one_in=2)
def test_one_that_resists_once_the_reset_is_recorded_says_how_it_is_finished(scene: Scene) -> None:
    scene.go_on()
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        scene.reset()
    scene.by_hand(*KEEPS["a trigger that forbids it"])
    for act in (scene.go_on, scene.reset, lambda: scene.reset(keep_rows=True)):
        with pytest.raises(MismatchError, match="recorded and can't be finished: state 'totals' refused it"):
            act()
    scene.by_hand(*MENDS)
    scene.go_on()
    assert scene.are_exact()


BACK = "UPDATE totals SET n = OLD.n, total = OLD.total, txid = OLD.txid WHERE account = OLD.account;"
DEFERRED = {
    "takes a new row away": ("INSERT", "DELETE FROM totals WHERE account = NEW.account;", "NEW.account = 'big'"),
    "puts a row back": ("UPDATE", BACK, "NEW.account = 'a1' AND NEW.txid > OLD.txid"),
    "refuses a row": ("INSERT", "RAISE EXCEPTION 'no %', NEW.account;", "NEW.account = 'big'"),
}


@pytest.mark.parametrize("does", DEFERRED)
@pytest.mark.drawn(one_in=2)
def test_what_waits_for_the_commit_is_a_refusal_of_its_state(scene: Scene, does: str) -> None:
    scene.go_on()
    before = balances(scene.where, "totals")
    event, body, condition = DEFERRED[does]
    scene.by_hand(
        function(f"{body} RETURN NULL;"),
        f"CREATE CONSTRAINT TRIGGER g AFTER {event} ON totals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        f"WHEN ({condition}) EXECUTE FUNCTION guard()",
    )
    scene.topic.partitions[0] += [("a1", 7), ("big", 9)]
    with pytest.raises(DecisionNeededError, match="state 'totals' refused"):
        scene.go_on()
    scene.decide(DecisionKind.DIVERT, 3, "totals")
    scene.go_on()
    assert balances(scene.where, "audit") == scene.topic.expected()
    assert balances(scene.where, "totals") == before


AWAY = "DELETE FROM {} WHERE account = 'big'; RETURN NULL;"
OF_ANOTHER = {
    "another state's trigger": (
        function(AWAY.format("{victim}")),
        "CREATE TRIGGER g AFTER INSERT ON {other} FOR EACH ROW EXECUTE FUNCTION guard()",
    ),
    "what a trigger leaves for the commit elsewhere": (
        "CREATE TABLE notes (account text)",
        function(AWAY.format("{victim}")),
        "CREATE CONSTRAINT TRIGGER g AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "EXECUTE FUNCTION guard()",
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO notes VALUES (NEW.account); "
        "RETURN NULL; END $$",
        "CREATE TRIGGER h AFTER INSERT ON {victim} FOR EACH ROW EXECUTE FUNCTION note()",
    ),
}


@pytest.mark.parametrize(
    ("takes", "victim", "other"),
    [
        ("another state's trigger", "audit", "totals"),  # which is merged after it
        ("what a trigger leaves for the commit elsewhere", "audit", "totals"),
        ("what a trigger leaves for the commit elsewhere", "totals", "audit"),
    ],
)
@pytest.mark.drawn(one_in=2)
def test_what_another_table_takes_away_is_noticed(postgres: Postgres, takes: str, victim: str, other: str) -> None:
    scene = Scene(postgres.dsn, postgres.dsn, apart=False)
    scene.go_on()
    before = balances(scene.where, victim)
    scene.by_hand(*(each.replace("{victim}", victim).replace("{other}", other) for each in OF_ANOTHER[takes]))
    scene.topic.partitions[0] += [("a1", 7), ("big", 9)]
    with pytest.raises(DecisionNeededError, match=f"state '{victim}' refused"):
        scene.go_on()
    scene.decide(DecisionKind.DIVERT, 3, victim)
    scene.go_on()
    assert balances(scene.where, victim) == before
    assert balances(scene.where, other) == scene.topic.expected()


def test_two_states_may_refer_to_each_other_until_the_commit(postgres: Postgres) -> None:
    scene = Scene(postgres.dsn, postgres.dsn, apart=False)
    scene.go_on()
    for one, other in (("audit", "totals"), ("totals", "audit")):
        scene.by_hand(f"ALTER TABLE {one} ADD CONSTRAINT {one}_one UNIQUE (account)")
        scene.by_hand(
            f"ALTER TABLE {other} ADD CONSTRAINT {other}_refers FOREIGN KEY (account) REFERENCES {one} (account) "
            "DEFERRABLE INITIALLY DEFERRED"
        )
    scene.topic.partitions[0] += [("new", 7), ("newer", 9)]
    scene.go_on()
    assert scene.are_exact()


@pytest.mark.parametrize("name", ["50%s", 'a "b" %% c', "UPPER; case", "ü"])
@pytest.mark.drawn(one_in=3)
def test_a_constraint_may_have_any_name(scene: Scene, name: str) -> None:
    scene.go_on()
    before = balances(scene.where, "totals")
    quoted = name.replace('"', '""')
    scene.by_hand(
        function("RAISE EXCEPTION 'no'; RETURN NULL;"),
        f'CREATE CONSTRAINT TRIGGER "{quoted}" AFTER INSERT ON totals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW '
        "WHEN (NEW.account = 'big') EXECUTE FUNCTION guard()",
    )
    scene.topic.partitions[0] += [("a1", 7)]
    scene.go_on()
    assert scene.are_exact()
    scene.topic.partitions[0] += [("big", 9)]
    before = balances(scene.where, "totals")
    with pytest.raises(DecisionNeededError, match="state 'totals' refused"):
        scene.go_on()
    assert balances(scene.where, "totals") == before


def test_constraints_of_one_name_blame_nobody_else(postgres: Postgres) -> None:
    scene = Scene(postgres.dsn, postgres.dsn, apart=False)
    scene.go_on()
    scene.by_hand("CREATE TABLE known (account text PRIMARY KEY)")
    scene.by_hand("INSERT INTO known SELECT account FROM totals", "CREATE TABLE all_known (LIKE known INCLUDING ALL)")
    scene.by_hand("INSERT INTO all_known SELECT * FROM known UNION SELECT 'big'")
    for table, known in (("audit", "all_known"), ("totals", "known")):
        scene.by_hand(
            f"ALTER TABLE {table} ADD CONSTRAINT one_name FOREIGN KEY (account) REFERENCES {known} (account) "
            "DEFERRABLE INITIALLY DEFERRED"
        )
    scene.topic.partitions[0] += [("a1", 7), ("big", 9)]
    with pytest.raises(DecisionNeededError) as refused:
        scene.go_on()
    assert "state 'audit' refused" not in str(refused.value)
    with pytest.raises(MismatchError, match="it was no state that refused it"):
        scene.decide(DecisionKind.DIVERT, 3, "audit")
    scene.by_hand("INSERT INTO known VALUES ('big')")
    retry_topology("payments", PostgresLedger(scene.dsn), 3, OPTIONS)
    scene.go_on()
    assert scene.are_exact()


@pytest.mark.parametrize("deferred", ["", "DEFERRABLE INITIALLY DEFERRED"])
@pytest.mark.parametrize(("child", "parent"), [("audit", "totals"), ("totals", "audit")])
@pytest.mark.drawn(one_in=2)
def test_states_of_which_one_refers_to_the_other_are_emptied(
    postgres: Postgres, child: str, parent: str, deferred: str
) -> None:
    scene = Scene(postgres.dsn, postgres.dsn, apart=False)
    scene.go_on()
    scene.by_hand(
        f"ALTER TABLE {parent} ADD CONSTRAINT one UNIQUE (account)",
        f"ALTER TABLE {child} ADD FOREIGN KEY (account) REFERENCES {parent} (account) {deferred}",
    )
    scene.reset()
    assert (balances(scene.where, child), balances(scene.where, parent)) == ({}, {})
    if deferred or parent == "audit":  # else the child's rows come first
        scene.go_on()
        assert scene.are_exact()


def test_a_table_of_another_topology_that_refers_keeps_the_rows(postgres: Postgres) -> None:
    """Its rows are not this reset's to delete, tried or not."""
    scene, other = Scene(postgres.dsn, postgres.dsn, apart=False), Topic([[("a1", 1)]])
    scene.go_on()
    job = make_job(other, PostgresState("elsewhere"))
    TopologyRun(job.plan("another"), PostgresLedger(scene.dsn), OPTIONS).run()
    scene.by_hand(
        "ALTER TABLE totals ADD CONSTRAINT one UNIQUE (account)",
        "ALTER TABLE elsewhere ADD FOREIGN KEY (account) REFERENCES totals (account)",
    )
    with pytest.raises(MismatchError, match=r"state 'totals' can't be emptied: .*Nothing was changed"):
        scene.reset()
    assert scene.are_exact()
    scene.reset(keep_rows=True)
    scene.by_hand("DELETE FROM elsewhere")
    scene.reset()
    assert balances(scene.where, "totals") == {}


def test_an_undo_that_a_table_refuses_says_how_it_is_finished(postgres: Postgres) -> None:
    scene = Scene(postgres.dsn, postgres.new_dsn(), apart=True)
    scene.go_on()
    scene.topic.partitions[0] += [("a1", 7), ("new", 9)]
    with dying_at(CrashPoint.AFTER_APPLY, 2):
        scene.go_on()
    with dying_at(CrashPoint.AFTER_DECIDING_UNDO):
        scene.decide(DecisionKind.UNDO, 3)
    scene.by_hand(*KEEPS["a trigger that forbids it"])
    for act in (lambda: scene.decide(DecisionKind.UNDO, 3), scene.go_on):
        with pytest.raises(MismatchError, match="undo of txid 3 was recorded and can't be finished: state 'totals'"):
            act()
    scene.by_hand(*MENDS)
    scene.go_on()
    assert scene.are_exact()


def test_what_no_state_can_be_told_to_refuse_is_diverted_from_none(postgres: Postgres) -> None:
    """A trigger of the state's writes to another table, and that one refuses at the COMMIT."""
    scene = Scene(postgres.dsn, postgres.dsn, apart=False)
    scene.go_on()
    scene.by_hand(
        "CREATE TABLE known (account text PRIMARY KEY)",
        "CREATE TABLE seen (account text REFERENCES known (account) DEFERRABLE INITIALLY DEFERRED)",
        function("INSERT INTO seen VALUES (NEW.account); RETURN NULL;"),
        "CREATE TRIGGER g AFTER INSERT ON totals FOR EACH ROW EXECUTE FUNCTION guard()",
    )
    scene.topic.partitions[0] += [("a1", 7), ("big", 9)]
    with pytest.raises(DecisionNeededError, match="the ledger's database refused") as refused:
        scene.go_on()
    assert "divert" not in str(refused.value)
    for name in ("audit", "totals"):
        with pytest.raises(MismatchError, match="it was no state that refused it"):
            scene.decide(DecisionKind.DIVERT, 3, name)
    scene.by_hand("INSERT INTO known VALUES ('big')")
    retry_topology("payments", PostgresLedger(scene.dsn), 3, OPTIONS)
    scene.go_on()
    assert scene.are_exact()


def test_an_undo_that_a_guard_of_the_values_hinders_changes_nothing(postgres: Postgres) -> None:
    scene = Scene(postgres.dsn, postgres.new_dsn(), apart=True)
    scene.go_on()
    scene.by_hand(
        function("NEW.n := greatest(OLD.n, NEW.n); RETURN NEW;"),
        "CREATE TRIGGER g BEFORE UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION guard()",
    )
    scene.topic.partitions[0] += [("a1", 7), ("new", 9)]
    with dying_at(CrashPoint.AFTER_APPLY, 2):
        scene.go_on()
    with pytest.raises(CannotUndoError, match="could not be brought back"):
        scene.decide(DecisionKind.UNDO, 3)
    scene.by_hand(*MENDS)
    scene.go_on()
    assert scene.are_exact()


COLUMNS = (
    "(account text, n bigint, total bigint, previous_n bigint, previous_total bigint, previous_txid bigint, "
    "txid bigint NOT NULL)"
)
KEY = "CREATE UNIQUE INDEX own ON totals (account) NULLS NOT DISTINCT"
UNFIT = {
    "a table that a crash of the server empties": (f"CREATE UNLOGGED TABLE totals {COLUMNS}", KEY),
    "a partition that a crash of the server empties": (
        f"CREATE TABLE totals {COLUMNS} PARTITION BY HASH (account)",
        "CREATE UNLOGGED TABLE part PARTITION OF totals FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        KEY,
    ),
    "a view": (f"CREATE TABLE below {COLUMNS}", "CREATE VIEW totals AS SELECT * FROM below"),
    "a table that others inherit from": (f"CREATE TABLE totals {COLUMNS}", KEY, "CREATE TABLE c () INHERITS (totals)"),
    "a foreign table": (
        "CREATE FOREIGN DATA WRAPPER away",
        "CREATE SERVER away FOREIGN DATA WRAPPER away",
        f"CREATE FOREIGN TABLE totals {COLUMNS} SERVER away",
    ),
}


@pytest.mark.parametrize("made", UNFIT)
@pytest.mark.drawn(one_in=2)
def test_what_can_not_be_trusted_with_a_state_is_refused(scene: Scene, made: str) -> None:
    scene.by_hand(*UNFIT[made])
    with pytest.raises(MismatchError, match=r"table 'totals' is not what the aggregation needs: .*nothing was changed"):
        scene.go_on()


@pytest.mark.parametrize("change", ["TRUNCATE part_1", "ALTER TABLE totals DETACH PARTITION part_1"])
@pytest.mark.drawn(one_in=2)
def test_a_partition_that_is_emptied_or_taken_away_is_noticed(
    scene: Scene, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trident.state.tables.counting._CHEAP", 2)
    scene.by_hand(
        f"CREATE TABLE totals {COLUMNS} PARTITION BY HASH (account)",
        *(f"CREATE TABLE part_{n} PARTITION OF totals FOR VALUES WITH (MODULUS 2, REMAINDER {n})" for n in range(2)),
        KEY,
    )
    scene.go_on()
    scene.go_on()
    assert scene.are_exact()
    scene.by_hand(change)
    with pytest.raises(MismatchError, match="of state 'totals' holds"):
        scene.go_on()
