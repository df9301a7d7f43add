"""Edges: the ids under which a batch's ranges are read and acknowledged."""

from __future__ import annotations

import random
from collections.abc import Mapping

from trident.base.ranges import Edge
from trident.coordinators.planned import Plan

BatchEdges = Mapping[str, tuple[Edge, ...]]
"""For each spout of a plan, the non-empty ranges to read."""


def draw_edges(plan: Plan, rng: random.Random) -> BatchEdges:
    """Return an edge with a random non-zero 63-bit id for each non-empty range."""
    edges: dict[str, tuple[Edge, ...]] = {}
    for item in plan.ranges:
        drawn = (Edge(rng.randrange(1, 1 << 63), item.range),) if item.range.width else ()
        edges[item.spout] = edges.get(item.spout, ()) + drawn
    return edges


def edge_ids(edges: BatchEdges) -> list[int]:
    """Return all edge ids, to be registered with the acker before the batch is processed."""
    return [edge.id for items in edges.values() for edge in items]
