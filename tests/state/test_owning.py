"""Whose a table is: the second of two is refused, whatever their levels and kinds, and the first goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.state.ownership import FIRST, KINDS, PAIRS, SECOND, Opens, begin, look, opens, take
from tests.state.test_plain import LAYOUT, rows
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state import MemoryState, SqliteState, SqliteTable, StateKind
from trident.state.capabilities import Transaction, plain_of
from trident.state.memory.database import MemoryDatabase
from trident.state.plainly import PlainTarget
from trident.state.sqlite.database import SqliteDatabase
from trident.state.target import Target


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a table that fits each kind."""
    file = tmp_path / "t.sqlite"
    maker = SqliteState("maker", table="t", path=file).open_plain(LAYOUT, MemoryDatabase())
    maker.prepare()
    maker.close()
    return file


@pytest.fixture
def opened(file: Path) -> Mapping[str, Opens]:
    state = SqliteState("sums", table="t", path=file, kind=StateKind.NON_TRANSACTIONAL)
    return opens(state, SqliteTable("out", table="t", path=file), "t")


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_who_begins_second_is_refused_and_the_first_goes_on(
    opened: Mapping[str, Opens], first: str, second: str
) -> None:
    begin(opened[first](), FIRST)
    if (first, second) == ("plain sink", "plain sink"):
        begin(opened[second](), SECOND)
    else:
        with pytest.raises(MismatchError, match="topology 'first'"):
            begin(opened[second](), SECOND)
    begin(opened[first](), FIRST, 2)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_of_two_that_have_looked_before_either_began_the_second_is_refused(
    opened: Mapping[str, Opens], first: str, second: str
) -> None:
    late = opened[second]()
    look(late, SECOND)
    begin(opened[first](), FIRST)
    if (first, second) == ("plain sink", "plain sink"):
        take(late, SECOND, 1, emptied=True)
    else:
        with pytest.raises(MismatchError, match="topology 'first'"):
            take(late, SECOND, 1, emptied=True)
    begin(opened[first](), FIRST, 2)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_names_of_one_topology_are_two(opened: Mapping[str, Opens], first: str, second: str) -> None:
    begin(opened[first](), FIRST)
    if first.split()[1] == second.split()[1]:
        return  # it is the same name
    with pytest.raises(MismatchError):
        begin(opened[second](), FIRST)
    begin(opened[first](), FIRST, 2)


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", ["plain state", "plain sink"])
def test_a_note_of_a_table_that_was_dropped_holds_nothing(
    file: Path, opened: Mapping[str, Opens], first: str, second: str
) -> None:
    begin(opened[first](), FIRST)
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE t")
    begin(opened[second](), SECOND)
    begin(opened[second](), SECOND, 2)
    if second != "plain sink" or first != "plain sink":
        with pytest.raises(MismatchError):
            begin(opened[first](), FIRST, 2)


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", ["plain state", "plain sink"])
def test_a_table_that_was_left_may_be_taken_by_others(opened: Mapping[str, Opens], first: str, second: str) -> None:
    begin(opened[first](), FIRST, 2)
    plain_of(opened[first]()).leave(FIRST, Epoch(1, "line.1"))
    with pytest.raises(MismatchError):
        begin(opened["exact state"](), SECOND)
    plain_of(opened[first]()).leave(FIRST, Epoch(3, "line.3"))
    found = plain_of(opened[first]()).found("first")
    assert found is not None
    assert found.mark is not None, "who comes back finds what was noted"
    begin(opened[second](), SECOND)


def test_who_comes_back_to_what_it_has_left_has_it_again(opened: Mapping[str, Opens]) -> None:
    begin(opened["plain state"](), FIRST)
    plain_of(opened["plain state"]()).leave(FIRST, Epoch(1, "line.1"))
    begin(opened["plain state"](), FIRST, 2)
    with pytest.raises(MismatchError):
        begin(opened["exact state"](), SECOND)


@pytest.mark.parametrize("second", ["plain state", "plain sink"])
def test_who_comes_back_to_what_has_been_another_s_since_is_new_to_it(opened: Mapping[str, Opens], second: str) -> None:
    begin(opened["plain state"](), FIRST)
    plain_of(opened["plain state"]()).leave(FIRST, Epoch(1, "line.1"))
    begin(opened[second](), SECOND)
    plain_of(opened[second]()).leave(SECOND, Epoch(1, "line.1"))
    found = plain_of(opened["plain state"]()).found("first")
    assert found is not None
    assert found.mark is None, "what it noted says nothing of the rows that are there"


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", ["plain state", "plain sink"])
def test_who_stood_still_while_its_table_became_another_s_writes_nothing_there(
    file: Path, opened: Mapping[str, Opens], first: str, second: str
) -> None:
    target, given = opened[first](), rows(("ann", 1, 5, 5))
    begin(opened[first](), FIRST)
    line = Epoch(1, "line.1")
    plain_of(target).write(BatchId(FIRST, line, 1, 1), given)
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM t")
    plain_of(opened[first]()).leave(FIRST, Epoch(2, "line.2"))
    with pytest.raises(FencedError, match=r"not .* of topology 'first' any more"):
        plain_of(target).write(BatchId(FIRST, line, 2, 2), given)
    begin(opened[second](), SECOND)
    with pytest.raises(FencedError, match=r"not .* of topology 'first' any more"):
        plain_of(target).write(BatchId(FIRST, line, 2, 2), given)
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    target.close()


