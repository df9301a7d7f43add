"""When a person has to decide: what is refused, what each decision makes of it, and who dies in between."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.coordinators.fakes import POISON, ListJob, Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import DecisionNeededError, FatalError, FencedError, MismatchError, RetryableError
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import SqliteLedger
from trident.spouts.base import SpoutKind
from trident.state import SqliteState, StateKind
from trident.state.capabilities import CannotUndoError
from trident.state.target import State

LIMIT = 60
"""The amount that `totals` refuses while its table has a constraint."""
BIG = ("big", LIMIT + 1)


class Died(BaseException):
    """The process is gone."""


@contextmanager
def dying_at(point: CrashPoint, count: int = 1) -> Iterator[None]:
    """Let the process die when a place is reached for the so manieth time; its threads do nothing after that."""
    left = count

    def act(reached: CrashPoint, txid: int) -> None:
        nonlocal left
        left -= reached is point
        if left <= 0 and (txid or reached is point):
            raise Died

    with armed(act), pytest.raises(Died):
        yield


@dataclass
class Scene:
    """A ledger, a state `balances` that takes everything, and `totals`, which refuses a sum above a limit."""

    folder: Path
    apart: frozenset[str]
    """States in files of their own; the others are beside the ledger."""
    kinds: tuple[StateKind, StateKind] = (StateKind.OPAQUE, StateKind.OPAQUE)
    topic: Topic = field(default_factory=lambda: Topic([[(f"a{n % 5}", n) for n in range(1, 13)], []]))

    def __post_init__(self) -> None:
        self.run_before_refusal()
        self.topic.partitions[0] += [("a1", 7), BIG, ("new", 3)]

    def run_before_refusal(self) -> None:
        run(self.job(), self.ledger())
        self.refuse_large_ones()

    def refuse_large_ones(self) -> None:
        with sqlite3.connect(self.file("totals")) as connection:
            connection.execute(
                f"CREATE TRIGGER small BEFORE INSERT ON totals WHEN NEW.account = 'big' AND NEW.total > {LIMIT} "
                "BEGIN SELECT RAISE(ABORT, 'too much'); END"
            )

    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self.folder / "ledger.sqlite")

    def file(self, state: str) -> Path:
        return self.folder / (f"{state}.sqlite" if state in self.apart else "ledger.sqlite")

    def states(self) -> list[State]:
        names = zip(("balances", "totals"), self.kinds, strict=True)
        return [
            SqliteState(name, path=self.file(name) if name in self.apart else None, kind=kind) for name, kind in names
        ]

    def job(self, **options: Any) -> ListJob:
        return make_job(self.topic, *self.states(), **options)

    def rows(self, state: str) -> dict[str, tuple[int, int]]:
        with sqlite3.connect(self.file(state)) as connection:
            return {row[0]: (row[1], row[2]) for row in connection.execute(f"SELECT account, n, total FROM {state}")}

    def mend(self) -> None:
        with sqlite3.connect(self.file("totals")) as connection:
            connection.execute("DROP TRIGGER small")

    def be_refused(self) -> DecisionNeededError:
        with pytest.raises(DecisionNeededError) as refused:
            run(self.job(), self.ledger())
        return refused.value

    def decide(self, kind: DecisionKind, txid: int = 3, state: str = "") -> Decision:
        plan = self.job().plan()
        return decide_topology(plan.spec, plan.targets, self.ledger(), WantedDecision(kind, txid, state), OPTIONS)

    def go_on(self) -> None:
        run(self.job(), self.ledger())

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(self.folder / "ledger.sqlite") as connection:
            return connection.execute(statement).fetchall()


SHORTCUT: frozenset[str] = frozenset()
MIXED = frozenset({"totals"})
"""`balances` is applied with the pin, `totals` after it."""
APART = frozenset({"balances", "totals"})


@pytest.fixture(params=[SHORTCUT, MIXED, APART], ids=["shortcut", "one beside, one apart", "apart"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    return Scene(tmp_path, request.param)


@pytest.fixture(params=[MIXED, APART], ids=["one beside, one apart", "both apart"])
def apart(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    return Scene(tmp_path, request.param)


def without_txid(topic: Topic, first: int) -> dict[str, tuple[int, int]]:
    """Return count and sum per account of all records of partition 0 but those from an offset on to its end."""
    return Topic([topic.partitions[0][:first]]).expected()


def test_a_refusal_is_recorded_and_the_next_start_stops_with_the_commands(scene):
    said = scene.be_refused()
    assert "state 'totals' refused" in str(said)
    before = scene.rows("balances"), scene.rows("totals")
    found = scene.be_refused()
    for words in (
        "txid 3 attempt 3 of topology 'payments' was refused for good by state 'totals'",
        "trident retry payments 3",
        "trident divert MODULE:TOPOLOGY 3 --state totals",
    ):
        assert words in str(found)
    if scene.apart:
        assert "It is pinned: 'balances' has it, waiting for it: 'totals'; txid 2 is done" in str(found)
        assert "trident undo MODULE:TOPOLOGY 3" in str(found)
    else:
        assert "Nothing of it is pinned or applied; txid 2 is done" in str(found)
        assert "undo" not in str(found)
    assert (scene.rows("balances"), scene.rows("totals")) == before
    assert len(scene.sql("SELECT * FROM trident_refusal")) == 1


def test_only_what_can_be_mended_is_told(scene):
    """The types of columns can't change; a filter is no way for what is pinned, which is not computed again."""
    said = str(scene.be_refused())
    retry, undo = (
        next((line for line in said.splitlines() if f"trident {verb}" in line), "") for verb in ("retry", "undo")
    )
    assert "wider" not in said
    assert re.search(r"trident divert .*ledger's diverted rows.*trident show payments 3 shows them", said)
    assert "dead letters" not in said
    assert "type" not in retry
    assert ("filter" in undo, "filter" in retry) == ((True, False) if scene.apart else (False, True))


