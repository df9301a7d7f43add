"""PostgreSQL fails over to an asynchronous replica that has not got everything."""

from __future__ import annotations

import threading

import psycopg
import pytest

from integration_tests.fix_servers import or_skip
from integration_tests.records import balances, expected
from integration_tests.restores.copies import OPTIONS, Payments, counting, run
from trident import FatalError, MismatchError, PostgresLedger, reset
from trident.local.postgres import LocalPostgres
from trident.testing.postgres_proxy import PostgresProxy
from trident.testing.postgres_replica import PostgresReplica

pytestmark = pytest.mark.verify


@pytest.fixture
def primary(pytestconfig):
    with or_skip(pytestconfig, LocalPostgres) as server:
        yield server


@pytest.fixture
def replica(primary):
    with PostgresReplica(primary) as server:
        yield server


@pytest.fixture
def stream(kafka):
    return Payments(kafka)


def same_database(server, dsn):
    return server.dsn.rpartition("/")[0] + "/" + dsn.rpartition("/")[2]


def fail_over(primary, replica):
    primary.kill()
    replica.promote()


def test_ledger_and_states_that_failed_over_together_go_on_with_exact_values(kafka, stream, spark, primary, replica):
    ledger = primary.create_database()
    stream.send(900)
    run(counting(kafka, stream.topic, None), spark, ledger)
    replica.catch_up()
    replica.fall_behind()
    stream.send(1200)
    run(counting(kafka, stream.topic, None), spark, ledger)
    assert balances(ledger) == expected(stream.sent)

    fail_over(primary, replica)
    there = same_database(replica, ledger)
    assert balances(there) == expected(stream.sent[:900])
    summary = run(counting(kafka, stream.topic, None), spark, there)
    assert summary.first_done == 3
    assert balances(there) == balances(there, "mirror") == expected(stream.sent)


def test_a_ledger_that_failed_over_without_its_state_stops_with_what_was_found(
    kafka, stream, spark, postgres, primary, replica
):
    ledger = primary.create_database()
    stream.send(900)
    run(counting(kafka, stream.topic, postgres.dsn), spark, ledger)
    replica.catch_up()
    replica.fall_behind()
    stream.send(1200)
    run(counting(kafka, stream.topic, postgres.dsn), spark, ledger)
    fail_over(primary, replica)
    there = same_database(replica, ledger)

    with pytest.raises(MismatchError) as caught:
        run(counting(kafka, stream.topic, postgres.dsn), spark, there)
    assert "state 'balances' stands at txid" in str(caught.value)
    assert "trident reset MODULE:TOPOLOGY --ledger-lost --states clear" in str(caught.value)
    assert balances(postgres.dsn) == expected(stream.sent)

    topology = counting(kafka, stream.topic, postgres.dsn)
    reset(topology, PostgresLedger(there), states="clear", ledger_lost=True, options=OPTIONS)
    run(topology, spark, there)
    assert balances(postgres.dsn) == balances(there, "mirror") == expected(stream.sent)


def test_a_coordinator_that_runs_through_a_failover_stops_and_the_next_one_goes_on(
    kafka, stream, spark, primary, replica
):
    ledger = primary.create_database()
    with PostgresProxy(ledger) as proxy:
        topology = counting(kafka, stream.topic, None)
        ended: list[BaseException] = []
        thread = threading.Thread(target=lambda: _run_until_it_ends(topology, spark, proxy.through(ledger), ended))
        stream.send(600)
        thread.start()
        _wait_until_done(ledger, 600, thread)
        replica.catch_up()
        replica.fall_behind()
        stream.send(900)
        _wait_until_done(ledger, 1500, thread)

        proxy.lead_to(same_database(replica, ledger))
        fail_over(primary, replica)
        stream.send(100)
        thread.join(60)
        assert not thread.is_alive()
        assert isinstance(ended[0], FatalError), ended
    there = same_database(replica, ledger)
    assert balances(there) == expected(stream.sent[:600])
    run(counting(kafka, stream.topic, None), spark, there)
    assert balances(there) == balances(there, "mirror") == expected(stream.sent)


def _run_until_it_ends(topology, spark, ledger, ended):
    try:
        topology.run(spark, ledger=PostgresLedger(ledger), options=OPTIONS)
    except FatalError as error:
        ended.append(error)


def _wait_until_done(dsn, records, thread):
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(600):
            if connection.execute("SELECT to_regclass('trident_commit')").fetchone() != (None,):
                done = connection.execute("SELECT coalesce(sum(records), 0) FROM trident_commit").fetchone()
                if done is not None and done[0] >= records:
                    return
            thread.join(0.1)
            assert thread.is_alive()
    raise AssertionError("the records were not counted")
