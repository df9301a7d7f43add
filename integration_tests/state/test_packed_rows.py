"""Rows that PostgreSQL packs come back as they went in: each type, nulls among them, more rows than one part has."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest

from integration_tests.fix_postgres import Postgres
from integration_tests.state.test_postgres_contract import PostgresHarness
from trident.base.errors import RefusedError
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.postgres.packed import _AT_ONCE, _MOST_BYTES, packed_select, unpacked
from trident.state.staged import HeldUpdates
from trident.testing.state_harness import batch_of, put, querying, ready

ROWS = 2 * _AT_ONCE + 1
VALUES: dict[pa.DataType, tuple[object, ...]] = {
    pa.bool_(): (True, False),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.float32(): (1.5, -math.inf, math.nan, 2.0**-149),
    pa.float64(): (0.1, math.inf, math.nan, 5e-324, 0.0),
    pa.decimal128(38, 2): tuple(Decimal(each) for each in ("-" + "9" * 36 + ".99", "0.00", "0.10")),
    pa.string(): ("", "a", "NULL", "\\x41", "line\r\nbreak", "caf\u00e9", "\U0001f600"),
    pa.large_string(): ("", "b"),
    pa.binary(): (b"", b"\x00\xff", b"\\"),
    pa.large_binary(): (b"c",),
    pa.date32(): (date.min, date(1999, 12, 31), date(2000, 1, 1), date.max),
    pa.timestamp("us", "UTC"): (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)),
    pa.timestamp("us"): (datetime(1, 1, 1), datetime(2000, 1, 1, 0, 0, 0, 1)),  # noqa: DTZ001 - so it is
    pa.timestamp("s", "UTC"): (datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),),
}


def table_of(layout: StateLayout) -> pa.Table:
    columns: list[object] = [pa.array(range(ROWS), pa.int64())]
    for place, type_ in enumerate(VALUES):
        values = (None, *VALUES[type_])
        columns.append(pa.array([values[(number + place) % len(values)] for number in range(ROWS)], type_))
    return pa.table(columns, schema=layout.schema())  # type: ignore[arg-type]


def test_each_value_comes_back_as_it_went_in(postgres: Postgres) -> None:
    columns = tuple(ValueColumn(f"v{place}", type_, Merge.LEAST) for place, type_ in enumerate(VALUES))
    layout = StateLayout((KeyColumn("k", pa.int64()),), columns)
    harness = PostgresHarness(postgres.dsn, False)
    try:
        store, rows = ready(harness, layout=layout), table_of(layout)
        put(harness, store, batch_of(1), HeldUpdates(rows))
        found = querying(store).find("orders", rows.select(["k"])).rows.sort_by("k")
    finally:
        harness.close()
    assert found.schema == layout.schema()
    assert [list(map(repr, row.values())) for row in found.to_pylist()] == [
        list(map(repr, row.values())) for row in rows.to_pylist()
    ]


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (pa.date32(), "'infinity'::date"),
        (pa.date32(), "'-infinity'::date"),
        (pa.date32(), "'10000-01-01'::date"),
        (pa.timestamp("us", "UTC"), "'infinity'::timestamptz"),
        (pa.timestamp("us"), "'-infinity'::timestamp"),
        (pa.timestamp("s"), "'2024-01-01 00:00:00.5'::timestamp"),
        (pa.decimal128(10, 2), "'NaN'::numeric"),
        (pa.decimal128(4, 2), "123.45"),
    ],
)
def test_what_others_have_put_and_no_store_holds_is_refused(postgres: Postgres, type_: pa.DataType, value: str) -> None:
    statement = packed_select(f"SELECT {value} UNION ALL SELECT NULL", [type_])
    with psycopg.connect(postgres.dsn) as connection:
        parts = connection.execute(statement).fetchall()  # type: ignore[call-overload, unused-ignore]
    with pytest.raises(RefusedError, match=r"column 'v' .* holds"):
        unpacked(pa.schema([pa.field("v", type_)]), parts)


def test_no_rows_have_no_parts(postgres: Postgres) -> None:
    with psycopg.connect(postgres.dsn) as connection:
        parts = connection.execute(packed_select("SELECT 1 WHERE false", [pa.int32()])).fetchall()  # type: ignore[call-overload, unused-ignore]
    assert unpacked(pa.schema([pa.field("v", pa.int32())]), parts).num_rows == 0


def test_a_text_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(RefusedError, match="not UTF-8"):
        unpacked(pa.schema([pa.field("v", pa.string())]), [(b"\0\0\0\1", b"\xff")])


def test_long_values_are_packed_in_parts_that_the_server_takes(postgres: Postgres) -> None:
    """A thousand texts of a megabyte are more than the server puts into one string."""
    size, count = _MOST_BYTES // 8, 20
    schema = StateLayout((KeyColumn("k", pa.int64()),), (ValueColumn("v", pa.string(), Merge.LEAST),)).schema()
    made = f"SELECT n, CASE WHEN n % 2 = 0 THEN repeat('x', {size}) END FROM generate_series(1, {count}) AS n"
    with psycopg.connect(postgres.dsn) as connection:
        parts = connection.execute(packed_select(made, schema.types).encode(), binary=True).fetchall()
    assert 2 <= len(parts) <= 3
    found = unpacked(schema, parts).sort_by("k")
    assert found.column("k").to_pylist() == list(range(1, count + 1))
    assert [len(text or "") for text in found.column("v").to_pylist()] == [0, size] * (count // 2)
