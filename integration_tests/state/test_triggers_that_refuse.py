"""A trigger of a user's that refuses rows is refused like a constraint: recorded, diverted, the rest goes on."""

from __future__ import annotations

import json
import logging
import traceback
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.records import balances
from integration_tests.state.test_tasks_role import login
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import DecisionNeededError, FatalError, RefusedError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger
from trident.coordinators.options import RunOptions
from trident.state import PostgresState
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.errors import _FUNCTION, _IN_FUNCTION

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
QUIET = {"without a word": "RETURN NULL", "gives it another txid": "NEW.txid := 2"}
STATEMENTS = {
    "no such table": "EXECUTE format('INSERT INTO %I VALUES (1)', 'log_' || NEW.total)",
    "no such column": "EXECUTE 'SELECT c' || NEW.total",
    "no such function": "EXECUTE 'SELECT f' || NEW.total || '()'",
    "no statement": "EXECUTE 'SELEC ' || NEW.total",
    "no right": "SET LOCAL ROLE pg_monitor; EXECUTE 'SELECT ' || NEW.total || ' FROM balances'",
    "no such type": "EXECUTE 'SELECT NULL::t' || NEW.total",
    "a number": "EXECUTE 'SELECT ' || NEW.total || '/0'",
    "in a function of its own": "PERFORM inner_one(NEW.total)",
}
"""What fails there is a statement of the function's: it says what that was made of."""
INNER = """CREATE FUNCTION inner_one(amount numeric) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN EXECUTE 'SELECT ' || amount || ' FROM nowhere' || amount; END $$"""


