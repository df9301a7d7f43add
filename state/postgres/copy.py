"""Binary COPY from Arrow: the fastest way in, column-wise until the driver wants rows."""

from __future__ import annotations

import psycopg
import pyarrow as pa

from trident.state.postgres.types import sql_type
from trident.state.rows import python_values
from trident.state.tables.names import quote

_DRIVER_TYPES = {
    "boolean": "bool",
    "smallint": "int2",
    "integer": "int4",
    "bigint": "int8",
    "real": "float4",
    "double precision": "float8",
    "text": "text",
    "bytea": "bytea",
    "date": "date",
    "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp",
}


def copy_rows(connection: psycopg.Connection, quoted_table: str, rows: pa.Table) -> None:
    """COPY rows into the columns of the same names, inside the connection's transaction.

    Encoding whole columns with numpy instead was measured: 30 ms of CPU for 84,000 rows instead of
    40 ms, for a hundred lines more.
    """
    names = ", ".join(quote(name) for name in rows.column_names)
    types = [_DRIVER_TYPES.get(sql_type(field.type), "numeric") for field in rows.schema]
    columns = [python_values(column) for column in rows.columns]
    statement = f"COPY {quoted_table} ({names}) FROM STDIN (FORMAT binary)".encode()
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(types)
        write_row = copy.write_row
        for row in zip(*columns, strict=True):
            write_row(row)
