"""A start or a reset that is refused has changed nothing: whoever ran before runs again, whoever runs goes on."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.coordinators.fakes import ListJob, ListSource, ListSpout, Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from tests.hazards.replays import in_map
from tests.ledger.dumping import expected as expected_of_dump
from tests.ledger.dumping import job_over, restore_sqlite, sqlite_states
from tests.ledger.dumping import topic as topic_of_dump
from tests.state.harnesses import ConditionalMap
from trident.base.errors import ConfigurationError, MismatchError
from trident.base.ranges import PartitionBounds
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.registered import Lease
from trident.state import BackingMapState, SqliteState


@pytest.fixture
def topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(25)], [("b", 1)] * 5])


def contents(folder: Path) -> dict[str, list[str]]:
    """Return all that the databases hold but who has the lease."""
    found = {}
    for file in sorted(folder.glob("*.sqlite")):
        with sqlite3.connect(file) as connection:
            lines = list(connection.iterdump())
        leases = ('INSERT INTO "trident_fence"', 'INSERT INTO "trident_heartbeat"')
        found[file.name] = [line for line in lines if not line.startswith(leases)]
    return found


def reset(job: ListJob, ledger: Any, **options: Any) -> None:
    plan = job.plan()
    reset_topology(plan.spec, plan.targets, ledger, start=None, options=OPTIONS, **options)


def test_a_newer_description_that_is_refused_leaves_the_old_one_in_force(topic: Topic, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    run(make_job(topic, SqliteState("balances")), SqliteLedger(file))
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE added (account TEXT, wrong TEXT NOT NULL)")
    before = contents(tmp_path)
    newer = make_job(topic, SqliteState("balances"), SqliteState("first"), SqliteState("added"))
    for _ in range(2):
        with pytest.raises(MismatchError, match="table 'added' is not what the aggregation needs"):
            run(newer, SqliteLedger(file))
        with pytest.raises(MismatchError, match="table 'added' is not what the aggregation needs"):
            reset(newer, SqliteLedger(file), keep_rows=True)
    assert contents(tmp_path) == before
    topic.partitions[0].append(("late", 1))
    run(make_job(topic, SqliteState("balances")), SqliteLedger(file))
    with sqlite3.connect(file) as connection:
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    assert {account: (n, total) for account, n, total in rows} == topic.expected()


def test_a_first_start_that_is_refused_registers_nothing(topic: Topic, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE balances (account TEXT, wrong TEXT NOT NULL)")
    with pytest.raises(MismatchError, match="table 'balances' is not what the aggregation needs"):
        run(make_job(topic, SqliteState("balances")), SqliteLedger(file))
    assert SqliteLedger(file).view().topologies() == ()
    run(make_job(topic, SqliteState("others")), SqliteLedger(file))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_start_that_is_refused_leaves_the_ledger_to_the_version_that_wrote_it(version: int, tmp_path: Path) -> None:
    restore_sqlite(version, tmp_path)
    before = contents(tmp_path)
    ledger, *states = sqlite_states(tmp_path)
    with pytest.raises(MismatchError, match="is not the one in the ledger"):
        run(job_over(topic_of_dump(), states[0]), ledger)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("CREATE TABLE added (account TEXT, wrong TEXT NOT NULL)")
    with pytest.raises(MismatchError, match="table 'added' is not what"):
        run(job_over(topic_of_dump(), *states, SqliteState("added")), SqliteLedger(tmp_path / "ledger.sqlite"))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("DROP TABLE added")
    assert contents(tmp_path) == before
    TopologyRun(job_over(topic_of_dump(), *states).plan(), ledger, replace(OPTIONS, max_pending=2)).run()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    assert {account: (n, total) for account, n, total in rows} == expected_of_dump()


@pytest.mark.parametrize("store", ["sqlite", "map"])
@pytest.mark.parametrize("keep_rows", [True, False], ids=["adopt", "clear"])
def test_another_ledger_touches_nothing_of_a_topology_that_runs(
    topic: Topic, tmp_path: Path, store: str, keep_rows: bool
) -> None:
    kept = ConditionalMap()

    def job(**options: Any) -> ListJob:
        in_file = SqliteState("away", path=tmp_path / "away.sqlite")
        return make_job(topic, in_file if store == "sqlite" else BackingMapState("away", kept), **options)

    wrong = SqliteLedger(tmp_path / "wrong.sqlite")
    wrong.open()
    for _ in range(3):  # its epochs are above those of the right one
        wrong.release("payments", wrong.acquire("payments", Lease("a test", timedelta(seconds=5))).epoch)
    tried: list[object] = []

    def meddle(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 2 and not tried:
            for attempt in (lambda: reset(job(), wrong, keep_rows=keep_rows), lambda: run(job(), wrong)):
                with pytest.raises(MismatchError, match="which this ledger has never had"):
                    attempt()
                tried.append(attempt)
        return result

    run(job(meddle=meddle), SqliteLedger(tmp_path / "right.sqlite"))
    assert len(tried) == 2
    if store == "sqlite":
        with sqlite3.connect(tmp_path / "away.sqlite") as connection:
            rows = connection.execute("SELECT account, n, total FROM away").fetchall()
        assert {account: (n, total) for account, n, total in rows} == topic.expected()
    else:
        assert in_map(kept) == topic.expected()


def test_a_misspelt_topic_can_be_corrected(topic: Topic, tmp_path: Path) -> None:
    """Also at the first start of a topology: the wrong name is nowhere stored."""

    def plan(name: str) -> RunnableTopology:
        made = make_job(topic, SqliteState("balances")).plan()
        spout = _NamedSpout(topic, name=name)
        return replace(made, spec=replace(made.spec, spouts={"s": spout.description()}), spouts={"s": spout})

    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    with pytest.raises(ConfigurationError, match="no topic 'paymnts'"):
        TopologyRun(plan("paymnts"), ledger, OPTIONS).run()
    assert TopologyRun(plan("payments"), ledger, OPTIONS).run().batches > 0


def test_a_new_state_whose_table_has_rows_leaves_the_old_version_in_force(topic: Topic, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    old = make_job(topic, SqliteState("balances"))
    run(old, SqliteLedger(file))
    with sqlite3.connect(file) as connection:
        (made,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'balances'").fetchone()
        connection.execute(made.replace("balances", "totals"))
        connection.execute("CREATE UNIQUE INDEX own ON totals (account)")
        connection.execute("INSERT INTO totals SELECT * FROM balances")
    before = contents(tmp_path)
    with pytest.raises(MismatchError, match="'totals' has rows but no owner"):
        run(make_job(topic, SqliteState("balances"), SqliteState("totals")), SqliteLedger(file))
    assert contents(tmp_path) == before
    run(old, SqliteLedger(file))


class _NoSuchTopic(ListSource):
    def bounds(self) -> tuple[PartitionBounds, ...]:
        raise ConfigurationError(f"stream {self.name!r}: there is no topic 'paymnts'; correct the name")


@dataclass(frozen=True)
class _NamedSpout(ListSpout):
    name: str = "payments"

    def description(self) -> dict[str, str]:
        return {"spout": "list", "topics": self.name}

    def open(self, name: str) -> ListSource:
        return (ListSource if self.name == "payments" else _NoSuchTopic)(self.topic, name)
