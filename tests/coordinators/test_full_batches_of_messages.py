"""A full batch of a queue's messages is planned at once, and nothing is received for one that is not full."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.coordinators.fakes import ListSpout, Topic
from tests.coordinators.test_messages_that_fail import Broker, BrokersSpout
from tests.coordinators.test_plan_ranges import planned_and_stored
from trident.base.clock import SystemClock
from trident.base.identity import BatchId
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.planned import PartFull, Plan, StartPosition
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.messages import MakePlan
from trident.coordinators.registered import Lease, TopologySpec
from trident.spouts.base import Limits, NamesMessages, Source, Spout


def maker_over(broker: Broker, beside: int = 0) -> tuple[PlanMaker, MakePlan]:
    """Return one whose batches have five messages at most, and a command that leaves a part-full one for later."""
    ledger, spout = MemoryLedger(), BrokersSpout(broker)
    other = ListSpout(Topic([[("a", 1)] * beside]), limits=Limits(max_records=3))
    epoch = ledger.acquire("t", Lease("me", timedelta(seconds=9))).epoch
    spec = TopologySpec("t", {"s": {}, "other": {}}, {})
    owner = ledger.register(epoch, spec).owner
    source, log = spout.open("s"), other.open("other")
    assert isinstance(source, NamesMessages)
    begin = [StartPosition("s", each.id, each.topic_id, 0) for each in source.starts()]
    begin += [StartPosition("other", each.id, each.topic_id, 0) for each in log.starts()]
    ledger.set_starts(owner, epoch, begin)
    book = PlanBook(ledger.register(epoch, spec))
    spouts: dict[str, Spout] = {"s": spout, "other": other}
    sources: dict[str, Source] = {"s": source, "other": log}
    maker = PlanMaker(ledger, spouts, sources, book, epoch, SystemClock())
    return maker, MakePlan(BatchId(owner, epoch, 1, 1), 1, only_full=True)


def of_queue(built: object) -> list[tuple[int, int, int]]:
    assert isinstance(built, Plan)
    return [(each.range.id.partition, each.range.start, each.range.stop) for each in built.ranges if each.spout == "s"]


def test_one_that_is_not_full_waits_and_nothing_of_it_is_received() -> None:
    broker = Broker([f"m{n}" for n in range(4)])
    maker, command = maker_over(broker)
    assert isinstance(maker.build(command), PartFull)
    assert len(broker.waiting) == 4


@pytest.mark.parametrize("beside", [0, 2])
def test_a_full_one_waits_for_nothing_nor_does_what_is_beside_it(beside: int) -> None:
    broker = Broker([f"m{n}" for n in range(7)])
    maker, command = maker_over(broker, beside)
    built = maker.build(command)
    assert of_queue(built) == [(0, 0, 5)]
    assert isinstance(built, Plan)
    assert sum(each.range.width for each in built.ranges) == 5 + beside
    assert len(broker.waiting) == 2


def test_what_a_plan_has_taken_fills_no_other_one() -> None:
    broker = Broker([f"m{n}" for n in range(9)])
    maker, command = maker_over(broker)
    planned_and_stored(maker, replace(command, only_full=False))
    behind = replace(command, batch=replace(command.batch, txid=2, attempt=2))
    assert isinstance(maker.build(behind), PartFull)
    broker.waiting.append("m9")
    assert of_queue(maker.build(behind)) == [(0, 5, 10)]


def test_the_last_plan_of_a_run_asks_for_no_full_one_either() -> None:
    broker = Broker([f"m{n}" for n in range(7)])
    maker, command = maker_over(broker)
    maker.build(replace(command, is_last=True))
    assert len(broker.waiting) == 7


def test_a_full_one_of_messages_that_are_done_already_is_no_plan() -> None:
    """They come again since their acks were lost: each is acked, and there is nothing to process."""
    broker = Broker([])
    maker, command = maker_over(broker)
    source = maker.sources["s"]
    assert isinstance(source, NamesMessages)
    source.begin_from({}, {f"m{n}": "" for n in range(5)}, {})
    broker.waiting += [f"m{n}" for n in range(5)]
    assert isinstance(maker.build(command), PartFull)
    assert sorted(broker.acked) == [f"m{n}" for n in range(5)]
