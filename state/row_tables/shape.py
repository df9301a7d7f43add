"""What a sink writes to a table: its columns, in which way, and by what rows are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa

from trident.base.errors import ConfigurationError, FieldError
from trident.base.names import check_name
from trident.base.order import ORDER
from trident.state.tables.names import quote, quote_table
from trident.state.tables.shape import OWN_TABLES


class RowWrite(StrEnum):
    """What becomes of a record."""

    APPEND = "append"
    """A row of its own."""
    UPSERT = "upsert"
    """The row of its key: a new one, or the one that is there is changed. The last record of a key wins."""
    INSERT_IF_ABSENT = "insert_if_absent"
    """The row of its key, unless there is one. The first record of a key wins."""
    DELETE = "delete"
    """The row of its key goes, if there is one."""
    VERSIONS = "versions"
    """A version of its key, valid from a moment up to the next one's (a slowly changing dimension of type 2)."""


@dataclass(frozen=True, slots=True)
class RowShape:
    """All that the statements of one sink are built from; made with checks by `row_shape`."""

    table: str
    write: RowWrite
    columns: pa.Schema
    """The stream's fields with the types that they are staged in."""
    keys: tuple[str, ...] = ()
    deleted: str | None = None
    """The field that says of an upsert that it deletes; no column of the table."""
    valid_from: str | None = None
    valid_to: str | None = None
    """The column that the sink fills itself: null in the version that holds now."""
    skip_unchanged: bool = False
    """Whether a record that says what the version before it says makes none."""

    @property
    def quoted(self) -> str:
        """The table's name as SQL wants it."""
        return quote_table(self.table)

    @property
    def staged(self) -> pa.Schema:
        """The columns of its staged rows; what must not be null is said there."""
        fields = [field.with_nullable(field.name not in self.required) for field in self.columns]
        if self.write is not RowWrite.APPEND:
            fields.append(pa.field(ORDER, pa.binary()))
        return pa.schema(fields)

    @property
    def written(self) -> tuple[str, ...]:
        """The columns of the table that a record fills."""
        if self.write is RowWrite.DELETE:
            return self.keys
        return tuple(name for name in self.columns.names if name != self.deleted)

    @property
    def found_by(self) -> tuple[str, ...]:
        """The columns of which no two rows of the table have the same values."""
        if self.write is RowWrite.APPEND:
            return ()
        return self.keys if self.valid_from is None else (*self.keys, self.valid_from)

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are changed in a row that is there."""
        return tuple(name for name in self.written if name not in self.found_by)

    @property
    def required(self) -> frozenset[str]:
        """The fields that must not be null."""
        return frozenset((*self.found_by, *((self.deleted,) if self.deleted is not None else ())))


def row_shape(
    sink: str,
    table: str,
    columns: pa.Schema,
    write: RowWrite,
    keys: Sequence[str] = (),
    deleted: str | None = None,
    valid_from: str | None = None,
    valid_to: str | None = None,
    skip_unchanged: bool = False,
) -> RowShape:
    """Return the shape after checking that its parts fit together; raises ConfigurationError or FieldError."""
    _check_names(sink, table, columns.names)
    _check_parts(sink, write, bool(keys), deleted is not None, valid_from is not None, valid_to is not None)
    for name in (*keys, *(name for name in (deleted, valid_from) if name is not None)):
        if name not in columns.names:
            raise FieldError(f"sink {sink!r} names a field that is not there", name, tuple(columns.names))
    if len(set(keys)) < len(keys):
        raise ConfigurationError(f"sink {sink!r}: a key's field is named twice")
    if deleted is not None and (deleted in keys or not pa.types.is_boolean(columns.field(deleted).type)):
        raise ConfigurationError(f"sink {sink!r}: the field {deleted!r}, which says what is deleted, must be a boolean")
    if valid_from is not None and valid_from in keys:
        raise ConfigurationError(f"sink {sink!r}: {valid_from!r} is when a version begins, and no part of the key")
    if valid_from is not None and not _is_ordered(columns.field(valid_from).type):
        raise ConfigurationError(
            f"sink {sink!r}: {valid_from!r} is {columns.field(valid_from).type}, and says when a version begins: cast "
            "it to a timestamp, a date or a whole number, which have the order of time"
        )
    if valid_to is not None and valid_to.casefold() in {name.casefold() for name in columns.names}:
        raise ConfigurationError(
            f"sink {sink!r}: the sink fills the column {valid_to!r} itself; leave the field of that name out"
        )
    if skip_unchanged and write is not RowWrite.VERSIONS:
        raise ConfigurationError(f"sink {sink!r}: write={write.value!r} takes no skip_unchanged=; versions do")
    return RowShape(table, write, columns, tuple(keys), deleted, valid_from, valid_to, skip_unchanged)


_SERVERS_OWN: Final = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "rowid", "oid"})
"""Columns that tables have by themselves."""
_TAKES: Final = {
    # whether it takes: a key, what says that it deletes, when a version begins
    RowWrite.APPEND: (False, False, False),
    RowWrite.UPSERT: (True, True, False),
    RowWrite.INSERT_IF_ABSENT: (True, False, False),
    RowWrite.DELETE: (True, False, False),
    RowWrite.VERSIONS: (True, False, True),
}


def _is_ordered(type_: pa.DataType) -> bool:
    """Whether values of a type come in the order of what they mean; texts of dates mostly don't."""
    return pa.types.is_temporal(type_) or pa.types.is_integer(type_)


def _check_parts(sink: str, write: RowWrite, key: bool, deleted: bool, begins: bool, ends: bool) -> None:
    takes_key, takes_deleted, takes_begin = _TAKES[write]
    if takes_key is not key:
        needs = "needs the fields of its key: key=…" if takes_key else "takes no key"
        raise ConfigurationError(f"sink {sink!r}: write={write.value!r} {needs}")
    if deleted and not takes_deleted:
        raise ConfigurationError(f"sink {sink!r}: write={write.value!r} takes no deleted=; an upsert does")
    if (begins, ends) != (takes_begin, takes_begin):
        needs = "needs both valid_from= and valid_to=" if takes_begin else "takes no valid_from= and no valid_to="
        raise ConfigurationError(f"sink {sink!r}: write={write.value!r} {needs}")


def _check_names(sink: str, table: str, names: Sequence[str]) -> None:
    if table.rpartition(".")[2].casefold().startswith(OWN_TABLES):
        raise ConfigurationError(f"sink {sink!r}: no table may be called {table!r}, {OWN_TABLES}… are Trident's own")
    seen: set[str] = set()
    for name in names:
        check_name(f"sink {sink!r}: a column's name", name)
        quote(name)
        folded = name.casefold()
        if folded in seen or folded.startswith("trident_") or folded in _SERVERS_OWN:
            raise ConfigurationError(f"sink {sink!r}: column {name!r} clashes with another one; rename the field")
        seen.add(folded)
