"""A full batch of a queue's messages is planned at once, and nothing is received for one that is not full."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.coordinators.fakes import ListSpout, Topic
from tests.coordinators.receiving import Queue, Taking
from tests.coordinators.test_messages_that_fail import Broker, BrokersInstance, BrokersSpout
from tests.coordinators.test_plan_ranges import planned_and_stored
from trident.base.clock import SystemClock
from trident.base.errors import FatalError
from trident.base.identity import BatchId
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.planned import PartFull, Plan, StartPosition
from trident.coordinators.plans.book import PlanBook
from trident.coordinators.plans.maker import PlanMaker
from trident.coordinators.protocol.messages import MakePlan
from trident.coordinators.registered import Lease, TopologySpec
from trident.spouts.base import Limits, NamesMessages, Source, Spout


def maker_over(broker: Broker, beside: int = 0, rows: Queue | None = None) -> tuple[PlanMaker, MakePlan]:
    """Return one whose batches have five messages at most, and a command that leaves a part-full one for later.

    Beside it are so many records, or rows that can be received once.
    """
    ledger, spout = MemoryLedger(), BrokersSpout(broker)
    listed = ListSpout(Topic([[("a", 1)] * beside]), limits=Limits(max_records=3))
    other: Spout = listed if rows is None else Taking(rows)
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


def test_where_rows_can_be_received_once_a_full_one_waits_until_its_plan_is_wanted() -> None:
    """A plan that is made ahead may be dropped before it is stored: its rows would be in no record."""
    broker, rows = Broker([f"m{n}" for n in range(7)]), Queue({0: ["r1"]})
    maker, command = maker_over(broker, rows=rows)
    assert isinstance(maker.build(command), PartFull)
    assert (len(broker.waiting), rows.given) == (7, [])


def test_no_row_is_received_before_a_queue_that_can_not_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stream comes first by name, and the rows would be in no plan, and lost without a record."""

    def gone(instance: BrokersInstance) -> None:
        raise FatalError("the queue was deleted")

    rows = Queue({0: ["r1"]})
    maker, command = maker_over(Broker([]), rows=rows)
    monkeypatch.setattr(BrokersInstance, "check", gone)
    with pytest.raises(FatalError, match="was deleted"):
        maker.build(replace(command, only_full=False))
    assert rows.given == []
