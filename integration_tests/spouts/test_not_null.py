"""What is declared NOT NULL: a record without a value there is a bad one, in every format and behind Kafka."""

from __future__ import annotations

import json
import random
import sqlite3
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from integration_tests.spouts.test_file_spout import Row, run, stored, topology
from integration_tests.spouts.test_json_equals_spark import WHOLE, by_spark, decoded, make_record
from tests.effort import base_seed, effort
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout
from trident import Audit, Count, RunOptions, SqliteLedger, Topology
from trident.base.control import BadRecordWord, decode
from trident.base.errors import ConfigurationError, FatalError
from trident.coordinators.options import Until
from trident.spouts import FileFormat, FileSpout, FixedBatchSpout, Json
from trident.spouts.decoders.declared import lacking
from trident.state import SqliteState, SqliteTable

SCHEMA = "word string, n bigint NOT NULL, price decimal(9,2) not null"
FIELDS = ("word", "n", "price")
Half = tuple[str | None, int | None, str | None]
GOOD: list[Row] = [("a", 1, "1.25"), (None, 2, "2.25"), ("", 6, "6.25")]
BAD: list[Half] = [("c", None, "3.25"), ("d", 4, None), (None, None, None)]
MIXED: list[Half] = [*GOOD[:2], *BAD, GOOD[2]]
LACKING = [lacking("n"), lacking("price"), lacking("n")]


def _json(file: Path) -> None:
    rows = ({"word": word, "n": n, "price": None if price is None else Decimal(price)} for word, n, price in MIXED[:-1])
    texts = [json.dumps(row, default=float) for row in rows]
    file.write_text("\n".join([*texts, '{"word":"","n":6,"price":6.25}']).replace('"n": null, ', ""))


def _csv(file: Path) -> None:
    texts = [",".join("" if value is None else f'"{value}"' for value in row) for row in MIXED]
    file.write_text("word,n,price\n" + "".join(f"{text}\n" for text in texts))


def _parquet(file: Path) -> None:
    words, numbers, prices = zip(*MIXED, strict=True)
    exact = pa.array([None if price is None else Decimal(price) for price in prices], pa.decimal128(9, 2))
    table = pa.table({"word": pa.array(words, pa.string()), "n": pa.array(numbers, pa.int64()), "price": exact})
    parquet.write_table(table, file, row_group_size=4)


WRITERS = {FileFormat.JSON: _json, FileFormat.CSV: _csv, FileFormat.PARQUET: _parquet}
FIRST = {FileFormat.JSON: "line 3", FileFormat.CSV: "line 4", FileFormat.PARQUET: "row 2"}


@pytest.mark.parametrize("format_", list(FileFormat))
def test_a_record_that_lacks_what_may_not_be_null_is_a_bad_one(
    spark: SparkSession, tmp_path: Path, format_: FileFormat
) -> None:
    folder, file = tmp_path / "in", tmp_path / "ledger.sqlite"
    folder.mkdir()
    WRITERS[format_](folder / "a")
    strict = FileSpout(folder, SCHEMA, format=format_)
    place = rf"{FIRST[format_]} of the file '{folder / 'a'}' does not decode \(it has no value for the field 'n'"
    with pytest.raises(FatalError, match=f"{place}, which is declared NOT NULL.*put a corrected one in its place"):
        topology(strict).run(spark, ledger=SqliteLedger(file), until="caught_up")
    lenient = FileSpout(folder, SCHEMA, format=format_, on_bad_record="dead_letter")  # type: ignore[arg-type]
    assert run(spark, lenient, file) == GOOD
    with sqlite3.connect(file) as connection:
        letters = connection.execute("SELECT reason, record_value FROM trident_dead_letter ORDER BY record_offset")
        found = letters.fetchall()
    assert [reason.split(": ")[1] for reason, _ in found] == LACKING
    if format_ is FileFormat.PARQUET:
        assert [json.loads(value) for _, value in found] == [dict(zip(FIELDS, row, strict=True)) for row in BAD]
    no_limit = FileSpout(folder, SCHEMA.replace("NOT NULL", "").replace("not null", ""), format=format_)
    other = tmp_path / "other.sqlite"
    topology(no_limit).run(spark, ledger=SqliteLedger(other), until="caught_up")
    assert len(stored_halves(other)) == len(MIXED)


def stored_halves(file: Path) -> list[Half]:
    with sqlite3.connect(file) as connection:
        return connection.execute("SELECT word, n, price FROM rows").fetchall()


