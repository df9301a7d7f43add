"""How an aggregation is done: by Spark alone, or record by record where a user's object or an empty group asks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trident.base.checks import refused
from trident.base.errors import ConfigurationError
from trident.operations.aggregate import Aggregate
from trident.operations.aggregators.base import Aggregation
from trident.operations.aggregators.by_row import Aggregator, ByRow
from trident.operations.aggregators.combiner import Combiner
from trident.operations.row_aggregate import RowAggregate
from trident.operations.sending import check_sendable

Aggregators = Mapping[str, Aggregation | ByRow]


def aggregation(keys: tuple[str, ...], makers: Sequence[ByRow], aggregators: Aggregators) -> Aggregate | RowAggregate:
    """Return the operation of an `aggregate`."""
    plain = _checked("aggregate", makers, aggregators)
    says_zero = any(isinstance(each, Combiner) and each.has_zero for each in plain.values())
    if not makers and len(plain) == len(aggregators) and (keys or not says_zero):
        return Aggregate(keys, plain)
    return RowAggregate("aggregate", keys, makers, aggregators)


def aggregation_by_partition(makers: Sequence[ByRow], aggregators: Aggregators, partitions: int) -> RowAggregate:
    """Return the operation of a `partition_aggregate`."""
    _checked("partition_aggregate", makers, aggregators)
    return RowAggregate("partition_aggregate", (), makers, aggregators, partitions)


def kept_aggregation(keys: tuple[str, ...], aggregators: Aggregators) -> Aggregate:
    """Return the operation of a `persistent_aggregate` by aggregators of which two results can be joined."""
    plain: dict[str, Aggregation] = {}
    for name, each in aggregators.items():
        if isinstance(each, ByRow):
            raise ConfigurationError(
                f"persistent_aggregate: {name!r} is of a {type(each).__name__}, which makes rows of the records of one "
                "batch: what two batches made can't be joined by it. Write a Combiner (init, combine), which says how "
                "two values become one, or a Reducer (init, reduce), which takes up the value that is stored"
            )
        plain[name] = each
    return Aggregate(keys, plain, stored=True)


def _checked(verb: str, makers: Sequence[ByRow], aggregators: Aggregators) -> dict[str, Aggregation]:
    """Refuse what is given in the wrong way, and return the aggregators that are columns of Spark."""
    for each in makers:
        if not isinstance(each, Aggregator):
            allowed = "an Aggregator object; one that makes a single result is given by name, as in n=Count()"
            raise refused(f"{verb}: what is given by place (makers)", allowed, each)
        check_sendable(f"{type(each).__name__} given to {verb}", each)
    for name, named in aggregators.items():
        if isinstance(named, Aggregator):
            raise ConfigurationError(
                f"{verb}: {type(named).__name__} for {name!r} names its fields itself, in its schema: give it by "
                f"place, as in {verb}({type(named).__name__}(…))"
            )
        if isinstance(named, ByRow):
            check_sendable(f"{type(named).__name__} for {name!r}", named)
    return {name: each for name, each in aggregators.items() if not isinstance(each, ByRow)}
