"""The command line over a topology of the language, with Spark behind it: a refusal, and what a person decides."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from trident import DecisionNeededError, RunOptions, SqliteLedger
from trident.cli.app import run
from trident.cli.loading import load_topology

MODULE = """
from trident import Count, Sum, Topology
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState

ROWS = [("ann", 1), ("bob", 2), ("ann", 3), ("big", 4), ("bob", 5), ("cyd", 6)]


def payments():
    topology = Topology("payments")
    spout = FixedBatchSpout("account string, amount bigint", ROWS, max_records_per_batch=2)
    stream = topology.stream("payments", spout)
    for name in ("balances", "totals"):
        state = SqliteState(name, path="FOLDER/" + name + ".sqlite")
        stream.group_by("account").persistent_aggregate(state, n=Count(), total=Sum("amount"))
    return topology
"""
REFUSE = (
    "CREATE TRIGGER small BEFORE INSERT ON totals WHEN NEW.account = 'big' BEGIN SELECT RAISE(ABORT, 'too much'); END"
)
ALL = {"ann": (2, 4), "bob": (2, 7), "big": (1, 4), "cyd": (1, 6)}
AFTER_FIRST = {"ann": (1, 1), "bob": (1, 2)}


@dataclass
class Job:
    """A module on disk, and where its topology keeps what."""

    folder: Path
    spark: SparkSession

    @property
    def named(self) -> str:
        return f"{self.folder / 'job.py'}:payments"

    def go_on(self) -> None:
        options = RunOptions(max_pending=1)
        ledger = SqliteLedger(self.folder / "ledger.sqlite")
        load_topology(self.named).run(self.spark, ledger=ledger, until="caught_up", options=options)

    def rows(self, state: str) -> dict[str, tuple[int, int]]:
        with sqlite3.connect(self.folder / f"{state}.sqlite") as connection:
            return {row[0]: (row[1], row[2]) for row in connection.execute(f"SELECT account, n, total FROM {state}")}

    def change(self, statement: str) -> None:
        with sqlite3.connect(self.folder / "totals.sqlite") as connection:
            connection.execute(statement)


@pytest.fixture
def refused(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """Return a topology whose second batch one of its states has refused."""
    (tmp_path / "job.py").write_text(MODULE.replace("FOLDER", str(tmp_path)))
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    job = Job(tmp_path, spark)
    job.change(
        "CREATE TABLE totals (account text PRIMARY KEY, n bigint, total bigint, previous_n bigint, "
        "previous_total bigint, previous_txid bigint, txid bigint NOT NULL)"
    )
    job.change(REFUSE)
    with pytest.raises(DecisionNeededError, match="trident divert MODULE:TOPOLOGY 2 --state totals"):
        job.go_on()
    return job


def test_an_undo_and_a_mended_table(refused: Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert "big" in refused.rows("balances")
    assert run(["undo", refused.named, "2", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decided"] == "undo"
    assert refused.rows("balances") == refused.rows("totals") == AFTER_FIRST
    refused.change("DROP TRIGGER small")
    refused.go_on()
    assert refused.rows("balances") == refused.rows("totals") == ALL


def test_a_divert(refused: Job) -> None:
    assert run(["divert", refused.named, "2", "--state", "totals", "--yes"]) == 0
    refused.go_on()
    assert refused.rows("balances") == ALL
    assert refused.rows("totals") == {account: sums for account, sums in ALL.items() if account != "big"}
    assert run(["status", "payments"]) == 0


def test_a_reset(refused: Job) -> None:
    assert run(["reset", refused.named, "--states", "clear", "--yes"]) == 0
    refused.change("DROP TRIGGER small")
    refused.go_on()
    assert refused.rows("balances") == refused.rows("totals") == ALL
