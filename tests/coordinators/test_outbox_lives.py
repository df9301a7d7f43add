"""An outbox through the lives of its topology: whole coordinators over SQLite and a Kafka in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS
from tests.state.arrays import array
from tests.state.memory_kafka import MemoryKafka, memory_sender
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, FatalError, MismatchError, RefusedError
from trident.base.order import order_of
from trident.base.timeouts import Timeouts
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import SqliteState
from trident.state.databases.base import SqlDatabase
from trident.state.kafka.outbox.stored import Outbox
from trident.state.kafka.outbox.target import OutboxTarget
from trident.state.kafka.records import ROWS, Record
from trident.state.kafka.target import KafkaTarget
from trident.state.staged import HeldUpdates
from trident.state.target import LedgerDatabase


@dataclass
class Life:
    """One topology: a state in a file of its own, and a sink whose outbox is beside the ledger."""

    folder: Path
    ledger_file: str = "ledger.sqlite"
    kafka: MemoryKafka = field(default_factory=lambda: MemoryKafka("out", partitions=1))
    topic: Topic = field(default_factory=lambda: Topic([[]]))
    sink: str = "alerts"

    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self.folder / self.ledger_file)

    def come(self, *words: str) -> None:
        self.topic.partitions[0] += [(word, 1) for word in words]

    def plan(self) -> RunnableTopology:
        job = make_job(self.topic, SqliteState("balances", path=self.folder / "balances.sqlite"), meddle=self._send)
        plan = job.plan()
        job.processor.states = ["balances"]
        spec = replace(plan.spec, states={**plan.spec.states, self.sink: {"store": "kafka", "kind": "sink"}})
        return replace(plan, spec=spec, targets={**plan.targets, self.sink: self._open})

    def run(self) -> None:
        TopologyRun(self.plan(), self.ledger(), OPTIONS).run()

    def decide(self, kind: DecisionKind, txid: int, state: str = "") -> None:
        plan = self.plan()
        decide_topology(plan.spec, plan.targets, self.ledger(), WantedDecision(kind, txid, state), OPTIONS)

    def reset(self, *, keep: bool, start: str | None = None, ledger_lost: bool = False) -> None:
        plan, ledger = self.plan(), self.ledger()
        reset_topology(
            plan.spec, plan.targets, ledger, keep_rows=keep, start=start, options=OPTIONS, ledger_lost=ledger_lost
        )

    def sent(self) -> list[str]:
        return [(record.value or b"").decode() for record in self.kafka.seen("out")]

    def ask(self, statement: str, file: str = "ledger.sqlite") -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.folder / file)) as connection, connection:
            return connection.execute(statement).fetchall()

    def refuse(self, word: str) -> None:
        """Let the state's table refuse an account."""
        self.ask(
            f"CREATE TRIGGER refuses BEFORE INSERT ON balances WHEN NEW.account = '{word}' "
            "BEGIN SELECT RAISE(ABORT, 'refused'); END",
            "balances.sqlite",
        )

    def _send(self, request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        ((_, edges),) = request.edges.items()
        log = self.topic.partitions
        words = [log[e.range.id.partition][n][0] for e in edges for n in range(e.range.start, e.range.stop)]
        return replace(result, updates={**result.updates, self.sink: HeldUpdates(rows_of(words))})

    def _open(self, database: LedgerDatabase, timeouts: Timeouts) -> KafkaTarget | OutboxTarget:
        assert isinstance(database, SqlDatabase)
        return OutboxTarget(memory_sender(self.kafka, sink=self.sink), Outbox(self.sink, database))


def rows_of(words: Iterable[str | None]) -> pa.Table:
    values = [(word or "").encode() for word in words]
    count = len(values)
    columns: list[list[object]] = [["out"] * count, [b"k"] * count, list(values), [None] * count]
    arrays = [array(column, each.type) for column, each in zip(columns, ROWS, strict=False)]
    return pa.table([*arrays, order_of("in", 0, np.arange(count, dtype=np.int64))], schema=ROWS)


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path)


def test_what_is_pinned_and_not_done_is_not_sent_by_a_reset(life: Life) -> None:
    life.come("a")
    life.run()
    life.refuse("big")
    life.come("big")
    with pytest.raises(DecisionNeededError):
        life.run()
    life.ask("DROP TRIGGER refuses", "balances.sqlite")
    life.reset(keep=False, start="resume")
    assert life.sent() == ["a"]
    life.run()
    assert life.sent() == ["a", "big"]


