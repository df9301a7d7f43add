"""One question to a topology: does it come to the same wherever its coordinators die?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trident.base.checks import check_able, refused
from trident.base.errors import ConfigurationError
from trident.graph.nodes import PersistNode
from trident.spouts.base import lives_in_process
from trident.state.kafka.records import LINEAGE, SOURCE, Record
from trident.state.kafka.sink import KafkaSink
from trident.testing.lives import Death
from trident.testing.playing import Rows, TopologyTest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from trident.language.topology import Topology


@dataclass(frozen=True, slots=True)
class _Seen:
    """What readers see of each state and sink."""

    rows: Mapping[str, Sequence[str]]
    """In an order that says nothing."""
    orders: Mapping[str, Mapping[str, Sequence[str]]]
    """Of each Kafka sink the records of each key, in the order that is promised; those without one are in no order."""


def check_exactly_once(
    topology: Topology,
    spark: SparkSession,
    batches: Sequence[Rows],
    *,
    retried_with: Sequence[Rows] | None = None,
    tables: Rows | None = None,
) -> tuple[Death, ...]:
    """Run batches undisturbed, then again for each border that they come to, with a death there in every batch.

    Raises AssertionError, naming state or sink and death, where readers see anything else than after an undisturbed
    run: a function that is not a function of its records is found like that. With `retried_with`, rows of opaque
    streams for each batch, those that were not decided are tried again with these, and what readers see is compared
    with an undisturbed run of what the batches held. Returns the deaths that were played; with rows that reach every
    branch these are all that there are.
    """
    _check_batches("batches", batches)
    check_able("topology", topology, ("compile", "run"), "a Topology", has=("name",))
    received = [name for name, spout in topology.compile().spouts.items() if lives_in_process(spout)]
    if received:
        raise ConfigurationError(
            f"check_exactly_once can't play the stream {received[0]!r}: what a NonTransactionalSpout has received ends "
            "with its process, so a death before the pin loses it. Build the topology on another spout for the test"
        )
    if retried_with is not None:
        _check_batches("retried_with", retried_with)
        if len(retried_with) != len(batches):
            raise ConfigurationError("retried_with needs rows for each of the batches, {} for those that hold the same")
    others: Sequence[Rows | None] = [None] * len(batches) if retried_with is None else retried_with
    calm = _CalmRuns(topology, spark, tables)
    _, passed = calm.run(batches)
    deaths = tuple(dict.fromkeys(death for borders in passed for death in borders))
    for death in deaths:
        held = []
        with TopologyTest(topology, spark, tables=tables) as test:
            for rows, other, borders in zip(batches, others, passed, strict=True):
                held.append(_play(test, rows, other, death if death in borders else None))
            found = _seen(test, topology)
        expected, _ = calm.run(held)
        _compare(found, expected, death)
    return deaths


@dataclass(frozen=True)
class _CalmRuns:
    """Runs without a death, each of them once."""

    topology: Topology
    spark: SparkSession
    tables: Rows | None
    known: dict[str, tuple[_Seen, list[tuple[Death, ...]]]] = field(default_factory=dict)

    def run(self, batches: Sequence[Rows]) -> tuple[_Seen, list[tuple[Death, ...]]]:
        """Return what is seen after it, and the borders of each batch."""
        key = repr([{name: tuple(rows) for name, rows in batch.items()} for batch in batches])
        if key not in self.known:
            with TopologyTest(self.topology, self.spark, tables=self.tables) as test:
                passed = [test.batch(rows).passed for rows in batches]
                self.known[key] = _seen(test, self.topology), passed
        return self.known[key]


def _play(test: TopologyTest, rows: Rows, other: Rows | None, death: Death | None) -> Rows:
    """Return what the batch was given, whatever of it has failed: without a death the same has to fail."""
    done = test.batch(rows) if death is None else test.batch(rows, dies_at=death, retried_with=other)
    return {name: test._given(name) for name in done.records}


def _seen(test: TopologyTest, topology: Topology) -> _Seen:
    rows, orders = {}, {}
    for end in topology.compile().ends:
        if not isinstance(end, PersistNode) and isinstance(end.sink, KafkaSink):
            rows[end.name] = sorted(map(_record, test.sent(end.name)))
            orders[end.name] = _orders(test._commits(end.name))
        else:
            rows[end.name] = sorted(map(repr, test.rows(end.name)))
    return _Seen(rows, orders)


def _orders(commits: Iterable[Sequence[Record]]) -> dict[str, list[str]]:
    """Return the records of each key as readers may count on them: txid by txid, within one as their sources are.

    Records that are of no single source record (an aggregation's, or where the sink sends no headers that say so) come
    in any order within their txid.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for records in commits:
        of_none: dict[str, list[str]] = defaultdict(list)
        for record in records:
            if record.key is None:
                continue
            has_source = any(name == SOURCE for name, _ in record.headers)
            (found if has_source else of_none)[repr((record.topic, record.key))].append(_record(record))
        for key, others in of_none.items():
            found[key] += sorted(others)
    return found


def _record(record: Record) -> str:
    """Return a record without what says in which attempt it was made."""
    own = [header for header in record.headers if not header[0].startswith(LINEAGE)]
    return repr((record.topic, record.key, record.value, own))


def _compare(found: _Seen, expected: _Seen, death: Death) -> None:
    play = f"Play it with batch(…, dies_at=Death({str(death.point)!r}, time={death.time}))"
    for name, rows in expected.rows.items():
        more, fewer = Counter(found.rows[name]) - Counter(rows), Counter(rows) - Counter(found.rows[name])
        if more or fewer:
            raise AssertionError(
                f"{name!r} does not hold the same after a death {death} in every batch as without one: {more.total()} "
                f"rows are there that were not, {fewer.total()} are missing. {play}, and look for what depends on more "
                "than its records"
            )
    for name, orders in expected.orders.items():
        others = [key for key, records in orders.items() if found.orders[name][key] != records]
        if others:
            raise AssertionError(
                f"{name!r} has the same records after a death {death} in every batch as without one, but those of "
                f"{len(others)} keys in another order. {play}, and look for what a function gives in an order of its "
                "own: from a set, or from threads"
            )


def _check_batches(what: str, given: object) -> None:
    if isinstance(given, list | tuple) and given and all(isinstance(rows, Mapping) for rows in given):
        return
    raise refused(what, "a list of batches, each a mapping of streams to lists of rows", given, secret=True)
