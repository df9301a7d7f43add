"""Frames of planned ranges: how many tasks read them, and whether the quick way does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from trident.base.control import Undecoded
from trident.base.errors import ConfigurationError
from trident.base.ranges import Edge
from trident.engine.collecting import Collected, words_in
from trident.engine.prepared import frame_of
from trident.spouts.base import KnowsOrder, ReadsSmallBatches, SmallBatch, Source
from trident.spouts.slices import read_schema

CAREFUL_BATCHES = 50
"""After a record that a quick read can't decode, so many batches of its stream are read carefully at once."""
ONE_TASKS = 20_000
"""Up to so many positions one task does all: a second one costs more than it saves."""
_FEW_TASKS = 2
"""Where more could share what is larger, they do; two tasks of Python's are no quicker than one that need not read."""


class Readers:
    """Reads sources; called from several threads at once, keeps how the last batches had to be read."""

    def __init__(self, spark: SparkSession, sources: Mapping[str, Source], parallelism: int) -> None:
        self._spark = spark
        self._sources = sources
        self.parallelism = parallelism
        """How many tasks read a large batch; may be changed at any time, since any number reads the same."""
        self._careful_batches = dict.fromkeys(sources, 0)

    def small(self, name: str, edges: Sequence[Edge], *, in_order: bool, runs_user_code: bool) -> SmallBatch | None:
        """Return what a small batch holds, read here at once; None where tasks are to read it.

        So it is where a record needs the careful way, and with the next batches then. What is read here is one task's
        whatever follows: not a user's code on many records, nor columns that more tasks could share.
        """
        source = self._sources[name]
        if not edges or self._careful_batches[name] or not isinstance(source, ReadsSmallBatches):
            return None
        could_share = min(len(edges), self.parallelism)
        if width_of(edges) > ONE_TASKS and could_share > (1 if runs_user_code else _FEW_TASKS):
            return None
        batch = source.read_small(self._spark, edges, in_order=in_order)
        if batch is not None and any(isinstance(word, Undecoded) for word in words_in(batch.words)):
            self._careful_batches[name] = CAREFUL_BATCHES
            return None
        return batch

    def collect(
        self,
        name: str,
        edges: Sequence[Edge],
        action: Callable[[DataFrame], Collected],
        *,
        in_order: bool = False,
        may_be_here: bool = False,
        runs_user_code: bool = False,
    ) -> Collected:
        """Run an action on the source's frame, read the quick way; where that does not do, again and carefully.

        The next batches are read carefully too. `in_order` asks for the column that says which record a row is of;
        `may_be_here` says that nobody has asked for it as a small batch yet.
        """
        small = self.small(name, edges, in_order=in_order, runs_user_code=runs_user_code) if may_be_here else None
        careful = self._careful_batches[name]
        if not careful:
            quick = (
                self._frame(name, edges, quick=True, in_order=in_order)
                if small is None
                else frame_of(self._spark, small)
            )
            collected = action(quick)
            if not any(isinstance(word, Undecoded) for word in collected.words):
                return collected
            careful = CAREFUL_BATCHES
        self._careful_batches[name] = careful - 1
        return action(self._frame(name, edges, quick=False, in_order=in_order))

    def _frame(self, name: str, edges: Sequence[Edge], *, quick: bool, in_order: bool) -> DataFrame:
        if not edges:  # another source of the job has something
            return self._empty(name, in_order=in_order)
        width = width_of(edges)
        tasks = 1 if width <= ONE_TASKS else max(1, min(len(edges), self.parallelism))
        frame = self._reading(name, in_order)(self._spark, edges, tasks, quick)
        # coalesce tells Spark that all rows are in one place, so that no grouping shuffles them
        return frame.coalesce(1) if tasks == 1 else frame

    def _empty(self, name: str, *, in_order: bool) -> DataFrame:
        schema = read_schema(self._sources[name].schema(self._spark), in_order=in_order)
        return self._spark.createDataFrame([], schema).coalesce(1)

    def _reading(self, name: str, in_order: bool) -> Callable[[SparkSession, Sequence[Edge], int, bool], DataFrame]:
        source = self._sources[name]
        if not in_order:
            return source.read
        if not isinstance(source, KnowsOrder):
            raise ConfigurationError(
                f"the source of stream {name!r} has no read_in_order, so it can't say which record a row is of: its "
                "rows can be aggregated, but neither sent one by one nor audited. Nothing was read"
            )
        return source.read_in_order


def width_of(edges: Iterable[Edge]) -> int:
    """Return how many positions there are to read, holes included."""
    return sum(edge.range.width for edge in edges)
