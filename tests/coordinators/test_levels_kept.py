"""What a weaker level's targets keep: whose they are, what a reset does to them, and what is seen of their loss."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_run import OPTIONS, Place, memory_place, payments, run, sqlite_place
from trident.base.errors import FatalError, MismatchError, RetryableError
from trident.base.levels import Level
from trident.coordinators.decided import ResetDecision
from trident.coordinators.decisions.commands import drop_from_topology, reset_topology
from trident.coordinators.holding import takeover
from trident.coordinators.holding.carrying_out import UnfinishedError
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.holding.standing import ApartError
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.coordinators.registered import Birth
from trident.state import SqliteState

WEAKER = (Level.AT_LEAST_ONCE, Level.AT_MOST_ONCE)


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return memory_place() if request.param == "memory" else sqlite_place(tmp_path)


def counted(place: Place, state: str = "balances") -> int:
    return sum(n for n, _ in place.rows(state).values())


def reset(
    job: ListJob,
    ledger: Ledger,
    *,
    keep_rows: bool = False,
    lost: bool = False,
    name: str = "payments",
    start: str | None = "earliest",
) -> ResetDecision:
    made = job.plan(name)
    return reset_topology(
        made.spec,
        made.targets,
        ledger,
        keep_rows=keep_rows,
        start=start,
        options=OPTIONS,
        ledger_lost=lost,
    )


@pytest.mark.parametrize("has_run", [True, False])
@pytest.mark.parametrize("level", WEAKER)
def test_a_reset_empties_no_table_of_an_exactly_once_topology(place: Place, level: Level, has_run: bool) -> None:
    billing = make_job(payments(), place.state("balances"))
    TopologyRun(billing.plan("billing"), place.ledger(), OPTIONS).run()
    before = place.rows("balances")
    if has_run:
        views = make_job(payments(), place.state("views"), level=level)
        TopologyRun(views.plan("views"), place.ledger(), OPTIONS).run()
    both = make_job(payments(), place.state("views"), place.state("balances"), level=level)
    for keep_rows in (False, True):
        with pytest.raises(MismatchError, match=r"at a txid|which knows up to which txid"):
            reset(both, place.ledger(), keep_rows=keep_rows, lost=True, name="views")
    assert place.rows("balances") == before
    TopologyRun(billing.plan("billing"), place.ledger(), OPTIONS).run()
    assert place.rows("balances") == before


def test_a_reset_empties_no_table_that_another_topology_writes_to(place: Place) -> None:
    mine = make_job(payments(), place.state("balances"), level=Level.AT_LEAST_ONCE)
    TopologyRun(mine.plan("mine"), place.ledger(), OPTIONS).run()
    before = place.rows("balances")
    for call in (
        lambda: reset(mine, place.ledger(), lost=True, name="other"),
        lambda: TopologyRun(mine.plan("other"), place.ledger(), OPTIONS).run(),
    ):
        with pytest.raises(
            MismatchError, match=r"belongs to (another topology|state or sink 'balances' of topology 'mine')"
        ):
            call()
    assert place.rows("balances") == before


@pytest.mark.parametrize("level", Level)
def test_a_reset_that_was_not_recorded_has_deleted_nothing(monkeypatch: pytest.MonkeyPatch, level: Level) -> None:
    place, topic = memory_place(), payments(1, 30)
    job = make_job(topic, place.state("balances"), level=level)
    run(job, place.ledger())

    def away(*_: object, **__: object) -> None:
        raise RetryableError("no connection to Postgres")

    with monkeypatch.context() as patching:
        patching.setattr(MemoryLedger, "decide_reset", away)
        with pytest.raises(FatalError, match="run the topology again"):
            reset(job, place.ledger())
    topic.partitions[0] += [("late", 1)] * 5
    run(job, place.ledger())
    assert counted(place) == 35


@pytest.mark.parametrize("level", WEAKER)
def test_a_reset_that_was_cut_off_is_finished_by_the_next_start(monkeypatch: pytest.MonkeyPatch, level: Level) -> None:
    place, topic = memory_place(), payments(1, 30)
    job = make_job(topic, place.state("balances"), level=level)
    run(job, place.ledger())

    def away(*_: object, **__: object) -> None:
        raise RetryableError("no connection to Postgres")

    with monkeypatch.context() as patching:
        patching.setattr(MemoryLedger, "finish_reset", away)
        with pytest.raises(FatalError):
            reset(job, place.ledger())
    run(job, place.ledger())
    assert counted(place) == 30, "what was there is deleted before it is counted again"


def test_a_reset_is_not_recorded_where_rows_can_not_be_deleted(tmp_path: Path) -> None:
    place = sqlite_place(tmp_path)
    job = make_job(payments(), place.state("balances"), level=Level.AT_LEAST_ONCE)
    run(job, place.ledger())
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute(
            "CREATE TRIGGER kept BEFORE DELETE ON balances BEGIN SELECT raise(ABORT, 'an audit rule'); END"
        )
    with pytest.raises(MismatchError, match=r"can't be emptied: SQLite refused .* Nothing was changed") as refused:
        reset(job, place.ledger())
    assert not isinstance(refused.value, UnfinishedError)
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


@pytest.mark.parametrize("level", Level)
def test_what_was_taken_out_and_has_missed_something_does_not_come_back(place: Place, level: Level) -> None:
    topic = payments(1, 30)
    both = make_job(topic, place.state("balances"), place.state("totals"), level=level)
    one = make_job(topic, place.state("balances"), level=level)
    run(both, place.ledger())
    made = both.plan()
    drop_from_topology(made.spec, made.targets, place.ledger(), "totals", OPTIONS)
    run(both, place.ledger())
    drop_from_topology(made.spec, made.targets, place.ledger(), "totals", OPTIONS)
    topic.partitions[0] += [("late", 1)] * 10
    run(one, place.ledger())
    with pytest.raises(MismatchError, match="it would lack what came in between"):
        run(both, place.ledger())
    assert counted(place, "totals") == 30


@pytest.mark.parametrize("level", Level)
def test_a_state_that_is_new_says_since_when(place: Place, level: Level, caplog: pytest.LogCaptureFixture) -> None:
    topic = payments(1, 30)
    run(make_job(topic, place.state("balances"), level=level), place.ledger())
    topic.partitions[0] += [("late", 1)] * 10
    run(make_job(topic, place.state("balances"), place.state("totals"), level=level), place.ledger())
    standing = place.ledger().view().status("payments")
    assert standing.births == (Birth("balances", 0), Birth("totals", 3))
    assert standing.new_states == (Birth("totals", 3),)
    assert "state=totals is new and holds what comes after txid 3" in caplog.text
    assert counted(place, "totals") == 10


def registered(file: Path) -> set[str]:
    with sqlite3.connect(file) as connection:
        return {name for (name,) in connection.execute("SELECT topology FROM trident_incarnation")}


@pytest.mark.parametrize("level", Level)
def test_two_states_are_in_one_table_through_no_addresses(tmp_path: Path, level: Level) -> None:
    file = tmp_path / "ledger.sqlite"
    (tmp_path / "link").symlink_to(tmp_path)
    job = make_job(
        payments(1, 30),
        SqliteState("a", table="sums"),
        SqliteState("b", table="SUMS", path=tmp_path / "link" / "ledger.sqlite"),
        level=level,
    )
    with pytest.raises(MismatchError):
        run(job, SqliteLedger(file))
    if level.is_plain:
        assert "payments" not in registered(file), "nothing is stored that could not be corrected"
    with sqlite3.connect(file) as connection:
        made = connection.execute("SELECT name FROM sqlite_master WHERE lower(name) = 'sums'").fetchall()
        assert not made or connection.execute("SELECT count(*) FROM sums").fetchone() == (0,)


def lose_ledger(folder: Path, backup: Path | None = None) -> None:
    for file in folder.glob("ledger.sqlite*"):
        file.unlink()
    if backup is not None:
        shutil.copy(backup, folder / "ledger.sqlite")


@pytest.mark.parametrize("level", WEAKER)
@pytest.mark.parametrize("is_put_back", [False, True])
def test_a_ledger_that_was_lost_or_put_back_is_seen(tmp_path: Path, level: Level, is_put_back: bool) -> None:
    place, topic = sqlite_place(tmp_path, apart=True), payments(1, 30)
    job = make_job(topic, place.state("balances"), level=level)
    run(job, place.ledger())
    backup = Path(shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "backup"))
    topic.partitions[0] += [("late", 1)] * 30
    run(job, place.ledger())
    lose_ledger(tmp_path, backup if is_put_back else None)
    for _ in range(3):
        with pytest.raises(MismatchError, match="--ledger-lost"):
            run(job, place.ledger())
    with pytest.raises(MismatchError, match="--ledger-lost"):
        reset(job, place.ledger(), keep_rows=True, start=None)
    assert counted(place) == 60, "nothing was changed"
    reset(job, place.ledger(), lost=True)
    run(job, place.ledger())
    run(job, place.ledger())
    assert counted(place) == 60


@pytest.mark.parametrize("starts", [1, 4])
def test_at_least_once_a_ledger_that_was_put_back_by_one_txid_writes_that_again(tmp_path: Path, starts: int) -> None:
    """As one that died between writing and recording it: the same at each start, however often it was started since."""
    place, topic = sqlite_place(tmp_path, apart=True), payments(1, 30)
    job = make_job(topic, place.state("balances"), level=Level.AT_LEAST_ONCE)
    run(job, place.ledger())
    backup = Path(shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "backup"))
    topic.partitions[0] += [("late", 1)] * 10
    for _ in range(starts):
        run(job, place.ledger())
    lose_ledger(tmp_path, backup)
    run(job, place.ledger())
    assert counted(place) == 40 + 10
    assert place.ledger().view().status("payments").done == 4
    topic.partitions[0] += [("late", 1)] * 10
    run(job, place.ledger())
    assert counted(place) == 50 + 10
    lose_ledger(tmp_path, backup)
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"has rows of txid 5, and the ledger .* has txid 3 done"):
            run(job, place.ledger())


def test_a_reset_beside_a_lost_ledger_is_finished_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, topic = sqlite_place(tmp_path, apart=True), payments(1, 30)
    job = make_job(topic, place.state("balances"), level=Level.AT_LEAST_ONCE)
    run(job, place.ledger())
    lose_ledger(tmp_path)

    def dies(*_: object) -> None:
        raise FatalError("it was cut off")

    with monkeypatch.context() as patching:
        patching.setattr(takeover, "carry_out_reset", dies)
        with pytest.raises(FatalError, match="cut off"):
            reset(job, place.ledger(), lost=True)
    assert counted(place) == 30
    run(job, place.ledger())
    assert counted(place) == 30


def of_another_file(file: Path) -> None:
    file.replace(file.with_name("elsewhere"))


def emptied(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM balances")


def dropped(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE balances")


def exchanged(file: Path) -> None:
    """Another table has its place: of a topology of the same name, beside another ledger."""
    file.unlink()
    other = make_job(payments(1, 10), SqliteState("balances", path=file), level=Level.AT_LEAST_ONCE)
    run(other, SqliteLedger(file.with_name("other.sqlite")))


def copied_by_hand(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE trident_plain")
        connection.execute("DROP TABLE trident_plain_schema")


@pytest.mark.parametrize("level", WEAKER)
@pytest.mark.parametrize("lose", [of_another_file, emptied, dropped, exchanged, copied_by_hand])
def test_a_table_that_is_gone_emptied_or_another_one_is_seen(
    tmp_path: Path, level: Level, lose: Callable[[Path], None]
) -> None:
    place, topic = sqlite_place(tmp_path, apart=True), payments(1, 30)
    job = make_job(topic, place.state("balances"), level=level)
    run(job, place.ledger())
    topic.partitions[0] += [("late", 1)] * 5
    lose(tmp_path / "balances.sqlite")
    with pytest.raises(MismatchError, match="Nothing was changed"):
        run(job, place.ledger())
    reset(job, place.ledger(), lost=lose is exchanged)
    run(job, place.ledger())
    assert counted(place) == 35


@pytest.mark.parametrize("level", WEAKER)
def test_who_has_emptied_a_table_goes_on_without_its_rows(tmp_path: Path, level: Level) -> None:
    place, topic = sqlite_place(tmp_path, apart=True), payments(1, 30)
    job = make_job(topic, place.state("balances"), level=level)
    run(job, place.ledger())
    topic.partitions[0] += [("late", 1)] * 5
    emptied(tmp_path / "balances.sqlite")
    with pytest.raises(ApartError, match="with --start resume it goes on without them"):
        run(job, place.ledger())
    reset(job, place.ledger(), start="resume")
    run(job, place.ledger())
    assert place.rows("balances") == {"late": (5, 5)}


def test_rows_that_are_gone_are_not_kept(tmp_path: Path) -> None:
    place = sqlite_place(tmp_path, apart=True)
    job = make_job(payments(), place.state("balances"), level=Level.AT_LEAST_ONCE)
    run(job, place.ledger())
    for lose in (emptied, dropped):
        lose(tmp_path / "balances.sqlite")
        with pytest.raises(ApartError):
            reset(job, place.ledger(), keep_rows=True)


@pytest.mark.parametrize("level", WEAKER)
def test_a_state_whose_batches_made_no_rows_may_be_empty(tmp_path: Path, level: Level) -> None:
    place = sqlite_place(tmp_path, apart=True)
    job = make_job(Topic([[("ann", 1)] * 30]), place.state("balances"), level=level)
    job.processor.states = ()
    run(job, place.ledger())
    run(job, place.ledger())
    assert place.rows("balances") == {}


def test_a_new_state_takes_no_table_that_has_rows(tmp_path: Path) -> None:
    """The ledger was lost with all that was noted beside it, or the rows are somebody else's."""
    place = sqlite_place(tmp_path)
    job = make_job(payments(), place.state("balances"), level=Level.AT_MOST_ONCE)
    run(job, place.ledger())
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'trident%'").fetchall():
            if not table.startswith("sqlite"):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
    with pytest.raises(ApartError, match="is new and its table has rows"):
        run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()