def test_one_that_is_mended_counts(spark: SparkSession, tmp_path: Path) -> None:
    folder, file = tmp_path / "in", tmp_path / "ledger.sqlite"
    folder.mkdir()
    _parquet(folder / "a")
    spout = FileSpout(folder, SCHEMA, format="parquet")
    with pytest.raises(FatalError, match="NOT NULL"):
        run(spark, spout, file)
    price = pa.array([Decimal("1.25")], pa.decimal128(9, 2))
    parquet.write_table(pa.table({"word": pa.array(["a"]), "n": pa.array([1]), "price": price}), folder / ".a")
    (folder / ".a").rename(folder / "a")
    assert run(spark, spout, file) == GOOD[:1] == stored(file)


FAST = "account string NOT NULL, amount bigint not null, price decimal(20,2) NOT NULL, ok boolean, ratio double"
SLOW = "price decimal(10,2) NOT NULL, day date NOT NULL, tags array<string> NOT NULL, inner struct<a: int>"
INSIDE = ("struct<a: int not null>", "array<struct<a: int not null>>", "map<string, struct<a: int not null>>")


@pytest.mark.parametrize("schema", [FAST, SLOW])
def test_json_is_what_spark_makes_of_it_but_for_what_lacks_a_value(spark: SparkSession, schema: str) -> None:
    draw = random.Random(base_seed())
    values = [None, *WHOLE, *(make_record(draw) for _ in range(40 * effort().json_examples))]
    values += [b'{"account":"a","amount":1,"price":1.5}', b'{"amount":1,"amount":null,"account":"a","price":1}']
    values += [b'{"account":"a","amount":null,"amount":1,"price":1}', b'{"account":"a","amount":1,"price":null}']
    values += [b'{"price":1,"day":"2026-01-31","tags":[]}', b'{"price":1,"day":"2026-01-31","tags":null}']
    decoder = Json(schema).compile(spark)
    seen = set()
    for value, want, got in zip(
        values, by_spark(spark, decoder.schema, values), decoded(spark, decoder, values), strict=True
    ):
        *fields, control = got
        reason = "not valid JSON for the schema"
        if want is not None:
            named = dict(zip(decoder.schema.names, want, strict=True))
            reason = next((lacking(name) for name in decoder.required if named[name] is None), "")
        seen.add(reason)
        if not reason:
            assert control is None, value
            assert repr(tuple(fields)) == repr(want), value
            continue
        word = decode(str(control))
        assert isinstance(word, BadRecordWord)
        assert (word.record.reason, word.record.value) == (reason, value), value
        assert not any(fields)
    assert len(seen) >= 4


def test_not_null_inside_of_a_field_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for schema in (f"x {type_}" for type_ in INSIDE):
        for format_ in ("json", "parquet"):
            with pytest.raises(ConfigurationError, match="says NOT NULL inside of x"):
                Topology("t").stream("s", FileSpout(tmp_path, schema, format=format_))
        with pytest.raises(ConfigurationError, match="says NOT NULL inside of x"):
            Json(schema).compile(spark)


class StrictQueueSpout(FileQueueSpout):
    """Asks for a value in each message."""

    schema = "account string NOT NULL"


@pytest.mark.parametrize("audit", Audit)
@pytest.mark.parametrize("is_queue", [True, False], ids=["a queue", "memory"])
def test_what_lies_in_the_coordinator_may_be_not_null_too_alone_and_merged(
    spark: SparkSession, tmp_path: Path, is_queue: bool, audit: Audit
) -> None:
    """Rows of words have no values, also where a batch is read without a task or kept for several ways."""
    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(map(str, range(12)))
    rows = [(str(number),) for number in range(12)]
    memory = FixedBatchSpout(StrictQueueSpout.schema, rows, max_records_per_batch=5)
    made = Topology("strict")
    one = made.stream("one", StrictQueueSpout(queue.path) if is_queue else memory)
    one.group_by("account").persistent_aggregate(SqliteState("counts"), n=Count())
    made.merge(made.stream("two", memory), made.stream("three", memory)).to_table(SqliteTable("merged"))
    ledger = tmp_path / "ledger.sqlite"
    made.run(spark, ledger=SqliteLedger(ledger), options=RunOptions(until=Until.CAUGHT_UP, audit=audit))
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("SELECT sum(n), count(*) FROM counts").fetchall() == [(12, 12)]
        assert connection.execute("SELECT count(*) FROM merged").fetchall() == [(24,)]
