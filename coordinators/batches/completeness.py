"""Whether an attempt read its ranges to the end: position, not a count of records, decides."""

from __future__ import annotations

from collections.abc import Mapping

from trident.base.errors import RetryableError
from trident.base.ranges import Edge, RangeManifest
from trident.coordinators.batches.processor import ProcessResult


class IncompleteError(RetryableError):
    """An attempt came back without having read all that was planned; its results are thrown away."""


def complete_edges(edges: Mapping[str, tuple[Edge, ...]], result: ProcessResult) -> tuple[int, ...]:
    """Return the edge ids that the attempt's manifests acknowledge; raises IncompleteError.

    Each manifest must name a planned range and have reached its stop. A reader that can't know its
    position (None) vouches by its own end check; one that can't name its range either, since it saw
    no record (`id` None), acknowledges any one range of its spout that no other manifest names: there
    the number of manifests is what is checked.
    """
    planned = {(spout, edge.id): edge for spout, items in edges.items() for edge in items}
    named = [(spout, item) for spout, item in result.manifests if item.id is not None]
    for spout, manifest in named:
        edge = planned.pop((spout, manifest.edge), None)
        if edge is None or edge.range.id != manifest.id:
            raise IncompleteError(f"stream {spout!r}: a task acknowledged a range twice or one that nobody planned")
        _require_end(spout, edge, manifest)
    acknowledged = [manifest.edge for _, manifest in named]
    for spout, manifest in result.manifests:
        if manifest.id is None:
            acknowledged.append(_claim_unnamed(planned, spout, manifest))
    return tuple(acknowledged)


def _require_end(spout: str, edge: Edge, manifest: RangeManifest) -> None:
    if manifest.position is not None and manifest.position < edge.range.stop:
        raise IncompleteError(
            f"stream {spout!r}: a task read partition {edge.range.id.partition} of {edge.range.id.topic!r} up to "
            f"{manifest.position}, not to the planned {edge.range.stop}"
        )
    if manifest.count > edge.range.width:
        raise IncompleteError(f"stream {spout!r}: a task read more records than its range has positions")


def _claim_unnamed(planned: dict[tuple[str, int], Edge], spout: str, manifest: RangeManifest) -> int:
    key = next((key for key in planned if key[0] == spout), None)
    if key is None or manifest.count:
        raise IncompleteError("a task acknowledged a range that nobody planned")
    return planned.pop(key).id
