"""What is not put back, or not yet, and what is under other names or in other places."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace

import pyarrow as pa
import pytest

import trident
from tests.coordinators import test_receiving_decisions as receiving
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.other_columns import FIRST, GROWN, _in
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene, dying_at
from tests.coordinators.test_outbox_lives import Life
from tests.coordinators.test_reapplying import reapply
from tests.coordinators.test_renaming import Renamed
from tests.coordinators.test_run import OPTIONS, run
from tests.state.harnesses import DictMap
from trident.base.crash_points import CrashPoint
from trident.base.errors import ConfigurationError, DecisionNeededError, MismatchError, RefusedError
from trident.base.levels import Level
from trident.coordinators.decided import Decision, DecisionKind, RowsOf
from trident.coordinators.decisions.commands import decide_topology, reapply_rows
from trident.coordinators.decisions.reapplying import why_not_in
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.registered import LEVEL, TopologySpec
from trident.state import BackingMapState, MemoryState, SqliteState
from trident.state.capabilities import Capabilities
from trident.state.layout import Merge, StateLayout, ValueColumn
from trident.state.memory.database import MemoryDatabase

LARGEST = 2**63 - 1


def storing(merge: Merge) -> SimpleNamespace:
    return SimpleNamespace(layout=StateLayout((), (ValueColumn("total", pa.int64(), merge),)))


@pytest.mark.parametrize(
    ("capabilities", "why"),
    [
        (Capabilities(keeps_what_left=True), "'s' is a sink"),
        (Capabilities(), "can't try rows without a trace"),
        (Capabilities(putting_back=storing(Merge.ADD), expiring=SimpleNamespace()), "can't try rows without a trace"),
        (Capabilities(putting_back=storing(Merge.REPLACE)), "'total' is kept by an updater"),
        (Capabilities(putting_back=storing(Merge.ADD)), None),
    ],
)
def test_a_state_that_can_not_be_given_rows_is_named(capabilities, why):
    said = why_not_in("s", SimpleNamespace(capabilities=capabilities))
    assert (said is None) if why is None else why in str(said)


def compiled(shown=frozenset(), states=None):
    spec = TopologySpec("t", {}, states or {"s": {}})
    one = SimpleNamespace(name="t", spec=lambda: spec, targets={}, stages=SimpleNamespace(shown=shown))
    return SimpleNamespace(name="t", compile=lambda: one, run=lambda: None)


def test_a_state_whose_new_values_others_are_made_of_is_refused():
    with pytest.raises(MismatchError, match=r"others are made of its new values.*Nothing was changed"):
        trident.reapply(compiled(frozenset({"s"})), MemoryLedger(), txid=1, state="s")


def test_at_the_weaker_levels_nothing_was_taken_out():
    with pytest.raises(ConfigurationError, match="nothing is staged or pinned there"):
        trident.reapply(compiled(states={"s": {LEVEL: Level.AT_LEAST_ONCE.value}}), MemoryLedger(), txid=1, state="s")


def test_what_was_received_is_done_first(tmp_path):
    """The next plan knows by the one before of messages that ended with their process."""
    scene = receiving.Scene(tmp_path, is_apart=True)
    scene.decide(DecisionKind.DIVERT_REFUSED, "others")
    scene.go_on()
    scene.mend()
    scene.queue.waiting[0] = ["more"]
    with dying_at(CrashPoint.AFTER_PLAN):
        scene.go_on()
    job = scene.job()

    def put_back():
        return reapply_rows(job.spec, job.targets, scene.ledger(), RowsOf(2, "others"), OPTIONS)

    with pytest.raises(MismatchError, match=r"messages were received for txid \d, which is not done"):
        put_back()
    scene.go_on()
    assert "bad" not in scene.rows("others")
    put_back()
    assert scene.rows("others") == scene.rows("counts")


@dataclass
class WithMap(Scene):
    """A third state is a map of one's own."""

    map: DictMap = field(default_factory=DictMap)

    def states(self):
        return [*super().states(), BackingMapState("more", self.map)]


def test_a_map_beside_is_given_nothing_and_its_own_rows_stay_out(tmp_path):
    scene = WithMap(tmp_path, SHORTCUT)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT_REFUSED, state="totals")
    scene.go_on()
    scene.mend()
    with pytest.raises(MismatchError, match="into state 'more': its store can't try rows without a trace"):
        reapply(scene, state="more")
    before = dict(scene.map.rows)
    with dying_at(CrashPoint.AFTER_PIN):
        reapply(scene)
    scene.topic.partitions[0] += [("big", 1), ("more", 1)]
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()
    assert len(scene.map.rows) == len(before) + 1


def test_a_sink_beside_sends_nothing_again_and_is_given_nothing_back(tmp_path):
    """Its outbox stands at the txid that has put rows back, with nothing of it to send."""
    life = Life(tmp_path)
    life.come("a")
    life.run()
    life.refuse("big")
    life.come("big", "b")
    with pytest.raises(DecisionNeededError):
        life.run()
    life.decide(DecisionKind.DIVERT_REFUSED, 2, "balances")
    life.run()
    plan = life.plan()

    def put_back(state: str) -> Decision:
        return reapply_rows(plan.spec, plan.targets, life.ledger(), RowsOf(2, state), OPTIONS)

    with pytest.raises(MismatchError, match="'alerts' is a sink"):
        put_back("alerts")
    with pytest.raises(RefusedError, match="refuses the rows of txid 2 still"):
        put_back("balances")
    life.ask("DROP TRIGGER refuses", "balances.sqlite")
    assert put_back("balances").txid == 3
    life.come("later")
    life.run()
    assert life.sent() == ["a", "big", "b", "later"]
    assert {row[0] for row in life.ask("SELECT account FROM balances", "balances.sqlite")} == set(life.sent())


