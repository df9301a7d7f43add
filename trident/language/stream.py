"""Streams: what a topology's records go through, checked step by step while it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError
from trident.base.names import check_given_name
from trident.engine.building import apply_step, fields_of
from trident.graph.nodes import Node, OperationNode, SinkNode
from trident.language.aggregating import aggregation
from trident.language.grouped import GroupedStream
from trident.language.partition_verbs import PartitionVerbs
from trident.language.persisting import persistent
from trident.language.row_verbs import RowVerbs, check_assembly, checked, declared_fields
from trident.language.saying import about, streams_called
from trident.language.static_state import Query, StaticState, queried
from trident.language.task_verbs import TaskVerbs
from trident.language.to_kafka import check_no_markers, checked_parts, described_topic, sink_of
from trident.language.to_table import row_shape_of
from trident.language.together import Keys, joined, joined_with_table, merged, of_several
from trident.language.trident_state import TridentState
from trident.language.updating import persisted
from trident.operations.aggregate import Aggregate
from trident.operations.aggregators.base import Aggregation
from trident.operations.aggregators.by_row import ByRow
from trident.operations.arrow import BatchFunction, MaskFunction, RowsFunction
from trident.operations.arrow_lists import ListsFunction
from trident.operations.base import Operation, RecordOperation, check_field
from trident.operations.columns import EachColumns, FilterColumn, FlatMapColumn, MapColumns, Project
from trident.operations.conditions import Condition, Split
from trident.operations.functions import EachFunction, FilterFunction, FlatMapFunction, FlatMapLists, MapFunction
from trident.operations.joining import JoinOutput, JoinSide
from trident.operations.kafka_records import KafkaRecords, Part
from trident.operations.needs import NO_NEEDS, TaskNeeds
from trident.operations.partitioning import direct
from trident.operations.row_aggregate import RowAggregate
from trident.operations.updating import StateUpdater
from trident.state.kafka.sink import KafkaSink
from trident.state.row_tables.shape import RowWrite
from trident.state.row_tables.sink import RowSink, RowStore
from trident.state.target import State

if TYPE_CHECKING:
    from trident.language.topology import Topology

F = TypeVar("F", bound=Callable[..., object])
R = TypeVar("R")


class Stream(RowVerbs, PartitionVerbs, TaskVerbs):
    """An immutable step of a topology: every method returns a new stream, so that one may have several followers.

    Spark columns are evaluated inside the JVM; Python functions get Arrow record batches of any size in Spark's
    Python workers and must depend on nothing but them: a task may run twice, and batches may be cut anywhere.
    A name that is not a field raises `FieldError` at once, and whatever else can't work `ConfigurationError`.
    """

    def __init__(
        self,
        topology: Topology,
        node: Node,
        sample: DataFrame,
        name: str = "",
        direct_field: str | None = None,
        needs: TaskNeeds = NO_NEEDS,
    ) -> None:
        self._topology = topology
        topology._note(node)
        self._node = node
        self._sample = sample
        self._name = name
        self._direct_field = direct_field
        self._needs = needs

    @property
    def schema(self) -> StructType:
        """The fields of its records, with their Spark types."""
        return fields_of(self._sample).schema

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields, in order."""
        return fields_of(self._sample).names

    def filter(self, condition: Column | Condition | MaskFunction, /) -> Stream:
        """Keep the records for which a boolean column, or a function that returns a boolean array, is true.

        `Equals`, `FilterNull` and `Negate` are conditions that are there already.

            stream.filter(F.col("amount") > 0)
            stream.filter(lambda batch: pc.greater(batch["amount"], 0))
        """
        if isinstance(condition, Column):
            return self._then(FilterColumn(condition), keeps=True)
        if isinstance(condition, Condition) and not isinstance(condition, type):
            return self._then(FilterColumn(condition.condition(), condition.check), keeps=True)
        return self._then(FilterFunction(_function(condition, "filter")), keeps=True)

    def each(self, function: BatchFunction | None = None, schema: str | None = None, /, **columns: Column) -> Stream:
        """Add fields: `each(name=column, …)`, or `each(function, "name type, …")` with one value per record.

        A function returns an Arrow array for each declared field: alone, in a list, by name, or as a batch.

            stream.each(twice=F.col("amount") * 2)
            stream.each(lambda batch: pc.multiply(batch["amount"], 2), "twice bigint")
            stream.each(lambda batch: [pc.abs(batch["amount"]), pc.sign(batch["amount"])], "size bigint, sign bigint")
        """
        if function is None:
            return self._then(EachColumns(_columns(columns, schema, "each")), keeps=True)
        given = _function(function, "each", columns)
        return self._then(EachFunction(given, declared_fields(schema, "each")), keeps=True)

    def map(self, function: BatchFunction | None = None, schema: str | None = None, /, **columns: Column) -> Stream:
        """Replace all fields: `map(name=column, …)`, or `map(function, "name type, …")` with one row per record.

        For example:

            stream.map(account=F.upper("account"), cents=F.col("amount") * 100)
            stream.map(lambda batch: {"account": pc.utf8_upper(batch["account"])}, "account string")
        """
        if function is None:
            return self._then(MapColumns(_columns(columns, schema, "map")))
        return self._then(MapFunction(_function(function, "map", columns), declared_fields(schema, "map")))

    def flat_map(
        self, function: RowsFunction | None = None, schema: str | None = None, /, **columns: Column | Split
    ) -> Stream:
        """Replace each record by any number of rows.

        `flat_map(name=array_column)` makes a row with that one field of every element;
        `flat_map(function, "name type, …")` takes the rows that the function returns. It is given some records at a
        time; but where their order counts further on (a sink, an upsert), one at a time behind what deals them anew
        (`parallelism`, a repartitioning, a merge, a join, `FirstN`), and before a merge or a join with other records of
        the same stream, since its rows do not say which record they are of. `flat_map_row` and `flat_each` take as many
        at once there as elsewhere.

            stream.flat_map(word=F.split("account", " "))
            stream.flat_map(lambda batch: [batch, batch], "account string, amount bigint")
        """
        if function is None:
            return self._then(FlatMapColumn(_columns(_arrays(columns), schema, "flat_map")))
        given = _function(function, "flat_map", columns)
        return self._then(FlatMapFunction(given, declared_fields(schema, "flat_map")))

    def flat_each(
        self, function: ListsFunction | None = None, schema: str | None = None, /, **columns: Column | Split
    ) -> Stream:
        """Add fields and repeat each record for each row of them: Trident's `each` with any number of outputs.

        `flat_each(name=array_column)` makes a row of every element, and none of a record whose array is empty or null;
        `flat_each(function, "name type, …")` takes, for each declared field, an Arrow array of lists: of each record as
        many elements as it becomes rows, the same number in every field.

            stream.flat_each(word=F.split("account", " "))
            stream.flat_each(lambda batch: pc.split_pattern(batch["account"], " "), "word string")
        """
        if function is None:
            arrays = _columns(_arrays(columns), schema, "flat_each")
            return self._then(FlatMapColumn(arrays, "flat_each", keeps=True), keeps=True)
        given = _function(function, "flat_each", columns)
        lists = FlatMapLists(given, declared_fields(schema, "flat_each"), "flat_each", keeps=True)
        return self._then(lists, keeps=True)

    def project(self, *fields: str) -> Stream:
        """Keep only the named fields, in that order."""
        return self._then(Project(fields), keeps=True)

    def group_by(self, *fields: str) -> GroupedStream:
        """Group the records by the values of fields."""
        if not fields:
            raise ConfigurationError("group_by needs at least one field; aggregate without it for one result per batch")
        with about(self._name):
            for name in fields:
                fields_of(self._sample).require(name, "group_by")
        return GroupedStream(self, fields)

    def aggregate(self, *makers: ByRow, **aggregators: Aggregation | ByRow) -> Stream:
        """Return a stream with one row per batch that has records: a field per aggregator.

        An `Aggregator` of yours is given by place (see `GroupedStream.aggregate`). Where one of them says what it makes
        of nothing (an `Aggregator`, a `Reducer`, a `Combiner` with a `zero`), a batch without records is asked as well.
        """
        return self._aggregated(aggregation((), makers, aggregators))

    def persistent_aggregate(self, state: State, /, **aggregators: Aggregation | ByRow) -> TridentState:
        """Keep a single row in the state, changed once per txid by what its batch holds.

        See `GroupedStream.persistent_aggregate`.
        """
        return persistent(self, state, (), aggregators)

    def partition_persist(
        self, state: State, updater: StateUpdater, /, *, key: str | Sequence[str] = ()
    ) -> TridentState:
        """Keep a state by code of your own: a `StateUpdater` is given the records of a partition and what was there.

        `key` are the fields that hold the state's key; records with equal keys are in one partition (`partition_by`),
        without a key all are. The updater says for keys which values replace those that are there, or that they are
        removed, and which rows it emits (`TridentState.emitted`). It is asked in the batch's turn, and what it says is
        applied with the txid, once; a key that is removed keeps a row whose values are null.
        """
        return persisted(self, state, updater, key)

    def state_query(self, state: TridentState | StaticState, query: Query, /) -> Stream:
        """Add what a state says to each record: a state of this topology exactly as the txid before has left it.

        `MapGet()` asks for the key that the record names, `SnapshotGet()` asks a state without keys; where nothing is
        stored the added fields are null. `CollectionGet()` asks a static table that may have several rows for a key, a
        `QueryFunction` is your own. A state of the topology is asked in the batch's turn, so what follows waits for the
        batches before; a static one is asked while the batch is processed.
        Records of one batch don't see each other's updates, so what they get depends on how batches are cut.
        """
        return queried(self, state, query)

    def to_kafka(
        self,
        topic: str | Column,
        *,
        value: Part,
        key: Part = None,
        headers: Mapping[str, str | Column] | None = None,
        sink: KafkaSink | None = None,
    ) -> None:
        """Send each record to a Kafka topic, exactly once for readers with `isolation.level=read_committed`.

        `topic` is its name, or a column with a name per record. `key` and `value` are the name of a field, a column
        of text or bytes (`F.to_json(…)` for JSON), or a Python function over Arrow batches; a null value is a
        tombstone. Records leave in the order of txids, inside a txid in that of the records that they are of (topic,
        partition, offset). Without a `sink` it is the cluster that the stream is read from, and the sink is named
        after the topic.
        """
        parts = checked_parts(topic, key, value, headers)
        with about(self._name):
            for asked_by, name in parts.named:
                fields_of(self._sample).require(name, asked_by)
        chosen = sink_of(self._node, topic, sink)
        check_no_markers(topic, chosen)
        records = self._then(KafkaRecords(parts))
        self._topology._add_end(SinkNode(chosen, records._node, {"topic": described_topic(topic)}))

    def to_table(
        self,
        table: RowStore,
        /,
        *,
        write: RowWrite | str = RowWrite.APPEND,
        key: str | Sequence[str] = (),
        deleted: str | None = None,
        valid_from: str | None = None,
        valid_to: str | None = None,
        skip_unchanged: bool = False,
    ) -> None:
        """Write each record to a table of a database, exactly once: the fields fill the columns of their names.

        `write` says what becomes of a record (`RowWrite`). `key` are the fields that tell rows apart, which need a
        unique index; of several records of a key in one batch the last one wins, in the order of topic, partition and
        offset (of `insert_if_absent` the first one). `deleted` is a field that says of an upsert that it deletes.
        `versions` keeps every version of a key: the field `valid_from` says when one begins (`trident.batch_time()`,
        or a time of the event), the column `valid_to` is filled with when it ended. `skip_unchanged` makes no version
        of a record that says what the one before it says; a record that comes late can't know of it, so use it where
        the records of a key come in the order of their times, as with `batch_time()`.
        """
        there = fields_of(self._sample)
        with about(self._name):
            shape = row_shape_of(table, there, write, key, deleted, valid_from, valid_to, skip_unchanged)
        rows = self if shape.columns.names == list(self.fields) else self.project(*shape.columns.names)
        self._topology._add_end(SinkNode(RowSink(table, shape), rows._node))

    def name(self, name: str, /) -> Stream:
        """Give the stream another name, which errors about what follows will say."""
        given = check_given_name("a stream's name", name)
        self._topology._note(self._node, given)
        return Stream(self._topology, self._node, self._sample, given, self._direct_field, self._needs)

    def apply_assembly(self, assembly: Callable[..., R], /, *arguments: object, **named: object) -> R:
        """Return what a function makes of the stream and the other arguments: steps that several streams need."""
        return check_assembly(assembly)(self, *arguments, **named)

    def merge(self, *others: Stream, fields: Sequence[str] | None = None) -> Stream:
        """See `Topology.merge`."""
        return merged([self, *others], fields)

    def join(
        self,
        other: Stream,
        /,
        *,
        on: Keys | Sequence[Keys],
        how: str | Sequence[JoinSide | str] = "inner",
        output: JoinOutput | str = JoinOutput.COMPACT,
        fields: Sequence[str] | None = None,
    ) -> Stream:
        """See `Topology.join`."""
        return joined([self, other], on, how, output, fields)

    def join_static(self, table: DataFrame, /, *, on: Keys, how: str = "inner", unique: bool = True) -> Stream:
        """Add the fields of a table's rows (64 MiB at most) that have equal keys; with `how="left"` all records stay.

        A table of which several rows have one key is refused: each record would come out once for every such row.
        `unique=False` allows that. Keys are equal as in `group_by`.
        The table is read once, when the topology is built, and sent to every task: every batch of this process, and
        every re-run of one, finds the same rows. A process that is started later reads it anew, so a batch that it
        tries again may find other rows; what was pinned before is not computed again.
        """
        return joined_with_table(self, table, on, how, unique=unique)

    def _then(self, operation: Operation, *, keeps: bool = False) -> Stream:
        return self._behind(operation, self._after(operation), keeps=keeps)

    def _aggregated(self, operation: Aggregate | RowAggregate) -> Stream:
        if isinstance(operation, Aggregate):
            return self._then(operation)
        if operation.plain is not None:
            self._after(operation.plain)  # what Spark computes is held to what every expression is held to
        return self._onto(operation)

    def _after(self, operation: Operation) -> DataFrame:
        with about(self._name):
            return apply_step(operation, self._sample)

    def _behind(self, operation: Operation, sample: DataFrame, *, keeps: bool) -> Stream:
        return self._followed(OperationNode(operation, self._node, self._needs), sample, keeps=keeps)

    def _followed(self, node: Node, sample: DataFrame, *, keeps: bool = False) -> Stream:
        """Return what follows; `keeps` says that a field which is still there is the same one, with the same values."""
        kept = self._direct_field if keeps and self._direct_field in sample.columns else None
        return Stream(self._topology, node, sample, self._name, kept, self._needs)

    def direct(self) -> Stream:
        """Put each record into the partition that its field names, of a stream that was declared direct.

        A number that is no partition fails the batch, with nothing applied.
        """
        if self._direct_field is None:
            raise ConfigurationError(
                f"{streams_called([self._name])}direct needs a stream that says which field names the partition: "
                "declare_direct(field), behind what makes, renames or merges fields"
            )
        return self._then(direct(self._direct_field, self._partitions), keeps=True)

    def declare_direct(self, field: str, /) -> Stream:
        """Say that an integer field names the partition that each record is meant for; `direct` puts it there.

        It holds for what follows as long as records keep their fields: not behind `map`, `flat_map` and `rename`, nor
        behind groups, merges and joins of streams.
        """
        self._after(direct(check_field("declare_direct", field), self._partitions))
        return Stream(self._topology, self._node, self._sample, self._name, field, self._needs)

    def _needing(self, needs: TaskNeeds) -> Stream:
        return Stream(self._topology, self._node, self._sample, self._name, self._direct_field, needs)

    def _onto(self, operation: RecordOperation, *, keeps: bool = False) -> Stream:
        return of_several(operation, [self], keeps=keeps)

    @property
    def _partitions(self) -> int:
        return self._topology.partitions


def _function(function: F, verb: str, columns: Mapping[str, object] | None = None) -> F:
    if columns:
        raise ConfigurationError(f"{verb} takes either a function with its fields, or named columns")
    if not callable(function) or isinstance(function, type | Column):
        raise ConfigurationError(
            f"{verb} needs a Spark column or a Python function over Arrow batches, not {type(function).__name__}"
        )
    return checked(function, verb)


def _arrays(columns: Mapping[str, Column | Split]) -> dict[str, Column]:
    return {name: column.array() if isinstance(column, Split) else column for name, column in columns.items()}


def _columns(columns: dict[str, Column], schema: str | None, verb: str) -> dict[str, Column]:
    if schema is not None or not columns:
        raise ConfigurationError(f'{verb} needs named columns, or a function and its fields as in "name type, …"')
    return columns
