"""What a person decides about rows that can't be read again: only what is pinned is there still."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic
from tests.coordinators.receiving import Meddle, Queue, Taking, nothing, receiving_job
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import DecisionNeededError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import SqliteState


@dataclass
class Scene:
    """A state `counts` that takes everything, and `others`, which refuses one account until that is mended."""

    folder: Path
    is_apart: bool
    is_mixed: bool = False
    """Whether there is a stream beside it that can be read again."""

    def __post_init__(self) -> None:
        self.queue = Queue({0: [f"r{n}" for n in range(4)]})
        self.topic = Topic([[]]) if self.is_mixed else None
        self.meddle: Meddle = nothing
        self.go_on()
        self.refuse("others")
        self.queue.waiting[0] = ["good", "bad", "fine"]
        if self.topic is not None:
            self.topic.partitions[0].append(("k0", 1))
        with pytest.raises(DecisionNeededError) as raised:
            self.go_on()
        self.said = str(raised.value)
        self.queue.waiting[0] = ["later"]

    def file(self, state: str) -> Path:
        return self.folder / (f"{state}.sqlite" if self.is_apart else "ledger.sqlite")

    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self.folder / "ledger.sqlite")

    def job(self) -> RunnableTopology:
        paths = {name: self.file(name) if self.is_apart else None for name in ("counts", "others")}
        states = [SqliteState(name, path=path) for name, path in paths.items()]
        return receiving_job(Taking(self.queue), *states, meddle=self.meddle, beside=self.topic)

    def go_on(self) -> None:
        TopologyRun(self.job(), self.ledger(), OPTIONS).run()

    def refuse(self, state: str) -> None:
        with sqlite3.connect(self.file(state)) as connection:
            connection.execute(
                f"CREATE TRIGGER small BEFORE INSERT ON {state} WHEN NEW.account = 'bad' "
                "BEGIN SELECT RAISE(ABORT, 'no'); END"
            )

    def mend(self) -> None:
        with sqlite3.connect(self.file("others")) as connection:
            connection.execute("DROP TRIGGER small")

    def decide(self, kind: DecisionKind, state: str = "") -> None:
        job = self.job()
        decide_topology(job.spec, job.targets, self.ledger(), WantedDecision(kind, 2, state), OPTIONS)

    def rows(self, state: str) -> set[str]:
        with sqlite3.connect(self.file(state)) as connection:
            found = dict(connection.execute(f"SELECT account, n FROM {state}").fetchall())
        assert set(found.values()) == {1}, "nothing counts twice"
        return set(found)

    @property
    def lost(self) -> int:
        return self.ledger().view().status("queued").lost_offsets


FIRST = {"r0", "r1", "r2", "r3"}
REFUSED = {"good", "bad", "fine"}


@pytest.fixture
def beside(tmp_path: Path) -> Scene:
    return Scene(tmp_path, is_apart=False)


@pytest.fixture
def apart(tmp_path: Path) -> Scene:
    return Scene(tmp_path, is_apart=True)


def test_a_retry_of_what_is_not_pinned_finds_the_rows_gone(beside: Scene) -> None:
    retry_topology("queued", beside.ledger(), 2, OPTIONS)
    beside.go_on()
    assert beside.rows("counts") == beside.rows("others") == FIRST | {"later"}
    assert beside.lost == 3


def test_a_retry_of_what_is_pinned_applies_the_staged_rows(apart: Scene) -> None:
    apart.mend()
    retry_topology("queued", apart.ledger(), 2, OPTIONS)
    apart.go_on()
    assert apart.rows("counts") == apart.rows("others") == FIRST | REFUSED | {"later"}
    assert apart.lost == 0


def test_a_divert_of_what_is_not_pinned_takes_no_other_rows(beside: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """The next rows would stand where the refused ones stood, were positions used again."""
    beside.decide(DecisionKind.DIVERT, "others")
    beside.queue.waiting[0] = ["later", "latest", "last"]
    with caplog.at_level(logging.WARNING):
        beside.go_on()
    assert beside.rows("counts") == beside.rows("others") == FIRST | {"later", "latest", "last"}
    assert (beside.lost, beside.ledger().view().status("queued").diverted_rows) == (3, 0)
    assert any("is void" in text for text in caplog.messages)


def test_a_divert_of_what_is_pinned_keeps_the_staged_rows(apart: Scene) -> None:
    apart.decide(DecisionKind.DIVERT, "others")
    apart.go_on()
    assert apart.rows("counts") == FIRST | REFUSED | {"later"}
    assert apart.rows("others") == FIRST | {"later"}
    assert (apart.lost, apart.ledger().view().status("queued").diverted_rows) == (0, 3)


def test_an_undo_has_its_rows_counted_as_lost(apart: Scene) -> None:
    apart.decide(DecisionKind.UNDO)
    apart.go_on()
    assert apart.rows("counts") == apart.rows("others") == FIRST | {"later"}
    assert apart.lost == 3


@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_reset_goes_on_with_what_comes(beside: Scene, keep_rows: bool) -> None:
    job = beside.job()
    reset_topology(job.spec, job.targets, beside.ledger(), keep_rows=keep_rows, start=None, options=OPTIONS)
    beside.go_on()
    assert beside.rows("counts") == beside.rows("others") == (FIRST if keep_rows else set()) | {"later"}


def test_a_loss_is_recorded_although_nothing_comes(beside: Scene) -> None:
    beside.queue.waiting[0] = []
    retry_topology("queued", beside.ledger(), 2, OPTIONS)
    beside.go_on()
    assert beside.lost == 3
