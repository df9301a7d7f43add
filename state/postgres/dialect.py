"""What PostgreSQL gives to the shared statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import psycopg
import pyarrow as pa
from sqlalchemy import Connection, text

from trident.base.arrays import is_text
from trident.base.errors import ConfigurationError
from trident.state.comparing import settled
from trident.state.layout import Merge, ValueColumn
from trident.state.postgres.copy import copy_rows, ready_rows
from trident.state.postgres.errors import is_out_of_range, is_refusal, is_row_twice
from trident.state.postgres.packed import packed_select, unpacked
from trident.state.postgres.paths import places_referred_to
from trident.state.postgres.taking import changed, table_by, taken_along
from trident.state.postgres.types import sql_type
from trident.state.rows import refuse_nul
from trident.state.tables.dialect import FoundColumn, ReadyRows
from trident.state.tables.names import KEY_INDEX, helper_table, quote, quote_table
from trident.state.tables.shape import ColumnSpec, TableShape
from trident.state.tables.staging import TXID

OLDEST = 150000
"""The oldest server, in its own numbers."""
_MERGE_RETURNS = 170000
"""Since then a MERGE tells which rows it changed and which it made."""
_COLUMNS = text("""
    SELECT a.attname, format_type(a.atttypid, a.atttypmod),
           a.attnotnull AND NOT a.atthasdef AND a.attidentity = '',
           CASE WHEN c.collname NOT IN ('default', 'C', 'POSIX') THEN c.collname END,
           a.attgenerated <> '' OR a.attidentity = 'a'
    FROM pg_attribute AS a LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
    WHERE a.attrelid = to_regclass(:table) AND a.attnum > 0 AND NOT a.attisdropped""")
_UNIQUE = text("""
    SELECT (SELECT array_agg(CAST(a.attname AS text))
            FROM unnest(CAST(i.indkey AS int2[])) WITH ORDINALITY AS k (number, place)
                 JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number
            WHERE k.place <= i.indnkeyatts),
           i.indimmediate AND NOT EXISTS (SELECT 1 FROM unnest(CAST(i.indcollation AS oid[])) AS u (number)
                                          JOIN pg_collation AS c ON c.oid = u.number WHERE NOT c.collisdeterministic)
    FROM pg_index AS i
    WHERE i.indrelid = to_regclass(:table) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
          AND i.indexprs IS NULL""")


_PARTS = "SELECT to_regclass(:table) UNION SELECT relid FROM pg_partition_tree(to_regclass(:table))"
"""The table and its partitions."""
_ACTS_BY_ITSELF = f"""EXISTS (
        SELECT 1 FROM pg_class AS c
        WHERE c.oid IN ({_PARTS})
              AND (c.relhasrules OR EXISTS (SELECT 1 FROM pg_trigger AS t WHERE t.tgrelid = c.oid
                                                                              AND NOT t.tgisinternal)))"""
_ACTS = text(f"SELECT {_ACTS_BY_ITSELF}")
_PLAIN = text(f"""
    SELECT NOT {_ACTS_BY_ITSELF}
           AND NOT EXISTS (SELECT 1 FROM pg_class AS c WHERE c.oid IN ({_PARTS})
                                                         AND (c.relrowsecurity OR c.relkind NOT IN ('r', 'p')))""")
_COSTS = text("SELECT current_setting('random_page_cost'), current_setting('cpu_operator_cost')")
_SET_COSTS = text(
    "SELECT set_config('random_page_cost', :page, true), set_config('cpu_operator_cost', :operator, true)"
)
_GUARDS = text(f"""
    SELECT EXISTS (
        SELECT 1 FROM pg_class AS c
        WHERE c.oid IN ({_PARTS})
              AND (c.relhasrules OR c.relrowsecurity OR EXISTS (SELECT 1 FROM pg_trigger AS t
                                                                WHERE t.tgrelid = c.oid)))
        OR NOT coalesce(has_table_privilege(CAST(to_regclass(:table) AS oid), 'DELETE')
                        AND has_table_privilege(CAST(to_regclass(:table) AS oid), 'UPDATE'), true)""")
# SET CONSTRAINTS takes a name for all constraints of it in the schema, whatever their tables, needs the right to use
# that schema, and finds those of partitions by their parents.
_DEFERRED = text(f"""
    SELECT string_agg(DISTINCT quote_ident(n.nspname) || '.' || quote_ident(o.conname), ', ')
               FILTER (WHERE o.conparentid = 0 AND has_schema_privilege(n.oid, 'USAGE') AND NOT EXISTS (
                   SELECT 1 FROM pg_constraint AS x WHERE x.conname = o.conname AND x.connamespace = o.connamespace
                                                          AND x.condeferrable AND x.conrelid NOT IN ({_PARTS}))),
           count(*) > 0 OR {_ACTS_BY_ITSELF}
    FROM pg_constraint AS o JOIN pg_namespace AS n ON n.oid = o.connamespace
    WHERE o.condeferred AND o.conrelid IN ({_PARTS})""")
_MAY_READ = text("SELECT coalesce(has_table_privilege(CAST(to_regclass(:table) AS oid), 'SELECT'), FALSE)")
_MAY_CHANGE = text(f"SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_class WHERE oid IN ({_PARTS})")
_INDEX_HOLDER = text("""
    SELECT t.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_index AS i ON i.indexrelid = c.oid JOIN pg_class AS t ON t.oid = i.indrelid
    WHERE c.relname = :index AND n.nspname = coalesce(CAST(:schema AS text), current_schema())""")
_RELATION = text("""
    SELECT c.oid || ':' || CASE WHEN c.relkind <> 'p' THEN CAST(c.relfilenode AS text) ELSE
        (SELECT md5(string_agg(p.oid || '/' || p.relfilenode, ',' ORDER BY p.oid))
         FROM pg_partition_tree(c.oid) AS t JOIN pg_class AS p ON p.oid = t.relid) END
    FROM pg_class AS c WHERE c.oid = to_regclass(:table)""")
_UNFIT = text(f"""
    SELECT CASE
        WHEN bool_or(c.relkind NOT IN ('r', 'p')) THEN 'kind'
        WHEN bool_or(c.relpersistence <> 'p') THEN 'persistence'
        WHEN EXISTS (SELECT 1 FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
                     WHERE p.oid = to_regclass(:table) AND p.relkind = 'r') THEN 'children' END
    FROM pg_class AS c WHERE c.oid IN ({_PARTS})""")
_WHY_UNFIT = {
    "kind": "it is, or a partition of it is, a view or a foreign table; a state needs tables that this server keeps",
    "persistence": "it is, or a partition of it is, unlogged or temporary: a crash of the server would empty it; make "
    "it one that is logged (ALTER TABLE ... SET LOGGED)",
    "children": "other tables inherit from it, whose rows would count as its own",
}


class PostgresDialect:
    """Types, locks and texts of PostgreSQL 15 or later; stateless."""

    for_update = " FOR UPDATE"
    for_share = " FOR SHARE"

    @property
    def same_table(self) -> str:
        """A name without a schema means what the search path makes of it."""
        return f"table_name = :table OR {table_by('table_name')} = {table_by('CAST(:table AS text)')}"

    def column_type(self, type_: pa.DataType) -> str:
        """Return the type as `format_type` of the server spells it."""
        return sql_type(type_)

    def add(self, column: ValueColumn, stored: str, staged: str) -> str:
        """Return a plain sum: the server refuses overflows itself."""
        return f"{stored} + {staged}"

    def is_out_of_range(self, error: BaseException) -> bool:
        """Ask the SQLSTATE: the server names no column."""
        return is_out_of_range(error)

    def is_refusal(self, error: BaseException) -> bool:
        """Ask as a transaction that ends with it does."""
        return is_refusal(error)

    def pick(self, column: ValueColumn, stored: str, staged: str) -> str:
        """Return LEAST or GREATEST, which leave nulls out; texts by their bytes, whatever the table's collation."""
        collate = ' COLLATE "C"' if is_text(column.type) else ""
        return f"{'LEAST' if column.merge is Merge.LEAST else 'GREATEST'}({stored}{collate}, {staged}{collate})"

    def check_server(self, connection: Connection) -> None:
        """Refuse a server without unique indexes over nulls."""
        version = driver(connection).info.server_version
        if version < OLDEST:
            raise ConfigurationError(
                f"PostgreSQL 15 or later is needed (unique indexes over nulls), not {version // 10000}"
            )

    def find_columns(self, connection: Connection, table: str) -> tuple[FoundColumn, ...] | None:
        """Return the columns as the catalogue has them."""
        parameters = {"table": quote_table(table)}
        if connection.execute(text("SELECT to_regclass(:table)"), parameters).scalar() is None:
            return None
        return tuple(FoundColumn(*row) for row in connection.execute(_COLUMNS, parameters))

    def may_read(self, connection: Connection, table: str) -> bool:
        """Ask for the right of this role."""
        return bool(connection.execute(_MAY_READ, {"table": quote_table(table)}).scalar_one())

    def has_unique_index(self, connection: Connection, table: str, columns: Sequence[str]) -> bool:
        """Tell whether a plain unique index is over exactly these columns."""
        return bool(unique_indexes(connection, table, columns))

    def index_holder(self, connection: Connection, table: str, index: str) -> str | None:
        """Ask the catalogue; an index is in the schema of its table."""
        asked = {"schema": table.rpartition(".")[0] or None, "index": index}
        found: str | None = connection.execute(_INDEX_HOLDER, asked).scalar()
        return found

    def create_table(self, shape: TableShape, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Leave room in each page, so that an update stays on its page and touches no index."""
        keys = ", ".join(quote(key.name) for key in shape.keys) or "(true)"
        index = quote(helper_table(KEY_INDEX, shape.table))
        return (
            f"CREATE TABLE {shape.quoted} ({definitions(specs)}) WITH (fillfactor = 45)",
            f"CREATE UNIQUE INDEX {index} ON {shape.quoted} ({keys}) NULLS NOT DISTINCT",
        )

    def create_staging(self, table: str, specs: Sequence[ColumnSpec], durable: bool) -> tuple[str, ...]:
        """Make a logged table where it must outlive a crash of the server, an unlogged one beside the ledger."""
        kind = "TABLE" if durable else "UNLOGGED TABLE"
        return (
            f"CREATE {kind} {quote_table(table)} ({definitions(specs)})",
            f"CREATE INDEX {quote(helper_table('trident_by_txid_', table))} ON {quote_table(table)} ({TXID})",
        )

    def add_columns(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Return a statement for each: no row is written anew."""
        return tuple(f"ALTER TABLE {quote_table(table)} ADD COLUMN {definitions([spec])}" for spec in specs)

    def may_change(self, connection: Connection, table: str) -> bool:
        """Ask whether this role owns the table and its partitions, or is a member of those that do."""
        return bool(connection.execute(_MAY_CHANGE, {"table": quote_table(table)}).scalar_one())

    def create_temporary(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Make a table that each commit empties."""
        return (f"CREATE TEMPORARY TABLE IF NOT EXISTS {quote(table)} ({definitions(specs)}) ON COMMIT DELETE ROWS",)

    def relation(self, connection: Connection, table: str) -> str | None:
        """Return the numbers of the table and of its file, which TRUNCATE changes; of its partitions' files all."""
        found: str | None = connection.execute(_RELATION, {"table": quote_table(table)}).scalar()
        return found

    def unfit(self, connection: Connection, table: str) -> str | None:
        """Look at the table and at its partitions."""
        found = connection.execute(_UNFIT, {"table": quote_table(table)}).scalar()
        return None if found is None else _WHY_UNFIT[found]

    def run_deferred(self, connection: Connection, table: str | None = None) -> bool:
        """Run deferred triggers and checks; what comes after them in this transaction is no longer deferred."""
        if table is None:
            connection.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))
            return True
        names, may_act = connection.execute(_DEFERRED, {"table": quote_table(table)}).one()
        if names is not None:
            plain = names.replace("%", "%%")  # the driver takes a single one for a place of a value
            connection.exec_driver_sql(f"SET CONSTRAINTS {plain} IMMEDIATE")
        return bool(may_act)

    def refers_to(self, connection: Connection, table: str) -> frozenset[str]:
        """Ask for foreign keys."""
        return places_referred_to(connection, table)

    def changed(self, connection: Connection) -> Mapping[int, int]:
        """Ask the server's own count."""
        return changed(connection)

    def taken_along(self, connection: Connection, before: Mapping[int, int], table: str, topology: str) -> str | None:
        """Look at what has changed since, and at who has a position for it."""
        return taken_along(connection, before, quote_table(table), topology)

    def guards_rows(self, connection: Connection, table: str) -> bool:
        """Ask for triggers, foreign keys, rules and policies, of partitions too, and for the rights of this role."""
        return bool(connection.execute(_GUARDS, {"table": quote_table(table)}).scalar_one())

    def acts_by_itself(self, connection: Connection, table: str) -> bool:
        """Ask for the table and its partitions; what foreign keys bring with them only checks."""
        return bool(connection.execute(_ACTS, {"table": quote_table(table)}).scalar_one())

    def merges_at_once(self, connection: Connection, table: str) -> bool:
        """Ask for the version, and for triggers, rules and policies of the table, if it is one, and its parts."""
        if driver(connection).info.server_version < _MERGE_RETURNS:
            return False
        return bool(connection.execute(_PLAIN, {"table": quote_table(table)}).scalar_one())

    def is_row_twice(self, error: BaseException) -> bool:
        """Ask the SQLSTATE."""
        return is_row_twice(error)

    @contextmanager
    def looked_up(self, connection: Connection) -> Iterator[None]:
        """Tell the planner that to look a key up costs next to nothing: of ordered ones it has the last page at hand.

        Without an index it still reads the table: switching that off could leave it a plan that takes hours.
        """
        page, operator = connection.execute(_COSTS).one()
        connection.execute(_SET_COSTS, {"page": "0.01", "operator": "0.00001"})
        yield
        connection.execute(_SET_COSTS, {"page": page, "operator": operator})

    def make_durable(self, connection: Connection, table: str) -> None:
        """Turn an unlogged staging table into a logged one."""
        statement = text("SELECT relpersistence = 'u' FROM pg_class WHERE oid = to_regclass(:table)")
        if connection.execute(statement, {"table": quote_table(table)}).scalar():
            connection.execute(text(f"ALTER TABLE {quote_table(table)} SET LOGGED"))

    def from_stored(self, type_: pa.DataType, value: object) -> object:
        """Return the driver's Python value in its one form, whatever zone the session shows moments in."""
        return settled(value)

    def packed(self, statement: str, types: Sequence[pa.DataType]) -> str:
        """Have the server pack whole columns: fetching values one by one costs ten times as much here."""
        return packed_select(statement, types)

    def unpacked(self, schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> pa.Table:
        """Return what the server has packed."""
        return unpacked(schema, rows)

    def ready_rows(self, rows: pa.Table) -> ReadyRows:
        """Return rows as COPY takes them."""
        return ready_rows(rows)

    def insert_rows(self, connection: Connection, table: str, rows: ReadyRows) -> None:
        """Use binary COPY."""
        copy_rows(driver(connection), quote_table(table), rows)

    def analyse(self, connection: Connection, table: str) -> None:
        """Run ANALYZE: the staged rows are then the hashed side, and rows are updated in the order they lie in."""
        connection.execute(text(f"ANALYZE {quote(table)}"))

    def check_rows(self, rows: pa.Table) -> None:
        """Refuse NUL characters; types and ranges hold by the Arrow schema."""
        refuse_nul(rows)


def unique_indexes(connection: Connection, table: str, columns: Sequence[str]) -> list[bool]:
    """Return, of each plain unique index over exactly these columns, whether it tells at once which row is meant.

    One that is checked later does not, nor one to which texts of other bytes may be the same.
    """
    indexes = connection.execute(_UNIQUE, {"table": quote_table(table)})
    return [bool(can) for names, can in indexes if names is not None and sorted(names) == sorted(columns)]


def driver(connection: Connection) -> psycopg.Connection:
    """Return psycopg's own connection."""
    found = connection.connection.driver_connection
    assert isinstance(found, psycopg.Connection)
    return found


def definitions(specs: Sequence[ColumnSpec]) -> str:
    """Return the columns of a table of ours, as DDL has them."""

    def one(spec: ColumnSpec) -> str:
        collate = ' COLLATE "C"' if spec.type == "text" else ""
        return f"{quote(spec.name)} {spec.type}{collate}{'' if spec.nullable else ' NOT NULL'}"

    return ", ".join(one(spec) for spec in specs)
