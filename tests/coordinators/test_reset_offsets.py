"""A reset that begins at offsets, and one beside a lost ledger: sums are what was said that they would be."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.coordinators.fakes import ListSource, ListSpout, Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_new_states import sums
from tests.coordinators.test_run import OPTIONS
from trident import Topology
from trident.base.crash_points import CrashPoint
from trident.base.errors import ConfigurationError, RetryableError
from trident.cli.reckoning import reckoned
from trident.coordinators.decided import ResetDecision, ResetStart
from trident.coordinators.decisions.beginning import Prospect
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.managing.offsets import Apart, lying_apart
from trident.managing.resets import reset_if_agreed
from trident.spouts.base import Spout, StartAt
from trident.spouts.offsets import StartOffsets
from trident.state import MemoryState, SqliteState


@dataclass(frozen=True)
class LogSpout(ListSpout):
    """A list that says that it has offsets, as topics of Kafka do."""

    @property
    def takes_offsets(self) -> bool:
        return True

    def reads(self, topic: str) -> bool:
        return topic == "t"


class Listed(Topology):
    """Compiles to a list, without Spark."""

    def __init__(self, plan: RunnableTopology, spout: Spout) -> None:
        super().__init__(plan.spec.name)
        self.plan, self.spout = plan, spout

    def compile(self):
        return SimpleNamespace(
            name=self.name, spec=lambda: self.plan.spec, targets=self.plan.targets, spouts={"s": self.spout}
        )


def listed(topic: Topic, *states: SqliteState | MemoryState) -> Listed:
    return Listed(make_job(topic, *states).plan(), LogSpout(topic))


def reset(
    topology: Listed,
    ledger: Ledger,
    start: object,
    *,
    keep_rows: bool = True,
    ledger_lost: bool = False,
    heard: list[Prospect] | None = None,
) -> ResetDecision:
    given = cast(StartOffsets, start)
    agree = (heard if heard is not None else []).append
    states: Literal["clear", "adopt"] = "adopt" if keep_rows else "clear"
    return reset_if_agreed(topology, ledger, states, given, agree, ledger_lost=ledger_lost, options=OPTIONS)


def go_on(topology: Listed, ledger: Ledger) -> None:
    TopologyRun(topology.plan, ledger, OPTIONS).run()


@pytest.fixture
def topic() -> Topic:
    return Topic([[("a", 1)] * 20, [("b", 1)] * 10])


@pytest.mark.parametrize("keep_rows", [True, False])
@pytest.mark.parametrize("make", [MemoryLedger, SqliteLedger])
def test_each_partition_begins_at_the_offset_that_was_named(
    make: type, keep_rows: bool, topic: Topic, tmp_path: Path
) -> None:
    ledger = make() if make is MemoryLedger else make(tmp_path / "ledger.sqlite")
    topology = listed(topic, SqliteState("balances", path=tmp_path / "apart.sqlite"))
    go_on(topology, ledger)
    decision = reset(topology, ledger, {"t": {0: 15, 1: 10}}, keep_rows=keep_rows)
    assert decision.start == "t:0=15,t:1=10"
    with dying_at(CrashPoint.AFTER_STARTS):
        go_on(topology, ledger)
    topic.partitions[1] += [("late", 1)] * 3
    go_on(topology, ledger)
    twice = {"a": (25, 25), "b": (10, 10)} if keep_rows else {"a": (5, 5)}
    assert sums(tmp_path / "apart.sqlite", "balances") == twice | {"late": (3, 3)}
    ledger.close()


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ({"t": {0: 21, 1: 0}}, "above the log's end"),
        ({"t": {0: 1, 1: 3}}, "below the log's start"),
        ({"t": {0: 5}}, r"t\[1\] has no offset"),
        ({"t": {0: 5, 1: 5, 2: 0}}, r"t\[2\] is not there"),
        ({"t": {0: 5, 1: 5}, "u": {0: 1}}, "no stream of the topology reads 'u'"),
    ],
)
def test_offsets_that_can_not_be_change_nothing(
    offsets: dict[str, dict[int, int]], said: str, topic: Topic, tmp_path: Path
) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    topology = listed(topic, SqliteState("balances"))
    go_on(topology, ledger)
    topic.earliest = {0: 2}
    before = ledger.view().status("payments")
    heard: list[Prospect] = []
    with pytest.raises(ConfigurationError, match=said):
        reset(topology, ledger, offsets, heard=heard)
    assert (ledger.view().status("payments").incarnation, heard) == (before.incarnation, [])
    go_on(topology, ledger)
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()
    ledger.close()


def test_a_stream_without_offsets_is_refused(topic: Topic) -> None:
    topology = Listed(make_job(topic, MemoryState("balances")).plan(), ListSpout(topic))
    with pytest.raises(ConfigurationError, match="stream 's' has no offsets of Kafka"):
        reset(topology, MemoryLedger(), {"t": {0: 1, 1: 1}})


def test_offsets_that_are_gone_before_the_first_start_stop_it(topic: Topic, tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    topology = listed(topic, SqliteState("balances"))
    go_on(topology, ledger)
    reset(topology, ledger, {"t": {0: 5, 1: 5}})
    topic.earliest = {0: 7}
    with pytest.raises(ConfigurationError, match=r"t\[0\]: offset 5 is below the log's start .*Nothing was read"):
        go_on(topology, ledger)
    reset(topology, ledger, ResetStart.RESUME)
    topic.partitions[0] += [("late", 3)] * 4
    go_on(topology, ledger)
    assert sums(tmp_path / "ledger.sqlite", "balances") == topic.expected()
    ledger.close()


def test_what_is_counted_twice_or_skipped_is_told(topic: Topic, tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    topology = listed(topic, SqliteState("balances"))
    go_on(topology, ledger)
    topic.partitions[1] += [("late", 3)] * 4
    topic.partitions.append([("new", 1)] * 3)
    heard: list[Prospect] = []
    reset(topology, ledger, {"t": {0: 15, 1: 13, 2: 1}}, heard=heard)
    said = reckoned({"s": topology.spout}, heard[0])
    assert said == (
        "As Kafka is now, at most 5 records are counted twice and at most 4 skipped: stream 's' t[0] stood at 20 and "
        "begins at 15 (5 twice), stream 's' t[1] stood at 10 and begins at 13 (3 skipped), stream 's' t[2] stood at 0 "
        "and begins at 1 (1 skipped)."
    )
    before = sums(tmp_path / "ledger.sqlite", "balances")
    go_on(topology, ledger)
    after = sums(tmp_path / "ledger.sqlite", "balances")
    assert after == before | {"a": (25, 25), "late": (1, 3), "new": (2, 2)}
    ledger.close()


def test_what_is_pinned_is_done_first_and_reckoned_with(topic: Topic, tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    topology = listed(topic, SqliteState("balances", path=tmp_path / "apart.sqlite"))
    with dying_at(CrashPoint.AFTER_PIN):
        go_on(topology, ledger)
    heard: list[Prospect] = []
    reset(topology, ledger, StartAt.LATEST, heard=heard)
    counted = sum(count for count, _ in sums(tmp_path / "apart.sqlite", "balances").values())
    found = lying_apart({"s": topology.spout}, StartAt.LATEST, heard[0].stood)
    assert counted > 0
    assert sum(item.skipped for item in found) == 30 - counted
    ledger.close()


def test_brokers_that_are_away_are_said_and_no_reason_to_refuse(topic: Topic) -> None:
    class Away(LogSpout):
        def open(self, name: str) -> ListSource:
            raise RetryableError("no Kafka broker answers at h:9; nothing was read")

    said = reckoned({"s": Away(topic)}, Prospect("adopt", "latest", stood=()))
    assert said == "How many that are could not be asked of Kafka: no Kafka broker answers at h:9; nothing was read."


@pytest.mark.parametrize(
    "prospect",
    [
        Prospect("clear", "latest", stood=()),
        Prospect("adopt", "resume", stood=()),
        Prospect("adopt", "latest", is_kept=True, stood=()),
        Prospect("adopt", "latest", finishes_another=True),
    ],
)
def test_nothing_is_reckoned_where_no_start_was_named_for_rows(prospect: Prospect, topic: Topic) -> None:
    assert reckoned({"s": LogSpout(topic)}, prospect) == ""


def test_of_a_partition_nobody_knows_nothing_is_counted() -> None:
    unknown = Apart("s", LogSpout(Topic([[]])).open("s").bounds()[0].id, None, 5)
    assert (unknown.twice, unknown.skipped) == (0, 0)


class Life:
    """A topology whose ledger is lost now and then, and what its sums must be."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.topic, self.ledgers = folder, Topic([[], []]), 0
        self.read: list[tuple[int, int]] = []
        self.at = [0, 0]
        self.stood: list[int] | None = [0, 0]
        """Where the last txid that is done has stopped: a start from which nothing was read has moved nothing."""
        self.ledger: SqliteLedger
        self.lose()

    def topology(self) -> Listed:
        return listed(self.topic, *(SqliteState(name, path=self.folder / f"{name}.sqlite") for name in ("one", "two")))

    def lose(self) -> None:
        self.ledgers += 1
        self.ledger = SqliteLedger(self.folder / f"ledger{self.ledgers}.sqlite")

    def come(self, count: int) -> None:
        for partition, log in enumerate(self.topic.partitions):
            log += [(f"a{(len(log) + n) % 3}", partition + len(log) + n) for n in range(count)]

    def run(self) -> None:
        go_on(self.topology(), self.ledger)
        if self.at != [len(log) for log in self.topic.partitions]:
            self.stood = [len(log) for log in self.topic.partitions]
        for partition, log in enumerate(self.topic.partitions):
            self.read += [(partition, offset) for offset in range(self.at[partition], len(log))]
            self.at[partition] = len(log)
        self.check()

    def check(self) -> None:
        records = [self.topic.partitions[partition][offset] for partition, offset in self.read]
        for name in ("one", "two"):
            assert sums(self.folder / f"{name}.sqlite", name) == Topic([records]).expected()

    def newest_txid(self) -> int:
        found = []
        for name in ("one", "two"):
            with sqlite3.connect(self.folder / f"{name}.sqlite") as connection:
                found.append(connection.execute(f"SELECT max(txid) FROM {name}").fetchone()[0] or 0)
        return max(found)

    def check_told(self, told: Prospect, begins: list[int]) -> None:
        policy = StartOffsets.of({"t": dict(enumerate(begins))})
        found = lying_apart({"s": LogSpout(self.topic)}, policy, told.stood)
        if self.stood is None:
            assert told.stood is None
            return
        pairs = list(zip(self.stood, begins, strict=True))
        assert [item.twice for item in found] == [max(stood - to, 0) for stood, to in pairs]
        assert [item.skipped for item in found] == [max(to - stood, 0) for stood, to in pairs]

    def reset(self, drawn: some.DataObject, *, lost: bool) -> None:
        logs = self.topic.partitions
        keep_rows = drawn.draw(some.booleans())
        starts = {
            "earliest": [0, 0],
            "latest": [len(log) for log in logs],
            "offsets": [drawn.draw(some.integers(0, len(log))) for log in logs],
        }
        name = drawn.draw(some.sampled_from(sorted(starts)))
        begins = starts[name]
        start: object = {"t": dict(enumerate(begins))} if name == "offsets" else name
        newest, heard = self.newest_txid(), list[Prospect]()
        decision = reset(self.topology(), self.ledger, start, keep_rows=keep_rows, ledger_lost=lost, heard=heard)
        if keep_rows:
            assert decision.birth_txid >= newest
        else:
            self.read = []
        if keep_rows and not lost:
            self.check_told(heard[0], begins)
        if lost:
            assert heard[0].stood is None or not keep_rows
            self.stood = None if keep_rows else [0, 0]
        self.at = begins
        self.run()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.data())
def test_lives_with_lost_ledgers_and_resets_have_the_sums_that_were_said(
    tmp_path_factory: pytest.TempPathFactory, data: some.DataObject
) -> None:
    """Each record is counted as often as what was named lets it be, and no txid is one of the rows."""
    life = Life(tmp_path_factory.mktemp("life"))
    life.come(data.draw(some.integers(1, 15)))
    life.run()
    for _ in range(data.draw(some.integers(1, 4))):
        life.come(data.draw(some.integers(0, 12)))
        step = data.draw(some.sampled_from(["run", "reset", "lose", "lose"]))
        if step == "run":
            life.run()
            continue
        if step == "lose":
            life.ledger.close()
            life.lose()
        life.reset(data, lost=step == "lose")
    life.ledger.close()
