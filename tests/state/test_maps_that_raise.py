"""What a user's map raises is told by state, method, type and place; its text, which may hold rows, is told nowhere."""

from __future__ import annotations

import logging
import sqlite3
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS, run
from tests.state.harnesses import BackingHarness, ConditionalMap, DictMap
from tests.state.test_maps_half_put import KEYS, sums
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, FatalError, RefusedError, RetryableError, TridentError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import SqliteLedger
from trident.state import BackingMapState, SqliteState
from trident.state.layout import StateKind
from trident.state.maps.raising import applying, reading, told
from trident.testing.state_harness import batch_of, counts, querying, ready, undoing

MARKER = "hunter2"
"""What the text of everything that the maps raise holds."""
GOOD, BAD = KEYS[0], KEYS[1]
"""A key that the first txid has made, and one that the second one makes."""


RESERVED = "reserved"


class PanicError(BaseException):
    """As a client that is written in another language may raise it."""


@dataclass
class Fault:
    """What a map raises, where, and at which key: that of a row, or a reserved one."""

    method: str = ""
    at: str = BAD
    kind: type[BaseException] = ValueError

    def meet(self, method: str, keys: list[Any]) -> None:
        is_met = any(len(key) == 2 if self.at == RESERVED else key[0] == self.at for key in keys)
        if method == self.method and (is_met or not keys):
            try:
                raise KeyError(f"{MARKER} before")
            except KeyError:
                raise self.kind(f"{MARKER} in {keys!r}")  # noqa: B904 - what was raised before is to be there


class PlainMap(DictMap):
    """Raises what its fault says; rows that it does not take leave it in the middle of a put."""

    def __init__(self) -> None:
        super().__init__()
        self.fault = Fault()

    def multi_get(self, keys: Any) -> Any:
        self.fault.meet("multi_get", list(keys))
        return super().multi_get(keys)

    def multi_put(self, items: Any) -> None:
        if self.fault == Fault("multi_put", BAD):
            super().multi_put([item for item in items if item[0][0] == GOOD])
        self.fault.meet("multi_put", [key for key, _ in items])
        super().multi_put(items)

    def clear(self) -> None:
        self.fault.meet("clear", [])
        self.rows.clear()


class WholeMap(ConditionalMap, PlainMap):
    def multi_put_if(self, changes: Any) -> Any:
        if self.fault == Fault("multi_put_if", BAD):
            super().multi_put_if([change for change in changes if change[0][0] == GOOD])
        self.fault.meet("multi_put_if", [key for key, _, _ in changes])
        return super().multi_put_if(changes)

    def multi_remove_if(self, items: Any) -> Any:
        self.fault.meet("multi_remove_if", [key for key, _ in items])
        return super().multi_remove_if(items)

    def clear(self) -> None:
        PlainMap.clear(self)


@dataclass
class Scene:
    """A state `audit` in a file, and `zmap` in a map that raises; one txid is done."""

    folder: Path
    map_: PlainMap = field(default_factory=WholeMap)
    topic: Topic = field(default_factory=lambda: Topic([[(GOOD, 5)]]))

    def __post_init__(self) -> None:
        self.go_on()
        self.topic.partitions[0] += [(GOOD, 1), (BAD, 7)]

    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self.folder / "ledger.sqlite")

    def job(self) -> ListJob:
        audit = SqliteState("audit", path=self.folder / "audit.sqlite")
        return make_job(self.topic, audit, BackingMapState("zmap", self.map_))

    def go_on(self) -> None:
        run(self.job(), self.ledger())

    def have_it_pinned(self) -> None:
        """Every state has the second txid, which is not done."""
        with dying_at(CrashPoint.BEFORE_DONE):
            self.go_on()

    def decide(self, kind: DecisionKind) -> None:
        plan, state = self.job().plan(), "zmap" if kind is DecisionKind.DIVERT else ""
        decide_topology(plan.spec, plan.targets, self.ledger(), WantedDecision(kind, 2, state), OPTIONS)

    def undo(self) -> None:
        self.decide(DecisionKind.UNDO)

    def clear(self) -> None:
        self._reset(keep_rows=False)

    def adopt(self) -> None:
        self._reset(keep_rows=True)

    def _reset(self, keep_rows: bool) -> None:
        plan = self.job().plan()
        reset_topology(plan.spec, plan.targets, self.ledger(), keep_rows=keep_rows, start=None, options=OPTIONS)

    def audit(self) -> dict[str, int]:
        with sqlite3.connect(self.folder / "audit.sqlite") as connection:
            return dict(connection.execute("SELECT account, total FROM audit").fetchall())

    def expected(self) -> dict[str, int]:
        return {account: total for account, (_, total) in self.topic.expected().items()}

    def recorded(self) -> str:
        with sqlite3.connect(self.folder / "ledger.sqlite") as connection:
            return str(connection.execute("SELECT * FROM trident_refusal").fetchall())


