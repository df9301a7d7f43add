"""PostgreSQL refuses rows in its own ways; a divert takes just those rows, beside the ledger or apart."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, FatalError
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import decide_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.spouts.base import Limits
from trident.state import PostgresState

SECRET = 987654321
GUARD = """CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.account = 'big' THEN {raises}; END IF; RETURN NEW; END $$"""
TRIGGER = "CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION guard()"
TAKEN = "(CASE account WHEN 'big' THEN 'a3' ELSE account END)"
"""By which `big` is as `a3`, which is there."""
REFUSALS = {
    "check": (["ALTER TABLE totals ADD CONSTRAINT small CHECK (total < 1000)"], "constraint 'small'"),
    "not null": (
        [
            "ALTER TABLE totals ADD COLUMN owner text DEFAULT 'x' NOT NULL",
            GUARD.format(raises="NEW.owner := NULL"),
            TRIGGER,
        ],
        "at table 'totals', column 'owner'",
    ),
    "unique": ([f"CREATE UNIQUE INDEX once ON totals ({TAKEN})"], "constraint 'once'"),
    "exclusion": ([f"ALTER TABLE totals ADD CONSTRAINT lone EXCLUDE ({TAKEN} WITH =)"], "constraint 'lone'"),
    "trigger": ([GUARD.format(raises="RAISE EXCEPTION 'has %', NEW.total"), TRIGGER], "function 'guard'"),
    "left out": ([GUARD.format(raises="RETURN NULL"), TRIGGER], "1 of 3 staged rows were not stored"),
}
LATE = {
    "deferred constraint": (
        "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.account = 'big' THEN "
        "RAISE EXCEPTION 'no'; END IF; RETURN NULL; END $$",
        "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON totals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "EXECUTE FUNCTION late()",
    ),
    "a sum of the statement": (
        "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF (SELECT count(*) FROM totals) > 6 THEN "
        "RAISE EXCEPTION 'no'; END IF; RETURN NULL; END $$",
        "CREATE TRIGGER late AFTER INSERT OR UPDATE ON totals FOR EACH STATEMENT EXECUTE FUNCTION late()",
    ),
}


class Scene:
    """`totals` is about to refuse the account `big`."""

    def __init__(self, postgres: Postgres, apart: bool) -> None:
        self.dsn, self.apart = postgres.dsn, apart
        self.where = postgres.new_dsn() if apart else postgres.dsn
        self.topic = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]])
        self.go_on()
        self.before = self.topic.expected()
        self.topic.partitions[0] += [("a1", 7), ("big", SECRET), ("a2", 3)]

    def job(self):
        own = self.where if self.apart else None
        return make_job(self.topic, *(PostgresState(name, dsn=own) for name in ("balances", "totals")))

    def go_on(self) -> None:
        TopologyRun(self.job().plan(), PostgresLedger(self.dsn), OPTIONS).run()

    def sql(self, *statements: str) -> None:
        with psycopg.connect(self.where) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload, unused-ignore]

    def be_refused(self) -> str:
        with pytest.raises(DecisionNeededError) as refused:
            self.go_on()
        return f"{refused.value}{refused.value.__cause__!r}"

    def divert(self, state: str = "totals") -> Decision:
        plan, wanted = self.job().plan(), WantedDecision(DecisionKind.DIVERT_REFUSED, 3, state)
        return decide_topology(plan.spec, plan.targets, PostgresLedger(self.dsn), wanted, OPTIONS)

    def diverted(self, *states: str) -> list[str]:
        with closing(PostgresLedger(self.dsn)) as ledger:
            items = [item for _, item in ledger.diverted("payments") if not states or item.state in states]
            return sorted(json.loads(row)["account"] for item in items for row in item.rows)

    def totals(self) -> dict[str | None, tuple[int, int]]:
        return dict(balances(self.where, "totals"))


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
@pytest.mark.parametrize("refuses", REFUSALS)
@pytest.mark.drawn(one_in=4)
def test_just_the_row_that_is_refused_leaves(
    postgres: Postgres, apart: bool, refuses: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "trident")
    scene = Scene(postgres, apart)
    statements, words = REFUSALS[refuses]
    scene.sql(*statements)
    said = scene.be_refused()
    assert words in said
    assert "1 of its 3 keys is refused, the others fit" in said
    assert "12 to 14 of partition 0 of 't'" in said
    assert scene.divert().kind is DecisionKind.DIVERT_REFUSED
    scene.topic.partitions[0] += [("after", 1), ("a1", 1)]
    scene.go_on()
    assert balances(scene.where) == scene.topic.expected()
    assert scene.totals() == {key: sums for key, sums in scene.topic.expected().items() if key != "big"}
    assert scene.diverted() == ["big"]
    assert str(SECRET) not in said + caplog.text


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
@pytest.mark.parametrize("late", LATE)
@pytest.mark.drawn(one_in=2)
def test_what_shows_only_together_or_at_the_commit_leaves_as_a_whole(
    postgres: Postgres, apart: bool, late: str, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(postgres, apart)
    scene.topic.partitions[0].append(("new", 5))
    scene.sql(*LATE[late])
    scene.be_refused()
    scene.divert()
    scene.go_on()
    assert balances(scene.where) == scene.topic.expected()
    assert "so all" in caplog.text
    assert scene.totals() == scene.before
    assert scene.diverted() == ["a1", "a2", "big", "new"]


def test_what_one_state_refuses_at_the_commit_hides_no_row_that_another_one_refuses(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    """The record of an unknown customer is too large as well: each divert takes something out, and both end it."""
    scene = Scene(postgres, apart=False)
    scene.sql(
        "CREATE TABLE customers (account text PRIMARY KEY)",
        "INSERT INTO customers SELECT account FROM balances",
        "ALTER TABLE balances ADD FOREIGN KEY (account) REFERENCES customers DEFERRABLE INITIALLY DEFERRED",
        *REFUSALS["check"][0],
    )
    assert "state 'totals' refused" in scene.be_refused()
    scene.divert()
    said = scene.be_refused()
    assert "state 'balances' refused" in said
    assert "they are refused together" in said
    scene.divert("balances")
    scene.go_on()
    assert balances(scene.where) == scene.before
    assert scene.totals() == {key: sums for key, sums in scene.topic.expected().items() if key != "big"}
    assert (scene.diverted("totals"), scene.diverted("balances")) == (["big"], ["a1", "a2", "big"])
    assert "nothing is taken out" not in caplog.text


def test_what_is_refused_at_the_commit_and_names_no_state_leaves_as_a_whole(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    """A trigger writes to a table of the user's own, which looks at it at the COMMIT; one breaks a check too."""
    scene = Scene(postgres, apart=False)
    scene.sql(
        "CREATE TABLE known (account text PRIMARY KEY)",
        "INSERT INTO known VALUES ('a1'), ('big')",
        "CREATE TABLE audit (account text REFERENCES known DEFERRABLE INITIALLY DEFERRED)",
        """CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO audit VALUES (NEW.account); RETURN NULL; END $$""",
        "CREATE TRIGGER noted AFTER INSERT OR UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION noted()",
        *REFUSALS["check"][0],
    )
    assert "they are refused together" in scene.be_refused()
    scene.divert()
    scene.go_on()
    assert "so all" in caplog.text
    assert balances(scene.where) == scene.topic.expected()
    assert scene.totals() == scene.before
    assert scene.diverted() == ["a1", "a2", "big"]


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
@pytest.mark.parametrize("order", [["parent", "x", "child"], ["parent", "child", "x"], ["child", "x", "parent"]])
@pytest.mark.drawn(one_in=2)
def test_a_row_that_refers_to_another_one_of_its_batch_stays_with_it(
    postgres: Postgres, apart: bool, order: list[str]
) -> None:
    """Wherever it lies: alone it is refused, with the others it fits."""
    scene = Scene(postgres, apart)
    scene.sql(
        """CREATE FUNCTION refers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.account = 'child' AND NOT EXISTS (SELECT 1 FROM totals WHERE account = 'parent')
        THEN RAISE EXCEPTION 'no parent'; END IF; RETURN NULL; END $$""",
        "CREATE TRIGGER refers AFTER INSERT ON totals FOR EACH ROW EXECUTE FUNCTION refers()",
        *REFUSALS["check"][0],
    )
    scene.topic.partitions[0][12:] = [(key, 1) for key in order] + [("big", SECRET)]
    assert "1 of its 4 keys is refused, the others fit" in scene.be_refused()
    scene.divert()
    scene.go_on()
    assert scene.diverted() == ["big"]
    assert scene.totals() == {key: sums for key, sums in scene.topic.expected().items() if key != "big"}