def guarded(dsn: str, raises: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(INNER)
        connection.execute(
            f"""CREATE FUNCTION check_total() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF NEW.account = 'big' THEN {raises}; END IF; RETURN NEW; END $$"""  # type: ignore[arg-type, unused-ignore]
        )
        connection.execute(
            "CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION check_total()"
        )


def owned_by(role: str, *addresses: str) -> list[str]:
    """Give databases to an ordinary role; returns its addresses of them."""
    with psycopg.connect(addresses[0], autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'ordinary'")  # type: ignore[call-overload, unused-ignore]
        for address in dict.fromkeys(addresses):
            connection.execute(f"ALTER DATABASE {urlsplit(address).path[1:]} OWNER TO {role}")  # type: ignore[call-overload, unused-ignore]
    return [login(address, role, "ordinary") for address in addresses]


class Scene:
    """`totals` has a trigger that refuses the account `big`."""

    def __init__(self, postgres: Postgres, raises: str, apart: bool, role: str | None = None) -> None:
        self.dsn = postgres.dsn
        self.where = postgres.new_dsn() if apart else postgres.dsn
        if role is not None:
            self.dsn, self.where = owned_by(role, self.dsn, self.where)
        self.apart = apart
        self.topic = Topic([[(f"a{n % 5}", n) for n in range(1, 13)]])
        self.go_on()
        self.before = self.topic.expected()
        guarded(self.where, raises)
        self.topic.partitions[0] += [("a1", 7), ("big", SECRET), ("new", 3)]

    def job(self):
        own = self.where if self.apart else None
        return make_job(self.topic, *(PostgresState(name, dsn=own) for name in ("balances", "totals")))

    def go_on(self, options: RunOptions = OPTIONS) -> None:
        TopologyRun(self.job().plan(), PostgresLedger(self.dsn), options).run()


@pytest.mark.parametrize(
    ("raises", "apart"),
    [
        ("as it is", False),
        ("as it is", True),
        ("with a code of its own", False),
        ("without a word", False),
        ("without a word", True),
        ("gives it another txid", False),
        ("gives it another txid", True),
        ("no such table", False),
        ("no such table", True),
        ("in a function of its own", False),
    ],
    ids=lambda value: str(value).replace(" ", "_"),
)
@pytest.mark.drawn(one_in=5)
def test_what_a_trigger_refuses_is_recorded_and_can_be_diverted(
    postgres: Postgres, raises: str, apart: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "trident")
    scene = Scene(postgres, {**RAISES, **STATEMENTS, **QUIET}[raises], apart)
    with pytest.raises(DecisionNeededError) as refused:
        scene.go_on()
    with pytest.raises(DecisionNeededError):
        scene.go_on()
    with psycopg.connect(scene.dsn) as connection:
        recorded = connection.execute("SELECT state, kind, reason FROM trident_refusal").fetchall()
    assert [row[:2] for row in recorded] == [("totals", "refused")]
    shown = f"{refused.value}{refused.value.__cause__!r}{recorded}{caplog.text}"
    assert str(SECRET) not in shown
    words = "1 of 3 staged rows were not stored" if raises in QUIET else "check_total"
    assert words in recorded[0][2]
    plan = scene.job().plan()
    wanted = WantedDecision(DecisionKind.DIVERT, 3, "totals")
    decide_topology(plan.spec, plan.targets, PostgresLedger(scene.dsn), wanted, OPTIONS)
    scene.topic.partitions[0].append(("after", 1))
    scene.go_on()
    assert balances(scene.where) == scene.topic.expected()
    assert balances(scene.where, "totals") == scene.before | {"after": (1, 1)}
    ledger = PostgresLedger(scene.dsn)
    ((txid, diverted),) = ledger.diverted("payments")
    ledger.close()
    assert txid == 3
    assert {json.loads(row)["account"] for row in diverted.rows} == {"a1", "big", "new"}


@pytest.mark.parametrize("raises", RAISES | STATEMENTS)
def test_whatever_a_function_raises_is_a_refusal_without_its_words(postgres: Postgres, raises: str) -> None:
    database = PostgresDatabase(postgres.dsn)
    with database.transaction() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE totals (account text, n bigint, total bigint)")
    guarded(postgres.dsn, (RAISES | STATEMENTS)[raises])
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


def test_what_a_triggers_own_statement_waits_for_is_told_without_what_it_is_made_of(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    scene = Scene(postgres, "EXECUTE format('UPDATE log SET words = %L', NEW.total)", apart=False)
    with psycopg.connect(postgres.dsn) as blocker:
        blocker.execute("CREATE TABLE log (words text); INSERT INTO log VALUES ('none')")
        blocker.commit()
        blocker.execute("UPDATE log SET words = 'mine'")
        with pytest.raises(FatalError, match="lock timeout") as waited:
            scene.go_on(replace(OPTIONS, lease=timedelta(seconds=1), give_up_after=timedelta(seconds=2)))
    assert str(SECRET) not in "".join(traceback.format_exception(waited.value)) + caplog.text
    scene.go_on()
    assert balances(scene.where, "totals") == scene.topic.expected()


@pytest.mark.parametrize("apart", [False, True])
def test_what_a_policy_of_row_level_security_refuses_is_a_refusal(postgres: Postgres, apart: bool) -> None:
    """An ordinary role that owns the tables; a superuser passes every policy."""
    role = f"owner_{postgres.dsn[-12:]}"
    scene = Scene(postgres, "NULL", apart, role)
    with psycopg.connect(scene.where, autocommit=True) as connection:
        connection.execute("DROP TRIGGER guard ON totals")
        connection.execute("ALTER TABLE totals ENABLE ROW LEVEL SECURITY")
        connection.execute("ALTER TABLE totals FORCE ROW LEVEL SECURITY")
        connection.execute("CREATE POLICY small ON totals USING (true) WITH CHECK (account <> 'big')")
    with pytest.raises(DecisionNeededError, match="'totals' refused"):
        scene.go_on()
    plan = scene.job().plan()
    decide_topology(
        plan.spec, plan.targets, PostgresLedger(scene.dsn), WantedDecision(DecisionKind.DIVERT, 3, "totals"), OPTIONS
    )
    scene.go_on()
    assert balances(scene.dsn if not apart else scene.where) == scene.topic.expected()
    assert balances(scene.where, "totals") == scene.before


@pytest.mark.parametrize(
    "context",
    [
        "PL/pgSQL function book() line 1 at EXECUTE",
        'SQL statement "SELECT c1"\nPL/pgSQL function inner_one(numeric) line 2 at EXECUTE\n'
        'SQL statement "SELECT inner_one(NEW.total)"\nPL/pgSQL function book() line 1 at PERFORM',
        "PL/pgSQL-Funktion book() Zeile 1 bei EXECUTE",
        "función PL/pgSQL book() en la línea 1 en EXECUTE",
        "fonction PL/pgSQL book(), ligne 1 à EXECUTE",
        'PL/Python function "book"',
        'SQL function "book" statement 1',
    ],
)
def test_the_function_is_known_in_every_language(context: str) -> None:
    line = context.rpartition("\n")[2]
    assert _IN_FUNCTION.search(line)
    found = _FUNCTION.search(line)
    assert found is not None
    assert (found.group(1) or found.group(2)) == "book"


@pytest.mark.parametrize(
    "context",
    [
        "",
        'COPY totals, line 1, column n: "9"',
        'while updating tuple (0,1) in relation "totals"',
        'SQL statement "SELECT 1 FROM ONLY "public"."t" x WHERE "id" OPERATOR(pg_catalog.=) $1 FOR KEY SHARE OF x"',
    ],
)
def test_what_the_server_does_itself_is_no_function(context: str) -> None:
    assert not _IN_FUNCTION.search(context)