def test_a_retry_goes_on_once_the_cause_is_mended(scene):
    scene.be_refused()
    scene.mend()
    decision = retry_topology("payments", scene.ledger(), 3, OPTIONS)
    assert (decision.kind, decision.txid, decision.attempt) == (DecisionKind.RETRY, 3, 3)
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()


def test_a_retry_without_a_mended_cause_is_refused_again(scene):
    scene.be_refused()
    retry_topology("payments", scene.ledger(), 3, OPTIONS)
    scene.be_refused()
    assert "trident retry payments 3" in str(scene.be_refused())
    with pytest.raises(MismatchError, match="2 is done"):
        retry_topology("payments", scene.ledger(), 2, OPTIONS)
    with pytest.raises(MismatchError, match="nothing of it was refused"):
        retry_topology("payments", scene.ledger(), 4, OPTIONS)


def test_a_divert_takes_one_states_rows_out_and_the_rest_goes_on(scene):
    scene.be_refused()
    decision = scene.decide(DecisionKind.DIVERT, state="totals")
    assert (decision.state, bool(decision.decided_by)) == ("totals", True)
    scene.topic.partitions[0].append(("after", 1))
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    expected = without_txid(scene.topic, 12) | {"after": (1, 1)}
    assert scene.rows("totals") == expected
    ((txid, diverted),) = scene.ledger().diverted("payments")
    assert (txid, diverted.state) == (3, "totals")
    assert {row["account"]: (row["n"], row["total"]) for row in map(json.loads, diverted.rows)} == {
        "a1": (1, 7),
        "big": (1, LIMIT + 1),
        "new": (1, 3),
    }
    assert scene.sql("SELECT count(*) FROM trident_decision WHERE finished_at IS NULL") == [(0,)]


def test_a_divert_is_of_the_state_that_refused(scene):
    scene.be_refused()
    for state in ("balances", "nobody", ""):
        with pytest.raises(MismatchError, match=r"refused it|no such state|has this txid already"):
            scene.decide(DecisionKind.DIVERT, state=state)
    assert scene.sql("SELECT * FROM trident_decision") == []
    scene.be_refused()