@pytest.mark.parametrize(
    ("apart", "point"),
    [
        (False, CrashPoint.AFTER_DECIDING_DIVERT),
        (False, CrashPoint.IN_PIN_TRANSACTION),
        (False, CrashPoint.AFTER_DONE),
        (True, CrashPoint.AFTER_STAGING_KEPT),
        (True, CrashPoint.AFTER_DIVERTING),
        (True, CrashPoint.IN_APPLY),
        (True, CrashPoint.BEFORE_DONE),
    ],
)
@pytest.mark.drawn(one_in=3)
def test_whoever_dies_the_row_leaves_once(postgres: Postgres, apart: bool, point: CrashPoint) -> None:
    scene = Scene(postgres, apart)
    scene.sql(*REFUSALS["check"][0])
    scene.be_refused()
    if point in (CrashPoint.AFTER_DECIDING_DIVERT, CrashPoint.AFTER_STAGING_KEPT, CrashPoint.AFTER_DIVERTING):
        with dying_at(point):
            scene.divert()
        if point is CrashPoint.AFTER_STAGING_KEPT:
            assert scene.diverted() == []
            scene.divert()
    else:
        scene.divert()
        with dying_at(point):
            scene.go_on()
    scene.topic.partitions[0] += [("a1", 1), ("later", 1)]
    scene.go_on()
    assert balances(scene.where) == scene.topic.expected()
    assert scene.totals() == {key: sums for key, sums in scene.topic.expected().items() if key != "big"}
    assert scene.diverted() == ["big"]


