"""Names of tables and columns: quoted in one place, refused when they can't be quoted safely."""

from __future__ import annotations

import zlib

import pyarrow as pa

from trident.base.names import LONGEST_NAME, check_identifier

STAGING = "trident_staging_"
"""How the name of a state's staging table begins."""
KEY_INDEX = "trident_key_"
"""How the name of the index over a table's keys begins."""
COPY = "trident_copy_"
"""How the name of a temporary table with a batch's rows begins."""


def quote(name: str) -> str:
    """Return a name as a quoted identifier, case kept; raises ConfigurationError for one that no store holds."""
    return f'"{check_identifier("the name of a table or column", name)}"'


def quote_table(name: str) -> str:
    """Return `table` or `schema.table` with each part quoted."""
    return ".".join(quote(part) for part in name.split("."))


def helper_table(prefix: str, table: str) -> str:
    """Return the name of a table that belongs to another one; long names are cut and told apart by a checksum."""
    name = prefix + table.replace(".", "_")
    if len(name.encode()) <= LONGEST_NAME:
        return name
    return f"{name.encode()[:50].decode(errors='ignore')}_{zlib.crc32(table.encode()):08x}"


def copy_table(table: str, schema: pa.Schema) -> str:
    """Return the name of the table with one batch's rows that only a transaction sees."""
    columns = repr([(field.name, str(field.type)) for field in schema])
    return helper_table(f"{COPY}{zlib.crc32(columns.encode()):08x}_", table)
