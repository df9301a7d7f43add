"""Rows that are gone, or more, behind a position that is still there stop the start; the ways out give exact sums."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import MismatchError, RowsGoneError
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.state import SqliteState
from trident.state.tables import counting

BY_HAND = {
    "emptied": "DELETE FROM balances",
    "dropped": "DROP TABLE balances",
    "thinned": "DELETE FROM balances WHERE account = 'a0'",
    "filled": "INSERT INTO balances (account, n, total, txid) VALUES ('stranger', 1, 1, 1)",
}


class Place:
    """A topology of one state in a SQLite file, the ledger's or one of its own."""

    def __init__(self, folder: Path, apart: bool) -> None:
        self.ledger_file = folder / "ledger.db"
        self.file = folder / "state.db" if apart else self.ledger_file
        self.topic = Topic([[(f"a{n % 5}", n) for n in range(30)]])
        self.job = make_job(self.topic, SqliteState("balances", path=self.file if apart else None))

    def run(self) -> None:
        TopologyRun(self.job.plan(), SqliteLedger(self.ledger_file), OPTIONS).run()

    def more(self) -> None:
        self.topic.partitions[0] += [(f"a{n % 7}", n) for n in range(20)]

    def reset(self, *, keep_rows: bool) -> None:
        plan = self.job.plan()
        ledger = SqliteLedger(self.ledger_file)
        start = "resume" if keep_rows else None
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=keep_rows, start=start, options=OPTIONS)

    def by_hand(self, statement: str) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute(statement)

    def has_table(self) -> bool:
        with closing(sqlite3.connect(self.file)) as connection:
            return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'balances'").fetchall())

    def rows(self) -> dict[str, tuple[int, int]]:
        with closing(sqlite3.connect(self.file)) as connection:
            return {row[0]: (row[1], row[2]) for row in connection.execute("SELECT account, n, total FROM balances")}

    def account(self) -> tuple[int, int]:
        with closing(sqlite3.connect(self.file)) as connection:
            (kept,) = connection.execute("SELECT row_count FROM trident_applied").fetchone()
            (found,) = connection.execute("SELECT count(*) FROM balances").fetchone()
        return kept, found


@pytest.fixture(params=[False, True], ids=["beside", "apart"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    made = Place(tmp_path, request.param)
    made.run()
    return made


def test_the_account_is_the_number_of_rows(place: Place) -> None:
    assert place.account() == (5, 5)
    place.more()
    place.run()
    assert place.account() == (7, 7)


@pytest.mark.parametrize("how", BY_HAND)
def test_rows_that_are_not_those_of_the_position_stop_the_start(place: Place, how: str) -> None:
    place.by_hand(BY_HAND[how])
    left = place.rows() if how != "dropped" else {}
    place.more()
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"table 'balances' of state 'balances' .* belong to txid 3") as told:
            place.run()
        assert ("--states adopt" in str(told.value)) == bool(left)
    assert place.rows() == left


@pytest.mark.parametrize("how", BY_HAND)
def test_a_reset_that_clears_gives_exact_sums(place: Place, how: str) -> None:
    place.by_hand(BY_HAND[how])
    place.reset(keep_rows=False)
    place.more()
    place.run()
    assert place.rows() == place.topic.expected()
    assert place.account() == (7, 7)


def test_rows_that_were_taken_on_purpose_are_accepted_by_a_reset_that_keeps_the_others(place: Place) -> None:
    gone = place.rows()["a0"]
    place.by_hand(BY_HAND["thinned"])
    place.reset(keep_rows=True)
    place.more()
    place.run()
    expected = Counter({account: n for account, (n, _) in place.topic.expected().items()})
    expected.subtract({"a0": gone[0]})
    assert {account: n for account, (n, _) in place.rows().items()} == dict(expected)
    assert place.account() == (7, 7)


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("emptied", "holds 0 rows, not the 5 that belong to txid 3"),
        ("dropped", "is missing, and with it the 5 rows that belong to txid 3"),
    ],
)
def test_there_is_nothing_to_keep_of_a_table_without_rows(place: Place, how: str, found: str) -> None:
    place.by_hand(BY_HAND[how])
    with pytest.raises(RowsGoneError, match=rf"{found}, where it stands: .*\. Nothing was changed\. Restore"):
        place.reset(keep_rows=True)
    assert place.has_table() == (how == "emptied")


def test_of_a_table_that_was_dropped_it_is_said_that_an_empty_one_was_made(place: Place) -> None:
    place.by_hand(BY_HAND["dropped"])
    with pytest.raises(RowsGoneError, match=r"is missing, .* An empty table was made in its place; nothing else was"):
        place.run()
    assert place.has_table()
    with pytest.raises(RowsGoneError, match=r"holds 0 rows, .*made anew.* Nothing was changed\."):
        place.run()


@pytest.mark.parametrize(("how", "noticed"), [("emptied", True), ("dropped", True), ("thinned", False)])
def test_of_a_large_table_it_is_noticed_that_all_is_gone(
    place: Place, how: str, noticed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_CHEAP", 2)
    place.by_hand(BY_HAND[how])
    if not noticed:
        place.run()
        return
    with pytest.raises(MismatchError, match=r"holds 0 rows|is missing"):
        place.run()


def test_a_table_that_an_older_version_never_counted_is_counted_once(place: Place) -> None:
    place.by_hand("UPDATE trident_applied SET row_count = NULL")
    place.run()
    assert place.account() == (5, 5)
