"""A trigger of a user's that refuses rows is refused like a constraint: recorded, diverted, the rest goes on."""

from __future__ import annotations

import json
import logging
import traceback

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from trident.base.errors import DecisionNeededError, RefusedError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology
from trident.coordinators.decisions.deciding import WantedDecision
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState
from trident.state.postgres.database import PostgresDatabase

SECRET = 987654321
RAISES = {
    "as it is": "RAISE EXCEPTION 'account % has %', NEW.account, NEW.total",
    "with a code of its own": "RAISE EXCEPTION 'account % has %', NEW.account, NEW.total USING ERRCODE = 'TR001'",
    "with a code that looks like another's": (
        "RAISE EXCEPTION 'account % has %', NEW.account, NEW.total USING ERRCODE = 'undefined_table'"
    ),
    "an assertion": "ASSERT false, 'account ' || NEW.account || ' has ' || NEW.total",
    "a row that is not there": "PERFORM 1; SELECT 1 INTO STRICT NEW.n WHERE NEW.account = 'nobody ' || NEW.total",
}


def guarded(dsn: str, raises: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(
            f"""CREATE FUNCTION check_total() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF NEW.account = 'big' THEN {raises}; END IF; RETURN NEW; END $$"""  # type: ignore[arg-type, unused-ignore]
        )
        connection.execute(
            "CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION check_total()"
        )


class Scene:
    """`totals` has a trigger that refuses the account `big`."""

    def __init__(self, postgres: Postgres, raises: str, apart: bool) -> None:
        self.dsn = postgres.dsn
        self.where = postgres.new_dsn() if apart else postgres.dsn
        self.apart = apart
        self.topic = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]])
        self.go_on()
        self.before = self.topic.expected()
        guarded(self.where, raises)
        self.topic.partitions[0] += [("a1", 7), ("big", SECRET), ("new", 3)]

    def job(self):
        own = self.where if self.apart else None
        return make_job(self.topic, *(PostgresState(name, dsn=own) for name in ("balances", "totals")))

    def go_on(self) -> None:
        run(self.job(), PostgresLedger(self.dsn))


@pytest.mark.parametrize(
    ("raises", "apart"),
    [
        ("as it is", False),
        ("as it is", True),
        ("with a code of its own", False),
        ("without a word", False),
        ("without a word", True),
    ],
    ids=lambda value: str(value).replace(" ", "_"),
)
def test_what_a_trigger_refuses_is_recorded_and_can_be_diverted(
    postgres: Postgres, raises: str, apart: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "trident")
    scene = Scene(postgres, {**RAISES, "without a word": "RETURN NULL"}[raises], apart)
    with pytest.raises(DecisionNeededError) as refused:
        scene.go_on()
    with pytest.raises(DecisionNeededError):
        scene.go_on()
    with psycopg.connect(scene.dsn) as connection:
        recorded = connection.execute("SELECT state, kind, reason FROM trident_refusal").fetchall()
    assert [row[:2] for row in recorded] == [("totals", "refused")]
    shown = f"{refused.value}{refused.value.__cause__!r}{recorded}{caplog.text}"
    assert str(SECRET) not in shown
    words = "1 of 3 staged rows were not stored" if raises == "without a word" else "check_total"
    assert words in recorded[0][2]
    plan = scene.job().plan()
    wanted = WantedDecision(DecisionKind.DIVERT, 3, "totals")
    decide_topology(plan.spec, plan.states, PostgresLedger(scene.dsn), wanted, OPTIONS)
    scene.topic.partitions[0].append(("after", 1))
    scene.go_on()
    assert balances(scene.where) == scene.topic.expected()
    assert balances(scene.where, "totals") == scene.before | {"after": (1, 1)}
    ledger = PostgresLedger(scene.dsn)
    ((txid, diverted),) = ledger.diverted("payments")
    ledger.close()
    assert txid == 3
    assert {json.loads(row)["account"] for row in diverted.rows} == {"a1", "big", "new"}


@pytest.mark.parametrize("raises", RAISES)
def test_whatever_a_function_raises_is_a_refusal_without_its_words(postgres: Postgres, raises: str) -> None:
    database = PostgresDatabase(postgres.dsn)
    with database.transaction() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE totals (account text, n bigint, total bigint)")
    guarded(postgres.dsn, RAISES[raises])
    with pytest.raises(RefusedError, match="at function 'check_total'") as refused, database.transaction() as again:
        again.connection.exec_driver_sql(f"INSERT INTO totals VALUES ('big', 1, {SECRET})")
    assert str(SECRET) not in "".join(traceback.format_exception(refused.value))
    database.close()


def test_one_that_says_try_again_is_tried_again_and_shows_no_value(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    """A trigger may raise what means "later": its text is a user's all the same."""
    caplog.set_level(logging.DEBUG, "trident")
    again = "RAISE EXCEPTION 'account % has %', NEW.account, NEW.total USING ERRCODE = 'serialization_failure'"
    scene = Scene(postgres, f"IF nextval('tries') < 3 THEN {again}; END IF", apart=False)
    with psycopg.connect(scene.where) as connection:
        connection.execute("CREATE SEQUENCE tries")
    scene.go_on()
    assert balances(scene.where, "totals") == scene.topic.expected()
    assert "check_total" in caplog.text
    assert str(SECRET) not in caplog.text
