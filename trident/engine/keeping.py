"""What several actions of an attempt stand on, in Spark's storage up to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from trident.engine.acting import AFTER_STOP
from trident.engine.errors import SPARK_FAILURES
from trident.engine.lowering import Counted, Keep
from trident.engine.reruns import require_kept
from trident.graph.jobs import Trunk
from trident.graph.nodes import Node


@dataclass(frozen=True, slots=True)
class Kept:
    """The frames that the ends of one job begin with."""

    keep: Keep
    """Callable from several threads."""
    tops: Mapping[Trunk, Counted]
    forks: Mapping[Node, Counted] = field(default_factory=dict)

    def with_fork(self, node: Node, frame: Counted) -> Kept:
        """Return them with one more fork's."""
        return replace(self, forks={**self.forks, node: frame})


@contextmanager
def storage(what: str) -> Iterator[Keep]:
    """Return a way to keep frames up to the end of the block; raises RetryableError if one was let go of before."""
    kept: list[DataFrame] = []

    def keep(frame: DataFrame) -> DataFrame:
        kept.append(frame.persist())
        return kept[-1]

    try:
        yield keep
        require_kept(kept, what)
    finally:
        # where Spark is gone its storage is too, and what ended the block is to be raised
        with suppress(*SPARK_FAILURES, *AFTER_STOP):
            for frame in kept:
                frame.unpersist()
