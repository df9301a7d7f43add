"""`Json` and Spark's `from_json` are the same function: value for value, record by record."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StringType, StructField, StructType, TimestampType

from tests.effort import effort
from trident.base.control import BadRecordWord, decode
from trident.base.errors import ConfigurationError
from trident.base.ranges import BadRecordRow, PartitionId
from trident.spouts import Json
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import Headers
from trident.spouts.decoders.fast_json import FastJson
from trident.spouts.decoders.json import JsonTaskDecoder

FAST = Json(
    "account string, amount bigint, price decimal(20,2), wide decimal(38,0), cents decimal(2,2), n int, "
    "small smallint, tiny tinyint, ok boolean, ratio double"
)
SLOW = Json("account string, price decimal(10,2), at timestamp, day date, tags array<string>, inner struct<a: int>")
NAMES = (
    "account",
    "amount",
    "price",
    "wide",
    "cents",
    "n",
    "small",
    "tiny",
    "ok",
    "ratio",
    "Account",
    "x",
    "at",
    "tags",
)

NUMBERS = (
    *("0", "-0", "1", "-1", "7.0", "1e2", "1E-2", "0.005", "0.285", "0.995", "1.005", "-0.5", "-0.0", "2.50", "0.25"),
    *("127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535", "65536", "2147483647", "2147483648"),
    *("9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("12345678901234567.89", "123456789012345678.99", "1234567890123456789.99", "12345678901234567.891"),
    *("9" * 38, "9" * 39, "1" + "0" * 400, "1e400", "-1e400", "1e-400", "4.9e-324", "5e-324", "0.1", "1e23"),
    *("123456789012345678901234567890", "2.2250738585072011e-308", "179769313486231580793e289", "1." + "0" * 40),
    *("01", "+1", ".5", "1.", "1e", "0x10", "1_000", "NaN", "Infinity", "-Infinity", "--1", "1 2"),
)
TEXTS = (
    *('""', '"a"', '"12"', '"12.5"', '"1,234"', '" 1"', '"1e2"', '"NaN"', '"true"', '"null"', '"\\u00e9"', '"é€😀"'),
    *('"\\ud83d\\ude00"', '"\\ud800"', '"\\udc00x"', '"\\u0000"', '"a\\"b"', '"a\\\\b"', '"\\/"', '"\\q"', '"\t"'),
    *("'single'", '"price"', '"\\"price\\":1"', '"open', '"2026-01-02"', '"2026-01-02T03:04:05.678Z"', '"0.005"'),
)
OTHERS = (
    "null",
    "true",
    "false",
    "True",
    "nul",
    "[]",
    "[1]",
    "{}",
    '{"a":1}',
    '{"a":"x"}',
    "[1,",
    "{",
    "",
    "[[]]",
    "[null]",
)
WHOLE = (
    *(b"", b" ", b"{}", b"null", b"[]", b"1", b'"text"', b"{", b"}", b'{"amount":1}x', b'{"amount":1} {"amount":2}'),
    *(b'[{"amount":1}]', b'[{"amount":1},{"amount":2}]', b"\xef\xbb\xbf{}", b'\xff{"amount":1}', b'{"account":"\xff"}'),
    *(
        b'{"x":"\xff","amount":1}',
        b'{"account":"\xed\xa0\x80"}',
        b"\x00{}",
        b'{"amount":1}\x00',
        b"// c\n{}",
        b"{/**/}",
    ),
    *(b'{"amount":1,}', b'{,"amount":1}', b'{"amount" 1}', b"{amount:1}", b"{'amount':1}", b'\n\t {"amount" : 1 }\r\n'),
    *(b'{"x":' + b"[" * 1100 + b"]" * 1100 + b',"amount":1}', b'{"x":' + b"1" * 1100 + b',"amount":1}'),
    *(
        b'{"x":' + b"[" * 400 + b"]" * 400 + b',"amount":1}',
        b'{"x":' + b"1" * 900 + b"." + b"1" * 200 + b',"amount":1}',
    ),
    *(
        b'{"' + b"n" * 60_000 + b'":1,"amount":1}',
        b'{"account":"' + b"a" * 200_000 + b'"}',
        b'{"account":"' + b"b" * 5000 + b'"}',
    ),
    *(
        b'{"price":1,"price":2}',
        b'{"price":"a","price":2}',
        b'{"price":2,"price":null}',
        b'{"pri\\u0063e":"a","price":2}',
    ),
    *(b'{"amount":1,"amount":null}', b'{"amount":"x","amount":1}', b'{"amount":1,"amount":"x"}', b'{"AMOUNT":1}'),
    *(
        b'{"account":{"a" : [1, 2.50]}}',
        b'{"account":1.50}',
        b'{"account":true}',
        b'{"account":NaN}',
        b'{"price":"\xff"}',
    ),
)


@dataclass
class Given:
    """Records as a reader hands them to a decoder."""

    values: Sequence[bytes | None]
    edge: int = 77
    topic: str = "topic"
    partition: int = 3

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        return np.arange(len(self.values), dtype=np.int64) + 100

    @property
    def timestamps(self) -> npt.NDArray[np.int64]:
        return np.array([-1 if index % 3 == 0 else index for index in range(len(self.values))], dtype=np.int64)

    def keys(self, rows: Sequence[int]) -> list[bytes | None]:
        return [None if row % 2 else b"k%d" % row for row in rows]

    def headers(self, rows: Sequence[int]) -> list[Headers]:
        return [None for _ in rows]


def decoded(spark: SparkSession, decoder: JsonTaskDecoder, values: Sequence[bytes | None]) -> list[tuple[object, ...]]:
    """Return (fields…, control) for each value, in the order of the values, by way of both parts of the decoder."""
    table = pa.Table.from_batches(decoder.decode(Given(values)), schema=arrow_schema(decoder.task_schema))
    frame = decoder.finish(spark.createDataFrame(table, decoder.task_schema))
    rows = [tuple(row) for row in times_as_text(frame).collect()]
    left = FastJson.of(decoder.plan).decode(values)[1] if decoder.plan else list(range(len(values)))
    fast = [index for index in range(len(values)) if index not in set(left)]
    by_index = dict(zip([*fast, *left], rows, strict=True))
    return [by_index[index] for index in range(len(values))]


def times_as_text(frame: DataFrame) -> DataFrame:
    """Python has no year 166375; Spark has."""
    times = [field.name for field in frame.schema.fields if isinstance(field.dataType, DateType | TimestampType)]
    return frame.withColumns({name: F.col(name).cast("string") for name in times})


def by_spark(
    spark: SparkSession, schema: StructType, values: Sequence[bytes | None]
) -> list[tuple[object, ...] | None]:
    """Return what `from_json` makes of each value, None where it calls it corrupt."""
    with_corrupt = StructType([*schema.fields, StructField("corrupt", StringType())])
    frame = spark.createDataFrame(pa.table({"value": pa.array(values, pa.binary())}))
    parsed = F.from_json(
        F.col("value").cast("string"), with_corrupt, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "corrupt"}
    )
    rows = times_as_text(frame.select(parsed.alias("parsed")).select("parsed.*")).collect()
    return [None if row["corrupt"] is not None else tuple(row)[:-1] for row in rows]


def require_equal(spark: SparkSession, json: Json, values: Sequence[bytes | None]) -> tuple[int, int]:
    """Assert equality for each value; return how many were good and how many bad."""
    decoder = json.compile(spark)
    expected = by_spark(spark, decoder.schema, values)
    good = bad = 0
    for index, (value, want, got) in enumerate(zip(values, expected, decoded(spark, decoder, values), strict=True)):
        *fields, control = got
        if want is None:
            assert all(field is None for field in fields), value
            assert isinstance(control, str), value
            word = decode(control)
            given = Given(values)
            stamp = int(given.timestamps[index])
            record = BadRecordRow(
                PartitionId("topic", 3),
                100 + index,
                None if stamp < 0 else stamp,
                "not valid JSON for the schema",
                given.keys([index])[0],
                value,
            )
            assert word == BadRecordWord(77, record), value
            bad += 1
        else:
            assert control is None, value
            assert repr(tuple(fields)) == repr(want), value  # repr tells 0.0 from -0.0 and 1 from 1.0 and Decimal
            good += 1
    return good, bad


def make_record(rnd: random.Random) -> bytes:
    """Make a record that is often valid, often nearly so."""

    def token() -> str:
        pool = rnd.choice((NUMBERS, NUMBERS, TEXTS, OTHERS))
        if rnd.random() < 0.3:
            return (
                str(rnd.randrange(-(10**20), 10**20) / 10 ** rnd.randrange(25))
                if rnd.random() < 0.3
                else (f"{rnd.randrange(-(10**18), 10**18)}.{rnd.randrange(1000)}")
            )
        return rnd.choice(pool)

    def good(name: str) -> str:
        whole = {"amount": 63, "n": 31, "small": 15, "tiny": 7}
        if name in whole:
            return str(rnd.randrange(-(2 ** whole[name]), 2 ** whole[name]))
        if name in ("price", "wide", "cents"):
            return {
                "price": f"{rnd.randrange(10**18)}.{rnd.randrange(100):02}",
                "wide": str(rnd.randrange(10**38)),
            }.get(name, f"-0.{rnd.randrange(100)}")
        return {"ok": "true", "ratio": repr(rnd.gauss(0, 1) * 10.0 ** rnd.randrange(-300, 300))}.get(name, '"text é"')

    space = rnd.choice(("", "", " ", "\n"))
    names = [rnd.choice(NAMES) for _ in range(rnd.randrange(5))]
    valid = rnd.random() < 0.5
    parts = [f'"{name}"{space}:{space}{good(name) if valid or rnd.random() < 0.7 else token()}' for name in names]
    text = ("{" + f",{space}".join(parts) + "}").encode()
    if rnd.random() < 0.1:
        text = text[: rnd.randrange(len(text))]
    if rnd.random() < 0.05 and text:
        place = rnd.randrange(len(text))
        text = text[:place] + bytes([rnd.randrange(256)]) + text[place + 1 :]
    return text


@pytest.mark.parametrize("json", [FAST, SLOW], ids=["fast path", "left to Spark"])
def test_known_traps_mean_what_spark_says(spark: SparkSession, json: Json) -> None:
    tokens = [token.encode() for token in (*NUMBERS, *TEXTS, *OTHERS)]
    fields = [b'{"%s":%s}' % (name.encode(), token) for name in NAMES for token in tokens]
    good, bad = require_equal(spark, json, [None, *WHOLE, *fields])
    assert good > 100
    assert bad > 100


@pytest.mark.verify(short=True)
@settings(
    max_examples=effort().json_examples,
    deadline=None,
    derandomize=not effort().json_from_anew,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 2**32))
def test_generated_records_mean_what_spark_says(spark: SparkSession, seed: int) -> None:
    rnd = random.Random(seed)
    require_equal(spark, FAST, [make_record(rnd) for _ in range(600)])


def test_fast_path_takes_what_it_is_for(spark: SparkSession) -> None:
    decoder = FAST.compile(spark)
    assert decoder.plan is not None
    rows = [b'{"account":"a%d","amount":%d,"price":%d.5,"x":{"y":[1]}}' % (i, i, i) for i in range(100)]
    columns, left = FastJson.of(decoder.plan).decode(rows)
    assert left == []
    assert columns[1].to_pylist() == list(range(100))


def test_bad_record_leaves_its_neighbours_on_the_fast_path(spark: SparkSession) -> None:
    decoder = FAST.compile(spark)
    assert decoder.plan is not None
    rows = [b'{"amount":%d}' % i for i in range(1000)]
    rows[500] = b'{"amount":'
    columns, left = FastJson.of(decoder.plan).decode(rows)
    assert left == [500]
    assert len(columns[1]) == 999


@pytest.mark.parametrize("ddl", ["a strin", "a int,", "a int b int", "int", "a int, A string", "__trident string"])
def test_invalid_schema_is_a_configuration_error(spark: SparkSession, ddl: str) -> None:
    with pytest.raises(ConfigurationError, match=r"schema|taken") as caught:
        Json(ddl).compile(spark)
    assert ddl in str(caught.value) or "__trident" in str(caught.value)
