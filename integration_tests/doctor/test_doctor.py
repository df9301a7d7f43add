"""`trident doctor` on real servers: a healthy topology, and one trouble after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from confluent_kafka import Producer

from integration_tests.doctor.making import Doctor, Parts, about, started, worst
from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from tests.coordinators.test_decisions import dying_at
from trident import PostgresLedger, RunOptions, SqliteLedger
from trident.base.crash_points import CrashPoint
from trident.coordinators.decisions.commands import reset_topology
from trident.local.postgres import LocalPostgres
from trident.state import KafkaSink, PostgresState


@pytest.fixture
def doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(tmp_path, capsys)


@pytest.fixture
def parts(kafka: Kafka) -> Parts:
    markers = f"markers-{uuid4().hex[:8]}"
    sink = KafkaSink("alerts", bootstrap_servers=kafka.bootstrap_servers, marker_topic=markers)
    made = Parts(f"of {uuid4().hex[:8]}").read(kafka.create_topic(2), kafka.bootstrap_servers)
    return made.send(kafka.create_topic(), sink)


@pytest.fixture
def hanging(kafka: Kafka, parts: Parts) -> Iterator[tuple[str, str, Producer]]:
    """Let a producer under the sink's id begin, send and stay."""
    id_, topic = f"{parts.name}.alerts", parts.ends[0].description["topic"]  # type: ignore[union-attr]
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "transactional.id": id_,
            "transaction.timeout.ms": 600_000,  # the doctor ends it, not the broker
            "log_level": "0",
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"never", b"k")
    producer.flush(30)
    yield id_, topic, producer
    producer.purge()


def test_nothing_is_wrong_with_a_topology_that_is_well(doctor: Doctor, parts: Parts, postgres: Postgres) -> None:
    parts.keep(PostgresState("sums"))
    ledger = PostgresLedger(postgres.dsn)
    epoch = started(parts, ledger, is_held=True)
    code, found = doctor.asked(parts, postgres.dsn)
    assert (code, worst(found)) == (0, [])
    assert any("answers, PostgreSQL 1" in each["found"] for each in found)
    assert any("has its rights on the tables" in each["found"] for each in found)
    assert "it stands at txid 0, as its outbox says" in about(found, "marker of sink 'alerts'")["found"]
    assert "may use it" in about(found, "transactional id")["found"]
    assert not [each for each in found if each["level"] == "warning" and each["about"] != "versions"]
    ledger.renew(parts.name, epoch)  # nobody was fenced
    ledger.close()


def test_a_topology_that_has_never_run_is_told_so(doctor: Doctor, parts: Parts, tmp_path: Path) -> None:
    SqliteLedger(tmp_path / "ledger.sqlite").open()
    code, found = doctor.asked(parts, str(tmp_path / "ledger.sqlite"))
    assert (code, worst(found)) == (0, [])
    assert "does not know the topology" in about(found, "ledger")["found"]
    assert "there is none yet" in about(found, "marker of sink")["found"]
    assert doctor.asked(parts, str(tmp_path / "nothing.sqlite"))[0] == 2


def test_a_transaction_that_hangs_is_listed_and_then_aborted(
    doctor: Doctor, parts: Parts, tmp_path: Path, hanging: tuple[str, str, Producer], kafka: Kafka
) -> None:
    id_, topic, producer = hanging
    file = str(tmp_path / "ledger.sqlite")
    ledger = SqliteLedger(file)
    ledger.open()
    code, found = doctor.asked(parts, file, "--open-longer-than", "0")
    said = about(worst(found), "transactions in")
    assert code == 6
    assert f"{id_!r} (Ongoing, producer " in said["found"]
    assert f"{topic}[0]" in said["found"]
    assert f"--abort {id_}" in said["next"]
    assert doctor.asked(parts, file, "--open-longer-than", "600")[0] == 0

    assert doctor.asked(parts, file, "--abort", "another.alerts", "--yes")[0] == 1
    assert "is no transactional id of topology" in doctor.error
    assert doctor.asked(parts, file, "--abort", id_)[0] == 2  # --json asks nothing
    assert doctor.asked(parts, file, "--abort", id_, "--yes")[0] == 1
    assert "can't tell whether a coordinator runs it; nothing was aborted" in doctor.error
    started(Parts(parts.name), ledger)
    code, (said,) = doctor.asked(parts, file, "--abort", id_, "--yes")
    assert (code, said["aborted"]) == (0, id_)
    assert doctor.asked(parts, file, "--open-longer-than", "0")[0] == 0
    with pytest.raises(Exception, match=r"_FENCED|PRODUCER_FENCED|INVALID_PRODUCER_EPOCH"):
        producer.commit_transaction(10)
    assert doctor.asked(parts, file, "--abort", id_, "--yes")[0] == 1
    assert "nothing was aborted" in doctor.error


