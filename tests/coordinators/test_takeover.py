"""A take-over raises every fence before it reads what is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from tests.coordinators.fakes import LAYOUT, ListSource, Topic
from trident.base.errors import FencedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.signals import StopSignal
from trident.coordinators.holding.fencing import LedgerBehindError
from trident.coordinators.holding.taken import TakenOver
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.registered import Lease, Snapshot, TopologySpec
from trident.coordinators.retrying import Repeater
from trident.state import SqliteState
from trident.state.staged import WrittenUpdates
from trident.state.target import Target

SPEC = TopologySpec("payments", {"s": {"spout": "list"}}, {"first": {}, "second": {}})


@dataclass
class Diary:
    """Writes down what is asked of a store or a ledger, in order, and passes it on."""

    of: object
    named: str
    lines: list[str]
    said: list[object] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self.of, name)
        if not callable(asked):
            return asked

        def ask(*args, **options):
            self.lines.append(f"{self.named}.{name}")
            answer = asked(*args, **options)
            self.said.append(answer)
            return answer

        return ask


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Target]:
    ledger = MemoryLedger()
    names = ("first", "second")
    return {name: SqliteState(name, path=tmp_path / f"{name}.db").open(LAYOUT, ledger.database) for name in names}


@pytest.fixture
def repeater() -> Repeater:
    return Repeater(timedelta(seconds=1), StopSignal())


def test_what_is_open_is_read_after_the_last_fence_is_raised(stores, repeater):
    lines: list[str] = []
    ledger = MemoryLedger()
    epoch = ledger.acquire("payments", Lease("me", timedelta(seconds=5))).epoch
    diary = Diary(ledger, "ledger", lines)
    watched = {name: Diary(store, name, lines) for name, store in stores.items()}
    taking = TakeOver(diary, watched, SPEC, epoch, repeater)
    taking.raise_fences()
    snapshot = taking.snapshot
    fences = [number for number, line in enumerate(lines) if line.endswith(".raise_fence")]
    reads = [number for number, line in enumerate(lines) if line == "ledger.look"]
    positions = [line for line in lines if line.endswith(".position")]
    assert len(fences) == len(stores)
    assert reads[-1] > max(fences)
    assert not positions
    assert isinstance(snapshot, Snapshot)
    assert snapshot is diary.said[-1]


def test_nothing_is_built_on_what_is_open_before_every_fence_is_raised(stores, repeater):
    ledger = MemoryLedger()
    epoch = ledger.acquire("payments", Lease("me", timedelta(seconds=5))).epoch
    taking = TakeOver(ledger, stores, SPEC, epoch, repeater)
    for step in (taking.finish_reset, taking.finish_decisions, taking.where_states_stand):
        with pytest.raises(AssertionError, match="after it has raised every fence"):
            step()


def test_a_take_over_goes_from_fences_to_positions_to_starts(stores, repeater):
    lines: list[str] = []
    ledger = Diary(MemoryLedger(), "ledger", lines)
    epoch = ledger.acquire("payments", Lease("me", timedelta(seconds=5))).epoch
    watched = {name: Diary(store, name, lines) for name, store in stores.items()}
    source = Diary(ListSource(Topic([[("ann", 1)]]), "s"), "source", lines)
    taken = TakeOver(ledger, watched, SPEC, epoch, repeater).complete({"s": source})
    assert [line for line in lines if line.split(".")[1] != "position"] == [
        "ledger.acquire",
        *("ledger.look", "first.look", "second.look", "source.starts"),
        *("ledger.look", "first.prepare", "first.raise_fence", "second.prepare", "second.raise_fence", "ledger.look"),
        "source.starts",
        # nothing is refused from here on
        *("ledger.register", "ledger.set_births", "ledger.snapshot", "first.register", "second.register"),
        *("ledger.set_starts", "ledger.snapshot"),
    ]
    positions = [number for number, line in enumerate(lines) if line.endswith(".position")]
    assert lines.index("second.raise_fence") < positions[0] < positions[-1] < lines.index("ledger.register")
    assert taken.snapshot is ledger.said[-1]
    assert taken.snapshot.starts
    assert taken.waiting == frozenset()


def test_an_owner_before_can_write_to_no_state_any_more(stores, repeater):
    ledger = MemoryLedger()
    old = ledger.acquire("payments", Lease("old", timedelta(0))).epoch
    taking = TakeOver(ledger, stores, SPEC, old, repeater)
    taking.raise_fences()
    owner = taking.snapshot.owner
    for store in stores.values():
        store.register(owner, old, 0)
    new = ledger.acquire("payments", Lease("new", timedelta(seconds=5))).epoch
    TakeOver(ledger, stores, SPEC, new, repeater).raise_fences()
    for store in stores.values():
        with pytest.raises(FencedError):
            store.apply(BatchId(owner, old, 1, 1), WrittenUpdates(()))
        store.apply(BatchId(owner, new, 1, 2), WrittenUpdates(()))


def test_a_store_that_a_newer_owner_has_fenced_stops_the_take_over(stores, repeater):
    ledger = MemoryLedger()
    old = ledger.acquire("payments", Lease("old", timedelta(0))).epoch
    new = ledger.acquire("payments", Lease("new", timedelta(seconds=5))).epoch
    stores["second"].prepare()
    stores["second"].raise_fence(Owner("payments", "this life"), new)
    # what it read before it was fenced lets it come as far as the stores
    snapshot = ledger.register(new, SPEC)
    stale = Diary(ledger, "ledger", [])
    vars(stale)["look"] = lambda epoch, spec: snapshot
    with pytest.raises(FencedError):
        TakeOver(stale, stores, SPEC, old, repeater).raise_fences()


def test_a_store_that_knows_an_epoch_that_the_ledger_never_gave_out_stops_and_says_so(stores, repeater):
    ledger = MemoryLedger()
    epoch = ledger.acquire("payments", Lease("me", timedelta(seconds=5))).epoch
    stores["second"].prepare()
    stores["second"].raise_fence(Owner("payments", "another life"), Epoch(9, "newer"))
    with pytest.raises(LedgerBehindError, match=r"state 'second' knows a later epoch than 1.*lost or restored"):
        TakeOver(ledger, stores, SPEC, epoch, repeater).raise_fences()


@pytest.mark.parametrize("was_known", [False, True], ids=["never registered before", "registered before"])
def test_an_owner_that_was_overtaken_while_it_looked_is_fenced_and_finds_no_mismatch(was_known, stores, repeater):
    """Between its look at the ledger and its look at the states another one has taken over and gone on."""
    ledger, source = MemoryLedger(), ListSource(Topic([[("ann", 1)]]), "s")

    def complete(epoch: Epoch, targets: Mapping[str, Target]) -> TakenOver:
        return TakeOver(ledger, targets, SPEC, epoch, repeater).complete({"s": source})

    if was_known:
        complete(ledger.acquire("payments", Lease("first", timedelta(0))).epoch, stores)
    old = ledger.acquire("payments", Lease("old", timedelta(0))).epoch

    def overtake(topology: str, registers: bool = False) -> object:
        new = ledger.acquire("payments", Lease("new", timedelta(seconds=5))).epoch
        taken = complete(new, stores)
        batch = BatchId(taken.snapshot.owner, new, 1, 1)
        for store in stores.values():
            store.apply(batch, WrittenUpdates(()))
        return stores["first"].look(topology, registers)

    slow = Diary(stores["first"], "first", [])
    vars(slow)["look"] = overtake
    with pytest.raises(FencedError):
        complete(old, {**stores, "first": cast("Target", slow)})
