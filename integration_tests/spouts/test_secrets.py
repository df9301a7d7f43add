"""Nobody sees with which password tasks read from Kafka."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration_tests.fix_servers import or_skip
from integration_tests.fix_spark import connector
from integration_tests.spouts.logs import produce
from integration_tests.spouts.sasl import KafkaWithLogin

PASSWORDS = ("sw0rdfish-of-kafka", "wr0ng-sesame")


@pytest.fixture(scope="module")
def guarded(pytestconfig: pytest.Config) -> Iterator[KafkaWithLogin]:
    with or_skip(pytestconfig, lambda: KafkaWithLogin(PASSWORDS[0])) as kafka:
        yield kafka


def everything(run: subprocess.CompletedProcess[str], folder: Path) -> str:
    """All that was said, Spark's log of events, and what ledger and state keep."""
    logs = [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()]
    text = run.stdout + run.stderr + "".join(logs)
    assert "Physical Plan" in run.stdout or run.returncode
    assert "SparkListenerApplicationStart" in text
    return text


@pytest.mark.verify
@pytest.mark.parametrize(
    ("reader", "password"),
    [
        pytest.param("arrow", PASSWORDS[0], id="arrow"),
        pytest.param("arrow", PASSWORDS[1], id="a wrong one"),
        pytest.param("spark", PASSWORDS[0], marks=connector, id="spark"),
    ],
)
def test_no_log_event_plan_or_exception_shows_a_password(guarded, reader, password, tmp_path):
    topic = f"{reader}-{PASSWORDS.index(password)}"
    guarded.create_topic(topic)
    produce(guarded.bootstrap_servers, topic, [b'{"n":%d}' % (n % 3) for n in range(9)])
    command = [sys.executable, "-m", "integration_tests.spouts.secret_run"]
    command += [guarded.secured, topic, password, reader, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    is_right = password == PASSWORDS[0]
    assert (run.returncode == 0) == is_right, run.stderr[-3000:]
    text = everything(run, tmp_path)
    assert not [secret for secret in PASSWORDS if secret in text]
    if is_right:
        with sqlite3.connect(tmp_path / "ledger.db") as connection:
            assert sorted(connection.execute("SELECT n, total FROM counts")) == [(0, 3), (1, 3), (2, 3)]
    else:
        assert "trident.base.errors." in run.stderr
