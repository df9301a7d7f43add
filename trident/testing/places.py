"""What a topology's states and sinks are exchanged for in a test, and what readers see there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import pyarrow as pa
from sqlalchemy import text

from trident.base.errors import ConfigurationError
from trident.base.python_rows import UnfitRowError, columns_of
from trident.base.timeouts import Timeouts
from trident.graph.nodes import End, PersistNode
from trident.spouts.row_logs import Row
from trident.state.kafka.clients.limits import MessageLimits
from trident.state.kafka.markers import Markers
from trident.state.kafka.sender import KafkaSender
from trident.state.kafka.sink import KafkaSink
from trident.state.kafka.target import KafkaTarget
from trident.state.maps.blobs import open_blobs
from trident.state.maps.state import BackingMapState
from trident.state.memory.database import MemoryDatabase
from trident.state.memory.state import MemoryState
from trident.state.row_tables.shape import RowShape, RowWrite
from trident.state.row_tables.sink import RowSink
from trident.state.row_tables.tables import RowTable
from trident.state.sqlite.database import SqliteDatabase
from trident.state.sqlite.dialect import SqliteDialect
from trident.state.sqlite.rows import SqliteRows
from trident.state.sqlite.table import SqliteTable
from trident.state.tables.names import quote
from trident.state.target import LedgerDatabase, OpensTarget, Target
from trident.testing.lives import Life, MortalDatabase
from trident.testing.mapped import MapPlace
from trident.testing.sent import SentRecords

ReadRow: TypeAlias = dict[str, object]


class Place(Protocol):
    """Where one end of a topology leads to in a test."""

    def opens(self, life: Life) -> OpensTarget:
        """Return how a life opens it."""


@runtime_checkable
class HasRows(Protocol):
    """A place whose rows can be read."""

    def rows(self, ledger_database: MemoryDatabase) -> list[ReadRow]:
        """Return what a reader sees now."""


@dataclass(frozen=True)
class StatePlace:
    """A state in memory, of the kind that it has: beside the ledger, or in a database of its own where it has a dsn."""

    end: PersistNode
    own: MemoryDatabase | None

    def opens(self, life: Life) -> OpensTarget:
        """See `Place`."""
        own = None if self.own is None else MortalDatabase(self.own, life)
        return partial(MemoryState(self.end.name, kind=self.end.state.kind, database=own).open, self.end.layout)

    def rows(self, ledger_database: MemoryDatabase) -> list[ReadRow]:
        """Return the rows in the order of their keys, as readers of its table see them."""
        found = MemoryState(self.end.name, kind=self.end.state.kind, database=self.own).rows(ledger_database)
        return sorted_by_key(self.end, [dict(row) for row in found])


@dataclass(frozen=True)
class TablePlace:
    """A table in a SQLite file of its own, with the stream's fields as columns, written as the sink's is."""

    sink: RowSink
    file: Path

    def fill(self, rows: Sequence[Row]) -> None:
        """Make the table as another program would, with these rows; raises ConfigurationError for one that is none."""
        shape, dialect = self._shape, SqliteDialect()
        fields = [pa.field(name, type_) for name, type_ in self._columns.items()]
        try:
            columns = columns_of(rows, fields, [str(field.type) for field in fields])
        except UnfitRowError as error:
            raise ConfigurationError(f"tables: rows of {self.sink.name!r}: {error}. Nothing was run") from None
        given = dialect.ready_rows(pa.Table.from_arrays(columns, schema=pa.schema(fields)))
        makes = replace(shape, write=RowWrite.UPSERT) if shape.write is RowWrite.DELETE else shape
        with closing(SqliteDatabase(self.file)) as database, database.transaction() as transaction:
            RowTable(makes, dialect, SqliteRows()).make(transaction.connection)
            dialect.insert_rows(transaction.connection, shape.table, given)

    def opens(self, life: Life) -> OpensTarget:
        """See `Place`."""
        shape = self._shape
        return partial(SqliteTable(self.sink.name, path=self.file, table=shape.table).open, shape)

    def rows(self, ledger_database: MemoryDatabase) -> list[ReadRow]:
        """Return the rows in the order in which they were put there."""
        shape, dialect, columns = self._shape, SqliteDialect(), self._columns
        query = text(f"SELECT {', '.join(map(quote, columns))} FROM {shape.quoted} ORDER BY rowid")
        with closing(SqliteDatabase(self.file)) as database, database.transaction() as transaction:
            is_there = dialect.find_columns(transaction.connection, shape.table) is not None
            found = transaction.connection.execute(query).fetchall() if is_there else []
        return [
            {name: dialect.from_stored(columns[name], value) for name, value in zip(columns, row, strict=True)}
            for row in found
        ]

    @property
    def _shape(self) -> RowShape:
        """What is written, without the schema before the table's name, which no file has."""
        return replace(self.sink.shape, table=self.sink.shape.table.rpartition(".")[2])

    @property
    def _columns(self) -> dict[str, pa.DataType]:
        shape = self._shape
        columns = {name: shape.columns.field(name).type for name in shape.written}
        if shape.valid_from is not None and shape.valid_to is not None:
            columns[shape.valid_to] = columns[shape.valid_from]
        return columns


