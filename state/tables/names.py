"""Names of tables and columns: quoted in one place, refused when they can't be quoted safely."""

from __future__ import annotations

import zlib

from trident.base.errors import ConfigurationError

_LONGEST = 63
_UNSAFE = '":%\\\0'


def quote(name: str) -> str:
    """Return a name as a quoted identifier, case kept; raises ConfigurationError for one that no store holds."""
    found = [character for character in _UNSAFE if character in name]
    if not name or found:
        raise ConfigurationError(
            f"{name!r} can't be the name of a table or column: it is empty or has one of \" : % \\"
        )
    if len(name.encode()) > _LONGEST:
        raise ConfigurationError(f"{name!r} can't be the name of a table or column: it is longer than 63 bytes")
    return f'"{name}"'


def quote_table(name: str) -> str:
    """Return `table` or `schema.table` with each part quoted."""
    parts = name.split(".")
    if len(parts) > 2:
        raise ConfigurationError(f"{name!r} can't be a table: write table or schema.table")
    return ".".join(quote(part) for part in parts)


def helper_table(prefix: str, table: str) -> str:
    """Return the name of a table that belongs to another one; long names are cut and told apart by a checksum."""
    name = prefix + table.replace(".", "_")
    if len(name.encode()) <= _LONGEST:
        return name
    return f"{name.encode()[:50].decode(errors='ignore')}_{zlib.crc32(table.encode()):08x}"
