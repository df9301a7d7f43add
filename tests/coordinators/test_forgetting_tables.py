"""Of the tables of a topology that is forgotten only those are dropped that this library has made itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.coordinators.test_decisions import APART, SHORTCUT, Scene, dying_at
from tests.coordinators.test_forgetting import DROP, KEEP, forget, let_go, tables_of
from trident.base.crash_points import CrashPoint
from trident.base.errors import MismatchError

NOT_MADE = r"'totals' is not dropped: this library has not made it.*'trident_key_totals'.*--tables keep.*by hand"


@pytest.fixture(params=[SHORTCUT, APART], ids=["beside", "apart"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    made = Scene(tmp_path, request.param)
    made.mend()
    made.topic.partitions[0][12:] = []
    return made


def by_hand(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def made_by_hand(file: Path, name: str) -> None:
    """Make a table like that of `totals`, as a person would: with an index of a name of their own."""
    with closing(sqlite3.connect(file)) as connection:
        ((statement,),) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'totals'").fetchall()
    anew = statement.replace("totals", name)
    assert anew != statement
    by_hand(file, anew, f"CREATE UNIQUE INDEX of_{name} ON {name} (account)")


def exchange_table(file: Path) -> None:
    """Put a table of a person's own, with the same rows, in the place of `totals`."""
    made_by_hand(file, "made_anew")
    by_hand(
        file,
        "INSERT INTO made_anew SELECT * FROM totals",
        "DROP TABLE totals",
        "ALTER TABLE made_anew RENAME TO totals",
    )


def test_a_table_that_a_person_has_made_is_not_dropped(scene: Scene) -> None:
    """It was there before the topology, which took it as it is."""
    made_by_hand(scene.file("totals"), "prepared")
    forget(scene, DROP)
    by_hand(scene.file("totals"), "ALTER TABLE prepared RENAME TO totals")
    scene.go_on()
    before = scene.rows("totals")
    with pytest.raises(MismatchError, match=NOT_MADE):
        forget(scene, DROP)
    assert scene.ledger().view().status("payments").decisions == (), "nothing is recorded"
    scene.topic.partitions[0] += [("a1", 7)]
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected() != before
    forget(scene, KEEP)
    assert scene.rows("totals") == scene.topic.expected()


def test_a_table_that_was_exchanged_is_not_dropped_where_tables_have_no_numbers(scene: Scene) -> None:
    exchange_table(scene.file("totals"))
    with pytest.raises(MismatchError, match=NOT_MADE):
        forget(scene, DROP)
    scene.go_on()
    forget(scene, KEEP)
    assert scene.rows("totals") == scene.topic.expected()


def test_a_table_that_is_exchanged_between_the_halves_is_kept_instead(scene: Scene) -> None:
    with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
        forget(scene, DROP)
    let_go(scene)
    exchange_table(scene.file("totals"))
    with pytest.raises(MismatchError, match=NOT_MADE):
        forget(scene, DROP)
    forget(scene, KEEP)
    assert scene.rows("totals") == scene.topic.expected()
    assert "balances" not in tables_of(scene.file("balances"))
    assert scene.ledger().view().topologies() == ()


def test_a_column_of_somebodys_own_keeps_its_table(scene: Scene) -> None:
    by_hand(scene.file("totals"), "ALTER TABLE totals ADD COLUMN remark text")
    with pytest.raises(MismatchError, match=r"'totals' is not dropped: column 'remark' is none of its state's"):
        forget(scene, DROP)
    scene.go_on()
    by_hand(scene.file("totals"), "ALTER TABLE totals DROP COLUMN remark")
    forget(scene, DROP)
    assert "totals" not in tables_of(scene.file("totals"))
