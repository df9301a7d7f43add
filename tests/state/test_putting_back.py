"""Rows that the ledger keeps as JSON are the rows that they were."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from trident.base.errors import RefusedError
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.putting_back import kept_rows, rows_of, without_sums
from trident.state.rows import json_rows

VALUES: dict[str, tuple[pa.DataType, list[object]]] = {
    "number": (pa.int64(), [2**63 - 1, -(2**63), None]),
    "small": (pa.int16(), [1, None, -3]),
    "real": (pa.float64(), [0.1, math.inf, -0.0]),
    "single": (pa.float32(), [0.10000000149011612, None, -math.inf]),
    "exact": (pa.decimal128(38, 18), [Decimal("12345678901234567890.123456789012345678"), Decimal(0), None]),
    "flag": (pa.bool_(), [True, False, None]),
    "text": (pa.string(), ["a 'quoted' \u00e9 \n", "", None]),
    "bytes": (pa.binary(), [b"\x00\xff", b"", None]),
    "moment": (
        pa.timestamp("us", "UTC"),
        [datetime(2024, 5, 6, 7, 8, 9, 123456, UTC), datetime(1, 1, 1, tzinfo=UTC), None],
    ),
    "local": (pa.timestamp("us"), [datetime.fromisoformat("2024-05-06T07:08:09"), None, None]),
    "day": (pa.date32(), [date(2024, 2, 29), date(1, 1, 1), None]),
}
LAYOUT = StateLayout(
    (KeyColumn("key", pa.string()),),
    tuple(ValueColumn(name, type_, Merge.GREATEST) for name, (type_, _) in VALUES.items()),
)
SUMS = StateLayout(
    (KeyColumn("key", pa.string()),),
    (ValueColumn("n", pa.int64(), Merge.ADD), ValueColumn("most", pa.int64(), Merge.GREATEST)),
)


def test_each_value_of_each_type_comes_back_exactly() -> None:
    rows = pa.table({"key": ["a", "b", None], **{name: pa.array(*pair[::-1]) for name, pair in VALUES.items()}})
    rows = rows.cast(LAYOUT.schema())
    assert rows_of(kept_rows(json_rows(rows)), LAYOUT).equals(rows)


def test_a_value_that_is_no_number_comes_back() -> None:
    layout = StateLayout((), (ValueColumn("real", pa.float64(), Merge.ADD),))
    (found,) = rows_of(kept_rows(json_rows(pa.table({"real": [math.nan]}))), layout).column("real").to_pylist()
    assert isinstance(found, float)
    assert math.isnan(found)


def test_columns_go_by_their_names_and_rows_by_their_keys() -> None:
    kept = kept_rows(['{"most": 1, "n": 2, "key": "b"}', '{"key": "a", "n": 3}'])
    expected = [{"key": "a", "n": 3, "most": None}, {"key": "b", "n": 2, "most": 1}]
    assert rows_of(kept, SUMS).to_pylist() == expected


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ('{"key": "a", "n": 1.5}', "'n'"),
        ('{"key": "a", "n": "1"}', "'n'"),
        ('{"key": "a", "n": 9223372036854775808}', "'n'"),
        ('{"key": 1, "n": 1}', "'key'"),
        ('{"key": {"base64": "/w=="}, "n": 1}', "'key'"),
        ('{"n": 1}', "no column 'key'"),
        ('{"key": "a", "other": 1}', "'other', which the state does not have"),
        ("[]", "no JSON object"),
        ("{", "no JSON object"),
    ],
)
def test_what_a_column_does_not_hold_is_refused_by_its_name_and_never_shown(row: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why) as error:
        rows_of(kept_rows([row]), SUMS)
    assert "9223372036854775808" not in str(error.value)


def test_a_sum_that_is_missing_is_told_and_one_that_came_since_is_not() -> None:
    assert without_sums(kept_rows(['{"key": "a", "n": null, "most": null}']), SUMS) == ("n",)
    assert without_sums(kept_rows(['{"key": "a", "most": null}', '{"key": "b", "n": 1}']), SUMS) == ()
