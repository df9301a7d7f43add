"""A ledger, a state, or both from an older backup: what does not fit stops and says so; what fits goes on."""

from __future__ import annotations

import re

import psycopg
import pytest

from integration_tests.records import balances, expected
from integration_tests.restores.copies import OPTIONS, Payments, backup, counting, restore, run
from trident import MismatchError, PostgresLedger, reset

pytestmark = pytest.mark.verify


@pytest.fixture
def stream(kafka):
    return Payments(kafka)


@pytest.fixture
def databases(postgres):
    """The ledger's database, and the state's."""
    made: list[str] = []

    def copied(dsn: str) -> str:
        made.append(backup(dsn))
        return made[-1]

    postgres.copied = copied
    yield postgres.dsn, postgres.new_dsn()
    for dsn in made:
        with psycopg.connect(dsn.rpartition("/")[0] + "/postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{dsn.rpartition("/")[2]}" WITH (FORCE)')


def both_hold(stream, ledger, apart):
    wanted = expected(stream.sent)
    return balances(apart) == wanted and balances(ledger, "mirror") == wanted


def stops(kafka, stream, spark, ledger, apart):
    """Run, which must stop and change nothing; returns the error's text."""
    before = (balances(apart), balances(ledger, "mirror"))
    with pytest.raises(MismatchError) as caught:
        run(counting(kafka, stream.topic, apart), spark, ledger)
    assert (balances(apart), balances(ledger, "mirror")) == before
    return str(caught.value)


def begin_anew(kafka, stream, spark, ledger, apart, *, ledger_lost=False):
    """Do what the error names: clear the states, count the topic again."""
    topology = counting(kafka, stream.topic, apart)
    reset(topology, PostgresLedger(ledger), states="clear", ledger_lost=ledger_lost, options=OPTIONS)
    run(topology, spark, ledger)


def two_runs(kafka, stream, spark, ledger, apart, between):
    """Count 900 payments, do something, count 1200 more."""
    stream.send(900)
    run(counting(kafka, stream.topic, apart), spark, ledger)
    result = between()
    stream.send(1200)
    run(counting(kafka, stream.topic, apart), spark, ledger)
    assert both_hold(stream, ledger, apart)
    return result


def test_a_ledger_from_an_older_backup_stops_with_what_was_found(kafka, stream, spark, postgres, databases):
    ledger, apart = databases
    old = two_runs(kafka, stream, spark, ledger, apart, lambda: postgres.copied(ledger))
    restore(ledger, old)

    for _ in range(2):  # at first the state knows a later epoch, then an earlier one
        text = stops(kafka, stream, spark, ledger, apart)
        assert re.search(r"state 'balances' stands at txid 7 attempt \d+, but the ledger .* has txid 3 ", text)
        assert "restored from a backup" in text
        assert "Nothing was changed" in text
        assert "trident reset MODULE:TOPOLOGY --ledger-lost --states clear" in text

    begin_anew(kafka, stream, spark, ledger, apart, ledger_lost=True)
    assert both_hold(stream, ledger, apart)


def test_a_state_from_an_older_backup_stops_with_what_was_found(kafka, stream, spark, postgres, databases):
    ledger, apart = databases
    old = two_runs(kafka, stream, spark, ledger, apart, lambda: postgres.copied(apart))
    restore(apart, old)

    text = stops(kafka, stream, spark, ledger, apart)
    assert re.search(r"state 'balances' stands at txid 3 attempt \d+, but the ledger .* has txid 7 ", text)
    assert "restored from a backup" in text
    assert "Nothing was changed" in text
    assert "trident reset MODULE:TOPOLOGY --states clear" in text

    begin_anew(kafka, stream, spark, ledger, apart)
    assert both_hold(stream, ledger, apart)


def test_both_from_backups_of_different_moments_stop(kafka, stream, spark, postgres, databases):
    ledger, apart = databases
    stream.send(300)
    run(counting(kafka, stream.topic, apart), spark, ledger)
    older = postgres.copied(apart)
    stream.send(600)
    run(counting(kafka, stream.topic, apart), spark, ledger)
    old = postgres.copied(ledger)
    stream.send(600)
    run(counting(kafka, stream.topic, apart), spark, ledger)
    restore(ledger, old)
    restore(apart, older)

    text = stops(kafka, stream, spark, ledger, apart)
    assert re.search(r"state 'balances' stands at txid 1 attempt \d+, but the ledger .* has txid 3 ", text)
    begin_anew(kafka, stream, spark, ledger, apart)
    assert both_hold(stream, ledger, apart)


@pytest.mark.verify(short=True)
def test_both_from_backups_of_the_same_moment_go_on_from_there(kafka, stream, spark, postgres, databases):
    ledger, apart = databases
    both = lambda: (postgres.copied(ledger), postgres.copied(apart))  # noqa: E731
    old = two_runs(kafka, stream, spark, ledger, apart, both)
    restore(ledger, old[0])
    restore(apart, old[1])
    assert balances(apart) == expected(stream.sent[:900])

    stream.send(100)
    summary = run(counting(kafka, stream.topic, apart), spark, ledger)
    assert summary.first_done == 3
    assert both_hold(stream, ledger, apart)


def test_a_ledger_that_was_dropped_is_never_read_as_a_new_beginning(kafka, stream, spark, postgres, databases):
    ledger, apart = databases
    stream.send(600)
    empty = postgres.copied(ledger)
    run(counting(kafka, stream.topic, apart), spark, ledger)
    restore(ledger, empty)

    with pytest.raises(MismatchError) as caught:
        run(counting(kafka, stream.topic, apart), spark, ledger)
    assert "which this ledger has never had" in str(caught.value)
    assert "trident reset MODULE:TOPOLOGY --ledger-lost --states clear" in str(caught.value)
    assert balances(apart) == expected(stream.sent)
    begin_anew(kafka, stream, spark, ledger, apart, ledger_lost=True)
    assert both_hold(stream, ledger, apart)