def test_an_undo_brings_every_state_back_and_the_batch_is_read_again(apart):
    apart.be_refused()
    assert "big" in apart.rows("balances")
    done = without_txid(apart.topic, 12)
    apart.decide(DecisionKind.UNDO)
    assert apart.rows("balances") == apart.rows("totals") == done
    apart.topic.partitions[0].append(("after", 1))
    apart.mend()
    apart.go_on()
    assert apart.rows("balances") == apart.rows("totals") == apart.topic.expected()
    attempts = apart.sql("SELECT attempt, status FROM trident_plan WHERE txid = 3 ORDER BY attempt")
    assert attempts == [(3, "dropped"), (4, "done")]


def test_a_txid_can_be_undone_again_and_again_with_exact_values(apart):
    done = without_txid(apart.topic, 12)
    for more in ([], [("a2", 100), ("more", 1)], [("a3", -50)]):
        apart.topic.partitions[0] += more
        apart.be_refused()
        assert apart.rows("balances") != done
        apart.decide(DecisionKind.UNDO)
        assert apart.rows("balances") == apart.rows("totals") == done
    apart.mend()
    apart.go_on()
    assert apart.rows("balances") == apart.rows("totals") == apart.topic.expected()


def test_what_a_state_beside_the_ledger_refuses_is_not_pinned_for_the_others_either(tmp_path):
    scene = Scene(tmp_path, apart=frozenset({"balances"}))
    before = scene.rows("balances")
    assert "state 'totals' refused" in str(scene.be_refused())
    found = str(scene.be_refused())
    assert "Nothing of it is pinned or applied; txid 2 is done" in found
    assert "undo" not in found
    assert scene.rows("balances") == before
    scene.decide(DecisionKind.DIVERT, state="totals")
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == without_txid(scene.topic, 12)


@pytest.mark.parametrize("takes_back", [True, False])
def test_a_state_beside_the_ledger_that_lost_what_is_pinned_stops_the_start(tmp_path, takes_back):
    scene = Scene(tmp_path, apart=MIXED)
    scene.be_refused()
    if takes_back:
        scene.sql("UPDATE trident_applied SET txid = 2, attempt = 2 WHERE state = 'balances'")
    scene.mend()
    retry_topology("payments", scene.ledger(), 3, OPTIONS)
    if not takes_back:
        scene.go_on()
        assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()
        return
    with pytest.raises(
        MismatchError, match=r"'balances' stands at txid 2 attempt 2 and was written with that pin.*3 pinned"
    ):
        scene.go_on()
    assert scene.rows("totals") == without_txid(scene.topic, 12)


def test_a_transactional_spout_reads_the_same_ranges_after_an_undo(apart):
    with pytest.raises(DecisionNeededError):
        run(apart.job(kind=SpoutKind.TRANSACTIONAL), apart.ledger())
    before = apart.sql("SELECT ranges FROM trident_plan WHERE attempt = 3")
    apart.decide(DecisionKind.UNDO)
    apart.topic.partitions[0].append(("after", 1))
    apart.mend()
    run(apart.job(kind=SpoutKind.TRANSACTIONAL), apart.ledger())
    assert apart.sql("SELECT ranges FROM trident_plan WHERE attempt = 4") == before
    assert apart.rows("balances") == apart.rows("totals") == apart.topic.expected()


def test_without_a_pin_there_is_nothing_to_undo(tmp_path):
    scene = Scene(tmp_path, apart=SHORTCUT)
    scene.be_refused()
    with pytest.raises(MismatchError, match="nothing of it is pinned"):
        scene.decide(DecisionKind.UNDO)


@pytest.mark.parametrize("places", [MIXED, APART], ids=["one beside, one apart", "both apart"])
@pytest.mark.parametrize("kind", [StateKind.TRANSACTIONAL, StateKind.NON_TRANSACTIONAL])
def test_an_undo_that_one_holder_cannot_follow_is_refused_and_changes_nothing(tmp_path, kind, places):
    scene = Scene(tmp_path, apart=places, kinds=(kind, StateKind.OPAQUE))
    scene.be_refused()
    before = scene.rows("balances"), scene.rows("totals")
    with pytest.raises(CannotUndoError, match="'balances' has it"):
        scene.decide(DecisionKind.UNDO)
    assert (scene.rows("balances"), scene.rows("totals")) == before
    assert scene.sql("SELECT * FROM trident_decision") == []
    assert "an undo is not possible" in str(scene.be_refused())
    scene.decide(DecisionKind.DIVERT, state="totals")
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()


