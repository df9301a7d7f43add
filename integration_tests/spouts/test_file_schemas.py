"""What a folder of files is said to hold: parsed once, and refused by the stream's name where it can't be."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.spouts.test_file_spout import SCHEMA, rows_of, spout_of, write
from trident import Topology
from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError
from trident.base.ranges import Edge, OffsetRange
from trident.spouts import FileFormat, FileSpout
from trident.spouts.decoders.declared import Declared, declared
from trident.spouts.files import formats

REFUSED: list[tuple[dict[str, object], str]] = [
    ({"folder": "s3://bucket/in"}, "folder"),
    ({"format": "xml"}, "format"),
    ({"schema": ""}, "schema"),
    ({"partitions": 0}, "partitions"),
    ({"max_records_per_batch": 5}, "max_records_per_batch means nothing for json files"),
    ({"format": "parquet", "max_bytes_per_batch": 5}, "max_bytes_per_batch means nothing for parquet files"),
    ({"delimiter": ";"}, "delimiter means nothing"),
    ({"header": True}, "header means nothing"),
    ({"format": "csv", "delimiter": ";;"}, "one ASCII character"),
    ({"format": "csv", "delimiter": '"'}, "one ASCII character"),
]


@pytest.mark.parametrize(("given", "text"), REFUSED)
def test_what_can_not_be_is_refused_when_it_is_given(given: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        FileSpout(**{"folder": "in", "schema": "n int", "format": "json", **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("format_", list(FileFormat))
def test_a_schema_is_parsed_once_and_not_for_every_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: FileFormat
) -> None:
    rows = rows_of(0, 10)
    seen: list[str] = []
    write(tmp_path / "in", "a", rows, format_)

    def counted(session: SparkSession, ddl: str) -> Declared:
        seen.append(ddl)
        return declared(session, ddl)

    monkeypatch.setattr(formats, "declared", counted)
    source = spout_of(tmp_path / "in", format_, partitions=1).open("s")
    assert source.schema(spark).names == ["word", "n", "price"]
    (bound,) = source.bounds()
    edges = [Edge(1, OffsetRange(bound.id, bound.topic_id, 0, bound.stop))]
    for frame in (source.read(spark, edges, 1), source.read_in_order(spark, edges, 1)):
        found = frame.where(F.col(CONTROL).isNull()).select("n").collect()
        assert sorted(row[0] for row in found) == [n for _, n, _ in rows]
    assert seen == [SCHEMA]


def test_a_schema_that_can_not_be_is_refused_when_the_topology_is_built(spark: SparkSession, tmp_path: Path) -> None:
    for format_, schema, text in (
        ("parquet", "n lots of", "stream 's': the schema .* is not valid"),
        ("json", "n lots of", "stream 's': the schema 'n lots of' is not valid"),
        ("csv", "n lots of", "stream 's': the schema 'n lots of' is not valid"),
        ("csv", "n int, N int", "stream 's': the schema .* names a field twice"),
        ("parquet", "bigint", "stream 's': the schema 'bigint' is a single type"),
        ("csv", "n array<int>", "stream 's': the field 'n' is of a type that CSV has no values of"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            Topology("t").stream("s", FileSpout(tmp_path, schema, format=format_))