def test_a_missing_column_is_no_rows_fault(postgres: Postgres) -> None:
    """It is told as what it is, and takes no row out; so is a divert while it is missing."""
    scene = Scene(postgres, apart=True)
    scene.sql(*REFUSALS["check"][0])
    scene.be_refused()
    scene.sql("ALTER TABLE totals RENAME COLUMN n TO renamed")
    with pytest.raises(FatalError, match=r"'n'|renamed|\\bn\\b"):
        scene.divert()
    scene.sql("ALTER TABLE totals RENAME COLUMN renamed TO n")
    assert scene.diverted() == []
    scene.divert()
    scene.go_on()
    assert scene.diverted() == ["big"]


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
def test_many_bad_rows_of_many_are_found(postgres: Postgres, apart: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "trident")
    scene = Scene(postgres, apart)
    scene.sql(*REFUSALS["check"][0])
    bad = {f"k{n}" for n in range(0, 400, 23)}
    scene.topic.partitions[0] = scene.topic.partitions[0][:12]
    scene.topic.partitions[0] += [(f"k{n}", 5000 if f"k{n}" in bad else 1) for n in range(400)]
    job = scene.job
    scene.job = lambda: _wide(job())
    assert f"{len(bad)} of its 400 keys are refused, the others fit" in scene.be_refused()
    scene.divert()
    scene.go_on()
    assert set(scene.diverted()) == bad
    assert scene.totals() == {key: sums for key, sums in scene.topic.expected().items() if key not in bad}


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "apart"])
def test_a_sum_that_leaves_its_type_leaves_alone(postgres: Postgres, apart: bool) -> None:
    scene = Scene(postgres, apart)
    scene.topic.partitions[0][12:] = [("wide", 2**62)]
    scene.go_on()
    before = scene.topic.expected()
    scene.topic.partitions[0] += [("wide", 2**62), ("a1", 7)]
    # `balances` meets the same sum first
    said = scene.be_refused()
    assert "a sum in one of the columns 'n', 'total' of table 'balances'" in said
    assert "1 of its 2 keys is refused, the others fit" in said
    for state in ("balances", "totals"):
        plan = scene.job().plan()
        wanted = WantedDecision(DecisionKind.DIVERT_REFUSED, 4, state)
        decide_topology(plan.spec, plan.targets, PostgresLedger(scene.dsn), wanted, OPTIONS)
        if state == "balances":
            scene.be_refused()
    scene.go_on()
    n, total = before["a1"]
    left = before | {"a1": (n + 1, total + 7)}
    assert balances(scene.where) == scene.totals() == left
    assert scene.diverted() == ["wide", "wide"]


def _wide(job):
    """Let one batch have all there is."""
    return replace(job, spout=replace(job.spout, limits=Limits(max_records=1000)))