UNDO_POINTS = (
    CrashPoint.AFTER_DECIDING_UNDO,
    CrashPoint.IN_UNDO,
    CrashPoint.AFTER_UNDOING_STATE,
    CrashPoint.AFTER_UNPINNING,
)


@pytest.mark.parametrize("again", ["run", "undo", "another undo that dies too"])
@pytest.mark.parametrize(
    ("point", "count"), [*((point, 1) for point in UNDO_POINTS), (CrashPoint.AFTER_UNDOING_STATE, 2)]
)
@pytest.mark.drawn(one_in=4)
def test_an_undo_that_dies_is_finished_by_whoever_comes_next(apart, point, count, again):
    apart.be_refused()
    done = without_txid(apart.topic, 12)
    with dying_at(point, count):
        apart.decide(DecisionKind.UNDO)
    if again == "another undo that dies too" and point is not CrashPoint.AFTER_UNPINNING:
        with dying_at(CrashPoint.AFTER_UNPINNING):
            apart.decide(DecisionKind.UNDO)
    elif again == "undo" and point is not CrashPoint.AFTER_UNPINNING:
        assert apart.decide(DecisionKind.UNDO).kind is DecisionKind.UNDO
        assert apart.rows("balances") == apart.rows("totals") == done
    apart.mend()
    apart.go_on()
    assert apart.rows("balances") == apart.rows("totals") == apart.topic.expected()
    assert apart.sql("SELECT count(*) FROM trident_decision WHERE finished_at IS NULL") == [(0,)]


@pytest.mark.parametrize("point", [CrashPoint.AFTER_DECIDING_DIVERT, CrashPoint.AFTER_DIVERTING])
def test_a_divert_of_a_pinned_txid_that_dies_is_finished_by_the_next_start(apart, point):
    apart.be_refused()
    with dying_at(point):
        apart.decide(DecisionKind.DIVERT, state="totals")
    apart.go_on()
    assert apart.rows("balances") == apart.topic.expected()
    assert apart.rows("totals") == without_txid(apart.topic, 12)
    assert len(apart.ledger().diverted("payments")) == 1


@pytest.mark.parametrize(
    "point",
    [CrashPoint.AFTER_DECIDING_DIVERT, CrashPoint.IN_PIN_TRANSACTION, CrashPoint.AFTER_STAGING, CrashPoint.AFTER_DONE],
)
def test_a_divert_that_is_held_holds_for_every_attempt_until_one_commits(tmp_path, point):
    scene = Scene(tmp_path, apart=SHORTCUT)
    scene.be_refused()
    if point is CrashPoint.AFTER_DECIDING_DIVERT:
        with dying_at(point):
            scene.decide(DecisionKind.DIVERT, state="totals")
    else:
        scene.decide(DecisionKind.DIVERT, state="totals")
        with dying_at(point):
            scene.go_on()
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == without_txid(scene.topic, 12)
    assert [txid for txid, _ in scene.ledger().diverted("payments")] == [3]


def test_a_coordinator_that_dies_before_it_records_a_refusal_meets_it_again(scene):
    with dying_at(CrashPoint.AFTER_REFUSING):
        run(scene.job(), scene.ledger())
    assert "trident retry" in str(scene.be_refused())
    with dying_at(CrashPoint.AFTER_DECIDING_RETRY):
        retry_topology("payments", scene.ledger(), 3, OPTIONS)
    scene.mend()
    scene.go_on()
    assert scene.rows("totals") == scene.topic.expected()