def test_what_is_done_is_sent_before_a_reset_is_recorded(life: Life) -> None:
    life.come("a", "refused")
    life.kafka.refuses = b"refused"
    with pytest.raises(RefusedError, match="trident divert MODULE:TOPOLOGY 1 --state alerts"):
        life.run()
    for _ in range(2):
        with pytest.raises(RefusedError, match="trident divert MODULE:TOPOLOGY 1 --state alerts"):
            life.reset(keep=False)
    for _ in range(2):
        life.decide(DecisionKind.DIVERT, 1, "alerts")
    life.reset(keep=False, start="resume")
    life.run()
    assert life.sent() == []
    assert len(life.ask("SELECT * FROM trident_diverted")) == 2


def test_a_divert_that_is_cut_off_has_done_nothing(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    life.come("refused")
    life.kafka.refuses = b"refused"
    with pytest.raises(RefusedError):
        life.run()
    with monkeypatch.context() as patch:
        patch.setattr("trident.state.kafka.outbox.stored.Outbox.empty", _dies)
        with pytest.raises(KeyboardInterrupt):
            life.decide(DecisionKind.DIVERT, 1, "alerts")
    assert life.ask("SELECT * FROM trident_diverted") == []
    life.kafka.refuses = b""
    life.run()
    assert life.sent() == ["refused"]


def _dies(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_sink_whose_birth_was_cut_off_is_born_by_the_next_start(life: Life) -> None:
    life.come("a")
    with dying_at(CrashPoint.BETWEEN_BIRTHS):
        life.run()
    life.run()
    assert life.sent() == ["a"]


def test_a_take_over_waits_for_nothing_that_its_predecessor_left_open(life: Life) -> None:
    """The fence would end it, and before that everything is looked at."""
    life.come("a")
    life.run()
    dead = life.kafka.open("payments.alerts", {})
    dead.begin()
    dead.send(Record("out", b"k", b"never committed", ()))
    dead.send(Record("markers", b"payments.alerts", b"never committed", ()), 0)
    life.come("b")
    life.run()
    assert life.sent() == ["a", "b"]


@pytest.mark.parametrize("what", ["emptied", "put back"])
def test_a_reset_that_clears_goes_on_whatever_became_of_the_marker(life: Life, what: str) -> None:
    life.come("a")
    life.run()
    old = [list(log) for log in life.kafka.logs["markers"]]
    life.come("b")
    life.run()
    life.kafka.logs["markers"] = old if what == "put back" else [[] for _ in old]
    for _ in range(2):
        with pytest.raises(FatalError, match="trident reset MODULE:TOPOLOGY --states clear"):
            life.run()
    with pytest.raises(MismatchError):
        life.reset(keep=True)
    life.reset(keep=False)
    life.run()
    assert life.sent() == ["a", "b", "a", "b"]
    assert sorted(life.ask("SELECT account, n FROM balances", "balances.sqlite")) == [("a", 1), ("b", 1)]


def test_what_is_refused_while_it_is_staged_can_be_diverted(life: Life) -> None:
    life.come("a")
    life.run()
    life.kafka.largest = 400
    life.come("b" * 600)
    with pytest.raises(FatalError, match="too large for topic"):
        life.run()
    life.decide(DecisionKind.DIVERT, 2, "alerts")
    life.run()
    life.come("c")
    life.run()
    assert life.sent() == ["a", "c"]
    assert len(life.ask("SELECT * FROM trident_diverted")) == 1
    assert len(life.ask("SELECT account FROM balances", "balances.sqlite")) == 3


@pytest.mark.parametrize("keep", [True, False])
def test_a_reset_uses_no_txid_again_that_was_sent_before_the_ledger_was_put_back(life: Life, keep: bool) -> None:
    life.come("a")
    life.run()
    files = {name: (life.folder / name).read_bytes() for name in ("ledger.sqlite", "balances.sqlite")}
    life.come("b")
    life.run()
    for name, content in files.items():
        (life.folder / name).write_bytes(content)
    with pytest.raises(MismatchError, match="trident reset MODULE:TOPOLOGY --ledger-lost"):
        life.run()
    life.reset(keep=keep, start="earliest", ledger_lost=True)
    life.run()
    assert life.sent() == ["a", "b", "a", "b"]
    txids = [int(dict(record.headers)["trident-txid"] or b"") for record in life.kafka.seen("out")]
    assert txids == [1, 2, 3, 3]


def test_another_ledger_of_the_same_name_leaves_the_one_that_runs_alone(life: Life) -> None:
    life.come("a")
    life.run()
    other = replace(life, ledger_file="other.sqlite")
    for _ in range(3):
        with pytest.raises(FatalError, match="which this ledger has never had"):
            other.run()
    life.come("b")
    life.run()
    assert life.sent() == ["a", "b"]