@pytest.fixture(autouse=True)
def every_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def check_told(error: BaseException, caplog: pytest.LogCaptureFixture, method: str, about: str = "") -> None:
    """Check that the error names what a person needs, and that neither it nor any log shows what was raised."""
    said = str(error)
    assert f"{method} of the map of state " in said
    assert about in said
    assert "raised ValueError at " in said
    assert "test_maps_that_raise.py:" in said
    assert "in meet" in said
    shown = "".join(traceback.format_exception(error)) + caplog.text
    assert MARKER not in shown
    assert "KeyError" not in shown


TXID = "payments txid 2 attempt "
READ = "Reading changes nothing: what is stored, pinned or decided stays"
PLACED = "No row is changed by it"
UNDOING = "What was decided is recorded; some of the txid's keys may be as they were"
EMPTYING = "The reset is recorded; keys of this map may be gone"
CASES = [
    ("go_on", "multi_get", BAD, TXID, READ),
    ("go_on", "multi_get", RESERVED, "", READ),
    ("go_on", "multi_put_if", RESERVED, "its position, epoch ", PLACED),
    ("undo", "multi_get", BAD, f"the undo of {TXID}", READ),
    ("undo", "multi_get", RESERVED, "", READ),
    ("undo", "multi_put_if", GOOD, f"the undo of {TXID}", UNDOING),
    ("undo", "multi_remove_if", BAD, f"the undo of {TXID}", UNDOING),
    ("clear", "clear", "", "the reset of 'payments'", EMPTYING),
    ("clear", "multi_put", RESERVED, "the reset of 'payments'", EMPTYING),
    ("clear", "multi_get", RESERVED, "", READ),
    ("adopt", "multi_put_if", RESERVED, "its position, epoch ", PLACED),
    ("adopt", "multi_get", RESERVED, "", READ),
]
"""What is done, in which method and at which key it raises, and what the text says: what for, and of the data."""


