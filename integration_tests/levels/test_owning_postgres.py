"""Whose a table in PostgreSQL is: asked through every search path, by its number, and of what is deleted along."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from integration_tests.fix_postgres import Postgres
from tests.coordinators.fakes import ListJob, make_job
from tests.coordinators.test_run import OPTIONS, payments
from tests.state.ownership import FIRST, PAIRS, SECOND, Opens, begin, look, opens, take
from tests.state.test_plain import LAYOUT, rows
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch
from trident.base.levels import Level
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.holding.standing import ApartError
from trident.coordinators.ledger import PostgresLedger
from trident.state import PostgresState, PostgresTable, StateKind
from trident.state.capabilities import Transaction, plain_of
from trident.state.postgres.database import PostgresDatabase
from trident.state.tables import plain_marks
from trident.state.tables.owning import refuse_placed
from trident.state.target import Target

TABLE = "analytics.sums"


def ask(postgres: Postgres, *statements: str) -> list[tuple[object, ...]]:
    with psycopg.connect(postgres.dsn) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def through(postgres: Postgres, schema: str) -> str:
    return f"{postgres.dsn}?options=-csearch_path%3D{schema}"


@pytest.fixture
def schemas(postgres: Postgres) -> Postgres:
    ask(postgres, *(f"CREATE SCHEMA {name}" for name in ("analytics", "one", "two")))
    maker = PostgresState("maker", table=TABLE, dsn=postgres.dsn).open_plain(LAYOUT, PostgresDatabase(postgres.dsn))
    maker.prepare()
    maker.close()
    return postgres


def opened(postgres: Postgres, schema: str) -> Mapping[str, Opens]:
    dsn = through(postgres, schema)
    state = PostgresState("sums", table=TABLE, dsn=dsn, kind=StateKind.NON_TRANSACTIONAL)
    return opens(state, PostgresTable("out", table=TABLE, dsn=dsn), TABLE)


def test_who_begins_second_is_refused_whatever_leads_to_the_table(schemas: Postgres) -> None:
    mine, others = opened(schemas, "one"), opened(schemas, "two")
    for first, second in PAIRS:
        is_late = first[-1] == second[-1]  # those have looked before the first began
        late = others[second]()
        if is_late:
            look(late, SECOND)
        begin(mine[first](), FIRST)
        if (first, second) == ("plain sink", "plain sink"):
            take(late, SECOND, 1)
        else:
            with pytest.raises(MismatchError, match=r"topology 'first'|belongs to another state already"):
                (take if is_late else begin)(late, SECOND, 1)
        late.close()
        begin(mine[first](), FIRST, 2)
        ask(
            schemas,
            *(f"DROP SCHEMA {each} CASCADE" for each in ("one", "two")),
            "CREATE SCHEMA one",
            "CREATE SCHEMA two",
        )


class Late:
    """A target that has looked, and registers in a thread of its own."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.is_done = threading.Event()
        self.refused: list[BaseException] = []
        self.thread = threading.Thread(target=self._register)
        look(target, SECOND)
        target.raise_fence(SECOND, Epoch(1, "line.1"))

    def _register(self) -> None:
        try:
            self.target.register(SECOND, Epoch(1, "line.1"), 0)
        except MismatchError as error:
            self.refused.append(error)
        self.is_done.set()

    def end(self) -> None:
        self.thread.join()
        self.target.close()


def test_of_two_that_begin_at_one_moment_the_second_waits_and_is_refused(schemas: Postgres) -> None:
    late = Late(opened(schemas, "one")["exact state"]())

    def meanwhile(_: Transaction) -> None:
        late.thread.start()
        assert not late.is_done.wait(1), "it has not waited for what is not committed yet"

    dsn = through(schemas, "one")
    plain = PostgresState("sums", table=TABLE).open_plain(LAYOUT, PostgresDatabase(dsn))
    plain.own(FIRST, Epoch(1, "line.1"), holds=meanwhile)
    late.end()
    assert "topology 'first'" in str(late.refused[0])


