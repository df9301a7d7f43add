"""A sink's marker and the records that staged rows become: pure."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.state.arrays import array
from trident.base.digest import Digest
from trident.base.errors import MismatchError, RefusedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.order import order_of
from trident.state.kafka.checking import check_rows
from trident.state.kafka.clients.cluster import TopicSettings
from trident.state.kafka.marker import Marker, Sent, decode, encode, transactional_id
from trident.state.kafka.records import ROWS, in_order, records_of
from trident.state.positions import Position

OWNER = Owner("orders", "life")
BATCH = BatchId(OWNER, Epoch(3, "a.b"), 7, 70)
NAMES = st.text(st.characters(exclude_characters='":%\\', exclude_categories=["C"]), min_size=1, max_size=8)


def rows(*given: tuple[object, ...]) -> pa.Table:
    """Return staged rows of (topic, key, value, headers, offset of partition 1 of topic "in")."""
    orders = [None if row[4] is None else order_at(row[4]) for row in given]
    columns = [*([row[number] for row in given] for number in range(4)), orders]
    return pa.table([array(values, field.type) for values, field in zip(columns, ROWS, strict=True)], schema=ROWS)


def order_at(offset: object) -> object:
    return order_of("in", 1, np.array([offset], dtype=np.int64))[0].as_py()


def topics(**limits: int) -> dict[str, TopicSettings]:
    return {name: TopicSettings(1, "delete", limit) for name, limit in limits.items()}


def headers(**values: bytes | None) -> list[dict[str, object]]:
    return [{"key": name, "value": value} for name, value in values.items()]


@pytest.mark.parametrize("position", [None, Position(OWNER, 7, 70, 3)])
def test_a_marker_comes_back_as_it_was(position: Position | None) -> None:
    sent = Sent(4, Digest(4, 1, 2, -3)) if position else Sent(0, Digest())
    marker = Marker(OWNER, Epoch(3, "a.b"), "cluster", position, sent)
    assert decode(encode(marker), "there") == marker


def test_a_marker_can_be_read_by_people() -> None:
    shown = json.loads(encode(Marker(OWNER, Epoch(3, "a.b"), "c", Position(OWNER, 7, 70, 3), Sent(4, Digest(4)))))
    names = ["format", "topology", "incarnation", "epoch", "token", "cluster", "txid", "attempt", "birth_txid"]
    assert list(shown) == [*names, "count", "digest"]
    assert (shown["txid"], shown["attempt"], shown["count"]) == (7, 70, 4)


NO_MARKERS = [b"", b"{}", b"[]", b"null", b'{"format": 1}', b"\xff", b'{"format": 1, "topology": 3}']


@pytest.mark.parametrize("data", NO_MARKERS)
def test_what_is_no_marker_is_told(data: bytes) -> None:
    with pytest.raises(MismatchError, match=r"there holds no marker of this library.*nothing was changed"):
        decode(data, "there")


def test_a_newer_versions_marker_is_told() -> None:
    with pytest.raises(MismatchError, match="format 2, which a newer version wrote"):
        decode(b'{"format": 2}', "there")


@given(st.tuples(NAMES, NAMES), st.tuples(NAMES, NAMES))
def test_no_two_sinks_share_a_transactional_id(first: tuple[str, str], second: tuple[str, str]) -> None:
    assert (transactional_id(*first) == transactional_id(*second)) == (first == second)


def test_a_transactional_id_is_what_people_expect() -> None:
    assert transactional_id("payments", "alerts") == "payments.alerts"


def test_a_dot_in_a_name_is_no_border() -> None:
    assert transactional_id("a.b", "c") != transactional_id("a", "b.c")


def test_a_fence_leaves_the_position() -> None:
    marker = Marker(OWNER, Epoch(3, "a.b"), "c", Position(OWNER, 7, 70, 3))
    fenced = marker.fenced(Owner("orders", "other life"), Epoch(4, "a.c"))
    assert (fenced.position, fenced.owner, fenced.epoch) == (marker.position, OWNER, Epoch(4, "a.c"))


def test_rows_leave_in_the_order_of_their_records() -> None:
    given = rows(*((("out", b"k", b"%d" % n, None, n)) for n in (5, 3, 10, 4)))
    assert in_order(given).column("value").to_pylist() == [b"3", b"4", b"5", b"10"]
    once = in_order(given)
    assert in_order(once).equals(once)


def test_rows_of_no_record_stay_as_they_are() -> None:
    given = rows(*((("out", b"k", value, None, None)) for value in (b"b", b"a")))
    assert in_order(given).column("value").to_pylist() == [b"b", b"a"]


def test_a_record_says_where_it_comes_from() -> None:
    given = rows(("out", b"k", b"v", headers(kind=b"x", none=None), 9), ("out", None, None, None, None))
    first, second = records_of(given, BATCH, lineage=True)
    lineage = [("trident-topology", b"orders"), ("trident-txid", b"7"), ("trident-attempt", b"70")]
    assert first.headers == [("kind", b"x"), ("none", None), *lineage, ("trident-source", b"in[1]@9")]
    assert (first.topic, first.key, first.value) == ("out", b"k", b"v")
    assert (second.key, second.value, second.headers) == (None, None, lineage)
    assert [record.headers for record in records_of(given, BATCH, lineage=False)] == [first.headers[:2], []]


def test_a_header_of_one_record_is_not_the_next_ones() -> None:
    given = rows(("out", b"k", b"v", headers(a=b"1"), 1), ("out", b"k", b"v", headers(b=b"2"), 2))
    firsts = [record.headers[0][0] for record in records_of(given, BATCH, lineage=True)]
    assert firsts == ["a", "b"]


REFUSED = {
    "no topic": (rows((None, b"k", b"v", None, 1)), "name no topic"),
    "unknown topic": (rows(("elsewhere", b"k", b"v", None, 1)), "there is no topic 'elsewhere'"),
    "large value": (rows(("out", b"k", b"v" * 1000, None, 1)), "1,001 bytes .* is too large for topic 'out'"),
    "large key": (rows(("out", b"k" * 1000, None, None, 1)), "1,000 bytes .* is too large"),
    "one of several": (
        rows(("out", b"k", b"v", None, 1), ("big", b"k", b"v" * 1500, None, 2), ("out", b"k", b"v" * 1100, None, 3)),
        r"1,101 bytes \(made of in\[1\]@3\) is too large for topic 'out'",
    ),
    "of no record": (rows(("out", b"k", b"v" * 1000, None, None)), "1,001 bytes is too large"),
    "large headers": (rows(("out", None, None, headers(h=b"v" * 1000), 1)), "is too large"),
    "a name for no topic": (rows(("a b", b"k", b"v", None, 1)), "no topic of Kafka can be called 'a b'"),
    "a topic of markers": (rows(("marks", b"k", b"v", None, 1)), "'marks', which holds the markers"),
    "an empty name": (rows(("", b"k", b"v", None, 1)), "no topic of Kafka can be called ''"),
    "our header": (rows(("out", b"k", b"v", headers(**{"trident-txid": b"8"}), 1)), "this library's own"),
    "nameless header": (rows(("out", b"k", b"v", [{"key": None, "value": b""}], 1)), "a header has no name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_broker_takes_is_refused_before_it_is_sent(case: str) -> None:
    given, pattern = REFUSED[case]
    with pytest.raises(RefusedError, match=f"{pattern}.*nothing of the batch was sent|{pattern}.*nothing was sent"):
        check_rows(given, topics(out=1000, big=2000, other=10, marks=1000), of_markers={"marks"})


def test_what_fits_is_taken() -> None:
    check_rows(rows(("out", b"k", b"v" * 700, headers(h=b"v"), 1), ("out", None, None, None, 2)), topics(out=1000))


def test_what_is_compressed_is_held_against_what_the_client_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    given = rows(("out", b"k", b"v" * 5000, None, 1))
    check_rows(given, topics(out=1000), is_compressed=True)
    monkeypatch.setattr("trident.state.kafka.checking.COMPRESSIBLE", 2000)
    check_rows(given, topics(out=6000), is_compressed=True)
    with pytest.raises(RefusedError, match="before it is compressed it may have 2,000; nothing of the batch was sent"):
        check_rows(given, topics(out=1000), is_compressed=True)


def test_a_small_topic_does_not_narrow_another_one() -> None:
    check_rows(rows(("large", b"k", b"v" * 5000, None, 1), ("out", b"k", b"v", None, 2)), topics(out=1000, large=9000))


@pytest.mark.parametrize("order", [0, 10**12, None])
@pytest.mark.parametrize("lineage", [True, False])
def test_the_headers_that_say_where_a_record_came_from_count(order: int | None, lineage: bool) -> None:
    """What is let through has to fit when it is sent, however little is left."""
    batch = BatchId(Owner("o" * 200, "life"), Epoch(3, "a.b"), 10**9, 10**10)
    refused = False
    for length in range(300, 1000):
        given = rows(("out", b"k", b"v" * length, headers(h=b"v"), order))
        (record,) = records_of(given, batch, lineage=lineage)
        own = sum(len(name) + len(value or b"") for name, value in record.headers)
        try:
            check_rows(given, topics(out=1000), batch if lineage else None)
        except RefusedError:
            refused = True
        else:
            assert not refused, "the larger one was let through"
            # the head of a batch is 61 bytes, and of a record at most 31 more, beside those of its headers
            assert len(record.value or b"") + 1 + own + 92 <= 1000
    assert refused


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_takes_no_record_without_a_key(policy: str) -> None:
    there = {"out": TopicSettings(1, "delete", 1000), "table": TopicSettings(1, policy, 1000)}
    check_rows(rows(("out", None, b"v", None, 1), ("table", b"", b"v", None, 2)), there)
    given = rows(("out", None, b"v", None, 1), ("table", b"k", None, None, 2), ("table", None, None, None, 3))
    with pytest.raises(RefusedError, match=r"in\[1\]@3\) for topic 'table' has no key.*nothing of the batch was sent"):
        check_rows(given, there)
