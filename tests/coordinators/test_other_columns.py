"""A newer version whose states have other columns: another order, a value more, and what it finds pinned."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic
from tests.coordinators.other_columns import (
    FIRST,
    GROWN,
    PLACES,
    TURNED,
    Died,
    InSqlite,
    Place,
    Sums,
    doubled,
    dying_at,
    dying_behind,
    run,
    version,
)
from tests.coordinators.test_newer_versions import held
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FencedError, MismatchError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.registered import Birth, ColumnBirth
from trident.state.layout import StateKind
from trident.state.sqlite.dialect import SqliteDialect
from trident.state.tables.target import TableTarget

KINDS = pytest.mark.parametrize("kind", list(StateKind))


@pytest.fixture
def topic() -> Topic:
    return Topic([[(f"a{(n * 7 + p) % 11}", n + 1) for n in range(25)] for p in range(3)])


@pytest.fixture(params=list(PLACES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return PLACES[request.param](tmp_path, StateKind.OPAQUE)


@pytest.fixture(params=[False, True], ids=["beside the ledger", "apart"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> InSqlite:
    return InSqlite(tmp_path, StateKind.OPAQUE, apart=request.param)


def killed_behind_a_pin(place: Place, topic: Topic) -> Sums:
    """Let the first version die with txid 2 pinned; returns what all of that will be."""
    with armed(dying_behind(2)), pytest.raises(Died):
        run(place, topic, FIRST)
    then = Topic([records[:7] for records in topic.partitions])  # 10 records a batch, by three partitions
    return then.expected()


def more(topic: Topic) -> None:
    for number, records in enumerate(topic.partitions):
        records += [(f"a{number}", 100 + number), ("late", 5)]


@KINDS
def test_another_order_applies_what_the_one_before_has_pinned(place: Place, kind: StateKind, topic: Topic) -> None:
    place.kind = kind
    killed_behind_a_pin(place, topic)
    run(place, topic, TURNED)
    assert place.sums() == topic.expected()
    more(topic)
    run(place, topic, FIRST)
    assert place.sums() == topic.expected()
    assert place.ledger().view().status("payments").births == (Birth("sums", 0),)


@KINDS
def test_a_new_value_holds_what_comes_after_what_was_pinned(
    place: Place, kind: StateKind, topic: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    place.kind = kind
    killed_behind_a_pin(place, topic)
    before: list[Sums] = []
    run(place, topic, GROWN, lambda _: before.append(place.sums()))
    assert place.sums() == topic.expected()
    assert place.twice() == doubled(place.sums(), before[0])
    births = place.ledger().view().status("payments").births
    assert births == (Birth("sums", 0, columns=(ColumnBirth("twice", 2),)),)
    assert "state=sums: 'twice' is new in it and holds what comes after txid 2, nothing of what was" in caplog.text
    more(topic)
    run(place, topic, GROWN)
    assert place.sums() == topic.expected()
    assert place.twice() == doubled(place.sums(), before[0])


def test_the_version_before_goes_on_until_a_txid_is_pinned_with_the_new_one(place: Place, topic: Topic) -> None:
    run(place, topic, FIRST)
    more(topic)
    with armed(dying_at(CrashPoint.AFTER_STAGING)), pytest.raises(Died):
        run(place, topic, GROWN)
    run(place, topic, FIRST)
    before = place.sums()
    assert before == topic.expected()
    more(topic)
    with armed(dying_behind(10)), pytest.raises(Died):
        run(place, topic, GROWN)
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"can't go back to this version.*'twice' since txid 9, and txid 10 is"):
            run(place, topic, FIRST)
    run(place, topic, GROWN)
    assert place.sums() == topic.expected()
    assert place.twice() == doubled(place.sums(), before)
    with pytest.raises(MismatchError, match="txid 10 is done with that"):
        run(place, topic, FIRST)


TAKING = [
    point for point in CrashPoint if point.value.startswith("take-over") and point is not CrashPoint.BETWEEN_BIRTHS
]
REACHES = [(point, 1) for point in TAKING] + [(CrashPoint.AFTER_PREPARATION, 2)]


@pytest.mark.parametrize(("point", "reach"), REACHES, ids=lambda value: str(value).replace(" ", "_")[:40])
@pytest.mark.parametrize("then", [FIRST, GROWN], ids=["then the one before", "then again"])
@pytest.mark.parametrize("where", ["sqlite, apart", "sqlite, beside the ledger", "a map"])
@pytest.mark.drawn(one_in=6)
def test_a_start_that_dies_anywhere_is_finished_or_as_it_was(
    point: CrashPoint, reach: int, then: object, where: str, tmp_path: Path, topic: Topic
) -> None:
    place = PLACES[where](tmp_path, StateKind.OPAQUE)
    killed_behind_a_pin(place, topic)
    with armed(dying_at(point, reach=reach)):
        try:
            run(place, topic, GROWN)
        except Died:
            pass
        else:
            assert point in (CrashPoint.AFTER_RECORDING_BIRTHS, CrashPoint.AFTER_BIRTH, CrashPoint.AFTER_STARTS)
            return
    if then is FIRST:
        run(place, topic, FIRST)
        assert place.sums() == topic.expected()
        more(topic)
    before: list[Sums] = []
    run(place, topic, GROWN, lambda _: before.append(place.sums()))
    assert place.sums() == topic.expected()
    assert place.twice() == doubled(place.sums(), before[0])


def test_a_column_that_is_somebody_elses_is_refused_by_name_and_nothing_changes(table: InSqlite, topic: Topic) -> None:
    run(table, topic, FIRST)
    with closing(sqlite3.connect(table.file)) as connection, connection:
        connection.execute("ALTER TABLE sums ADD COLUMN twice bigint")
    was = held(table.folder)
    more(topic)
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"has a column 'twice' \(bigint\) that is not of state 'sums'"):
            run(table, topic, GROWN)
    assert held(table.folder) == was
    run(table, topic, FIRST)
    assert table.sums() == topic.expected()


def test_a_column_that_held_something_and_is_gone_stops_the_start(table: InSqlite, topic: Topic) -> None:
    run(table, topic, FIRST)
    more(topic)
    run(table, topic, GROWN)
    with closing(sqlite3.connect(table.file)) as connection, connection:
        connection.execute("ALTER TABLE sums DROP COLUMN twice")
    with pytest.raises(MismatchError, match="column 'twice' is missing, wanted bigint"):
        run(table, topic, GROWN)


def test_a_store_that_can_not_follow_is_refused_before_anything_is_changed(
    table: InSqlite, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(table, topic, FIRST)
    was = held(table.folder)
    before = vars(TableTarget)["capabilities"]
    assert isinstance(before, property)
    can = before.fget
    assert can is not None
    monkeypatch.setattr(TableTarget, "capabilities", property(lambda self: replace(can(self), evolving=None)))
    for other in (GROWN, TURNED):
        with pytest.raises(MismatchError, match="its store can't change what it holds"):
            run(table, topic, other)
    assert held(table.folder) == was
    run(table, topic, FIRST)


def test_who_is_replaced_by_a_newer_version_writes_nothing_more(table: InSqlite, topic: Topic) -> None:
    """It stands still while it processes, and wakes up when the newer one has gone on."""
    seen: list[tuple[Sums, object]] = []

    def stand_still(request: object) -> None:
        if seen or getattr(request, "batch").txid != 4:  # noqa: B009 - of whatever type the engine is asked with
            return
        with closing(sqlite3.connect(table.folder / "ledger.sqlite")) as connection, connection:
            connection.execute("UPDATE trident_heartbeat SET released = 1")
        before: list[Sums] = []
        run(table, topic, GROWN, lambda _: before.append(table.sums()))
        seen.append((before[0], table.rows()))

    with pytest.raises(FencedError):
        TopologyRun(version(topic, table.state(), FIRST, stand_still), table.ledger(), OPTIONS).run()
    ((before, rows),) = seen
    assert table.rows() == rows
    assert table.sums() == topic.expected()
    assert table.twice() == doubled(table.sums(), before)


@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_reset_by_a_newer_version_has_its_columns(table: InSqlite, keep_rows: bool, topic: Topic) -> None:
    run(table, topic, FIRST)
    before = table.sums()
    newer = version(topic, table.state(), GROWN)
    start = "resume" if keep_rows else None
    reset_topology(newer.spec, newer.targets, table.ledger(), keep_rows=keep_rows, start=start, options=OPTIONS)
    more(topic)
    run(table, topic, GROWN)
    assert table.sums() == topic.expected()
    assert table.twice() == doubled(table.sums(), before if keep_rows else {})


def test_a_version_that_may_not_change_the_table_is_refused(
    table: InSqlite, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(table, topic, FIRST)
    was = held(table.folder)
    monkeypatch.setattr(SqliteDialect, "may_change", lambda *_: False)
    with pytest.raises(MismatchError, match="may not change table 'sums', which needs"):
        run(table, topic, GROWN)
    assert held(table.folder) == was


def test_what_is_pinned_is_done_before_a_new_value_is_recorded(tmp_path: Path, topic: Topic) -> None:
    """Else it could be undone, and tried again with the value that is said to come after it."""
    place = InSqlite(tmp_path, StateKind.OPAQUE)
    killed_behind_a_pin(place, topic)
    with armed(dying_at(CrashPoint.AFTER_REGISTRATION)), pytest.raises(Died):
        run(place, topic, GROWN)
    ledger = place.ledger()
    standing = ledger.view().status("payments")
    assert (standing.done, standing.pinned) == (2, None)
    assert standing.births == (Birth("sums", 0, columns=(ColumnBirth("twice", 2),)),)
