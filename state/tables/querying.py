"""The stored values of given keys: they go to the server as a set, one statement reads all of them and the position.

One statement sees one snapshot, so nothing has to be locked against an apply.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import text

from trident.base.errors import MismatchError
from trident.base.identity import Owner
from trident.state.capabilities import Found
from trident.state.positions import Position
from trident.state.rows import conform, distinct
from trident.state.tables.dialect import fetched, run_all
from trident.state.tables.merge import NullPattern, all_of, matches
from trident.state.tables.names import helper_table, quote
from trident.state.tables.place import TablePlace
from trident.state.tables.shape import ColumnSpec, TableShape

_POSITION = ("incarnation", "txid", "attempt", "birth_txid")


@dataclass(frozen=True, slots=True)
class TableQuerying:
    """See `Queryable`."""

    place: TablePlace

    def find(self, topology: str, keys: pa.Table) -> Found:
        """Join the keys, in a temporary table, with the state's own and with its position."""
        place = self.place
        asked = distinct(conform(keys, place.shape.layout.key_schema()))
        source = _keys_table(place.shape)
        stored = _stored_statement(place.shape, quote(source), _null_patterns(asked))
        statement = _find_statement(place.dialect.packed(stored, place.schema.types))
        ready = place.dialect.ready_rows(asked)
        with place.database.transaction() as transaction:
            connection = transaction.connection
            if asked.num_columns:
                specs = [ColumnSpec(k.name, place.dialect.column_type(k.type), True) for k in place.shape.keys]
                run_all(connection, place.dialect.create_temporary(source, specs))
                place.dialect.insert_rows(connection, source, ready)
            found = fetched(connection, text(statement), {"topology": topology, "state": place.name})
        if not found:
            raise MismatchError(f"state {place.name!r} has never been registered; nothing was read")
        incarnation, txid, attempt, birth = found[0][: len(_POSITION)]
        position = Position(Owner(topology, str(incarnation)), _number(txid), _number(attempt), _number(birth))
        rows = [row[len(_POSITION) + 1 :] for row in found if row[len(_POSITION)] is not None]
        return Found(position, place.dialect.unpacked(place.schema, rows))


def _stored_statement(shape: TableShape, source: str, patterns: Sequence[NullPattern]) -> str:
    """Return the SELECT of each stored row whose key is in `source`."""
    names = ", ".join(f"t.{quote(column.name)}" for column in shape.staged)
    keys = f", {source} AS s" if shape.keys else ""
    parts = [
        f"SELECT {names} FROM {shape.quoted} AS t{keys} WHERE {all_of(matches(shape, pattern))}" for pattern in patterns
    ]
    return " UNION ALL ".join(parts)


def _find_statement(stored: str) -> str:
    """Return the SELECT of the position and, beside it, of each row of another SELECT."""
    position = ", ".join(f"a.{name}" for name in _POSITION)
    found = f"SELECT 1 AS trident_found, p.* FROM ({stored}) AS p"
    return (
        f"SELECT {position}, f.* FROM trident_applied AS a LEFT JOIN ({found}) AS f ON TRUE "
        "WHERE a.topology = :topology AND a.state = :state"
    )


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _null_patterns(keys: pa.Table) -> list[NullPattern]:
    """Return which of the key columns are null together, in the keys that are asked for."""
    if not any(column.null_count for column in keys.columns):
        return [tuple(False for _ in keys.column_names)]
    columns = [pc.is_null(column).to_pylist() for column in keys.columns]
    return sorted(set(zip(*columns, strict=True)))


def _keys_table(shape: TableShape) -> str:
    columns = repr([(column.name, str(column.type)) for column in shape.keys])
    return helper_table(f"trident_find_{zlib.crc32(columns.encode()):08x}_", shape.table)
