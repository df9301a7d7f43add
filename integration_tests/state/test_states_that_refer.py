"""Undos and resets of states that refer to each other: refused before anything is recorded, or finished exactly."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlsplit, urlunsplit

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint
from trident.base.errors import MismatchError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import PostgresLedger, SqliteLedger
from trident.state import PostgresState, SqliteState
from trident.state.capabilities import CannotUndoError

Rows = dict[str, tuple[int, int]]


@dataclass
class Scene:
    """A topology whose states are all in one database, where `ask` is a person's word."""

    state: Callable[[str], PostgresState | SqliteState]
    ledger: Callable[[], PostgresLedger | SqliteLedger]
    ask: Callable[..., list[tuple[object, ...]]]
    where: str = ""
    away: Path | None = None
    """Where one more state is: a txid of states that are all beside the ledger is done when it is pinned."""
    names: tuple[str, ...] = ("audit", "totals")
    topology: str = "payments"
    topic: Topic = field(default_factory=lambda: Topic([[(f"a{n % 3}", n) for n in range(1, 7)]]))

    def plan(self):
        away = [] if self.away is None else [SqliteState("zaway", path=self.away)]
        return make_job(self.topic, *map(self.state, self.names), *away).plan(self.topology)

    def go_on(self) -> None:
        TopologyRun(self.plan(), self.ledger(), OPTIONS).run()

    def pin(self, *accounts: str) -> None:
        """Have the next txid pinned and applied, and the coordinator gone."""
        self.topic.partitions[0] += [(account, 7) for account in accounts]
        with dying_at(CrashPoint.AFTER_APPLY, len(self.names) if self.away is None else 1):
            self.go_on()

    def reset(self) -> None:
        plan, options = self.plan(), OPTIONS
        reset_topology(plan.spec, plan.targets, self.ledger(), keep_rows=False, start=None, options=options)

    def keep(self) -> None:
        plan, options = self.plan(), OPTIONS
        reset_topology(plan.spec, plan.targets, self.ledger(), keep_rows=True, start=None, options=options)

    def undo(self, txid: int) -> None:
        plan, wanted = self.plan(), WantedDecision(DecisionKind.UNDO, txid, "")
        decide_topology(plan.spec, plan.targets, self.ledger(), wanted, OPTIONS)

    def as_owner(self, act: Callable[[], None]) -> None:
        """Do it as the one to whom the database belongs."""
        states, self.state = self.state, lambda name: PostgresState(name, dsn=self.where)
        try:
            act()
        finally:
            self.state = states

    def rows(self) -> dict[str, Rows]:
        return {name: self.rows_of(name) for name in self.names}

    def rows_of(self, name: str) -> Rows:
        found = self.ask(f"SELECT account, n, total FROM {name}")
        return {str(account): (int(str(n)), int(str(total))) for account, n, total in found}

    def are_exact(self) -> bool:
        return all(rows == self.topic.expected() for rows in self.rows().values())


def in_postgres(
    postgres: Postgres, *, where: str | None = None, own: str | None = None, away: Path | None = None
) -> Scene:
    """Return one apart, unless there is a place for a state that is away."""
    where = postgres.dsn if away else where or postgres.new_dsn()
    own = None if away else own or where

    def ask(*statements: str) -> list[tuple[object, ...]]:
        with psycopg.connect(where) as connection:
            for statement in statements:
                done = connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
            return done.fetchall() if done.description else []

    return Scene(lambda name: PostgresState(name, dsn=own), lambda: PostgresLedger(postgres.dsn), ask, where, away)


def in_sqlite(folder: Path) -> Scene:
    own = folder / "own.sqlite"

    def ask(*statements: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(own)) as connection, connection:
            for statement in statements:
                done = connection.execute(statement).fetchall()
        return done

    return Scene(lambda name: SqliteState(name, path=own), lambda: SqliteLedger(folder / "ledger.sqlite"), ask)


