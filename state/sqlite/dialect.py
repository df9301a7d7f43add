"""What SQLite gives to the shared statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, text

from trident.base.arrays import AnyChunks
from trident.base.errors import ConfigurationError
from trident.state.layout import Merge, ValueColumn
from trident.state.rows import array_of, python_values, refuse_nul, refused
from trident.state.sqlite.errors import is_refusal
from trident.state.tables.dialect import FoundColumn, ReadyRows
from trident.state.tables.names import KEY_INDEX, helper_table, quote, quote_table
from trident.state.tables.shape import ColumnSpec, TableShape
from trident.state.tables.staging import TXID

_PLAIN = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.large_string(): "text",
    pa.binary(): "blob",
    pa.large_binary(): "blob",
    pa.date32(): "date",
}
_BITS = {"tinyint": 7, "smallint": 15, "integer": 31, "bigint": 63}


class SqliteDialect:
    """Types and texts of SQLite 3.33 or later; a writer holds the file, so rows need no locks. Stateless."""

    for_update = ""
    for_share = ""

    @property
    def same_table(self) -> str:
        """SQLite takes ASCII letters of both cases for the same."""
        return "lower(table_name) = lower(:table)"

    def column_type(self, type_: pa.DataType) -> str:
        """Return the declared type; decimals are text, since SQLite's numbers are floats."""
        if type_ in _PLAIN:
            return _PLAIN[type_]
        if pa.types.is_decimal128(type_) and 0 <= type_.scale <= type_.precision:
            return f"decimal_text({type_.precision},{type_.scale})"
        if pa.types.is_timestamp(type_) and type_.unit in ("s", "ms", "us"):
            return "timestamp_utc" if type_.tz else "timestamp"
        raise ConfigurationError(f"a state can't hold a column of type {type_}; cast it to a type that SQL has")

    def add(self, column: ValueColumn, stored: str, staged: str) -> str:
        """Return a sum whose overflow the column's CHECK refuses; exact for decimals."""
        if pa.types.is_decimal128(column.type):
            return f"trident_decimal_add({stored}, {staged}, {column.type.precision}, {column.type.scale})"
        return f"{stored} + {staged}"

    def is_out_of_range(self, error: BaseException) -> bool:
        """Return False: it is a CHECK of the column."""
        return False

    def is_refusal(self, error: BaseException) -> bool:
        """Ask as a transaction that ends with it does."""
        return is_refusal(error)

    def pick(self, column: ValueColumn, stored: str, staged: str) -> str:
        """Return the smaller or greater one: SQLite's own min and max are null when one side is."""
        is_least = column.merge is Merge.LEAST
        # the staged one stands first: its column has no collation of a user's
        wins = f"{staged} {'<' if is_least else '>'} {stored}"
        if pa.types.is_decimal128(column.type):
            first, second = (staged, stored) if is_least else (stored, staged)
            wins = f"trident_decimal_less({first}, {second})"
        return (
            f"CASE WHEN {stored} IS NULL THEN {staged} WHEN {staged} IS NULL THEN {stored} "
            f"WHEN {wins} THEN {staged} ELSE {stored} END"
        )

    def check_server(self, connection: Connection) -> None:
        """Refuse a file whose texts are not UTF-8: SQLite compares them by the bytes of its own encoding."""
        encoding = connection.execute(text("PRAGMA encoding")).scalar_one()
        if encoding != "UTF-8":
            raise ConfigurationError(
                f"the SQLite file keeps texts as {encoding}, which have another order than UTF-8; nothing was changed: "
                "use another file"
            )

    def find_columns(self, connection: Connection, table: str) -> tuple[FoundColumn, ...] | None:
        """Return the columns with their declared types."""
        schema, _, name = table.rpartition(".")
        statement = text('SELECT name, lower(type), "notnull", dflt_value, pk FROM pragma_table_info(:name, :schema)')
        rows = connection.execute(statement, {"name": name, "schema": schema or "main"}).fetchall()
        is_alone = sum(bool(row[4]) for row in rows) == 1
        found = []
        for column, type_, is_required, default, is_key in rows:
            is_numbered = bool(is_key) and is_alone and type_ == "integer"  # another name of the row's own number
            found.append(FoundColumn(column, type_, bool(is_required) and default is None and not is_numbered))
        return tuple(found) or None

    def may_read(self, connection: Connection, table: str) -> bool:
        """Look for it; a file knows no rights."""
        return self.find_columns(connection, table) is not None

    def has_unique_index(self, connection: Connection, table: str, columns: Sequence[str]) -> bool:
        """Tell whether a unique index (a primary key's included) is over exactly these columns, by their bytes."""
        indexes = connection.execute(
            text('SELECT name FROM pragma_index_list(:table) WHERE "unique" = 1 AND partial = 0'), {"table": table}
        ).scalars()
        parts = text("SELECT name, coll FROM pragma_index_xinfo(:index) WHERE key = 1")
        wanted = sorted((column, "BINARY") for column in columns)
        return any(
            sorted(tuple(part) for part in connection.execute(parts, {"index": name})) == wanted
            for name in indexes.fetchall()
        )

    def index_holder(self, connection: Connection, table: str, index: str) -> str | None:
        """Ask the file's own list."""
        listed = f"{quote(table.rpartition('.')[0] or 'main')}.sqlite_master"
        holder = text(f"SELECT tbl_name FROM {listed} WHERE type = 'index' AND lower(name) = lower(:index)")
        found: str | None = connection.execute(holder, {"index": index}).scalar()
        return found

    def create_table(self, shape: TableShape, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Check types and ranges, which SQLite leaves to us; null keys have an index of their own."""
        keys = [quote(key.name) for key in shape.keys]
        index = quote(helper_table(KEY_INDEX, shape.table))
        statements = [f"CREATE TABLE {shape.quoted} ({definitions(specs)})"]
        statements.append(f"CREATE UNIQUE INDEX {index} ON {shape.quoted} ({', '.join(keys) or '(1)'})")
        if keys:
            # SQLite's unique indexes let null keys through.
            null_index = quote(helper_table("trident_null_key_", shape.table))
            columns = ", ".join(f"ifnull({key}, 0), {key} IS NULL" for key in keys)
            some_null = " OR ".join(f"{key} IS NULL" for key in keys)
            statements.append(f"CREATE UNIQUE INDEX {null_index} ON {shape.quoted} ({columns}) WHERE {some_null}")
        return tuple(statements)

    def create_staging(self, table: str, specs: Sequence[ColumnSpec], durable: bool) -> tuple[str, ...]:
        """Make a table like any other: each is durable."""
        index = quote(helper_table("trident_by_txid_", table))
        return (
            f"CREATE TABLE {quote_table(table)} ({definitions(specs)})",
            f"CREATE INDEX {index} ON {quote_table(table)} ({TXID})",
        )

    def add_columns(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Return a statement for each: SQLite takes one column at a time."""
        return tuple(f"ALTER TABLE {quote_table(table)} ADD COLUMN {definitions([spec])}" for spec in specs)

    def may_change(self, connection: Connection, table: str) -> bool:
        """Return True: a file knows no rights."""
        return True

    def create_temporary(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Make a temporary table, and empty it of what the last transaction left."""
        plain = ", ".join(f"{quote(spec.name)} {spec.type}" for spec in specs)
        return f"CREATE TEMPORARY TABLE IF NOT EXISTS {quote(table)} ({plain})", f"DELETE FROM {quote(table)}"

    def relation(self, connection: Connection, table: str) -> str | None:
        """Return None: a table that is made anew may lie where the old one was."""
        return None

    def unfit(self, connection: Connection, table: str) -> str | None:
        """Refuse a view."""
        schema, _, name = table.rpartition(".")
        listed = f"{quote(schema or 'main')}.sqlite_master"
        found = text(f"SELECT type FROM {listed} WHERE lower(name) = lower(:name) AND type IN ('table', 'view')")
        is_view = connection.execute(found, {"name": name}).scalar() == "view"
        return "it is a view, and a state needs a table of its own" if is_view else None

    def run_deferred(self, connection: Connection, table: str | None = None) -> bool:
        """Do nothing: no trigger waits for the COMMIT, and connections of ours check no foreign keys."""
        return False

    def refers_to(self, connection: Connection, table: str) -> frozenset[str]:
        """Return none: connections of ours check no foreign keys."""
        return frozenset()

    def changed(self, connection: Connection) -> Mapping[int, int]:
        """Return nothing."""
        return {}

    def taken_along(self, connection: Connection, before: Mapping[int, int], table: str, topology: str) -> str | None:
        """Return none: connections of ours follow no foreign keys."""
        return None

    def guards_rows(self, connection: Connection, table: str) -> bool:
        """Look for triggers; a file knows no rights."""
        return self.acts_by_itself(connection, table)

    def acts_by_itself(self, connection: Connection, table: str) -> bool:
        """Look for triggers; texts of both cases name one table."""
        schema, _, name = table.rpartition(".")
        listed = f"{quote(schema or 'main')}.sqlite_master"
        found = text(
            f"SELECT EXISTS (SELECT 1 FROM {listed} WHERE type = 'trigger' AND lower(tbl_name) = lower(:name)) "
            "OR EXISTS (SELECT 1 FROM sqlite_temp_master WHERE type = 'trigger' AND lower(tbl_name) = lower(:name))"
        )
        return bool(connection.execute(found, {"name": name}).scalar_one())

    def merges_at_once(self, connection: Connection, table: str) -> bool:
        """Return False: SQLite has no MERGE."""
        return False

    def is_row_twice(self, error: BaseException) -> bool:
        """Return False: of two rows that change one, an UPDATE takes one."""
        return False

    def looked_up(self, connection: Connection) -> AbstractContextManager[None]:
        """Do nothing: SQLite has no other way."""
        return nullcontext()

    def make_durable(self, connection: Connection, table: str) -> None:
        """Do nothing: each table is durable."""

    def from_stored(self, type_: pa.DataType, value: object) -> object:
        """Return the Python value that SQLite keeps as text or as a number."""
        if isinstance(value, str) and pa.types.is_decimal(type_):
            return Decimal(value)
        if isinstance(value, str) and pa.types.is_date(type_):
            return date.fromisoformat(value)
        if isinstance(value, str) and pa.types.is_timestamp(type_):
            found = datetime.fromisoformat(value)
            return found.replace(tzinfo=UTC) if type_.tz else found
        return bool(value) if isinstance(value, int) and pa.types.is_boolean(type_) else value

    def packed(self, statement: str, types: Sequence[pa.DataType]) -> str:
        """Return the SELECT itself: this process is the server."""
        return statement

    def unpacked(self, schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> pa.Table:
        """Return the driver's Python values as Arrow."""
        columns = [
            array_of([self.from_stored(each.type, row[place]) for row in rows], each.name, each.type)
            for place, each in enumerate(schema)
        ]
        return pa.table(columns, schema=schema)

    def ready_rows(self, rows: pa.Table) -> ReadyRows:
        """Return rows as SQLite's driver takes them."""
        return ReadyRows(tuple(rows.column_names), (), tuple(_to_store(column) for column in rows.columns))

    def insert_rows(self, connection: Connection, table: str, rows: ReadyRows) -> None:
        """Insert with one prepared statement."""
        found = connection.connection.driver_connection
        assert isinstance(found, sqlite3.Connection)
        names = ", ".join(quote(name) for name in rows.names)
        marks = ", ".join("?" for _ in rows.names)
        values = zip(*rows.columns, strict=True)
        found.executemany(f"INSERT INTO {quote_table(table)} ({names}) VALUES ({marks})", values)

    def analyse(self, connection: Connection, table: str) -> None:
        """Do nothing: SQLite finds the stored row of each staged one by the index."""

    def check_rows(self, rows: pa.Table) -> None:
        """Refuse NUL characters, and NaN, which SQLite would store as null."""
        refuse_nul(rows)
        for field, column in zip(rows.schema, rows.columns, strict=True):
            if pa.types.is_floating(field.type) and pc.any(pc.is_nan(column)).as_py():
                raise refused(field.name, "NaN, which SQLite can't store")


def _to_store(column: AnyChunks) -> list[object]:
    type_ = column.type
    if pa.types.is_timestamp(type_):
        column = column.cast(pa.timestamp("us", type_.tz)).cast(pa.timestamp("us"))
    if pa.types.is_decimal(type_):
        return [None if value is None else f"{value:f}" for value in python_values(column)]
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        return python_values(column.cast(pa.string()))
    return python_values(column)


def definitions(specs: Sequence[ColumnSpec]) -> str:
    """Return the columns as DDL has them, with the checks of types and ranges that SQLite leaves to us."""
    return ", ".join(_definition(spec) for spec in specs)


def _definition(spec: ColumnSpec) -> str:
    name = quote(spec.name)
    definition = f"{name} {spec.type}{'' if spec.nullable else ' NOT NULL'}"
    if spec.type in _BITS:
        top = 2 ** _BITS[spec.type]
        # SQLite turns an integer that overflows into a float.
        definition += f" CHECK (typeof({name}) IN ('integer', 'null') AND {name} BETWEEN -{top - 1} - 1 AND {top - 1})"
    if spec.type.startswith("decimal_text"):
        definition += f" CHECK (typeof({name}) IN ('text', 'null'))"
    return definition
