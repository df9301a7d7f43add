"""A folder that comes back from a backup while the ledger does not: no file is skipped or read twice unsaid."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration_tests.spouts.test_file_spout import rows_of, run, spout_of, stored, topology, write
from trident import SqliteLedger, reset
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import FatalError


def copied(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=shutil.copy2)


def test_other_files_under_numbers_that_were_read_stop_the_start_until_a_reset(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 40)
    spout = spout_of(folder, partitions=1)
    write(folder, "m", rows[:10])
    run(spark, spout, file)
    copied(folder, tmp_path / "backup")
    write(folder, "z", rows[10:20])
    assert run(spark, spout, file) == rows[:20]
    copied(tmp_path / "backup", folder)
    write(folder, "a", rows[20:])
    write(folder, "z", rows[10:20])
    for _ in range(2):
        with pytest.raises(FatalError, match=r"partition 0 was read up to position .*What is done stays"):
            topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
        assert stored(file) == rows[:20]
    reset(topology(spout), SqliteLedger(file), states="clear")
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM rows")  # a table is the user's: a reset keeps what it has sent
    assert run(spark, spout, file) == rows


def test_the_catalogue_alone_is_put_back_and_all_files_are_there(spark: SparkSession, tmp_path: Path) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 30)
    spout = spout_of(folder)
    write(folder, "m", rows[:10])
    run(spark, spout, file)
    copied(folder / "_trident", tmp_path / "backup")
    write(folder, "z", rows[10:20])
    run(spark, spout, file)
    copied(tmp_path / "backup", folder / "_trident")
    assert run(spark, spout, file) == rows[:20]
    write(folder, "a", rows[20:])
    assert run(spark, spout, file) == rows


class _DeathError(Exception):
    pass


def test_a_batch_that_was_planned_is_never_replaced_by_other_files(spark: SparkSession, tmp_path: Path) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 30)
    spout = spout_of(folder, partitions=1, most=100)
    write(folder, "m", rows[:10])
    run(spark, spout, file)
    copied(folder, tmp_path / "backup")
    write(folder, "z", rows[10:20])

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    copied(tmp_path / "backup", folder)
    write(folder, "a", rows[20:])
    with pytest.raises(FatalError, match=r"partition 0 was planned to be read up to position .*--states adopt"):
        topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == rows[:10]
    reset(topology(spout), SqliteLedger(file), states="adopt")
    assert run(spark, spout, file) == [*rows[:10], *rows[20:]]


def test_a_ledger_without_proofs_goes_on_and_has_them_from_then_on(spark: SparkSession, tmp_path: Path) -> None:
    folder, file, rows = tmp_path / "in", tmp_path / "ledger.sqlite", rows_of(0, 30)
    spout = spout_of(folder, partitions=1, most=100)
    write(folder, "m", rows[:10])
    run(spark, spout, file)
    _forget_proofs(file)
    copied(folder, tmp_path / "backup")
    write(folder, "z", rows[10:20])

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PLAN and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    _forget_proofs(file)
    assert run(spark, spout, file) == rows[:20]
    copied(tmp_path / "backup", folder)
    write(folder, "a", rows[15:])
    with pytest.raises(FatalError, match="has other files there now, or none"):
        topology(spout).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == rows[:20]


def _forget_proofs(file: Path) -> None:
    """Make the plans those of a version before there were any."""
    with sqlite3.connect(file) as connection:
        texts = connection.execute("SELECT rowid, ranges FROM trident_plan").fetchall()
        assert texts
        for number, text in texts:
            found = sqlite3.connect(":memory:").execute("SELECT json_set(?, '$.changed[0][3]', json('null'))", (text,))
            connection.execute("UPDATE trident_plan SET ranges = ? WHERE rowid = ?", (found.fetchone()[0], number))