def test_nothing_is_aborted_while_a_coordinator_runs(
    doctor: Doctor, parts: Parts, tmp_path: Path, hanging: tuple[str, str, Producer]
) -> None:
    id_, _, producer = hanging
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    started(Parts(parts.name), ledger, is_held=True)
    code, _ = doctor.asked(parts, str(tmp_path / "ledger.sqlite"), "--abort", id_, "--yes")
    assert (code, "is held by" in doctor.error) == (3, True)
    producer.commit_transaction(10)


@pytest.mark.parametrize(
    ("is_read", "means"), [(True, "the topology reads on"), (False, "readers of what is committed see nothing behind")]
)
def test_who_holds_back_what_is_read_or_written_is_named(
    doctor: Doctor, parts: Parts, tmp_path: Path, kafka: Kafka, is_read: bool, means: str
) -> None:
    (read,) = parts.spouts["payments"].topics  # type: ignore[attr-defined]
    source = read if is_read else parts.ends[0].description["topic"]  # type: ignore[union-attr]
    other = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"a stranger {source}"})
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(source, b"x", partition=0)
    other.flush(30)
    SqliteLedger(tmp_path / "ledger.sqlite").open()
    code, found = doctor.asked(parts, str(tmp_path / "ledger.sqlite"), "--open-longer-than", "0")
    said = about(worst(found), "open ends in")
    assert (code, f"{source}[0] can be read up to 0 of 1" in said["found"]) == (6, True)
    assert means in said["means"]
    assert f"('a stranger {source}')" in said["found"]
    other.abort_transaction(10)
    assert doctor.asked(parts, str(tmp_path / "ledger.sqlite"), "--open-longer-than", "0")[0] == 0


def test_servers_that_are_away_are_findings_and_the_rest_is_asked(
    doctor: Doctor, parts: Parts, tmp_path: Path, postgres: Postgres
) -> None:
    away = urlunsplit(urlsplit(postgres.dsn)._replace(netloc="nobody@127.0.0.1:1"))
    parts.keep(PostgresState("sums", dsn=away)).send(
        "alarms", KafkaSink("alarms", bootstrap_servers="127.0.0.1:1", client_options={"client.id": "x"})
    )
    SqliteLedger(tmp_path / "ledger.sqlite").open()
    began = time.monotonic()
    code, found = doctor.asked(parts, str(tmp_path / "ledger.sqlite"))
    assert time.monotonic() - began < 60
    assert (code, {each["about"] for each in worst(found)}) == (6, {"the database of 'sums'", "Kafka at 127.0.0.1:1"})
    assert "nothing else was asked there" in about(worst(found), "Kafka")["means"]
    assert about(found, "marker of sink 'alerts'")["level"] == "ok"


def test_sessions_and_prepared_transactions_that_hold_tables(doctor: Doctor, parts: Parts, postgres: Postgres) -> None:
    parts.keep(PostgresState("sums"))
    with closing(PostgresLedger(postgres.dsn)) as ledger:
        started(parts, ledger)
    reader, writer = psycopg.connect(postgres.dsn, application_name="a report"), psycopg.connect(postgres.dsn)
    with closing(reader), closing(writer):
        reader.execute("SELECT * FROM sums")
        writer.execute("UPDATE trident_progress SET done = done")
        code, found = doctor.asked(parts, postgres.dsn, "--open-longer-than", "0")
        held = [each for each in found if each["about"].startswith("sessions in")]
        assert (code, sorted(each["level"] for each in held)) == (6, ["problem", "warning"])
        (problem,) = worst(held)
        assert f"backend {writer.info.backend_pid} " in problem["found"]
        assert "idle in transaction" in problem["found"]
        assert "trident_progress" in problem["found"]
        assert f"pg_terminate_backend({writer.info.backend_pid})" in problem["next"]
        assert "(a report," in str(held)
        assert doctor.asked(parts, postgres.dsn)[0] == 0, "nobody has held them for half a minute"
        with psycopg.connect(postgres.dsn, autocommit=True) as again:
            again.execute(f"SELECT pg_terminate_backend({writer.info.backend_pid})")
    assert doctor.asked(parts, postgres.dsn, "--open-longer-than", "0")[0] == 0


