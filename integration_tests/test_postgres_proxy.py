"""The proxy misbehaves exactly as it is told, and otherwise is not there."""

from __future__ import annotations

import threading

import psycopg
import pytest

from trident.testing.postgres_proxy import (
    Direction,
    PostgresProxy,
    all_but_the_last_byte,
    behind_a_message,
    half,
)


@pytest.fixture
def proxy(postgres):
    with PostgresProxy(postgres.dsn) as proxy:
        yield proxy


@pytest.fixture
def direct(postgres):
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE numbers (n bigint)")
        yield connection


def numbers(connection):
    return [n for (n,) in connection.execute("SELECT n FROM numbers ORDER BY n").fetchall()]


def server_port(connection):
    return connection.execute("SELECT client_port FROM pg_stat_activity WHERE pid = pg_backend_pid()").fetchone()[0]


def test_it_passes_everything_on_copy_included(postgres, proxy, direct):
    with psycopg.connect(proxy.through(postgres.dsn)) as connection:
        with connection.cursor().copy("COPY numbers FROM STDIN") as copy:
            for n in range(50_000):
                copy.write_row([n])
        connection.commit()
        assert len(numbers(connection)) == 50_000
    assert len(numbers(direct)) == 50_000


def test_a_commit_whose_answer_is_lost_has_happened(postgres, proxy, direct):
    connection = psycopg.connect(proxy.through(postgres.dsn))
    connection.execute("INSERT INTO numbers VALUES (1)")
    lost = proxy.lose_commit(server_port(connection))
    assert not lost.is_set()
    with pytest.raises(psycopg.OperationalError):
        connection.commit()
    assert lost.is_set()
    assert numbers(direct) == [1]


def test_what_comes_before_the_commit_is_answered(postgres, proxy, direct):
    connection = psycopg.connect(proxy.through(postgres.dsn))
    lost = proxy.lose_commit(_port_of(connection))
    connection.execute("INSERT INTO numbers VALUES (1)")
    assert numbers(connection) == [1]
    with pytest.raises(psycopg.OperationalError):
        connection.commit()
    assert lost.is_set()


def _port_of(connection):
    port = server_port(connection)
    connection.rollback()
    return port


def test_a_connection_that_is_cut_leaves_nothing_behind(postgres, proxy, direct):
    stays = psycopg.connect(proxy.through(postgres.dsn), autocommit=True)
    goes = psycopg.connect(proxy.through(postgres.dsn))
    goes.execute("INSERT INTO numbers VALUES (1)")
    assert proxy.cut([server_port(goes)]) == 1
    with pytest.raises(psycopg.OperationalError):
        goes.commit()
    assert numbers(stays) == []
    assert proxy.cut() == 1
    stays.close()


def test_what_is_held_back_comes_later_in_order(postgres, proxy, direct):
    connection = psycopg.connect(proxy.through(postgres.dsn), autocommit=True)
    proxy.hold(Direction.TO_SERVER)
    insert = threading.Thread(target=lambda: connection.execute("INSERT INTO numbers VALUES (1)"))
    insert.start()
    insert.join(0.3)
    assert insert.is_alive()
    assert numbers(direct) == []
    proxy.release()
    insert.join(10)
    assert not insert.is_alive()
    assert numbers(direct) == [1]
    connection.close()


def test_an_answer_that_is_held_back_is_about_what_has_happened(postgres, proxy, direct):
    connection = psycopg.connect(proxy.through(postgres.dsn), autocommit=True)
    proxy.hold_answers(server_port(connection))
    insert = threading.Thread(target=lambda: connection.execute("INSERT INTO numbers VALUES (1)"))
    insert.start()
    for _ in range(100):
        insert.join(0.1)
        if numbers(direct):
            break
    assert numbers(direct) == [1]
    assert insert.is_alive()
    proxy.release()
    insert.join(10)
    assert not insert.is_alive()
    connection.close()


@pytest.mark.parametrize(
    ("passes", "has_written"),
    [
        (half, False),
        (behind_a_message(2), False),
        (behind_a_message(4), True),
        (behind_a_message(9), True),
        (all_but_the_last_byte, True),
    ],
    ids=["half", "behind what prepares", "behind what executes", "before the last message", "but the last byte"],
)
def test_what_freezes_is_done_as_far_as_it_has_passed(postgres, proxy, direct, passes, has_written):
    """Of a statement with parameters, which is five messages in one: the last one only asks for the answers."""
    connection = psycopg.connect(proxy.through(postgres.dsn))
    connection.execute("SELECT 1")
    frozen = proxy.freeze_in(b"INSERT INTO numbers", passes)
    insert = threading.Thread(target=lambda: connection.execute("INSERT INTO numbers VALUES (%s)", [1]))
    insert.start()
    assert frozen.wait(10)
    written = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'ClientRead' AND backend_xid IS NOT NULL"
    for _ in range(100 if has_written else 10):
        insert.join(0.02)
        (found,) = direct.execute(f"{written} AND datname = current_database() AND state = 'active'").fetchone()
        if found and has_written:
            break
    assert (insert.is_alive(), found) == (True, int(has_written))
    proxy.release()
    insert.join(10)
    assert not insert.is_alive()
    connection.commit()
    assert numbers(direct) == [1]
    connection.close()


def test_new_clients_can_be_led_to_another_server(postgres, proxy, direct):
    there = postgres.new_dsn().rpartition("/")[2]
    proxy.lead_to("postgresql://127.0.0.1:1/nobody")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(proxy.through(postgres.dsn))
    proxy.lead_to(postgres.dsn)
    address = proxy.through(postgres.dsn).rpartition("/")[0] + "/" + there
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT current_database()").fetchone() == (there,)
