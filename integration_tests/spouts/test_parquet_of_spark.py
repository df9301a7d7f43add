"""Parquet as Spark itself writes it by default, with INT96; and what an error advises to declare."""

from __future__ import annotations

import re
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from tests.spouts.test_parquet_instants import read, written
from trident import SqliteLedger, Topology
from trident.base.errors import FatalError
from trident.spouts import FileSpout
from trident.spouts.arrow_types import arrow_type
from trident.state import SqliteTable

MOMENTS = ("2026-01-01 00:00:00.000001", "9999-12-30 23:59:59.999999", "1500-01-01 00:00:00", "1969-12-31 23:59:59")


def rows(spark: SparkSession, folder: Path, declared: str) -> list[str]:
    topology = Topology("t")
    stream = topology.stream("s", FileSpout(folder, declared, format="parquet"))
    stream.map(moment=F.col("ts").cast("string")).to_table(SqliteTable("rows"))
    file = folder.with_name(f"{folder.name} {declared}.sqlite")
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        return sorted(str(row[0]) for row in connection.execute("SELECT moment FROM rows"))


def test_timestamps_that_spark_writes_by_default_are_read_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
    frame = spark.createDataFrame([(moment,) for moment in MOMENTS], "ts string").coalesce(1)
    frame.select(F.col("ts").cast("timestamp")).write.parquet(str(tmp_path / "out"))
    folder = tmp_path / "in"
    folder.mkdir()
    (made,) = (tmp_path / "out").glob("*.parquet")
    assert parquet.ParquetFile(made).schema.column(0).physical_type == "INT96"
    shutil.copy(made, folder / "a.parquet")
    with pytest.raises(FatalError, match=r"'ts' as .*, which is not read as") as raised:
        rows(spark, folder, "ts timestamp_ntz")
    advice = re.search("Declare it as '(.*)',", str(raised.value))
    assert advice is not None
    assert rows(spark, folder, advice[1]) == sorted(MOMENTS)


@pytest.mark.parametrize("type_", ["timestamp", "date"])
def test_what_was_written_by_the_julian_calendar_is_refused_and_written_anew_as_advised(
    spark: SparkSession, tmp_path: Path, type_: str
) -> None:
    modes = [f"spark.sql.parquet.{kind}RebaseModeInWrite" for kind in ("int96", "datetime")]
    try:
        for mode in modes:
            spark.conf.set(mode, "LEGACY")
        for name, moment in (("new", "2026-01-01"), ("old", "1500-01-01")):
            frame = spark.sql(f"SELECT CAST('{moment}' AS {type_}) AS ts").coalesce(1)
            frame.write.parquet(str(tmp_path / name))
    finally:
        for mode in modes:
            spark.conf.unset(mode)
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(next((tmp_path / "new").glob("*.parquet")), folder / "a.parquet")
    assert len(rows(spark, folder, f"ts {type_}")) == 1
    shutil.copy(next((tmp_path / "old").glob("*.parquet")), folder / "b.parquet")
    with pytest.raises(FatalError, match=r"'b.parquet' has days before 1582 or moments before 1900 in the field 'ts'"):
        rows(spark, folder, f"ts {type_}")
    spark.read.parquet(str(tmp_path / "old")).coalesce(1).write.parquet(str(tmp_path / "anew"))
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(next((tmp_path / "anew").glob("*.parquet")), other / "b.parquet")
    assert [moment[:10] for moment in rows(spark, other, f"ts {type_}")] == ["1500-01-01"]


CASES: list[tuple[pa.DataType, object, pa.DataType]] = [
    (pa.timestamp("us"), datetime(2026, 1, 1, tzinfo=UTC), pa.timestamp("us")),
    (pa.float64(), 1.5, pa.int64()),
    (pa.float16(), 1.5, pa.int64()),
    (pa.uint64(), 2**64 - 1, pa.int64()),
    (pa.int64(), 2**40, pa.int32()),
    (pa.uint8(), 3, pa.string()),
    (pa.dictionary(pa.int8(), pa.string()), "a", pa.int64()),
    (pa.list_(pa.int64()), [1], pa.string()),
]


@pytest.mark.parametrize(("found", "value", "wanted"), CASES)
def test_the_type_that_is_advised_is_one_that_holds_it(
    spark: SparkSession, found: pa.DataType, value: object, wanted: pa.DataType
) -> None:
    file = written(pa.table({"x": pa.array([value], found)}))
    with pytest.raises(FatalError, match="Declare it as") as raised:
        read(file, pa.schema([("x", wanted)]), 1)
    advice = re.search("Declare it as 'x (.*)',", str(raised.value))
    assert advice is not None
    declared = arrow_type(DataType.fromDDL(advice[1]))
    assert len(read(file, pa.schema([("x", declared)]), 1)["x"]) == 1