@dataclass(frozen=True)
class TopicPlace:
    """Topics in memory that a sink sends to, by the sink's own rules: sessions, markers, fences."""

    sink: KafkaSink
    cluster: SentRecords

    def opens(self, life: Life) -> OpensTarget:
        """See `Place`."""
        return self._open

    def _open(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> Target:
        sink, cluster = self.sink, self.cluster
        markers = Markers(sink.name, sink.marker_topic, cluster, cluster)
        limits = MessageLimits(cluster, lineage=sink.lineage, of_markers=(sink.marker_topic,))
        sender = KafkaSender(sink.name, cluster, markers, limits, sink.lineage)
        return KafkaTarget(sender, open_blobs(sink.name, ledger_database))


@dataclass(frozen=True)
class KeptPlace:
    """A store of the user's own, as it is."""

    target: OpensTarget

    def opens(self, life: Life) -> OpensTarget:
        """See `Place`."""
        return self.target


def place_of(end: End, kept: OpensTarget | None, file: Path) -> Place:
    """Return what an end is exchanged for; `kept` is how it is opened as it is, None where it is to be exchanged."""
    described = end.state.description() if isinstance(end, PersistNode) else end.sink.description()
    if kept is not None and described.get("database") == "ledger":
        raise ConfigurationError(
            f"keep: {end.name!r} lives in its ledger's database, and the ledger of a test is in memory, so it can't be "
            "used as it is. Leave it out of keep= and read what stands for it with rows(), or give it a database of "
            "its own. Nothing was run"
        )
    if kept is not None:
        return KeptPlace(kept)
    if isinstance(end, PersistNode):
        if isinstance(end.state, BackingMapState) and end.state.expire_after is not None:
            return MapPlace(end, end.state)
        is_apart = described.get("database") == "own"
        return StatePlace(end, MemoryDatabase() if is_apart else None)
    if isinstance(end.sink, RowSink):
        return TablePlace(end.sink, file)
    if isinstance(end.sink, KafkaSink):
        return TopicPlace(end.sink, SentRecords(end.sink.marker_topic))
    raise ConfigurationError(
        f"sink {end.name!r} is of a kind of its own ({type(end.sink).__name__}), for which there is nothing in memory; "
        f"name it in keep= to have it used as it is. Nothing was run"
    )


def sorted_by_key(end: PersistNode, rows: Sequence[ReadRow]) -> list[ReadRow]:
    """Return a state's rows in the order of their keys."""
    keys = [key.name for key in end.layout.keys]
    return sorted(rows, key=lambda row: [_in_order(row[key]) for key in keys])


def _in_order(value: object) -> tuple[object, ...]:
    """Return what a key is sorted by: nulls first, then values as their kind compares them, NaN last."""
    return (value is not None, value != value, 0 if value is None or value != value else value)
