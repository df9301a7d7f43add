"""Which rights a run needs on its tables, by what it does to them; nothing is connected to."""

from __future__ import annotations

from contextlib import closing
from typing import Final

import pyarrow as pa
import pytest

from trident.doctor.databases import DatabaseAt
from trident.doctor.rights import Needed, needed_in
from trident.state import PostgresTable
from trident.state.memory.database import MemoryDatabase
from trident.state.row_tables.shape import RowWrite, row_shape

_FIELDS: Final[list[tuple[str, pa.DataType]]] = [("account", pa.string()), ("n", pa.int64()), ("gone", pa.bool_())]
FIELDS: Final = pa.schema(_FIELDS)


@pytest.mark.parametrize(
    ("write", "deleted", "rights"),
    [
        (RowWrite.UPSERT, None, ("SELECT", "INSERT", "UPDATE")),
        (RowWrite.UPSERT, "gone", ("SELECT", "INSERT", "UPDATE", "DELETE")),
        (RowWrite.INSERT_IF_ABSENT, None, ("SELECT", "INSERT")),
        (RowWrite.DELETE, None, ("SELECT", "DELETE")),
    ],
)
def test_rows_need_the_rights_of_their_way_of_writing(
    write: RowWrite, deleted: str | None, rights: tuple[str, ...]
) -> None:
    shape = row_shape("t", "accounts", FIELDS, write, ("account",), deleted=deleted)
    table = PostgresTable("t", dsn="postgresql://nobody@127.0.0.1:1/none")
    with closing(table.open(shape, MemoryDatabase())) as target:
        needed = needed_in(DatabaseAt("there", target.place.database, (target,), has_ledger=False))
    assert Needed("accounts", rights) in needed


@pytest.mark.parametrize(("has_outbox", "has_blobs"), [(False, False), (True, False), (False, True)])
def test_tables_that_nobody_uses_are_not_asked_for(has_outbox: bool, has_blobs: bool) -> None:
    table = PostgresTable("t", dsn="postgresql://nobody@127.0.0.1:1/none")
    shape = row_shape("t", "accounts", FIELDS, RowWrite.UPSERT, ("account",))
    with closing(table.open(shape, MemoryDatabase())) as target:
        at = DatabaseAt("there", target.place.database, (), True, has_outbox, has_blobs)
    names = {each.table for each in needed_in(at)}
    assert ("trident_outbox" in names, "trident_staged_blob" in names) == (has_outbox, has_blobs)
    assert "trident_pin" in names
