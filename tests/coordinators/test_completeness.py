"""A job is complete when every range was read to its end, and not before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from trident.base.digest import Digest
from trident.base.ranges import Edge, OffsetRange, PartitionId, RangeManifest
from trident.coordinators.batches.completeness import IncompleteError, complete_edges
from trident.coordinators.batches.processor import ProcessResult
from trident.state.staged import HeldUpdates

EDGES = {"s": tuple(Edge(7 + n, OffsetRange(PartitionId("t", n), "id", 10, 20)) for n in range(3))}


def manifest(n: int, **changes: Any) -> tuple[str, RangeManifest]:
    return "s", replace(RangeManifest(7 + n, PartitionId("t", n), 20, Digest(9, 1, 2, 3)), **changes)


def result(*manifests: tuple[str, RangeManifest]) -> ProcessResult:
    return ProcessResult(tuple(manifests), (), {"balances": HeldUpdates(pa.table({}))})


def test_positions_at_or_behind_the_stop_are_complete_whatever_the_count():
    read = result(manifest(0), manifest(1, position=25, digest=Digest()), manifest(2))
    assert sorted(complete_edges(EDGES, read)) == [7, 8, 9]


def test_a_missing_manifest_leaves_its_edge_open():
    assert sorted(complete_edges(EDGES, result(manifest(0), manifest(2)))) == [7, 9]


@pytest.mark.parametrize(
    "wrong",
    [
        manifest(0, position=19),
        manifest(0, edge=99),
        manifest(0, id=PartitionId("t", 1)),
        manifest(1),
        manifest(0, digest=Digest(11, 1, 2, 3)),
        ("other", manifest(0)[1]),
    ],
    ids=["short", "unknown edge", "other partition", "twice", "too many records", "other spout"],
)
def test_what_was_not_planned_or_not_read_to_the_end_is_refused(wrong):
    with pytest.raises(IncompleteError):
        complete_edges(EDGES, result(manifest(1), manifest(2), wrong))


def test_a_reader_without_positions_vouches_by_its_number_of_manifests():
    unnamed = ("s", RangeManifest(0, None, None, Digest()))
    read = result(manifest(1, position=None), unnamed, unnamed)
    assert sorted(complete_edges(EDGES, read)) == [7, 8, 9]
    with pytest.raises(IncompleteError):
        complete_edges(EDGES, result(manifest(1), unnamed, unnamed, unnamed))
