"""How many different values a key has had, exactly: what docs/language.md prints, also with deaths in the turn."""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.pages.blocks import blocks_of
from trident import Count, SqliteLedger, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState

PAGE = "docs/language.md"


class _DeathError(Exception):
    pass


def as_printed(records: list[tuple[str, str]], size: int) -> Topology:
    """Return the page's topology over these records, in batches of a size."""
    (block,) = [each for each in blocks_of(PAGE) if 'SqliteState("merchants")' in each.text]
    topology = Topology("shops")
    spout = FixedBatchSpout("account string, merchant string", records, max_records_per_batch=size, kind="opaque")
    names = {"Count": Count, "F": F, "SqliteState": SqliteState, "payments": topology.stream("payments", spout)}
    exec(block.compiled(), names)
    return topology


def merchants(file: Path) -> dict[str, int]:
    with sqlite3.connect(file) as connection:
        return dict(connection.execute("SELECT account, merchants FROM merchants").fetchall())


@pytest.mark.parametrize(
    "point", [None, CrashPoint.BEFORE_TURN_WORK, CrashPoint.AFTER_TURN_WORK, CrashPoint.IN_PIN_TRANSACTION]
)
@pytest.mark.parametrize("size", [1, 7, 60])
def test_each_value_counts_once_however_batches_are_cut(
    spark: SparkSession, tmp_path: Path, size: int, point: CrashPoint | None
) -> None:
    file, rng = tmp_path / "ledger.sqlite", random.Random(size)
    records = [(rng.choice("abc"), rng.choice("mnopqrst")) for _ in range(6 * size if size < 60 else 90)]
    expected: defaultdict[str, set[str]] = defaultdict(set)
    for account, merchant in records:
        expected[account].add(merchant)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    if point is not None:
        with armed(die), pytest.raises(_DeathError):
            as_printed(records, size).run(spark, ledger=SqliteLedger(file), until="caught_up")
    as_printed(records, size).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert merchants(file) == {account: len(values) for account, values in expected.items()}
