"""Two streams feed one state: a txid of which one has nothing any more keeps the other from nothing."""

from __future__ import annotations

import logging
import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pytest

from tests.coordinators.fakes import LAYOUT, ListProcessor, ListSpout, Topic
from tests.coordinators.test_run import OPTIONS, memory_place, sqlite_place
from trident.base.errors import DecisionNeededError, RetryableError
from trident.base.identity import BatchId
from trident.base.ranges import OffsetRange
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import RunnableTopology, RunSummary, TopologyRun
from trident.coordinators.ledger import Ledger
from trident.coordinators.registered import TopologySpec
from trident.spouts.base import LostOffsets, SpoutKind
from trident.state import MemoryState
from trident.state.staged import HeldUpdates
from trident.state.target import State

ONE_TRY = replace(OPTIONS, max_tries=1)
OPAQUE, TRANSACTIONAL = SpoutKind.OPAQUE, SpoutKind.TRANSACTIONAL
PAIRS = [(OPAQUE, OPAQUE), (OPAQUE, TRANSACTIONAL), (TRANSACTIONAL, OPAQUE), (TRANSACTIONAL, TRANSACTIONAL)]


@dataclass
class Two:
    """Streams `a` and `b`, read by an engine that is ill when told; keeps which ranges each attempt was given."""

    ledger: Callable[[], Ledger]
    state: State = field(default_factory=lambda: MemoryState("balances"))
    kinds: tuple[SpoutKind, SpoutKind] = (OPAQUE, OPAQUE)
    topics: dict[str, Topic] = field(default_factory=lambda: {name: Topic([[]], epoch=1) for name in "ab"})
    is_ill: bool = False
    given: list[tuple[int, dict[str, tuple[OffsetRange, ...]]]] = field(default_factory=list)

    def spouts(self) -> dict[str, ListSpout]:
        return {
            name: ListSpout(self.topics[name], kind, on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST)
            for name, kind in zip("ab", self.kinds, strict=True)
        }

    def spec(self) -> TopologySpec:
        described = {name: spout.description() for name, spout in self.spouts().items()}
        return TopologySpec("payments", described, {"balances": self.state.description()})

    def run(self) -> RunSummary:
        states = {"balances": partial(self.state.open, LAYOUT)}
        return TopologyRun(
            RunnableTopology(self.spec(), self.spouts(), states, lambda *_: self), self.ledger(), ONE_TRY
        ).run()

    def fail(self) -> None:
        self.is_ill = True
        with pytest.raises(StoppedError, match="the engine is ill"):
            self.run()
        self.is_ill = False

    def divert(self, txid: int) -> None:
        decision = WantedDecision(DecisionKind.DIVERT, txid, "balances")
        decide_topology(self.spec(), {"balances": partial(self.state.open, LAYOUT)}, self.ledger(), decision, OPTIONS)

    def add(self, name: str, count: int) -> None:
        records = self.topics[name].partitions[0]
        records += [(f"{name}{len(records) + n}", 1) for n in range(count)]

    def lose(self, name: str) -> None:
        self.topics[name].earliest[0] = len(self.topics[name].partitions[0])

    def losses(self) -> list[tuple[str, int, int]]:
        found = self.ledger().view().losses("payments")
        return [(loss.spout, loss.start_offset, loss.stop_offset) for loss in found]

    def all_but(self, *lost: tuple[str, int, int]) -> dict[str, tuple[int, int]]:
        gone = {f"{name}{offset}" for name, start, stop in lost for offset in range(start, stop)}
        records = (record for topic in self.topics.values() for record in topic.partitions[0])
        return {account: (1, amount) for account, amount in records if account not in gone}

    def process(self, request: ProcessRequest) -> ProcessResult:
        ranges = {name: tuple(edge.range for edge in edges) for name, edges in request.edges.items()}
        self.given.append((request.batch.txid, ranges))
        if self.is_ill:
            raise RetryableError("the engine is ill")
        readers = {
            name: ListProcessor(topic, ["balances"], lambda _, found: found) for name, topic in self.topics.items()
        }
        results = [reader.read(name, request.edges.get(name, ())) for name, reader in readers.items()]
        staged = [result.updates["balances"] for result in results]
        rows = pa.concat_tables([each.rows for each in staged if isinstance(each, HeldUpdates)])
        return ProcessResult(
            tuple(one for each in results for one in each.manifests), (), {"balances": HeldUpdates(rows)}
        )

    def cancel(self, batch: BatchId) -> None:
        pass


@pytest.fixture(params=["memory", "sqlite"])
def two(request, tmp_path):
    """Streams of which `a` alone had records in txid 1, which failed; then `b` gets a hundred."""
    place = memory_place() if request.param == "memory" else sqlite_place(tmp_path)

    def begin(*kinds):
        two = Two(place.ledger, place.state("balances"), kinds)
        two.add("a", 5)
        two.fail()
        two.add("b", 100)
        return two, lambda: place.rows("balances")

    return begin


