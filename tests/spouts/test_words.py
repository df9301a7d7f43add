"""Control rows, digests and the dealing of ranges: what tasks tell the coordinator."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.control import BadRecordWord, ControlRow, Undecoded, decode, encode
from trident.base.digest import Digest
from trident.base.ranges import BadRecordRow, Edge, OffsetRange, PartitionId, RangeManifest
from trident.base.writes import WriteManifest
from trident.spouts.base import OffsetsLostError
from trident.spouts.spread import spread
from trident.spouts.tally import RangeTally, position_digest

BIGINT = st.integers(-(2**63), 2**63 - 1)
IDS = st.builds(PartitionId, st.text(max_size=20), st.integers(0, 2**31 - 1))
DIGESTS = st.builds(Digest, st.integers(0, 2**63), st.integers(0, 2**80), st.integers(0, 2**80), BIGINT)
BYTES = st.none() | st.binary(max_size=50)
BAD = st.builds(BadRecordRow, IDS, BIGINT, st.none() | BIGINT, st.text(max_size=20), BYTES, BYTES)
ROWS = st.one_of(
    st.builds(RangeManifest, BIGINT, st.none() | IDS, st.none() | BIGINT, DIGESTS, BIGINT, st.none() | BIGINT),
    st.builds(BadRecordWord, BIGINT, BAD),
    st.builds(WriteManifest, st.text(max_size=20), st.text(max_size=20), DIGESTS),
    st.builds(Undecoded, BIGINT),
)


@given(ROWS)
def test_control_rows_come_back_as_they_went(row: ControlRow) -> None:
    assert decode(encode(row)) == row


def test_unknown_control_row_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown"):
        decode('["other", 1]')


@given(st.sets(st.integers(0, 2**62), max_size=200), st.integers(0, 2**32), st.integers(1, 7))
def test_digest_is_the_same_for_any_order_and_any_chunks(offsets: set[int], seed: int, chunk: int) -> None:
    ordered = sorted(offsets)
    shuffled = random.Random(seed).sample(ordered, len(ordered))
    whole = position_digest("t", 1, np.array(ordered, dtype=np.int64))
    parts = Digest()
    for start in range(0, len(shuffled), chunk):
        parts += position_digest("t", 1, np.array(shuffled[start : start + chunk], dtype=np.int64))
    assert parts == whole


def test_digest_tells_records_partitions_and_repeats_apart() -> None:
    offsets = np.arange(10, dtype=np.int64)
    found = {
        position_digest("t", 1, offsets),
        position_digest("t", 2, offsets),
        position_digest("u", 1, offsets),
        position_digest("t", 1, offsets + 1),
        position_digest("t", 1, np.concatenate([offsets, offsets[:1], offsets[:1]])),
    }
    assert len(found) == 5


def edge(number: int, width: int) -> Edge:
    return Edge(number, OffsetRange(PartitionId("t", number), "id", 100, 100 + width))


def test_tally_adds_up_to_a_manifest() -> None:
    tally = RangeTally(edge(1, 10))
    tally.add(np.array([100, 101]), np.array([5, 9]), [b"ab", None])
    tally.add(np.array([105]), np.array([-1]), [b""])
    tally.add(np.array([], dtype=np.int64), np.array([], dtype=np.int64), [])
    manifest = tally.manifest(110)
    assert (manifest.count, manifest.size_bytes, manifest.newest, manifest.position) == (3, 2, 9, 110)
    assert manifest.digest == position_digest("t", 1, np.array([100, 101, 105]))


@given(st.lists(st.integers(0, 1000), max_size=20), st.integers(1, 8))
def test_every_range_goes_to_one_task(widths: list[int], tasks: int) -> None:
    edges = [edge(number, width) for number, width in enumerate(widths)]
    groups = spread(edges, tasks)
    assert sorted(item.id for group in groups for item in group) == list(range(len(widths)))
    assert 1 <= len(groups) <= tasks
    loads = [sum(item.range.width for item in group) for group in groups]
    assert max(loads) - min(loads) <= max(widths, default=0)


def test_lost_offsets_travel_with_their_ranges() -> None:
    error = OffsetsLostError((edge(3, 7).range,))
    copy = pickle.loads(pickle.dumps(error))
    assert copy.ranges == error.ranges
    assert str(copy) == str(error)
    assert "t[3] 100..107" in str(copy)


def test_collector_is_paused_only_inside_the_block() -> None:
    import gc

    from trident.spouts.kafka.readers.pause import collector_paused

    seen = []

    def fail_inside() -> None:
        with collector_paused():
            seen.append(gc.isenabled())
            raise RuntimeError("over")

    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="over"):
        fail_inside()
    assert seen == [False]
    assert gc.isenabled()