@pytest.mark.verify
def test_a_prepared_transaction_that_holds_a_table(doctor: Doctor, parts: Parts) -> None:
    with LocalPostgres(durable=False) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET max_prepared_transactions = 4")
        server.stop()
        server.start()
        with closing(PostgresLedger(server.dsn)) as ledger:
            started(parts, ledger)
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for statement in ("BEGIN", "UPDATE trident_progress SET done = done", "PREPARE TRANSACTION 'forgotten'"):
                connection.execute(statement)
            code, found = doctor.asked(parts, server.dsn, "--open-longer-than", "0")
            said = about(worst(found), "sessions in")
            assert (code, "the prepared transaction 'forgotten'" in said["found"]) == (6, True)
            assert "trident_progress" in said["found"]
            connection.execute("ROLLBACK PREPARED 'forgotten'")
            assert doctor.asked(parts, server.dsn, "--open-longer-than", "0")[0] == 0


def test_rights_that_are_missing_are_named(doctor: Doctor, parts: Parts, postgres: Postgres) -> None:
    role, tasks = f"runs_{uuid4().hex[:8]}", f"tasks_{uuid4().hex[:8]}"
    split = urlsplit(postgres.dsn)
    as_role, as_tasks = (
        urlunsplit(split._replace(netloc=f"{name}:pw@{split.hostname}:{split.port}")) for name in (role, tasks)
    )
    parts.keep(PostgresState("sums", tasks_dsn=as_tasks))
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        for name in (role, tasks):
            connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'pw'")
        try:
            connection.execute(f"GRANT CREATE, USAGE ON SCHEMA public TO {role}")
            with closing(PostgresLedger(as_role)) as ledger:
                started(parts, ledger)
            code, found = doctor.asked(parts, as_role)
            assert (code, worst(found)) == (0, [])
            warned = [each["found"] for each in found if each["level"] == "warning"]
            assert any(f"may not end sessions of '{tasks}'" in each for each in warned)

            connection.execute(f"ALTER TABLE trident_pin OWNER TO {connection.info.user}")
            connection.execute(f"GRANT SELECT, INSERT ON trident_pin TO {role}")
            connection.execute(f"ALTER TABLE trident_staging_sums OWNER TO {connection.info.user}")
            connection.execute(f"GRANT SELECT, INSERT, DELETE ON trident_staging_sums TO {role}")
            connection.execute(f"REVOKE INSERT ON trident_staging_sums FROM {tasks}")
            code, found = doctor.asked(parts, as_role)
            assert code == 6
            said = {each["found"]: each["next"] for each in worst(found)}
            lacks = f"role '{role}' lacks UPDATE, DELETE on table 'trident_pin'"
            assert said[lacks] == f'GRANT UPDATE, DELETE ON "trident_pin" TO "{role}"'
            lacks = f"role '{tasks}' lacks INSERT on the staging table 'trident_staging_sums'"
            assert said[lacks] == f'GRANT INSERT ON "trident_staging_sums" TO "{tasks}"'
            for statement in said.values():
                connection.execute(statement)
            assert doctor.asked(parts, as_role)[0] == 0
        finally:
            for name in (role, tasks):
                connection.execute(f"REASSIGN OWNED BY {name} TO {connection.info.user}")
                connection.execute(f"DROP OWNED BY {name}")
                connection.execute(f"DROP ROLE {name}")


def test_a_marker_topic_that_was_emptied_or_put_back(
    doctor: Doctor, parts: Parts, postgres: Postgres, kafka: Kafka
) -> None:
    with closing(PostgresLedger(postgres.dsn)) as ledger:
        started(parts, ledger)
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("UPDATE trident_outbox_position SET txid = 7, newest_txid = 7")
    code, found = doctor.asked(parts, postgres.dsn)
    said = about(worst(found), "marker of sink")
    assert (code, "it stands at txid 0 of incarnation" in said["found"]) == (6, True)
    assert "its outbox says txid 7 to 7" in said["found"]
    sink = parts.ends[0].sink  # type: ignore[union-attr]
    assert isinstance(sink, KafkaSink)
    elsewhere = KafkaSink("alerts", bootstrap_servers=kafka.bootstrap_servers, marker_topic=f"{sink.marker_topic}-2")
    other = Parts(parts.name, parts.spouts).send("nowhere", elsewhere)
    code, found = doctor.asked(other, postgres.dsn)
    assert code == 6
    assert "there is none, and its outbox knows the sink" in about(worst(found), "marker of sink")["found"]
    assert "it is not there" in about(worst(found), "topic 'nowhere'")["found"]