def test_a_refusal_that_can_not_be_recorded_is_tried_again_by_the_next_start(scene, caplog):
    ledger = scene.ledger()

    def away(*_: object) -> None:
        raise FatalError("the disk is gone")

    ledger.refuse = away
    with pytest.raises(FatalError, match="state 'totals' refused") as refused:
        run(scene.job(), ledger)
    assert not isinstance(refused.value, DecisionNeededError)
    assert "could not record why txid 3" in caplog.text
    scene.mend()
    scene.go_on()
    assert scene.rows("totals") == scene.topic.expected()


def test_who_was_taken_over_meanwhile_records_nothing(scene):
    ledger = scene.ledger()

    def fenced(*_: object) -> None:
        raise FencedError("another coordinator holds it")

    ledger.refuse = fenced
    with pytest.raises(FencedError):
        run(scene.job(), ledger)


def test_what_failed_too_often_is_recorded_and_tried_again_by_a_plain_start(scene):
    def fail(request, result):
        raise RetryableError("a task was lost")

    with pytest.raises(FatalError, match=r"failed 10 times.*a task was lost"):
        run(scene.job(meddle=fail), scene.ledger())
    assert scene.sql("SELECT txid, kind FROM trident_refusal") == [(3, "gave up")]
    scene.mend()
    scene.go_on()
    assert scene.rows("totals") == scene.topic.expected()


def test_a_record_that_does_not_decode_is_recorded_and_tried_again_by_a_plain_start(scene):
    scene.topic.partitions[0].append(POISON)
    with pytest.raises(FatalError, match="does not decode"):
        run(scene.job(), scene.ledger())
    assert scene.sql("SELECT txid, kind FROM trident_refusal") == [(3, "bad record")]
    scene.topic.partitions[0].pop()
    scene.mend()
    scene.go_on()
    assert scene.rows("totals") == scene.topic.expected()


def test_what_is_refused_while_it_is_staged_can_be_diverted(tmp_path):
    for is_apart in (False, True):
        (tmp_path / str(is_apart)).mkdir()
        scene = Scene(tmp_path / str(is_apart), APART if is_apart else SHORTCUT)
        scene.mend()
        scene.topic.partitions[0].append(("nul\0", 5))
        said = scene.be_refused()
        assert "NUL character" in str(said)
        assert "nul\0" not in str(said)
        for state in ("balances", "totals"):
            scene.decide(DecisionKind.DIVERT, state=state)
            if state == "balances":
                scene.be_refused()
        scene.go_on()
        assert scene.rows("balances") == scene.rows("totals") == without_txid(scene.topic, 12)
        assert [diverted.state for _, diverted in scene.ledger().diverted("payments")] == ["balances", "totals"]


@pytest.mark.parametrize("states", ["clear", "adopt"])
@pytest.mark.parametrize("point", UNDO_POINTS[:-1])
@pytest.mark.drawn(one_in=2)
def test_a_reset_meets_an_undo_that_is_open(apart, point, states):
    apart.be_refused()
    with dying_at(point):
        apart.decide(DecisionKind.UNDO)
    plan = apart.job().plan()
    reset_topology(
        plan.spec, plan.targets, apart.ledger(), keep_rows=states == "adopt", start="earliest", options=OPTIONS
    )
    apart.mend()
    apart.go_on()
    expected = defaultdict(lambda: (0, 0), apart.topic.expected())
    if states == "adopt":
        for account, (n, total) in without_txid(apart.topic, 12).items():
            expected[account] = (expected[account][0] + n, expected[account][1] + total)
    assert apart.rows("balances") == apart.rows("totals") == expected


def test_a_reset_that_keeps_rows_of_a_refused_pin_asks_for_a_decision_first(apart):
    apart.be_refused()
    plan = apart.job().plan()
    with pytest.raises(DecisionNeededError, match="trident divert"):
        reset_topology(plan.spec, plan.targets, apart.ledger(), keep_rows=True, start=None, options=OPTIONS)
    reset_topology(plan.spec, plan.targets, apart.ledger(), keep_rows=False, start=None, options=OPTIONS)
    apart.mend()
    apart.go_on()
    assert apart.rows("balances") == apart.rows("totals") == apart.topic.expected()
