"""The same as a plain Python loop without txids: read, decode, COPY; batch T is copied while T + 1 is read."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pyarrow as pa
from psycopg import sql

from benchmarks.systems.arguments import parse
from benchmarks.systems.floor import Reader, paid

_TYPES: dict[str, pa.DataType] = {"id": pa.int64(), "account": pa.string(), "amount": pa.int64()}
_FIELDS = pa.schema(_TYPES)


def _copy(connection: psycopg.Connection, table: sql.Identifier, rows: pa.Table) -> None:
    statement = sql.SQL("COPY {} (id, account, amount) FROM STDIN (FORMAT binary)").format(table)
    with connection.transaction(), connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(["int8", "text", "int8"])
        write_row = copy.write_row
        for row in zip(*(rows.column(name).to_pylist() for name in _FIELDS.names), strict=True):
            write_row(row)


def main() -> None:
    """Run to the end."""
    arguments = parse(__doc__ or "")
    table = sql.Identifier(arguments.output)
    with psycopg.connect(arguments.dsn) as connection, ThreadPoolExecutor(1) as copier:
        with connection.transaction():
            connection.execute(sql.SQL("CREATE TABLE {} (id bigint, account text, amount bigint)").format(table))
        copying: Future[None] | None = None
        for values, _ in Reader(arguments, {}).values(arguments.expected_records):
            rows = paid(values, _FIELDS)
            if copying is not None:
                copying.result()
            copying = copier.submit(_copy, connection, table, rows)
        if copying is not None:
            copying.result()


if __name__ == "__main__":
    main()