def test_rows_follow_a_state_to_its_new_name(tmp_path):
    scene = Renamed(tmp_path, SHORTCUT)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT_REFUSED, state="totals")
    scene.go_on()
    scene.mend()
    scene.rename()
    plan = scene.version().plan()
    with pytest.raises(MismatchError, match="there is no such state, there are: 'balances', 'sums'"):
        reapply_rows(plan.spec, plan.targets, scene.ledger(), RowsOf(3, "totals"), OPTIONS)
    decision = reapply_rows(plan.spec, plan.targets, scene.ledger(), RowsOf(3, "sums"), OPTIONS)
    assert decision.state == "3 of totals"
    assert scene.rows("totals") == scene.topic.expected()
    with pytest.raises(MismatchError, match="txid 4 has put these rows back"):
        reapply_rows(plan.spec, plan.targets, scene.ledger(), RowsOf(3, "sums"), OPTIONS)


def test_a_version_that_adds_something_starts_first(tmp_path):
    scene = Renamed(tmp_path, SHORTCUT)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT_REFUSED, state="totals")
    scene.go_on()
    scene.mend()
    plan = make_job(scene.topic, *scene.states(), SqliteState("more")).plan()
    with pytest.raises(MismatchError, match="adds something that has never run: start it first"):
        reapply_rows(plan.spec, plan.targets, scene.ledger(), RowsOf(3, "totals"), OPTIONS)
    reapply(scene)
    assert scene.rows("totals") == scene.topic.expected()


def with_columns(scene, layout):
    """Return the version whose second state has these columns."""

    def made(request, result):
        updates = {name: _in(layout, made) if name == "totals" else made for name, made in result.updates.items()}
        return replace(result, updates=updates)

    states = scene.states()
    plan = make_job(scene.topic, *states, meddle=made).plan()
    said = {
        "kind": states[1].kind.value,
        "keys": ", ".join(f"{key.name} {key.type}" for key in layout.keys),
        "values": ", ".join(f"{value.name} {value.type} {value.merge.value}" for value in layout.values),
    }
    specs = {**plan.spec.states, "totals": {**states[1].description(), **said}}
    spec = replace(plan.spec, states=specs)
    opens = {**plan.targets}
    opens["totals"] = partial(states[1].open, layout)
    return replace(plan, spec=spec, targets=opens)


class Versioned(Scene):
    """A scene whose runs are of a version with these columns."""

    def run_before_refusal(self):
        self.go_with(FIRST)
        self.refuse_large_ones()

    def go_with(self, layout):
        return TopologyRun(with_columns(self, layout), self.ledger(), OPTIONS).run()

    def reapply_with(self, layout):
        plan = with_columns(self, layout)
        return reapply_rows(plan.spec, plan.targets, self.ledger(), RowsOf(3, "totals"), OPTIONS)


@pytest.mark.parametrize("places", [SHORTCUT, MIXED, APART])
def test_a_version_that_goes_back_starts_first(tmp_path, places):
    """The one between has run and pinned nothing: the txid of a reapply would be one that it has not made."""
    scene = Versioned(tmp_path, places)
    with pytest.raises(DecisionNeededError):
        scene.go_with(FIRST)
    plan = with_columns(scene, FIRST)
    wanted = WantedDecision(DecisionKind.DIVERT_REFUSED, 3, "totals")
    decide_topology(plan.spec, plan.targets, scene.ledger(), wanted, OPTIONS)
    scene.topic.partitions[0] += [("a1", 1), ("new", 1)]
    scene.go_with(FIRST)
    scene.mend()
    scene.go_with(GROWN)
    with pytest.raises(MismatchError, match="other columns than the one that was started last: start it first"):
        scene.reapply_with(FIRST)
    scene.topic.partitions[0] += [("y", 1)]
    scene.go_with(FIRST)
    scene.reapply_with(FIRST)
    scene.topic.partitions[0] += [("y", 1)]
    scene.go_with(FIRST)
    assert scene.rows("totals") == scene.topic.expected()


@pytest.mark.parametrize("beside", [True, False])
def test_states_in_memory_are_given_theirs_back(beside):
    """A sum that left its type fits once others are there."""
    ledger, topic = MemoryLedger(), Topic([[("a", LARGEST), ("b", 1)]])
    state = MemoryState("totals", database=None if beside else MemoryDatabase())
    job = make_job(topic, state)
    run(job, ledger)
    topic.partitions[0] += [("a", 1), ("b", 2)]
    with pytest.raises(DecisionNeededError):
        run(job, ledger)
    plan = job.plan()
    txid = ledger.view().status("payments").done + 1
    wanted = WantedDecision(DecisionKind.DIVERT_REFUSED, txid, "totals")
    decide_topology(plan.spec, plan.targets, ledger, wanted, OPTIONS)
    topic.partitions[0] += [("a", -5)]
    run(job, ledger)
    reapply_rows(plan.spec, plan.targets, ledger, RowsOf(txid, "totals"), OPTIONS)
    with pytest.raises(MismatchError, match="has put these rows back"):
        reapply_rows(plan.spec, plan.targets, ledger, RowsOf(txid, "totals"), OPTIONS)
    topic.partitions[0] += [("a", -1)]
    run(job, ledger)
    found = {row["account"]: (row["n"], row["total"]) for row in state.rows(ledger.database)}
    assert found == topic.expected()