@pytest.mark.parametrize("first", ["plain state", "plain sink", "memory"])
@pytest.mark.parametrize("owner", [FIRST, Owner("first", "another life")])
def test_who_was_replaced_writes_nothing_once_its_successor_has_begun(
    opened: Mapping[str, Opens], first: str, owner: Owner
) -> None:
    memory = MemoryDatabase()

    def opens_it() -> Target:
        return MemoryState("sums").open_plain(LAYOUT, memory) if first == "memory" else opened[first]()

    plain_of(opens_it()).own(FIRST, Epoch(1, "line.1"))
    target = plain_of(opens_it())
    target.write(BatchId(FIRST, Epoch(1, "line.1"), 1, 1), rows(("ann", 1, 5, 5)))
    plain_of(opens_it()).own(owner, Epoch(2, "line.2"))
    with pytest.raises(FencedError):
        target.write(BatchId(FIRST, Epoch(1, "line.1"), 2, 2), rows(("bob", 1, 5, 5)))
    found = target.found("first")
    assert found is not None
    assert found.mark is not None
    assert found.mark.newest_txid == (1 if owner == FIRST else 0)


def as_version_1(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        for column in ("relation", "may_share", "has_left"):
            connection.execute(f"ALTER TABLE trident_plain DROP COLUMN {column}")
        connection.execute("DELETE FROM trident_plain_schema WHERE version = 2")


@pytest.mark.parametrize(("first", "second"), [pair for pair in PAIRS if pair[0].startswith("plain")])
def test_notes_of_an_older_version_are_read_and_brought_up(
    file: Path, opened: Mapping[str, Opens], first: str, second: str
) -> None:
    begin(opened[first](), FIRST)
    as_version_1(file)
    if second == "plain sink" and first == "plain sink":
        begin(opened[second](), SECOND)
    elif second != "plain sink":  # that a note is a state's was not said
        with pytest.raises(MismatchError):
            begin(opened[second](), SECOND)
    begin(opened[first](), FIRST, 2)


def test_a_note_of_an_older_version_holds_nothing_once_its_table_is_gone(
    file: Path, opened: Mapping[str, Opens]
) -> None:
    begin(opened["plain state"](), FIRST)
    as_version_1(file)
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE t")
    begin(opened["exact state"](), SECOND)


def plain_states(file: Path) -> tuple[Callable[[], PlainTarget], ...]:
    memory = MemoryDatabase()
    sqlite = SqliteState("sums", table="t", path=file)
    return (lambda: MemoryState("sums").open_plain(LAYOUT, memory), lambda: sqlite.open_plain(LAYOUT, memory))


def filled(opened: Callable[[], PlainTarget], epoch: Epoch) -> Owner:
    owner = Owner("payments", "first")
    opened().own(owner, epoch)
    opened().write(BatchId(owner, epoch, 1, 1), rows(("ann", 1, 5, 5)))
    return owner


@pytest.mark.parametrize("given", [Epoch(1, "line.1"), Epoch(2, "other.2")])
@pytest.mark.parametrize("which", [0, 1])
def test_a_late_epoch_empties_nothing_and_notes_nothing(file: Path, which: int, given: Epoch) -> None:
    opened = plain_states(file)[which]
    owner = filled(opened, Epoch(2, "line.2"))
    for emptied in (True, False):
        with pytest.raises(FencedError) as refused:
            opened().own(Owner("payments", "second"), given, emptied=emptied)
        assert refused.value.stored == 2
    found = opened().found("payments")
    assert found is not None
    assert found.has_rows
    assert found.mark is not None
    assert (found.mark.owner, found.mark.newest_txid) == (owner, 1)


def refuses(_: Transaction) -> None:
    raise FencedError("a newer epoch holds it")


@pytest.mark.parametrize("which", ["memory", "sqlite"])
def test_what_the_ledger_does_not_hold_is_not_emptied_beside_it(file: Path, which: str) -> None:
    target: PlainTarget = MemoryState("sums").open_plain(LAYOUT, MemoryDatabase())
    if which == "sqlite":
        target = SqliteState("sums", table="t").open_plain(LAYOUT, SqliteDatabase(file))
    owner = filled(lambda: target, Epoch(2, "line.2"))
    with pytest.raises(FencedError):
        target.own(owner, Epoch(3, "line.3"), emptied=True, holds=refuses)
    found = target.found("payments")
    assert found is not None
    assert found.has_rows
    assert found.mark is not None
    assert found.mark.epoch.number == 2


def test_memory_of_a_weaker_level_is_no_state_of_the_first(file: Path) -> None:
    memory = MemoryDatabase()
    MemoryState("sums").open_plain(LAYOUT, memory).own(FIRST, Epoch(1, "line.1"))
    exact: Target = MemoryState("sums").open(LAYOUT, memory)
    for call in (lambda: exact.look("second", True), exact.prepare):
        with pytest.raises(MismatchError, match="weaker level"):
            call()


@pytest.mark.parametrize("kind", ["exact state", "plain state"])
def test_a_table_that_was_renamed_is_missed_by_name(file: Path, opened: Mapping[str, Opens], kind: str) -> None:
    begin(opened[kind](), FIRST)
    with sqlite3.connect(file) as connection:
        connection.execute("ALTER TABLE t RENAME TO old")
    with pytest.raises(MismatchError, match="is on table 'old': it was renamed"):
        begin(opened[kind](), FIRST, 2)
    with sqlite3.connect(file) as connection:
        connection.execute("ALTER TABLE old RENAME TO t")
    begin(opened[kind](), FIRST, 2)