@pytest.mark.parametrize("other", SpoutKind)
def test_a_txid_whose_records_are_gone_keeps_no_other_stream_waiting(two, other):
    scene, rows = two(OPAQUE, other)
    scene.lose("a")
    summary = scene.run()
    assert rows() == scene.all_but(("a", 0, 5))
    assert scene.losses() == [("a", 0, 5)]
    assert scene.run().last_done == summary.last_done  # nothing was left


def test_a_txid_that_has_nothing_and_lost_nothing_keeps_no_other_stream_waiting(two):
    """What was cut off the log was never counted, so that nobody can number it as a loss."""
    scene, rows = two(OPAQUE, TRANSACTIONAL)
    scene.topics["a"].cut(0, 0)
    scene.run()
    assert rows() == scene.all_but()
    assert scene.losses() == []
    assert {ranges["b"] for txid, ranges in scene.given if txid == 1} == {()}  # a txid holds the same records


@pytest.mark.parametrize("kind", SpoutKind)
def test_an_idle_topology_uses_no_txid_up(two, kind):
    scene, _ = two(OPAQUE, kind)
    last = scene.run().last_done
    assert (scene.run().first_done, scene.run().last_done) == (last, last)


def test_a_loss_alone_is_recorded_before_a_run_is_caught_up():
    scene = Two(memory_place().ledger)
    scene.add("a", 5)
    scene.run()
    scene.add("a", 3)
    scene.lose("a")
    assert scene.run().last_done == 2
    assert scene.losses() == [("a", 5, 8)]
    assert scene.run().last_done == 2


@pytest.mark.parametrize("other", SpoutKind)
@pytest.mark.parametrize("others", [0, 4], ids=["alone", "with records of the other stream"])
def test_a_held_divert_is_void_for_all_streams_when_one_cant_be_read_again(tmp_path, caplog, other, others):
    scene, rows = refused_and_diverted(tmp_path, other, others)
    scene.lose("a")
    scene.add("b", 100)
    with caplog.at_level(logging.WARNING, "trident.coordinator"):
        scene.run()
    assert rows() == scene.all_but(("a", 5, 6))
    assert scene.losses() == [("a", 5, 6)]
    (decision,) = scene.ledger().view().txid("payments", 2).decisions
    assert (decision.is_finished, decision.void) == (True, True)
    assert "the divert of txid 2 of state 'balances' of topology 'payments' is void" in caplog.text
    assert scene.ledger().diverted("payments") == ()


@pytest.mark.parametrize("other", SpoutKind)
@pytest.mark.parametrize("others", [0, 4], ids=["alone", "with records of the other stream"])
def test_a_held_divert_takes_just_the_refused_records_of_all_streams(tmp_path, other, others):
    scene, rows = refused_and_diverted(tmp_path, other, others)
    scene.add("b", 100)
    scene.run()
    assert rows() == scene.all_but(("a", 5, 6), ("b", 0, others))
    assert [txid for txid, _ in scene.ledger().diverted("payments")] == [2]


def refused_and_diverted(folder, other, others):
    """Txid 2, of one record of `a` and so many of `b`, was refused by the state, and a person diverts its rows."""
    place = sqlite_place(folder)
    scene = Two(place.ledger, place.state("balances"), (OPAQUE, other))
    scene.add("a", 5)
    scene.run()
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        connection.execute(
            "CREATE TRIGGER small BEFORE INSERT ON balances WHEN NEW.account = 'a5' "
            "BEGIN SELECT RAISE(ABORT, 'too much'); END"
        )
    scene.add("a", 1)
    scene.add("b", others)
    with pytest.raises(DecisionNeededError):
        scene.run()
    scene.divert(2)
    return scene, lambda: place.rows("balances")


@pytest.mark.parametrize("kinds", PAIRS, ids=lambda kinds: " and ".join(kinds))
def test_whatever_fails_and_is_lost_all_else_is_counted_once(kinds):
    """Drawn lives of two streams: a run that is caught up has counted every record, or recorded it as lost."""
    for seed in range(5):
        place = memory_place()
        scene = Two(place.ledger, kinds=kinds)
        live(scene, random.Random(f"{kinds}{seed}"))
        scene.run()
        lost = scene.losses()
        assert place.rows("balances") == scene.all_but(*lost), seed
        assert all(stop <= scene.topics[name].earliest.get(0, 0) for name, _, stop in lost), seed
        for name, kind in zip("ab", kinds, strict=True):
            read = defaultdict(set)
            for txid, ranges in scene.given:
                read[txid].add(ranges[name])
            assert kind is OPAQUE or all(len(same) == 1 for same in read.values()), seed


def live(scene: Two, rng: random.Random) -> None:
    """Let streams grow, attempts fail and retention take what opaque streams hold, read or not."""
    for _ in range(4):
        for name in "ab":
            scene.add(name, rng.choice([0, 0, 3, 15]))
        scene.is_ill = rng.random() < 0.6
        with suppress(StoppedError):
            scene.run()
        scene.is_ill = False
        for name, kind in zip("ab", scene.kinds, strict=True):
            if kind is OPAQUE and rng.random() < 0.5:
                scene.lose(name)
