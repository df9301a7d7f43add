"""Names that an older version took: what it began goes on under them, and nothing new is begun."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident import ConfigurationError, MemoryLedger
from trident.base.errors import MismatchError
from trident.cli.app import run
from trident.coordinators.decisions.commands import reset_topology, retry_topology
from trident.coordinators.holding import takeover
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import Ledger, SqliteLedger
from trident.managing.arguments import name_of
from trident.state import MemoryState, SqliteState
from trident.state.target import State

OLD = ["eu:payments", "x" * 150, "p ", "e\u0301u", "100%", 'a"b', "a\\b"]


@contextmanager
def older_version() -> Iterator[None]:
    """One that had no rule for new names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(takeover, "require_names", lambda *_: None)
        yield


def topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(13)] for _ in range(2)])


def planned(log: Topic, *states: State, topology: str = "payments", stream: str = "s") -> RunnableTopology:
    plan = make_job(log, *states).plan(topology)
    spec = replace(plan.spec, spouts={stream: plan.spec.spouts["s"]})
    if stream != "s":
        return replace(plan, spec=spec, spouts={stream: plan.spouts["s"]})
    return plan


def sums(file: Path, table: str) -> dict[str, tuple[int, int]]:
    with sqlite3.connect(file) as connection:
        return {row[0]: row[1:] for row in connection.execute(f'SELECT account, n, total FROM "{table}"')}


def more(log: Topic) -> None:
    for records in log.partitions:
        records += [("later", 5), ("a1", 7)]


@pytest.mark.parametrize("name", OLD, ids=ascii)
@pytest.mark.drawn(one_in=2)
def test_a_topology_that_an_older_version_began_goes_on_under_its_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, log = tmp_path / "ledger.sqlite", topic()
    job = planned(log, SqliteState("totals"), SqliteState("away", path=tmp_path / "away.sqlite"), topology=name)
    with older_version():
        TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    more(log)
    TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    assert sums(file, "totals") == sums(tmp_path / "away.sqlite", "away") == log.expected()
    assert run(["status", name, "--ledger", str(file)]) == 0
    assert "done" in capsys.readouterr().out
    assert name_of(name) == name
    with pytest.raises(MismatchError, match="txid 3"):
        retry_topology(name, SqliteLedger(file), 3, OPTIONS)
    reset_topology(job.spec, job.targets, SqliteLedger(file), keep_rows=True, start="resume", options=OPTIONS)
    more(log)
    TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    assert sums(file, "totals") == log.expected()


@pytest.mark.parametrize("name", OLD, ids=ascii)
def test_streams_and_states_go_on_under_theirs(name: str, tmp_path: Path) -> None:
    file, log = tmp_path / "ledger.sqlite", topic()
    job = planned(log, SqliteState(name, table="totals"), stream=name)
    with older_version():
        TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    more(log)
    TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    assert sums(file, "totals") == log.expected()


@pytest.mark.parametrize("name", ["p ", "e\u0301u"], ids=ascii)
def test_a_state_goes_on_with_a_table_of_its_name(name: str, tmp_path: Path) -> None:
    file, log = tmp_path / "ledger.sqlite", topic()
    job = planned(log, SqliteState(name))
    with older_version():
        TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    more(log)
    TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    assert sums(file, name) == log.expected()
    with pytest.raises(ConfigurationError, match="the table of the new state 'other' must be a name"):
        TopologyRun(
            planned(log, SqliteState(name), SqliteState("other", table=name + "x ")), SqliteLedger(file), OPTIONS
        ).run()


def ledgers(folder: Path) -> tuple[Ledger, ...]:
    return MemoryLedger(), SqliteLedger(folder / "ledger.sqlite")


@pytest.mark.parametrize("name", OLD, ids=ascii)
def test_nothing_new_is_begun_under_such_a_name(name: str, tmp_path: Path) -> None:
    for ledger in ledgers(tmp_path):
        log = topic()
        state: State = MemoryState("totals") if isinstance(ledger, MemoryLedger) else SqliteState("totals")
        with pytest.raises(ConfigurationError, match="a new topology's name must be a name"):
            TopologyRun(planned(log, state, topology=name), ledger, OPTIONS).run()
        assert list(ledger.view().topologies()) == []
        TopologyRun(planned(log, state), ledger, OPTIONS).run()
        before = ledger.view().status("payments")
        extra: State = MemoryState(name) if isinstance(ledger, MemoryLedger) else SqliteState(name, table="more")
        with pytest.raises(ConfigurationError, match="a new state's name must be a name"):
            TopologyRun(planned(log, state, extra), ledger, OPTIONS).run()
        more_streams = planned(log, state)
        spec = replace(more_streams.spec, spouts={**more_streams.spec.spouts, name: more_streams.spec.spouts["s"]})
        spouts = {**more_streams.spouts, name: more_streams.spouts["s"]}
        with pytest.raises(ConfigurationError, match="a new stream's name must be a name"):
            TopologyRun(replace(more_streams, spec=spec, spouts=spouts), ledger, OPTIONS).run()
        after = ledger.view().status("payments")
        assert (after.done, after.births) == (before.done, before.births)
        TopologyRun(planned(log, state), ledger, OPTIONS).run()


def test_a_lost_ledger_takes_no_name_away(tmp_path: Path) -> None:
    """The states say under which name they were filled, or a person does."""
    file, log = tmp_path / "ledger.sqlite", topic()
    job = planned(log, SqliteState("e\u0301u:1", path=tmp_path / "away.sqlite", table="totals"), topology="eu:payments")
    with older_version():
        TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    file.unlink()
    with pytest.raises(MismatchError, match="--ledger-lost"):
        TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    reset_topology(
        job.spec, job.targets, SqliteLedger(file), keep_rows=False, start=None, options=OPTIONS, ledger_lost=True
    )
    more(log)
    TopologyRun(job, SqliteLedger(file), OPTIONS).run()
    assert sums(tmp_path / "away.sqlite", "totals") == log.expected()
