"""The order column: its bytes compare as the records do, and say which one a row is of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from trident.base.order import Origin, below, log_of, order_of, origin_of

TOPICS = st.text(alphabet="abz._-09", min_size=1, max_size=6)
PLACES = st.tuples(TOPICS, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))


def order(topic: str, partition: int, offset: int) -> bytes:
    (found,) = order_of(topic, partition, np.array([offset], dtype=np.int64)).to_pylist()
    assert isinstance(found, bytes)
    return found


@given(PLACES, PLACES)
@settings(deadline=None)
def test_bytes_compare_as_places_do(first: tuple[str, int, int], second: tuple[str, int, int]) -> None:
    assert (order(*first) < order(*second)) == (first < second)


@given(PLACES)
@settings(deadline=None)
def test_an_order_says_its_record(place: tuple[str, int, int]) -> None:
    assert origin_of(order(*place)) == Origin(*place)
    (made,) = below(order(*place), 7, 1).to_pylist()
    assert isinstance(made, bytes)
    assert origin_of(made) == Origin(*place)


@given(PLACES, PLACES)
@settings(deadline=None)
def test_the_log_is_what_records_of_a_partition_share(
    first: tuple[str, int, int], second: tuple[str, int, int]
) -> None:
    assert (log_of(order(*first)) == log_of(order(*second))) == (first[:2] == second[:2])
    assert order(*second).startswith(log_of(order(*first))) == (first[:2] == second[:2])


def test_rows_that_a_record_became_stay_together_in_their_order() -> None:
    orders = order_of("payments", 3, np.array([7, 8, 2**40], dtype=np.int64)).to_pylist()
    rows = [row for each in orders for row in below(each, 0, 300).to_pylist()]  # type: ignore[arg-type]
    assert rows == sorted(rows)  # type: ignore[type-var]
    assert len(set(rows)) == len(rows)


def test_no_records_have_no_orders() -> None:
    found = order_of("payments", 0, np.array([], dtype=np.int64))
    assert found.type == pa.binary()
    assert found.to_pylist() == []
