"""A state in a real PostgreSQL goes on under another name: beside the ledger and apart, killed and brought back."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.state.renaming import InPostgres
from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.renaming_lives import TABLE, World
from tests.coordinators.test_run import OPTIONS, run
from tests.effort import base_seed, effort
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FencedError, MismatchError
from trident.coordinators.decisions.commands import rename_states

ROOT = Path(__file__).parents[2]
BORDERS = ["AFTER_LOOKING", "AFTER_FENCE", "BEFORE_RENAMING", "AFTER_RENAMING", "AFTER_FOLLOWING"]


@pytest.fixture(params=[False, True], ids=["beside the ledger", "apart"])
def place(request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres) -> InPostgres:
    own = postgres.new_dsn() if request.param else None
    return InPostgres(tmp_path, request.param, postgres.dsn, own)


@pytest.fixture
def topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(25)]])


def job(place: InPostgres, topic: Topic, name: str) -> ListJob:
    return make_job(topic, *place.states(name))


def rename(place: InPostgres, topic: Topic, former: str, name: str) -> None:
    plan = job(place, topic, name).plan()
    rename_states(plan.spec, plan.targets, place.ledger(), {former: name}, OPTIONS)


@pytest.mark.parametrize("point", BORDERS)
def test_a_rename_that_is_killed_is_finished_by_a_start_or_taken_back(
    place: InPostgres, topic: Topic, point: str
) -> None:
    run(job(place, topic, "sums"), place.ledger())
    ended = subprocess.run(
        [sys.executable, "-m", "integration_tests.state.renaming", point, place.dsn, place.own or ""],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    is_recorded = point in ("AFTER_RENAMING", "AFTER_FOLLOWING")
    known, unknown = ("totals", "sums") if is_recorded else ("sums", "totals")
    topic.partitions[0] += [("a1", 7), ("new", 3)]
    with pytest.raises(MismatchError, match="trident evolve MODULE:TOPOLOGY --rename-state"):
        run(job(place, topic, unknown), place.ledger())
    run(job(place, topic, known), place.ledger())
    assert place.sums(known) == topic.expected()
    assert known in place.names()
    assert unknown not in place.names()
    rename(place, topic, known, unknown)
    topic.partitions[0] += [("a2", 1)]
    run(job(place, topic, unknown), place.ledger())
    assert place.sums(unknown) == topic.expected()
    with psycopg.connect(place.own or place.dsn) as connection:
        staged = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'trident_staging%'").fetchone()
    assert staged == (2 if place.own is None else 1,), "the table of staged rows is still the same one"


@pytest.mark.parametrize("point", [CrashPoint.AFTER_STAGING, CrashPoint.BEFORE_PIN, CrashPoint.AFTER_PIN])
def test_an_owner_that_wakes_up_behind_the_rename_writes_nothing(
    place: InPostgres, topic: Topic, point: CrashPoint
) -> None:
    if place.own is None and point is not CrashPoint.AFTER_STAGING:
        pytest.skip("all states are beside the ledger: nothing is between staging and done")
    run(job(place, topic, "sums"), place.ledger())
    topic.partitions[0] += [("a1", 7), ("new", 3)]
    stood: list[str] = []

    def act(reached: CrashPoint, _: int) -> None:
        if reached is point and not stood:
            stood.append("still")
            with armed(lambda *_: None), psycopg.connect(place.dsn) as connection:
                connection.execute("UPDATE trident_heartbeat SET released = TRUE")
                connection.commit()
                rename(place, topic, "sums", "totals")
                run(job(place, topic, "totals"), place.ledger())

    with armed(act), pytest.raises((FencedError, MismatchError)):
        run(job(place, topic, "sums"), place.ledger())
    assert stood
    assert place.sums("totals") == topic.expected()
    assert "sums" not in place.names()
    topic.partitions[0] += [("a2", 1)]
    run(job(place, topic, "totals"), place.ledger())
    assert place.sums("totals") == topic.expected()


def test_a_position_of_that_name_in_the_database_is_refused_before_anything_is_changed(
    place: InPostgres, topic: Topic
) -> None:
    run(job(place, topic, "sums"), place.ledger())
    with psycopg.connect(place.own or place.dsn) as connection:
        connection.execute(
            "INSERT INTO trident_applied (topology, state, table_name, incarnation, epoch, token, txid, attempt, "
            "birth_txid) VALUES ('payments', 'totals', 'elsewhere', 'other', 1, 't', 9, 9, 0)"
        )
    with pytest.raises(MismatchError, match="stands under that name already"):
        rename(place, topic, "sums", "totals")
    topic.partitions[0] += [("a2", 1)]
    run(job(place, topic, "sums"), place.ledger())
    assert place.sums("sums") == topic.expected()


def test_a_table_in_a_schema_and_a_table_of_the_new_name_stay_as_they_are(place: InPostgres, topic: Topic) -> None:
    """The new name is no table's: somebody else's of that name is neither looked at nor written to."""
    run(job(place, topic, "sums"), place.ledger())
    with psycopg.connect(place.own or place.dsn) as connection:
        connection.execute("CREATE TABLE totals (account text)")
        connection.execute("INSERT INTO totals VALUES ('somebody')")
    rename(place, topic, "sums", "totals")
    topic.partitions[0] += [("a2", 1)]
    run(job(place, topic, "totals"), place.ledger())
    assert place.sums("totals") == topic.expected()
    with psycopg.connect(place.own or place.dsn) as connection:
        assert connection.execute("SELECT * FROM totals").fetchall() == [("somebody",)]
        assert connection.execute(f"SELECT to_regclass('{TABLE}') IS NOT NULL").fetchone() == (True,)


@pytest.mark.verify(short=True)
@pytest.mark.parametrize("number", range(effort().server_lives))
@pytest.mark.drawn(one_in=3)
def test_whatever_it_is_called_every_record_counts_once(number: int, place: InPostgres) -> None:
    World(place, random.Random(base_seed() + number)).live(10)
