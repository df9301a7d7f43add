"""Guards of what streams do with rows, and with each other."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_ROWS: Final = ("integration_tests/dsl/test_row_verbs.py",)
_TOGETHER: Final = ("integration_tests/dsl/test_streams_together.py",)
_PARTITIONS: Final = ("integration_tests/dsl/test_partitions.py",)
_SPOUTS: Final = ("integration_tests/spouts/test_python_spouts.py",)
_GRAPH: Final = ("tests/dsl/test_graph.py",)

LANGUAGE: Final = (
    Mutant(
        "rows that a record makes are in their order",
        "trident/operations/arrow_lists.py",
        "np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)",
        "np.zeros(len(parents), np.int64)",
        (f"{_ROWS[0]}::test_each_row_adds_drops_and_repeats",),
    ),
    Mutant(
        "lists of one record are of one length",
        "trident/operations/arrow_lists.py",
        "    if any((other != counts[0]).any() for other in counts[1:]):\n",
        "    if False:\n",
        _ROWS,
    ),
    Mutant(
        "a user's object is cleaned up after an error",
        "trident/operations/user_objects.py",
        "    try:\n        yield\n    finally:\n        if cleanup",
        "    yield\n    if True:\n        if cleanup",
        _ROWS,
    ),
    Mutant(
        "a null key is a key like any other in a join",
        "trident/operations/joining.py",
        ".eqNullSafe(_field(number, own))",
        " == _field(number, own)",
        _TOGETHER,
    ),
    Mutant(
        "the order of joined rows is that of both records",
        "trident/operations/joining.py",
        "for number in range(count)]",
        "for number in range(1)]",
        (f"{_TOGETHER[0]}::test_joined_rows_are_in_the_order_of_their_records",),
    ),
    Mutant(
        "a control row has no partner in a table",
        "trident/operations/static_join.py",
        "[control().isNull(), *(",
        "[F.lit(True), *(",
        (f"{_TOGETHER[0]}::test_a_join_with_a_table_that_stays_as_it_is",),
    ),
    Mutant(
        "a reducer is given rows in their order",
        "trident/graph/jobs.py",
        " and node.operation.wants_order)",
        " and False)",
        _GRAPH,
    ),
    Mutant(
        "a reducer without groups runs in every batch",
        "trident/operations/multi_reducing.py",
        "        if not keys:\n",
        "        if False:\n",
        (f"{_TOGETHER[0]}::test_a_multi_reducer_without_groups_runs_in_a_batch_without_rows",),
    ),
    Mutant(
        "what is inside of lists is held exactly too",
        "state/exact.py",
        "        values = _exact_inside(values, type_)\n",
        "        pass\n",
        ("tests/state/test_exact_inside.py",),
    ),
    Mutant(
        "a user's spout yields no more than its range",
        "spouts/python/source.py",
        "            if position + len(some) > range_.stop:\n",
        "            if False:\n",
        (f"{_SPOUTS[0]}::test_what_a_read_must_not_yield_stops_the_topology",),
    ),
    Mutant(
        "a short read of a user's spout is no end",
        "spouts/python/source.py",
        "[tally.manifest(position)]",
        "[tally.manifest(range_.stop)]",
        (f"{_SPOUTS[0]}::test_a_short_read_is_tried_again_and_nothing_is_skipped",),
    ),
    Mutant(
        "what a user's spout yields is held as it is",
        "spouts/python/source.py",
        " and array.to_pylist() != values:",
        " and False:",
        (f"{_SPOUTS[0]}::test_what_a_read_must_not_yield_stops_the_topology",),
    ),
    Mutant(
        "rows of a record stay in its partition",
        "trident/operations/arrow_lists.py",
        "records.partition.take(parents)",
        "pa.array([0] * len(parents), pa.int32())",
        (f"{_PARTITIONS[0]}::test_records_stay_where_they_are_through_what_keeps_them_records",),
    ),
    Mutant(
        "a partition without records has a row",
        "trident/operations/partition_aggregate.py",
        ', "left")',
        ', "inner")',
        (f"{_PARTITIONS[0]}::test_an_empty_batch_has_a_row_for_each_partition",),
    ),
    Mutant(
        "of two that are equal by another column the smaller value is kept",
        "state/folding.py",
        "            return None if is_least else _keep(greatest, stored, staged)\n",
        "            return staged\n",
        ("tests/state/test_contract.py",),
    ),
    Mutant(
        "of two rows that are equal by another column the value decides in tables too",
        "state/tables/merge.py",
        "CASE WHEN {stored_by} = {staged_by} THEN {tie} WHEN {wins}",
        "CASE WHEN {wins}",
        ("tests/state/test_contract.py",),
    ),
    Mutant(
        "what two results do not say together is kept in no state",
        "trident/operations/aggregate.py",
        "        if any(column.merge is None for column in several):\n",
        "        if False:\n",
        ("integration_tests/dsl/test_aggregations.py",),
    ),
    Mutant(
        "a stream that has nothing in a batch is read by nobody",
        "trident/engine/reading.py",
        "if not edges or self._careful_batches",
        "if self._careful_batches",
        (f"{_TOGETHER[0]}::test_streams_without_records",),
    ),
)
"""Each guard removed by one change."""
