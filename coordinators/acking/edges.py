"""Edges: the ids under which a batch's ranges are read and acknowledged."""

from __future__ import annotations

import random
from collections.abc import Mapping

from trident.base.ranges import Edge
from trident.coordinators.batches.processor import Job
from trident.coordinators.planned import Plan

JobEdges = Mapping[str, Mapping[str, tuple[Edge, ...]]]

"""For each job (by its state) and spout, the non-empty ranges to read."""


def draw_edges(plan: Plan, jobs: tuple[Job, ...], rng: random.Random) -> JobEdges:
    """Return an edge with a random non-zero 63-bit id for each job and non-empty range."""
    return {
        job.state: {
            spout: tuple(
                Edge(rng.randrange(1, 1 << 63), item.range)
                for item in plan.ranges
                if item.spout == spout and item.range.width
            )
            for spout in job.spouts
        }
        for job in jobs
    }


def edge_ids(edges: JobEdges) -> list[int]:
    """Return all edge ids, to be registered with the acker before the job is sent."""
    return [edge.id for spouts in edges.values() for items in spouts.values() for edge in items]