def test_who_asks_whether_a_table_stands_at_a_txid_is_waited_for(
    schemas: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the question and the lock another one could have registered it."""
    late = Late(opened(schemas, "one")["exact state"]())

    def asked_first(*given: object) -> None:
        refuse_placed(*given)  # type: ignore[arg-type]
        if not late.thread.is_alive():
            late.thread.start()
            assert not late.is_done.wait(1), "it has not waited for who asks"

    monkeypatch.setattr(plain_marks, "refuse_placed", asked_first)
    plain = PostgresState("sums", table=TABLE).open_plain(LAYOUT, PostgresDatabase(through(schemas, "one")))
    plain.own(FIRST, Epoch(1, "line.1"))
    late.end()
    plain.close()
    assert "topology 'first'" in str(late.refused[0])


@pytest.mark.parametrize("kind", ["exact state", "exact sink"])
@pytest.mark.parametrize("spelling", ["t", "public.t"])
def test_of_two_that_have_looked_one_has_the_table_by_whatever_name(
    postgres: Postgres, kind: str, spelling: str
) -> None:
    """No key of the positions tells two spellings of one table apart."""

    def of(table: str) -> Target:
        state = PostgresState("sums", table=table, dsn=postgres.dsn, kind=StateKind.NON_TRANSACTIONAL)
        return opens(state, PostgresTable("out", table=table, dsn=postgres.dsn), table)[kind]()

    first, second = of("t"), of(spelling)
    line = Epoch(1, "line.1")
    for target, owner in ((first, FIRST), (second, SECOND)):
        look(target, owner)
        target.raise_fence(owner, line)
        assert target.position(owner.topology) is None
    first.register(FIRST, line, 0)
    with pytest.raises(MismatchError, match=r"belongs to (another )?state"):
        second.register(SECOND, line, 0)
    first.close()
    second.close()
    assert ask(postgres, "SELECT topology FROM trident_applied") == [("first",)]


@pytest.mark.parametrize("level", [Level.AT_LEAST_ONCE, Level.EXACTLY_ONCE])
def test_a_name_in_another_schema_is_another_table(postgres: Postgres, level: Level) -> None:
    """The notes are in a schema that both paths lead to, and the table of the second is made by it."""
    ask(postgres, *(f"CREATE SCHEMA {name}" for name in ("one", "two")))
    first = job("sums", "sums", Level.AT_LEAST_ONCE)
    run(job("others", "others", Level.AT_LEAST_ONCE), postgres.dsn, "maker")  # of the notes, in public
    ask(postgres, "CREATE TABLE one.sums (LIKE others INCLUDING ALL)")
    run(first, through(postgres, "one,public"), "first")
    ask(postgres, "CREATE TABLE two.sums (LIKE others INCLUDING ALL)", "DROP TABLE two.sums")
    run(job("sums", "two.sums", level), through(postgres, "two,public"), "second")
    run(first, through(postgres, "one,public"), "first")
    with pytest.raises(MismatchError, match="topology 'first'"):
        run(job("sums", "one.sums", Level.AT_LEAST_ONCE), through(postgres, "one,public"), "third")
    run(first, through(postgres, "one,public"), "first")
    assert counted(postgres, "one.sums") == counted(postgres, "two.sums") == 10


def job(name: str, table: str, level: Level, each: int = 10) -> ListJob:
    return make_job(payments(1, each), PostgresState(name, table=table), level=level)


def run(made: ListJob, dsn: str, topology: str) -> None:
    TopologyRun(made.plan(topology), PostgresLedger(dsn), OPTIONS).run()


def reset(made: ListJob, dsn: str, topology: str, *, keep_rows: bool = False) -> None:
    plan, start = made.plan(topology), None if keep_rows else "earliest"
    reset_topology(plan.spec, plan.targets, PostgresLedger(dsn), keep_rows=keep_rows, start=start, options=OPTIONS)


def counted(postgres: Postgres, table: str) -> int:
    return int(str(ask(postgres, f"SELECT coalesce(sum(n), 0) FROM {table}")[0][0]))


@pytest.mark.parametrize("level", [Level.EXACTLY_ONCE, Level.AT_LEAST_ONCE])
def test_neither_a_start_nor_a_reset_takes_a_table_that_another_has_through_another_path(
    postgres: Postgres, level: Level
) -> None:
    ask(postgres, *(f"CREATE SCHEMA {name}" for name in ("analytics", "one", "two")))
    run(job("sums", TABLE, level), through(postgres, "one"), "first")
    for call in (run, reset):
        with pytest.raises(MismatchError, match="'sums' of topology 'first'") as refused:
            call(job("sums", TABLE, Level.AT_MOST_ONCE), through(postgres, "two"), "second")
        assert "trident reset" not in str(refused.value), "it would empty what is another's"
    assert counted(postgres, TABLE) == 10
    run(job("sums", TABLE, level), through(postgres, "one"), "first")


@pytest.mark.parametrize("schema", ["one", "two"])
@pytest.mark.parametrize("level", [Level.EXACTLY_ONCE, Level.AT_LEAST_ONCE])
def test_a_reset_takes_no_rows_of_a_weaker_level_along(postgres: Postgres, level: Level, schema: str) -> None:
    ask(postgres, "CREATE SCHEMA one", "CREATE SCHEMA two")
    parent, child = job("parents", "parents", level), job("children", "children", Level.AT_LEAST_ONCE)
    run(parent, through(postgres, "one"), "parent")
    run(child, through(postgres, schema), "child")
    ask(
        postgres,
        f"ALTER TABLE {schema}.children ADD FOREIGN KEY (account) REFERENCES one.parents (account) ON DELETE CASCADE",
    )
    with pytest.raises(MismatchError, match=rf"'children' of topology 'child' \(trident_plain of schema '{schema}'"):
        reset(parent, through(postgres, "one"), "parent")
    assert (counted(postgres, "one.parents"), counted(postgres, f"{schema}.children")) == (10, 10)
    ask(postgres, f"UPDATE {schema}.trident_plain SET has_left = TRUE WHERE topology = 'child'")
    reset(parent, through(postgres, "one"), "parent")
    assert counted(postgres, f"{schema}.children") == 0, "what was left is nobody's"


def test_a_reset_may_take_rows_of_its_own_topology_along(postgres: Postgres) -> None:
    both = make_job(payments(1, 10), PostgresState("parents"), PostgresState("children"), level=Level.AT_LEAST_ONCE)
    run(both, postgres.dsn, "family")
    ask(postgres, "ALTER TABLE children ADD FOREIGN KEY (account) REFERENCES parents (account) ON DELETE CASCADE")
    reset(both, postgres.dsn, "family")
    assert (counted(postgres, "parents"), counted(postgres, "children")) == (0, 0)


@pytest.mark.parametrize("may_read", [False, True])
def test_notes_that_only_others_may_write_stop_no_topology_of_the_first_level(
    postgres: Postgres, may_read: bool
) -> None:
    run(job("views", "views", Level.AT_LEAST_ONCE), postgres.dsn, "plain")
    run(job("sums", "sums", Level.AT_LEAST_ONCE), postgres.dsn, "gone")
    ask(postgres, "DROP TABLE sums")
    made = job("sums", "sums", Level.EXACTLY_ONCE)
    role = f"billing_{secrets.token_hex(4)}"
    ask(
        postgres,
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'",
        f"GRANT ALL ON SCHEMA public TO {role}",
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}",
        f"REVOKE ALL ON trident_plain, trident_plain_schema FROM {role}",
        *([f"GRANT SELECT ON trident_plain TO {role}"] if may_read else []),
    )
    try:
        dsn = make_conninfo(postgres.dsn, user=role, password="x")
        run(made, dsn, "billing")
        reset(made, dsn, "billing")
        run(made, dsn, "billing")
        assert counted(postgres, "sums") == 10
    finally:
        ask(postgres, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def anew(table: str, rows: str = "") -> tuple[str, ...]:
    return (
        f"CREATE TABLE made (LIKE {table} INCLUDING ALL)",
        f"INSERT INTO made SELECT * FROM {table} {rows}",
        f"DROP TABLE {table}",
        f"ALTER TABLE made RENAME TO {table}",
    )


AS_VERSION_1 = (
    "ALTER TABLE trident_plain DROP COLUMN relation, DROP COLUMN may_share, DROP COLUMN has_left",
    "DELETE FROM trident_plain_schema WHERE version = 2",
)


@pytest.mark.parametrize("is_of_version_1", [False, True])
def test_a_table_that_was_exchanged_in_its_database_is_seen(postgres: Postgres, is_of_version_1: bool) -> None:
    made = job("sums", "sums", Level.AT_LEAST_ONCE)
    run(made, postgres.dsn, "payments")
    if is_of_version_1:
        ask(postgres, *AS_VERSION_1)
        run(made, postgres.dsn, "payments")
    ask(postgres, *anew("sums", "LIMIT 1"))
    made.topic.partitions[0] += [("late", 1)] * 5
    with pytest.raises(ApartError, match="another one than it has written to"):
        run(made, postgres.dsn, "payments")
    reset(made, postgres.dsn, "payments", keep_rows=True)  # as the text offers: it was on purpose
    run(made, postgres.dsn, "payments")
    assert ask(postgres, "SELECT n FROM sums WHERE account = 'late'") == [(5,)]


def test_a_sinks_table_that_was_exchanged_is_seen(postgres: Postgres) -> None:
    opening = opens(
        PostgresState("sums", dsn=postgres.dsn, kind=StateKind.NON_TRANSACTIONAL),
        PostgresTable("out", table="t", dsn=postgres.dsn),
        "t",
    )
    begin(opening["plain sink"](), FIRST)
    for statements, is_another in ((("VACUUM FULL t",), False), (anew("t"), True)):
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
        sink = opening["plain sink"]()
        found = sink.capabilities.plain.found("first") if sink.capabilities.plain else None
        sink.close()
        assert found is not None
        assert found.mark is not None
        assert found.mark.is_of_another is is_another


def test_a_dump_that_is_restored_with_its_notes_goes_on(postgres: Postgres) -> None:
    made = job("sums", "sums", Level.AT_LEAST_ONCE)
    run(made, postgres.dsn, "payments")
    ask(postgres, *anew("sums"), *anew("trident_plain"))
    made.topic.partitions[0] += [("late", 1)] * 5
    run(made, postgres.dsn, "payments")
    assert counted(postgres, "sums") == 15


@pytest.mark.parametrize("path", ["public", "one"])
def test_what_was_restored_is_taken_and_emptied_by_nobody_else(postgres: Postgres, path: str) -> None:
    """A restore numbers tables anew, so that a note says a number that is none of them, or another one's."""
    ask(postgres, "CREATE SCHEMA one")
    table = "sums" if path == "public" else "public.sums"
    made, dsn = job("sums", table, Level.AT_LEAST_ONCE), through(postgres, path)
    run(made, dsn, "first")
    notes = f"{path}.trident_plain"
    ask(postgres, *anew("sums"), f"CREATE TABLE made (LIKE {notes} INCLUDING ALL)", f"INSERT INTO made TABLE {notes}")
    ask(
        postgres,
        f"DROP TABLE {notes}",
        f"ALTER TABLE made SET SCHEMA {path}",
        f"ALTER TABLE {path}.made RENAME TO trident_plain",
    )
    other = job("sums", table, Level.AT_LEAST_ONCE)
    for call in (run, reset):
        with pytest.raises(MismatchError, match="topology 'first'"):
            call(other, postgres.dsn, "second")
    assert counted(postgres, "sums") == 10
    ask(postgres, "CREATE TABLE another (LIKE sums INCLUDING ALL)")
    number = ask(postgres, "SELECT 'another'::regclass::oid")[0][0]
    ask(postgres, f"UPDATE {notes} SET relation = '{number}:1@1'")
    run(job("sums", "another", Level.AT_LEAST_ONCE), postgres.dsn, "third")
    run(made, dsn, "first")
    with pytest.raises(MismatchError, match="topology 'first'"):
        reset(other, postgres.dsn, "second")
    assert counted(postgres, "sums") == 10


def test_two_tables_of_one_name_are_two_behind_a_restore(postgres: Postgres) -> None:
    """The notes are in a schema that both paths lead to, and say the name that is the same in both."""
    ask(postgres, "CREATE SCHEMA one", "CREATE SCHEMA two")
    run(job("others", "others", Level.AT_LEAST_ONCE), postgres.dsn, "maker")
    ask(postgres, *(f"CREATE TABLE {schema}.sums (LIKE others INCLUDING ALL)" for schema in ("one", "two")))
    made = job("sums", "sums", Level.AT_LEAST_ONCE)
    both = (("first", through(postgres, "one,public")), ("second", through(postgres, "two,public")))
    for topology, dsn in both:
        run(made, dsn, topology)
    ask(postgres, *anew("trident_plain"))
    for schema in ("one", "two"):
        ask(
            postgres,
            *(statement.replace("made", f"{schema}.made", 1) for statement in anew(f"{schema}.sums")[:2]),
            f"DROP TABLE {schema}.sums",
            f"ALTER TABLE {schema}.made RENAME TO sums",
        )
    with pytest.raises(MismatchError, match="'sums' of topology 'first'"):
        run(job("sums", "sums", Level.AT_LEAST_ONCE), through(postgres, "one,public"), "third")
    made.topic.partitions[0] += [("late", 1)] * 5
    for topology, dsn in (both[0], *both):  # the first one also while the other has not begun since
        run(made, dsn, topology)
    assert (counted(postgres, "one.sums"), counted(postgres, "two.sums")) == (15, 15)
    ask(postgres, *anew("trident_plain"))
    run(made, both[1][1], "second")
    with pytest.raises(MismatchError, match="'sums' of topology 'second'"):
        run(made, through(postgres, "two,public"), "first")


def test_a_table_that_is_made_behind_a_restore_releases_none_of_another_schema(postgres: Postgres) -> None:
    ask(postgres, "CREATE SCHEMA one", "CREATE SCHEMA two")
    run(job("others", "others", Level.AT_LEAST_ONCE), postgres.dsn, "maker")
    ask(postgres, "CREATE TABLE one.sums (LIKE others INCLUDING ALL)")
    first = job("sums", "sums", Level.AT_LEAST_ONCE)
    run(first, through(postgres, "one,public"), "first")
    ask(postgres, *anew("trident_plain"))
    second = job("sums", "sums", Level.AT_LEAST_ONCE)
    for _ in range(2):
        run(second, through(postgres, "two,public"), "second")
    with pytest.raises(MismatchError, match="'sums' of topology 'first'"):
        reset(job("sums", "one.sums", Level.AT_LEAST_ONCE), through(postgres, "one,public"), "third")
    run(first, through(postgres, "one,public"), "first")
    assert (counted(postgres, "one.sums"), counted(postgres, "two.sums")) == (10, 10)


def test_a_restored_note_of_a_table_that_was_not_restored_holds_nothing(postgres: Postgres) -> None:
    run(job("sums", "sums", Level.AT_LEAST_ONCE), postgres.dsn, "first")
    ask(postgres, "DROP TABLE sums", *anew("trident_plain"))
    other = job("sums", "sums", Level.AT_LEAST_ONCE)
    for _ in range(2):
        run(other, postgres.dsn, "second")
    with pytest.raises(MismatchError, match="topology 'second'"):
        run(job("sums", "sums", Level.AT_LEAST_ONCE), postgres.dsn, "first")


@pytest.mark.parametrize("kind", ["plain state", "plain sink"])
def test_a_table_that_is_exchanged_while_a_topology_runs_is_not_written_to(schemas: Postgres, kind: str) -> None:
    line = Epoch(1, "line.1")
    target, given = opened(schemas, "one")[kind](), rows(("ann", 1, 1, 1))
    begin(opened(schemas, "one")[kind](), FIRST)
    plain_of(target).write(BatchId(FIRST, line, 1, 1), given)
    ask(
        schemas,
        f"ALTER TABLE {TABLE} RENAME TO old",
        f"CREATE TABLE {TABLE} (LIKE analytics.old INCLUDING ALL)",
    )
    with pytest.raises(MismatchError, match="is another one than at the start of this run"):
        plain_of(target).write(BatchId(FIRST, line, 2, 2), given)
    target.close()
    assert ask(schemas, f"SELECT count(*) FROM {TABLE}") == [(0,)]


def test_who_has_written_holds_its_table_until_its_commit(schemas: Postgres) -> None:
    """So nobody else takes the table between the question whose it is and the COMMIT."""
    begin(opened(schemas, "one")["plain state"](), FIRST)
    is_left = threading.Event()

    def leave() -> None:
        late = opened(schemas, "one")["plain state"]()
        plain_of(late).leave(FIRST, Epoch(2, "line.2"))
        late.close()
        is_left.set()

    leaving = threading.Thread(target=leave)

    def meanwhile(_: Transaction) -> None:
        leaving.start()
        assert not is_left.wait(1), "it has not waited for what is not committed yet"

    shared = PostgresState("sums", table=TABLE).open_plain(LAYOUT, PostgresDatabase(through(schemas, "one")))
    for txid in (2, 1):  # an older one notes nothing
        shared.write(
            BatchId(FIRST, Epoch(1, "line.1"), txid, txid), rows(("ann", 1, 1, 1)), meanwhile if txid == 1 else None
        )
    leaving.join()
    assert is_left.is_set()


@pytest.mark.parametrize("level", [Level.EXACTLY_ONCE, Level.AT_LEAST_ONCE])
def test_a_table_that_was_renamed_is_missed_by_name(postgres: Postgres, level: Level) -> None:
    made = job("sums", "sums", level)
    run(made, postgres.dsn, "payments")
    ask(postgres, "ALTER TABLE sums RENAME TO old")
    with pytest.raises(MismatchError, match="is on table 'old': it was renamed"):
        run(made, postgres.dsn, "payments")
    ask(postgres, "ALTER TABLE old RENAME TO sums")
    run(made, postgres.dsn, "payments")
