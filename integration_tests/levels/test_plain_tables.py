"""Plain tables in PostgreSQL: written by several connections at once, with null keys and new ones."""

from __future__ import annotations

import threading

import psycopg
import pyarrow as pa
import pytest

from integration_tests.fix_postgres import Postgres
from tests.state.test_plain import LAYOUT, batch, rows
from trident.base.errors import MismatchError, RefusedError
from trident.state import PostgresState
from trident.state.plainly import PlainTarget
from trident.state.postgres.database import PostgresDatabase


@pytest.fixture
def target(postgres: Postgres) -> PlainTarget:
    return PostgresState("sums", dsn=postgres.dsn).open_plain(LAYOUT, PostgresDatabase(postgres.dsn))


def test_several_that_write_at_once_lose_no_update(postgres: Postgres, target: PlainTarget) -> None:
    target.look("payments")
    target.own(batch(1).owner, batch(1).epoch)

    def write(first: int) -> None:
        for txid in range(first, first + 10):
            keys = [None, *(f"a{n}" for n in range(txid % 7, 9))]
            target.write(batch(txid), pa.concat_tables([rows((key, 1, txid, txid)) for key in keys]))

    threads = [threading.Thread(target=write, args=(number,)) for number in (0, 10, 20, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with psycopg.connect(postgres.dsn) as connection:
        found = {row[0]: row[1:] for row in connection.execute("SELECT account, n, least, greatest FROM sums")}
    of_key = {f"a{n}": [txid for txid in range(40) if txid % 7 <= n] for n in range(9)}
    assert found.pop(None) == (40, 0, 39)
    assert found == {key: (len(txids), min(txids), max(txids)) for key, txids in of_key.items()}


def test_what_a_trigger_keeps_out_is_refused_as_a_whole(postgres: Postgres, target: PlainTarget) -> None:
    target.own(batch(1).owner, batch(1).epoch)
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
        connection.execute(
            "CREATE TRIGGER no BEFORE INSERT ON sums FOR EACH ROW WHEN (NEW.account = 'bob') EXECUTE FUNCTION no()"
        )
    with pytest.raises(RefusedError, match="1 rows were not written to 'sums'"):
        target.write(batch(1), rows(("ann", 1, 1, 1), ("bob", 1, 1, 1)))
    with psycopg.connect(postgres.dsn) as connection:
        assert connection.execute("SELECT count(*) FROM sums").fetchall() == [(0,)]


@pytest.mark.parametrize("stored", [False, True], ids=["new key", "known key"])
@pytest.mark.parametrize(
    "made",
    [
        "CREATE TRIGGER t AFTER INSERT OR UPDATE ON sums FOR EACH ROW",
        "CREATE CONSTRAINT TRIGGER t AFTER INSERT OR UPDATE ON sums DEFERRABLE INITIALLY DEFERRED FOR EACH ROW",
    ],
    ids=["at once", "deferred"],
)
def test_what_a_trigger_takes_away_again_is_refused(
    postgres: Postgres, target: PlainTarget, made: str, stored: bool
) -> None:
    target.own(batch(1).owner, batch(1).epoch)
    before = [("ann", 1, 1, 1), ("bob", 5, 5, 5)] if stored else [("ann", 1, 1, 1)]
    target.write(batch(1), rows(*before))
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute(
            "CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN DELETE FROM sums WHERE account = NEW.account; RETURN NULL; END'"
        )
        connection.execute(f"{made} WHEN (NEW.account = 'bob') EXECUTE FUNCTION take()")
    with pytest.raises(RefusedError, match="1 of 2 staged rows were not stored in 'sums'"):
        target.write(batch(2), rows(("ann", 1, 1, 1), ("bob", 1, 1, 1)))
    with psycopg.connect(postgres.dsn) as connection:
        found = connection.execute("SELECT account, n, least, greatest FROM sums ORDER BY 1").fetchall()
    assert found == before, "nothing of the batch is written"
    target.write(batch(2), rows(("ann", 1, 1, 1)))


def test_a_table_that_stands_at_a_txid_is_refused(postgres: Postgres, target: PlainTarget) -> None:
    exact = PostgresState("sums", dsn=postgres.dsn).open(LAYOUT, PostgresDatabase(postgres.dsn))
    exact.prepare()
    exact.raise_fence(batch(1).owner, batch(1).epoch)
    exact.register(batch(1).owner, batch(1).epoch, 0)
    exact.close()
    with pytest.raises(MismatchError, match="which knows up to which txid its rows are"):
        target.look("others")