@pytest.fixture(params=["beside the ledger", "apart", "SQLite"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    if request.param == "SQLite":
        return in_sqlite(tmp_path)
    away = tmp_path / "away.sqlite" if request.param == "beside the ledger" else None
    return in_postgres(request.getfixturevalue("postgres"), away=away)


def refer(scene: Scene, child: str, parent: str, rest: str = "", *, of: str = "") -> None:
    """Let each row of the child refer to the parent's of its key."""
    scene.ask(f"CREATE UNIQUE INDEX IF NOT EXISTS one_{parent} ON {parent} (account)")
    key = f"FOREIGN KEY (account) REFERENCES {parent} (account) {rest}"
    if not isinstance(scene.state(child), SqliteState):
        scene.ask(f"ALTER TABLE {of or child} ADD {key}")
        return
    made = scene.ask(f"SELECT name, type, sql FROM sqlite_master WHERE tbl_name = '{child}' AND sql IS NOT NULL")
    table = next(str(sql) for _, kind, sql in made if kind == "table")
    indexes = [(name, str(sql)) for name, kind, sql in made if kind == "index"]
    scene.ask(
        f"ALTER TABLE {child} RENAME TO old",
        *(f'DROP INDEX "{name}"' for name, _ in indexes),
        f"{table.rstrip()[:-1]}, {key})",
        f"INSERT INTO {child} SELECT * FROM old",
        "DROP TABLE old",
        *(sql for _, sql in indexes),
    )


def none(scene: Scene) -> None:
    scene.go_on()


def key(rest: str, child: str = "totals", parent: str = "audit") -> Callable[[Scene], None]:
    def relate(scene: Scene) -> None:
        scene.go_on()
        refer(scene, child, parent, rest)

    return relate


def chain(scene: Scene) -> None:
    scene.names = ("a_one", "b_two", "c_three")
    scene.go_on()
    refer(scene, "b_two", "a_one")
    refer(scene, "c_three", "b_two")


COLUMNS = "account text, n bigint, total bigint, previous_n bigint, previous_total bigint, previous_txid bigint"


def partition(scene: Scene) -> None:
    scene.ask(
        f"CREATE TABLE totals ({COLUMNS}, txid bigint NOT NULL) PARTITION BY HASH (account)",
        "CREATE TABLE part PARTITION OF totals FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        "CREATE UNIQUE INDEX own ON totals (account) NULLS NOT DISTINCT",
    )
    scene.go_on()
    refer(scene, "totals", "audit", "ON DELETE CASCADE", of="part")


def other_topology(rest: str) -> Callable[[Scene], None]:
    def relate(scene: Scene) -> None:
        scene.go_on()
        of_another(scene, ("a1", 1))
        refer(scene, "elsewhere", "totals", rest)

    return relate


RELATIONS = {
    "none": none,
    "no action": key(""),
    "no action, the other way round": key("", "audit", "totals"),
    "deferred": key("DEFERRABLE INITIALLY DEFERRED"),
    "cascade": key("ON DELETE CASCADE"),
    "set null": key("ON DELETE SET NULL"),
    "chain": chain,
    "partition": partition,
    "other topology, cascade": other_topology("ON DELETE CASCADE"),
    "other topology, set null": other_topology("ON DELETE SET NULL"),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.drawn(one_in=20)
def test_nothing_is_done_by_half(scene: Scene, relation: str) -> None:
    if relation == "partition" and isinstance(scene.state("totals"), SqliteState):
        return  # it has none
    RELATIONS[relation](scene)
    is_refused = relation.startswith("other topology") and not isinstance(scene.state("totals"), SqliteState)
    other = scene.rows_of("elsewhere") if is_refused else {}
    parent_first = relation != "no action, the other way round"
    before = scene.rows()
    scene.pin("a1", *(["new"] if parent_first else []))
    act_and_compare(scene, lambda: scene.undo(2), before, is_refused=False)  # what goes there is nobody else's
    scene.go_on()
    assert scene.are_exact()
    act_and_compare(scene, scene.reset, {name: {} for name in scene.names}, is_refused=is_refused)
    assert not is_refused or scene.rows_of("elsewhere") == other
    if parent_first:  # else a row would come before the one that it refers to
        scene.go_on()
        assert scene.are_exact()


def act_and_compare(scene: Scene, act: Callable[[], None], after: dict[str, Rows], *, is_refused: bool) -> None:
    found = scene.rows()
    if not is_refused:
        act()
        assert scene.rows() == after
        return
    with pytest.raises((MismatchError, CannotUndoError)) as refused:
        act()
    assert "Nothing was changed" in str(refused.value)
    assert "state 'elsewhere' of topology 'another'" in str(refused.value)
    assert scene.rows() == found


def test_a_row_that_an_undo_needs_leaves_one_way(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    scene.pin("a1", "new")
    with dying_at(CrashPoint.AFTER_DECIDING_UNDO):
        scene.undo(2)
    scene.ask("DELETE FROM totals WHERE account = 'new'")
    with pytest.raises(MismatchError):
        scene.go_on()
    with pytest.raises(MismatchError, match=r"was recorded and can't be finished.* --states clear"):
        scene.keep()
    scene.reset()
    scene.go_on()
    assert scene.are_exact()


def test_an_undo_that_takes_all_rows_of_another_topology_is_refused(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    scene.pin("a1", "new")
    other = replace(scene, away=None, names=("elsewhere",), topology="another", topic=Topic([[("new", 1)]]))
    other.go_on()
    refer(scene, "elsewhere", "totals", "ON DELETE CASCADE")
    with pytest.raises(CannotUndoError, match=r"state 'elsewhere' of topology 'another'.*drop it first"):
        scene.undo(2)
    assert scene.rows_of("elsewhere") == {"new": (1, 1)}


@pytest.fixture(params=["may read", "may not read"])
def in_two_schemas(request: pytest.FixtureRequest, postgres: Postgres, tmp_path: Path) -> Iterator[tuple[Scene, Scene]]:
    """Two topologies of one name in one database, each in a schema of its own with its own positions."""
    where, role = postgres.new_dsn(), f"payer_{postgres.dsn[-12:]}"
    parts = urlsplit(where)
    own = urlunsplit(parts._replace(netloc=f"{role}:secret@{parts.netloc.rpartition('@')[2]}"))
    mine = in_postgres(postgres, where=where, own=f"{own}{in_schema('pay')}")
    other = in_postgres(postgres, where=where, own=f"{where}{in_schema('rep')}")
    right = f"GRANT {role} TO CURRENT_USER"
    if request.param == "may read":
        right = f"GRANT USAGE ON SCHEMA rep TO {role}"
    mine.ask(
        "CREATE SCHEMA pay",
        "CREATE SCHEMA rep",
        f"CREATE ROLE {role} LOGIN PASSWORD 'secret'",
        f"GRANT ALL ON SCHEMA pay TO {role}",
        right,
    )
    mine = replace(mine, names=("totals",))
    other = replace(other, names=("elsewhere",), ledger=lambda: SqliteLedger(tmp_path / "other.sqlite"))
    mine.go_on()
    other.topic = Topic([[("a1", 1)]])
    other.go_on()
    if request.param == "may read":
        mine.ask(f"GRANT SELECT ON ALL TABLES IN SCHEMA rep TO {role}")
    yield mine, other
    mine.ask(f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")


@pytest.mark.parametrize("rest", ["ON DELETE CASCADE", "ON DELETE SET NULL"])
@pytest.mark.drawn(one_in=2)
def test_a_topology_in_another_schema_loses_no_rows(
    in_two_schemas: tuple[Scene, Scene], rest: str, request: pytest.FixtureRequest
) -> None:
    mine, other = in_two_schemas
    mine.ask(
        "CREATE UNIQUE INDEX one ON pay.totals (account)",
        f"ALTER TABLE rep.elsewhere ADD FOREIGN KEY (account) REFERENCES pay.totals (account) {rest}",
    )
    found = mine.rows_of("rep.elsewhere")
    is_read = "may not" not in request.node.callspec.id
    says = (
        "state 'elsewhere' of topology 'payments'"
        if is_read
        else "not read all rows of trident_applied of schema 'rep'"
    )
    with pytest.raises(MismatchError, match=f"{says}.*Nothing was changed"):
        mine.reset()
    assert mine.rows_of("rep.elsewhere") == found
    mine.ask("ALTER TABLE rep.elsewhere DROP CONSTRAINT elsewhere_account_fkey")
    mine.reset()
    assert mine.rows_of("rep.elsewhere") == found
    other.go_on()


def test_a_table_that_is_a_partition_is_found_by_its_parents_keys(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.ask(
        f"CREATE TABLE whole ({COLUMNS}, txid bigint NOT NULL) PARTITION BY HASH (account)",
        "CREATE TABLE totals PARTITION OF whole FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        "CREATE UNIQUE INDEX own ON whole (account) NULLS NOT DISTINCT",
    )
    scene = replace(scene, names=("totals",))
    scene.go_on()
    other = replace(scene, away=None, names=("elsewhere",), topology="another")
    other.go_on()
    scene.ask("ALTER TABLE elsewhere ADD FOREIGN KEY (account) REFERENCES whole (account) ON DELETE CASCADE")
    found = scene.rows_of("elsewhere")
    with pytest.raises(MismatchError, match="state 'elsewhere' of topology 'another'"):
        scene.reset()
    assert scene.rows_of("elsewhere") == found


def of_another(scene: Scene, *records: tuple[str, int], **more: Any) -> Scene:
    """Return a scene whose state another topology has, after its first run."""
    made = replace(scene, away=None, names=("elsewhere",), topology="another", topic=Topic([list(records)]))
    other = replace(made, **more)
    other.go_on()
    return other


def test_a_chain_that_ends_in_an_update_is_followed(postgres: Postgres) -> None:
    """What is set to null on its way changes whoever refers to that, by ON UPDATE."""
    scene = replace(in_postgres(postgres), names=("totals",), topic=Topic([[("k", 5)]]))
    scene.go_on()
    other = of_another(scene, ("k", 5))
    scene.ask("CREATE TABLE links (account text UNIQUE)", "INSERT INTO links VALUES ('k')")
    refer(scene, "elsewhere", "links", "ON UPDATE CASCADE")
    refer(scene, "links", "totals", "ON DELETE SET NULL", of="links")
    with pytest.raises(MismatchError, match="state 'elsewhere' of topology 'another'"):
        scene.reset()
    other.topic.partitions[0].append(("k", 7))
    other.go_on()
    assert other.are_exact()


def test_an_undo_that_would_change_rows_of_another_topology_is_refused(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    scene.pin("a1")
    of_another(scene, ("a1", 1))
    scene.ask("ALTER TABLE elsewhere ADD seen bigint", "UPDATE elsewhere SET seen = (SELECT total FROM totals LIMIT 1)")
    scene.ask(
        "CREATE UNIQUE INDEX of_totals ON totals (total)",
        "UPDATE elsewhere SET seen = (SELECT total FROM totals WHERE account = 'a1')",
        "ALTER TABLE elsewhere ADD FOREIGN KEY (seen) REFERENCES totals (total) ON UPDATE SET NULL",
    )
    with pytest.raises(CannotUndoError, match="state 'elsewhere' of topology 'another'"):
        scene.undo(2)
    assert scene.ask("SELECT seen IS NULL FROM elsewhere") == [(False,)]


@pytest.mark.parametrize("what", ["reset", "undo"])
@pytest.mark.drawn(one_in=2)
def test_what_refers_to_it_since_it_was_decided_stops_a_decision(postgres: Postgres, what: str) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    scene.pin("a1", "new")
    with dying_at(CrashPoint.AFTER_DECIDING_RESET if what == "reset" else CrashPoint.AFTER_DECIDING_UNDO):
        scene.reset() if what == "reset" else scene.undo(2)
    other = of_another(scene, ("new", 1))
    refer(scene, "elsewhere", "totals", "ON DELETE CASCADE")
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"recorded and can't be finished.* of topology 'another'"):
            scene.go_on()
    assert other.are_exact()
    scene.ask("ALTER TABLE elsewhere DROP CONSTRAINT elsewhere_account_fkey")
    scene.go_on()
    assert scene.are_exact()
    assert other.are_exact()


@pytest.mark.parametrize("level", ["state", "other"])
def test_keys_of_partitions_of_partitions_are_followed(postgres: Postgres, level: str) -> None:
    scene = replace(in_postgres(postgres), names=("totals",))
    middle = "totals" if level == "state" else "elsewhere"
    scene.ask(
        f"CREATE TABLE whole ({COLUMNS}, txid bigint NOT NULL) PARTITION BY HASH (account)",
        f"CREATE TABLE {middle} PARTITION OF whole FOR VALUES WITH (MODULUS 1, REMAINDER 0) "
        "PARTITION BY HASH (account)",
        f"CREATE TABLE leaf PARTITION OF {middle} FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        f"CREATE UNIQUE INDEX own ON {middle} (account) NULLS NOT DISTINCT",
    )
    scene.go_on()
    other = of_another(scene, ("a1", 1))
    scene.ask("CREATE UNIQUE INDEX ON leaf (account)", "CREATE UNIQUE INDEX ON totals (account)")
    child, parent = ("elsewhere", "leaf") if level == "state" else ("leaf", "totals")
    scene.ask(f"ALTER TABLE {child} ADD FOREIGN KEY (account) REFERENCES {parent} (account) ON DELETE CASCADE")
    with pytest.raises(MismatchError, match="state 'elsewhere' of topology 'another'"):
        scene.reset()
    assert other.are_exact()


@pytest.mark.parametrize("hidden", ["in a schema that may not be used", "by row-level security"])
def test_positions_that_can_not_be_read_may_be_of_any_table(postgres: Postgres, tmp_path: Path, hidden: str) -> None:
    where, role = postgres.new_dsn(), f"payer_{postgres.dsn[-12:]}"
    parts = urlsplit(where)
    own = urlunsplit(parts._replace(netloc=f"{role}:secret@{parts.netloc.rpartition('@')[2]}"))
    mine = replace(in_postgres(postgres, where=where, own=f"{own}{in_schema('pay')}"), names=("totals",))
    mine.ask(
        "CREATE SCHEMA pay", "CREATE SCHEMA rep", "CREATE SCHEMA data", f"CREATE ROLE {role} LOGIN PASSWORD 'secret'"
    )
    mine.ask(f"GRANT ALL ON SCHEMA pay, data TO {role}", f"GRANT {role} TO CURRENT_USER")
    mine.go_on()
    there = f"{where}{in_schema('rep')}"
    other = of_another(
        mine,
        ("a1", 1),
        state=lambda name: PostgresState(name, dsn=there, table=f"data.{name}"),
        ledger=lambda: SqliteLedger(tmp_path / "other.sqlite"),
    )
    if hidden == "by row-level security":
        mine.ask(f"GRANT USAGE ON SCHEMA rep TO {role}", f"GRANT SELECT ON rep.trident_applied TO {role}")
        mine.ask("ALTER TABLE rep.trident_applied ENABLE ROW LEVEL SECURITY")
    mine.ask(
        "CREATE UNIQUE INDEX one ON pay.totals (account)",
        "ALTER TABLE data.elsewhere ADD FOREIGN KEY (account) REFERENCES pay.totals (account) ON DELETE CASCADE",
    )
    with pytest.raises(MismatchError, match=r"'data.elsewhere', which may be another topology's.*schema 'rep'"):
        mine.reset()
    assert mine.rows_of("data.elsewhere") == other.topic.expected()
    mine.ask(f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")


def test_a_position_whose_number_means_nothing_is_that_of_any_table_of_its_name(
    postgres: Postgres, tmp_path: Path
) -> None:
    """After a restore tables have other numbers, and a path may have led to its second schema."""
    where = postgres.new_dsn()
    mine = replace(in_postgres(postgres, where=where), names=("totals",))
    mine.ask(
        "CREATE SCHEMA rep", "CREATE SCHEMA data", f"CREATE TABLE data.elsewhere ({COLUMNS}, txid bigint NOT NULL)"
    )
    mine.ask("CREATE UNIQUE INDEX own ON data.elsewhere (account) NULLS NOT DISTINCT")
    mine.go_on()
    there = f"{where}{in_schema('rep,data')}"
    own = {
        "state": lambda name: PostgresState(name, dsn=there),
        "ledger": lambda: SqliteLedger(tmp_path / "other.sqlite"),
    }
    other = of_another(mine, ("a1", 1), **own)
    mine.ask(
        "UPDATE rep.trident_applied SET relation = '1:1'",
        "CREATE UNIQUE INDEX one ON totals (account)",
        "ALTER TABLE data.elsewhere ADD FOREIGN KEY (account) REFERENCES totals (account) ON DELETE CASCADE",
    )
    with pytest.raises(MismatchError, match="state 'elsewhere' of topology 'another'"):
        mine.reset()
    assert mine.rows_of("data.elsewhere") == other.topic.expected()


@pytest.mark.parametrize(
    "does",
    [
        "TRUNCATE elsewhere",
        "DROP TABLE elsewhere",
        "ALTER TABLE elsewhere RENAME TO away",
        "INSERT INTO elsewhere (account, n, total, txid) VALUES ('nobody', 1, 1, 1)",
        "UPDATE elsewhere SET n = n + 1",
    ],
)
@pytest.mark.drawn(one_in=2)
def test_what_a_trigger_does_to_another_topology_is_refused(postgres: Postgres, does: str) -> None:
    scene = replace(in_postgres(postgres), names=("totals",))
    scene.go_on()
    other = of_another(scene, ("a1", 1))
    scene.ask(
        f"CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {does}; RETURN NULL; END $$",
        "CREATE TRIGGER act AFTER DELETE ON totals FOR EACH STATEMENT EXECUTE FUNCTION act()",
    )
    with pytest.raises(MismatchError, match="state 'elsewhere' of topology 'another'"):
        scene.reset()
    assert other.are_exact()


def test_positions_that_are_a_view_are_not_read_with_the_rights_of_this_role(postgres: Postgres) -> None:
    scene = replace(in_postgres(postgres), names=("totals",))
    scene.go_on()
    scene.ask(
        "CREATE TABLE notes (account text)",
        "INSERT INTO notes VALUES ('a1')",
        "CREATE TABLE ran (n int)",
        "CREATE SCHEMA mallory",
        "CREATE FUNCTION mallory.act() RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ran VALUES (1); "
        "RETURN 'x'; END $$",
        "CREATE VIEW mallory.trident_applied AS SELECT 'x'::text AS topology, 'x'::text AS state, "
        "mallory.act() AS table_name, 'x'::text AS token",  # what decides which rows are wanted is surely run
        f"CREATE ROLE mallory_{postgres.dsn[-12:]}",
        f"ALTER VIEW mallory.trident_applied OWNER TO mallory_{postgres.dsn[-12:]}",
    )
    refer(scene, "notes", "totals", "ON DELETE SET NULL", of="notes")
    scene.reset()
    assert scene.ask("SELECT count(*) FROM ran") == [(0,)]
    scene.ask(f"DROP OWNED BY mallory_{postgres.dsn[-12:]}", f"DROP ROLE mallory_{postgres.dsn[-12:]}")


def audit_elsewhere(scene: Scene) -> Scene:
    """The topology's own states in two schemas, each with positions of its own."""
    scene.ask("CREATE SCHEMA pay", "CREATE SCHEMA rep")
    there = {"audit": "pay", "totals": "rep"}
    return replace(scene, state=lambda name: PostgresState(name, dsn=f"{scene.where}{in_schema(there[name])}"))


def copied(scene: Scene) -> Scene:
    scene.go_on()
    scene.ask("CREATE SCHEMA kept", "CREATE TABLE kept.trident_applied AS SELECT * FROM trident_applied")
    return scene


def of_other_columns(scene: Scene) -> Scene:
    scene.ask("CREATE SCHEMA kept", "CREATE TABLE kept.trident_applied (id int)")
    return scene


def strangely_called(scene: Scene) -> Scene:
    scene.go_on()
    for name in (":x", "a b", "per%cent", "do.t", "back\\:slash", "a::b", "x" * 63):
        scene.ask(f'CREATE SCHEMA "{name}"', f'CREATE TABLE "{name}".trident_applied AS SELECT * FROM trident_applied')
    return scene


@pytest.mark.parametrize("besides", [audit_elsewhere, copied, of_other_columns, strangely_called])
@pytest.mark.drawn(one_in=4)
def test_own_states_that_refer_to_each_other_are_in_no_way(
    postgres: Postgres, besides: Callable[[Scene], Scene]
) -> None:
    scene = besides(in_postgres(postgres))
    if besides is not audit_elsewhere:
        undone_and_reset(scene, "totals", "audit")
        return
    scene.go_on()
    scene.ask("CREATE UNIQUE INDEX one ON pay.audit (account)")
    scene.ask("ALTER TABLE rep.totals ADD FOREIGN KEY (account) REFERENCES pay.audit (account) ON DELETE CASCADE")
    scene.pin("a1", "new")
    scene.undo(2)
    scene.go_on()
    scene.reset()
    scene.go_on()
    assert scene.rows_of("pay.audit") == scene.rows_of("rep.totals") == scene.topic.expected()


@pytest.mark.parametrize(("child", "parent"), [("totals", "audit"), ("whole", "audit"), ("totals", "whole")])
@pytest.mark.drawn(one_in=3)
def test_states_that_are_partitions_are_undone_in_their_order(postgres: Postgres, child: str, parent: str) -> None:
    scene = in_postgres(postgres)
    part = "audit" if parent == "whole" else "totals"
    scene.ask(
        f"CREATE TABLE whole ({COLUMNS}, txid bigint NOT NULL) PARTITION BY HASH (account)",
        f"CREATE TABLE {part} PARTITION OF whole FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        "CREATE UNIQUE INDEX own ON whole (account) NULLS NOT DISTINCT",
    )
    undone_and_reset(scene, child, parent)


def test_a_key_to_one_partition_of_a_state_is_one_to_the_state(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.ask(
        f"CREATE TABLE audit ({COLUMNS}, txid bigint NOT NULL) PARTITION BY HASH (account)",
        "CREATE TABLE part PARTITION OF audit FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        "CREATE UNIQUE INDEX own ON audit (account) NULLS NOT DISTINCT",
    )
    undone_and_reset(scene, "totals", "part")


def test_a_temporary_table_of_somebody_elses_is_nobodys_positions(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    with psycopg.connect(scene.where, autocommit=True) as somebody:
        somebody.execute("CREATE TEMP TABLE trident_applied AS SELECT * FROM trident_applied")
        undone_and_reset(scene, "totals", "audit")


def undone_and_reset(scene: Scene, child: str, parent: str) -> None:
    """Undo and reset states of which one refers to the other, and compare."""
    scene.go_on()
    refer(scene, child, parent, "ON DELETE CASCADE", of=child)
    before = scene.rows()
    scene.pin("a1", "new")
    scene.undo(2)
    assert scene.rows() == before
    scene.go_on()
    assert scene.are_exact()
    scene.reset()
    scene.go_on()
    assert scene.are_exact()


def in_schema(schema: str) -> str:
    return f"?options={quote_plus(f'-csearch_path={schema}')}"


def hinder(scene: Scene, when: str, body: str) -> None:
    scene.ask(
        f"CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$",
        f"CREATE TRIGGER g {when} FOR EACH ROW EXECUTE FUNCTION guard()",
    )


def test_states_that_take_each_others_rows_along_are_not_undone_by_half(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    for child, parent in (("totals", "audit"), ("audit", "totals")):
        refer(scene, child, parent, "ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED")
    scene.ask("ALTER TABLE audit DROP CONSTRAINT audit_account_fkey")
    scene.pin("a1", "new")
    scene.ask("ALTER TABLE audit ADD FOREIGN KEY (account) REFERENCES totals (account) ON DELETE CASCADE")
    found = scene.rows()
    with pytest.raises(CannotUndoError, match="Nothing was changed"):
        scene.undo(2)
    assert scene.rows() == found
    scene.go_on()
    assert scene.are_exact()


def test_a_guard_that_looks_at_another_state_is_met_before_a_reset_is_recorded(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    found = scene.rows()
    hinder(
        scene,
        "BEFORE DELETE ON totals",
        "IF NOT EXISTS (SELECT 1 FROM audit) THEN RAISE EXCEPTION 'audit is empty'; END IF; RETURN OLD;",
    )
    with pytest.raises(MismatchError, match=r"state 'totals' can't be emptied: .*Nothing was changed"):
        scene.reset()
    assert scene.rows() == found
    scene.go_on()
    scene.ask("DROP TRIGGER g ON totals")
    scene.reset()
    scene.go_on()
    assert scene.are_exact()


def test_a_guard_that_waits_for_another_state_is_waited_for(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    hinder(
        scene,
        "BEFORE DELETE ON audit",
        "IF EXISTS (SELECT 1 FROM totals) THEN RAISE EXCEPTION 'totals has rows'; END IF; RETURN OLD;",
    )
    scene.reset()
    assert scene.rows() == {"audit": {}, "totals": {}}
    scene.go_on()
    assert scene.are_exact()


def test_a_state_that_another_one_fills_again_is_found_before_a_reset_is_recorded(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    found = scene.rows()
    hinder(scene, "AFTER DELETE ON totals", "INSERT INTO audit SELECT OLD.*; RETURN NULL;")
    with pytest.raises(MismatchError, match=r"state 'audit' can't be emptied: .*Nothing was changed"):
        scene.reset()
    assert scene.rows() == found


def test_an_undo_that_takes_more_rows_than_it_made_is_refused(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    hinder(scene, "AFTER DELETE ON totals", "DELETE FROM audit WHERE account = 'a2'; RETURN NULL;")
    scene.pin("a1", "new")
    found = scene.rows()
    with pytest.raises(CannotUndoError, match="'audit' would not have the 3 rows"):
        scene.undo(2)
    assert scene.rows() == found
    scene.go_on()
    assert scene.are_exact()


def test_what_can_not_be_finished_once_it_is_recorded_is_said_so(postgres: Postgres) -> None:
    """Whatever the error was that the state refused it with."""
    scene = in_postgres(postgres)
    scene.go_on()
    scene.pin("a1", "new")
    with dying_at(CrashPoint.AFTER_DECIDING_UNDO):
        scene.undo(2)
    scene.ask("UPDATE audit SET txid = 1 WHERE account = 'new'")
    for act in (lambda: scene.undo(2), scene.go_on):
        with pytest.raises(
            MismatchError, match=r"undo of txid 2 was recorded and can't be finished: .*finishes it"
        ) as told:
            act()
        assert "Nothing was changed" not in str(told.value)
    scene.ask("UPDATE audit SET txid = 2 WHERE account = 'new'")
    scene.go_on()
    assert scene.are_exact()


@pytest.fixture
def limited(postgres: Postgres) -> Iterator[Scene]:
    """States that a role writes to, which may not delete rows of `totals`."""
    where, role = postgres.new_dsn(), f"limited_{postgres.dsn[-12:]}"
    parts = urlsplit(where)
    own = urlunsplit(parts._replace(netloc=f"{role}:secret@{parts.netloc.rpartition('@')[2]}"))
    scene = in_postgres(postgres, where=where, own=own)
    scene.ask(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'", f"GRANT ALL ON SCHEMA public TO {role}")
    scene.go_on()
    scene.ask("ALTER TABLE totals OWNER TO CURRENT_USER", f"GRANT SELECT, INSERT, UPDATE ON totals TO {role}")
    yield scene
    scene.ask(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_role_that_may_not_delete_rows_decides_nothing(limited: Scene) -> None:
    limited.pin("a1", "new")
    found = limited.rows()
    with pytest.raises(CannotUndoError, match=r"permission denied for table totals .*Nothing was changed"):
        limited.undo(2)
    with pytest.raises(
        MismatchError, match=r"state 'totals' can't be emptied: .*permission denied .*Nothing was changed"
    ):
        limited.reset()
    assert limited.rows() == found
    limited.go_on()
    assert limited.are_exact()
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        limited.as_owner(limited.reset)
    with pytest.raises(
        MismatchError, match=r"was recorded and can't be finished: state 'totals' refused it: .*permission"
    ):
        limited.go_on()
    limited.as_owner(limited.go_on)
    assert limited.are_exact()


def test_a_value_that_was_corrected_after_an_undo_does_not_stand_in_the_way_of_the_next(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    scene.pin("a1", "a2")
    scene.undo(2)
    scene.ask("UPDATE totals SET total = total + 100 WHERE account = 'a1'")
    scene.topic.partitions[0][6] = ("a2", 7)
    with dying_at(CrashPoint.AFTER_APPLY, 2):
        scene.go_on()
    scene.undo(2)
    scene.go_on()
    n, total = scene.topic.expected()["a1"]
    assert scene.rows_of("totals") == {**scene.topic.expected(), "a1": (n, total + 100)}


def test_rows_that_somebody_holds_are_no_reason_to_record_what_may_be_refused(postgres: Postgres) -> None:
    scene = in_postgres(postgres)
    scene.go_on()
    found = scene.rows()
    hinder(scene, "AFTER DELETE ON totals", "RAISE EXCEPTION 'never';")
    with psycopg.connect(scene.where) as other:
        other.execute("SELECT * FROM totals FOR UPDATE")
        with pytest.raises(MismatchError, match=r"reset was not recorded.*In a transaction .*the same command again"):
            scene.reset()
    assert scene.rows() == found
    with pytest.raises(MismatchError, match=r"state 'totals' can't be emptied: .*Nothing was changed"):
        scene.reset()
    scene.go_on()
    assert scene.are_exact()