@pytest.mark.parametrize(("act", "method", "at", "about", "data"), CASES)
@pytest.mark.drawn(one_in=2)
def test_type_and_place_are_told_and_never_the_text(
    act: str, method: str, at: str, about: str, data: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(tmp_path)
    if act == "undo":
        scene.have_it_pinned()
    do = getattr(scene, act)
    scene.map_.fault = Fault(method, at)
    for _ in range(2):  # the next one is told as much
        with pytest.raises(FatalError) as raised:
            do()
        assert not isinstance(raised.value, RefusedError | DecisionNeededError)
        check_told(raised.value, caplog, method, about)
        assert "state 'zmap'" in str(raised.value)
        assert data in str(raised.value)
    assert scene.recorded() == "[]"
    scene.map_.fault = Fault()
    do()
    scene.go_on()
    assert sums(scene.map_) == scene.audit() == scene.expected()


@pytest.mark.parametrize(("act", "method", "at"), [("undo", "multi_remove_if", BAD), ("clear", "clear", "")])
def test_a_start_tells_as_much_of_what_was_decided_and_finishes_it(
    act: str, method: str, at: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(tmp_path)
    if act == "undo":
        scene.have_it_pinned()
    scene.map_.fault = Fault(method, at)
    for do in (getattr(scene, act), scene.go_on):
        with pytest.raises(FatalError) as raised:
            do()
        check_told(raised.value, caplog, method, "then start the topology or give the same command again")
    scene.map_.fault = Fault()
    scene.go_on()
    assert sums(scene.map_) == scene.audit() == scene.expected()


def refused(scene: Scene, caplog: pytest.LogCaptureFixture, method: str) -> None:
    """Let the map not take the second txid's rows, at two starts."""
    scene.map_.fault = Fault(method, BAD)
    for _ in range(2):
        with pytest.raises(DecisionNeededError) as raised:
            scene.go_on()
        check_told(raised.value, caplog, method, f"for {TXID}")
        assert "Each of its keys has the txid or not" in str(raised.value)
        assert "trident divert MODULE:TOPOLOGY 2 --state zmap" in str(raised.value)
    assert MARKER not in scene.recorded()


def test_rows_that_a_map_does_not_take_can_be_diverted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(tmp_path)
    refused(scene, caplog, "multi_put_if")
    assert sums(scene.map_) == {GOOD: 6}  # cut off in the middle
    scene.decide(DecisionKind.DIVERT)
    scene.topic.partitions[0].append((GOOD, 10))
    scene.go_on()
    assert scene.audit() == scene.expected()
    assert sums(scene.map_) == {GOOD: 15}
    assert MARKER not in caplog.text


@pytest.mark.parametrize("make", [PlainMap, WholeMap])
def test_rows_that_a_map_did_not_take_are_put_once_by_a_retry(
    make: type[PlainMap], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(tmp_path, make())
    refused(scene, caplog, "multi_put" if make is PlainMap else "multi_put_if")
    assert sums(scene.map_) == {GOOD: 6}  # cut off in the middle
    scene.map_.fault = Fault()
    retry_topology("payments", scene.ledger(), 2, OPTIONS)
    scene.go_on()
    assert sums(scene.map_) == scene.audit() == scene.expected()


def test_rows_that_a_map_did_not_take_can_be_undone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(tmp_path)
    refused(scene, caplog, "multi_put_if")
    scene.undo()
    assert sums(scene.map_) == scene.audit() == {GOOD: 5}
    scene.map_.fault = Fault()
    scene.go_on()
    assert sums(scene.map_) == scene.audit() == scene.expected()


def test_each_call_of_a_batch_names_its_txid(caplog: pytest.LogCaptureFixture) -> None:
    map_ = WholeMap()
    store = ready(BackingHarness(map_))
    staged = store.stage(batch_of(1), counts((GOOD, 1, 1), (BAD, 1, 1)))
    for method, at in [("multi_get", RESERVED), ("multi_get", BAD), ("multi_put_if", BAD), ("multi_put_if", RESERVED)]:
        map_.fault = Fault(method, at)
        with pytest.raises(FatalError) as raised:
            store.apply(batch_of(1), staged)
        check_told(raised.value, caplog, method, "txid 1")
        assert isinstance(raised.value, RefusedError) == ((method, at) == ("multi_put_if", BAD))
    for method, at in [("multi_get", RESERVED), ("multi_get", BAD), ("multi_remove_if", BAD)]:
        map_.fault = Fault(method, at)
        with pytest.raises(FatalError) as raised:
            undoing(store).undo(batch_of(1), 0, staged)
        check_told(raised.value, caplog, method, "the undo of orders txid 1")
        assert not isinstance(raised.value, RefusedError)


@pytest.mark.parametrize("at", [RESERVED, BAD])
def test_a_query_tells_type_and_place(at: str, caplog: pytest.LogCaptureFixture) -> None:
    map_ = WholeMap()
    store = ready(BackingHarness(map_))
    map_.fault = Fault("multi_get", at)
    with pytest.raises(FatalError) as raised:
        querying(store).find("orders", pa.table({"account": [BAD]}))
    check_told(raised.value, caplog, "multi_get", "for a query")
    assert READ in str(raised.value)


def test_what_is_raised_as_the_answer_is_read_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    map_ = WholeMap()
    store = ready(BackingHarness(map_))

    def one_by_one(keys: Any) -> Iterator[Any]:
        map_.fault.meet("multi_get", keys)
        yield from map_.rows

    map_.multi_get = one_by_one
    map_.fault = Fault("multi_get", RESERVED)
    with pytest.raises(FatalError) as raised:
        store.position("orders")
    check_told(raised.value, caplog, "multi_get")


def test_without_a_txid_beside_the_values_a_retry_is_said_to_count_twice() -> None:
    map_ = WholeMap()
    store = ready(BackingHarness(map_), StateKind.NON_TRANSACTIONAL)
    map_.fault = Fault("multi_put_if")
    with pytest.raises(RefusedError, match="a retry gives it to those twice"):
        store.apply(batch_of(1), store.stage(batch_of(1), counts((GOOD, 1, 1), (BAD, 1, 1))))


ROWS = applying(batch_of(1), StateKind.OPAQUE)


@pytest.mark.parametrize(
    ("kind", "told_as"),
    [(ValueError, RefusedError), (PanicError, RefusedError), (StopIteration, RefusedError), (MemoryError, FatalError)],
)
def test_every_class_is_told_and_only_rows_are_refused(kind: type[BaseException], told_as: type[FatalError]) -> None:
    fault = Fault("multi_put_if", kind=kind)
    with pytest.raises(FatalError, match=rf"^the call raised {kind.__name__} at .*in meet\.") as raised:
        told("the call", ROWS, lambda: fault.meet("multi_put_if", [(BAD,)]))
    assert type(raised.value) is told_as
    assert MARKER not in "".join(traceback.format_exception(raised.value))
    with pytest.raises(FatalError) as read:
        told("the call", reading(), lambda: fault.meet("multi_put_if", [(BAD,)]))
    assert type(read.value) is FatalError


@pytest.mark.parametrize("kind", [RetryableError, RefusedError])
def test_an_error_of_this_library_is_passed_on_without_what_the_client_raised_before(kind: type[TridentError]) -> None:
    def call() -> None:
        try:
            Fault("multi_get").meet("multi_get", [(BAD,)])
        except ValueError as error:
            raise kind("the store is too slow") from error

    with pytest.raises(kind, match="the store is too slow") as raised:
        told("the call", reading(), call)
    assert MARKER not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_ends_it(kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        told("the call", ROWS, lambda: Fault("multi_get", kind=kind).meet("multi_get", [(BAD,)]))