@pytest.mark.parametrize("cut_off", ["no outbox, before its marker", "before its marker", "behind its marker"])
def test_a_birth_that_was_cut_off_is_finished_by_the_next_start(
    doctor: Doctor, parts: Parts, postgres: Postgres, tmp_path: Path, cut_off: str
) -> None:
    where = str(tmp_path / "ledger.sqlite") if "no outbox" in cut_off else postgres.dsn
    with closing(SqliteLedger(where) if "no outbox" in cut_off else PostgresLedger(where)) as ledger:
        if cut_off == "behind its marker":
            with dying_at(CrashPoint.BETWEEN_BIRTHS):
                started(parts, ledger)
        else:
            started(parts, ledger, registers=False)
    code, found = doctor.asked(parts, where)
    assert (code, worst(found)) == (0, [])
    assert "is born at txid 0, and the next start finishes that" in about(found, "marker of sink")["found"]


def test_a_reset_that_was_cut_off_is_no_loss(doctor: Doctor, parts: Parts, postgres: Postgres) -> None:
    with closing(PostgresLedger(postgres.dsn)) as ledger:
        started(parts, ledger)
    compiled, options = parts.made().compile(), RunOptions()
    with closing(PostgresLedger(postgres.dsn)) as ledger, dying_at(CrashPoint.AFTER_RESETTING_STATE):
        reset_topology(compiled.spec(), compiled.targets, ledger, keep_rows=False, start="latest", options=options)
    code, found = doctor.asked(parts, postgres.dsn)
    assert (code, worst(found)) == (0, [])
    warned = [each["found"] for each in found if each["level"] == "warning"]
    assert any("a reset is recorded and not finished" in each for each in warned)


def test_a_role_that_may_make_no_tables_needs_those_of_its_topology_only(
    doctor: Doctor, parts: Parts, postgres: Postgres
) -> None:
    role = f"runs_{uuid4().hex[:8]}"
    split = urlsplit(postgres.dsn)
    as_role = urlunsplit(split._replace(netloc=f"{role}:pw@{split.hostname}:{split.port}"))
    without_sink = Parts(parts.name, parts.spouts).keep(PostgresState("sums"))
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'pw'")
        try:
            connection.execute(f"GRANT CREATE, USAGE ON SCHEMA public TO {role}")
            with closing(PostgresLedger(as_role)) as ledger:
                started(without_sink, ledger)
            connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
            connection.execute(f"REVOKE CREATE ON SCHEMA public FROM {role}")
            assert doctor.asked(without_sink, as_role)[0] == 0
            code, found = doctor.asked(parts, as_role)
            assert (code, "trident_outbox" in about(worst(found), "the ledger's database")["found"]) == (6, True)
        finally:
            connection.execute(f"REASSIGN OWNED BY {role} TO {connection.info.user}")
            connection.execute(f"DROP OWNED BY {role}")
            connection.execute(f"DROP ROLE {role}")


def test_what_is_left_in_staging_is_counted(doctor: Doctor, parts: Parts, postgres: Postgres) -> None:
    parts.keep(PostgresState("sums"))
    with closing(PostgresLedger(postgres.dsn)) as ledger:
        started(parts, ledger)
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("UPDATE trident_progress SET done = 500, last_txid = 500")
        rows = "(3, 3, 'w', 0, 'a', 1), (4, 4, 'w', 0, 'a', 1), (501, 9, 'w', 0, 'a', 1)"
        connection.execute(f"INSERT INTO trident_staging_sums VALUES {rows}")
    _, found = doctor.asked(parts, postgres.dsn)
    said = about(found, "staging of 'sums'")
    assert said["level"] == "warning"
    assert "2 of txids that are done and 1 of dropped attempts are left, the oldest of txid 3" in said["found"]
